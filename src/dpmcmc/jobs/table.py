"""The table of jobs: what each runs, its settings, and the source that its result depends on.

Rules, digests, reruns and attests read it. A job is given its own settings and nothing else, so a
change of the configuration reruns what it changes and no more. This module is imported by every
job and stays clear of everything slow.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

SITE = Path(__file__).parents[1] / "reporting/site"  # settings of Sphinx, and templates


class Job(NamedTuple):
    """A kind of job. `of` has the fields of a rule's wildcards: model, algorithm, run, seed, ..."""

    function: str  # module and function below dpmcmc.jobs
    options: str  # of its command: spec is JSON, all others are paths; + and * take several
    spec: callable = None  # (study, of) -> settings, a dict; None: it has none
    modules: callable = None  # (study, of) -> modules and files that its settings do not name
    is_ordered: bool = False  # keys of its settings stay in the order of the configuration

    def settings(self, study, of):
        """Its settings as JSON: the same for the same settings in another order."""
        return json.dumps(self.spec(study, of), sort_keys=not self.is_ordered)

    def source(self, study, of):
        """Digest of the source that the result depends on."""
        modules = modules_of(self.spec(study, of)) if self.spec else []
        modules += self.modules(study, of) if self.modules else []
        return digest_of(f"dpmcmc.jobs.{self.function.partition('.')[0]}", *modules)


# -- Modules that a job's result depends on, beside that of its function ---------------------------


def modules_of(spec):
    """Modules of what settings name: classes, an accountant, a kind of reference sample."""
    from dpmcmc.accounting.accountants import module_name
    from dpmcmc.jobs.data import REFERENCES

    parts = [spec, *(cell for cell in spec.get("cells", []) if isinstance(cell, dict))]
    entries = [spec, spec.get("model_entry", {})]
    entries += [entry for part in parts for entry in nested(part.get("sampler", {}))]
    modules = [module_of(entry["class"]) for entry in entries if "class" in entry]
    modules += [module_name(part["accountant"]) for part in parts if part.get("accountant")]
    return modules + [REFERENCES[kind] for kind in REFERENCES if kind == spec.get("reference")]


def nested(entry):
    """An entry, and those that are its settings, as a sampler's move."""
    yield entry
    for value in entry.values():
        if isinstance(value, dict):
            yield from nested(value)


def module_of(reference):
    """Module of a class, `module:Class`."""
    return reference.rpartition(":")[0]


def file_reader(study, of, key="file"):
    """The reader of a model's data, if these are in a file and its entry has a key."""
    from dpmcmc.jobs.data import FILES

    return [FILES] if key in (study.models[of.model].data or {}) else []


def held_out_reader(study, of):
    """The reader of rows that are held out of a model's data, if there are any."""
    return file_reader(study, of, "held_out")


def notebook_modules(study, of):
    """Of a page: the notebook, models whose data it reads, algorithms it is given.

    And all accountants: a page may price by any of them, which is imported by its name.
    """
    from dpmcmc.accounting.accountants import ACCOUNTANTS

    page = study.notebooks[of.notebook]
    modules = [str(page.path), *ACCOUNTANTS.values()]
    modules += [module_of(study.models[model].spec["class"]) for model in page.data_models]
    given = json.dumps(page.parameters)
    for name in study.algorithm_ids:
        if f'"{name}"' in given:
            algorithm = study.algorithms[name]
            parts = algorithm.sampler, algorithm.move, algorithm.start
            modules += [module_of(part) for part in parts if part]
    return modules


def site_files(study, of):
    """What the site of a study is made by, beside code."""
    return [str(path) for path in sorted(SITE.rglob("*")) if path.is_file()]


# -- The table -------------------------------------------------------------------------------------


def by(method, *fields):
    """Settings that a method of the study gives for some fields of `of`, or for its cell."""

    def spec(study, of):
        given = [study.cell(of) if name == "cell" else getattr(of, name) for name in fields]
        return getattr(study, method)(*given)

    return spec


def search(study, of):
    """Settings of a search, with the digest of its source, of which journal to go on with."""
    spec = study.search(of.model, of.algorithm)
    return spec | {"source": digest_of("dpmcmc.jobs.tuning", *modules_of(spec))}


JOBS = {
    "dataset": Job("data.dataset", "spec output", by("dataset", "model"), file_reader),
    "reference": Job("data.reference", "spec dataset output", by("reference", "model")),
    "baselines": Job("data.baselines", "spec dataset output", by("baselines", "model")),
    "precomputed": Job(
        "samplers.precompute",
        "spec output",
        lambda study, of: {"class": study.precomputed[of.precomputed]},
    ),
    "budget": Job("budgets.budget", "spec output", by("budget", "cell")),
    "certification": Job(
        "budgets.certification", "spec budget output", by("certification", "cell")
    ),
    "accounting-curve": Job(
        "budgets.accounting_curve", "spec output", by("accounting_curve", "algorithm", "accountant")
    ),
    "chain": Job(
        "chains.chain",
        "spec dataset reference budget precomputed* output",
        by("chain", "cell", "seed"),
    ),
    "chain-table": Job(
        "metrics.chain_table",
        "spec reference chains budgets output timings budget-table mixing",
        by("chain_table", "model"),
        held_out_reader,
    ),
    "baseline-table": Job(
        "metrics.baseline_table",
        "spec reference baselines output starts",
        by("baseline_table", "model"),
        held_out_reader,
    ),
    "study-tables": Job("tables.study_tables", "spec parts+ output", by("study_tables")),
    "analysis-tables": Job("tables.analysis_tables", "spec given+ output", by("analysis")),
    "intervals": Job("coverage.intervals", "spec output", by("intervals", "model")),
    "joined-table": Job("tables.joined_table", "parts+ output"),
    "audit-case": Job("audits.audit_case", "spec output", by("audited_case", "case")),
    "search": Job("tuning.search", "spec precomputed* journal output best", search),
    "tuning-tables": Job("tuning.tuning_tables", "trials+ best+ output"),
    "study": Job("reports.describe_study", "spec output", by("description"), is_ordered=True),
    "provenance": Job(
        "reports.provenance",
        "spec output",
        lambda study, of: {"config": study.config, "recipe": recipe(study)},
    ),
    "notebook": Job(
        "reports.notebook",
        "spec notebook output page failed",
        lambda study, of: (
            study.notebooks[of.notebook].parameters | {"results": f"results/{study.name}"}
        ),
        notebook_modules,
    ),
    "site": Job("reports.site", "results output readme", modules=site_files),
}


@cache
def digest_of(*modules):
    """Digest of modules and of what they import: the same for thousands of jobs."""
    from dpmcmc.study.sources import digest

    return digest(*modules)


# -- Recipes ---------------------------------------------------------------------------------------


def recipe(study):
    """What the tables of a study depend on: {part: digest of the settings and sources of its jobs}.

    Parts are `reference/MODEL`, `baselines/MODEL`, `chains/MODEL/ALGORITHM`, `intervals/MODEL`,
    `accounting`, `certified`, `audit` and `tables`. Pages, labels and prose are in none of them,
    nor are the bytes of data files, since recipes are published.
    """
    study = study.without_digests()
    jobs, cells = {}, {}
    for model in study.model_ids:
        of = SimpleNamespace(model=model)
        jobs[f"reference/{model}"] = [("dataset", of), ("reference", of)]
        jobs[f"baselines/{model}"] = [("baselines", of), ("baseline-table", of)]
    for cell in study.cells:
        cells.setdefault(f"chains/{cell.model}/{cell.algorithm}", []).append(cell)
    for model in study.interval_models:
        jobs[f"intervals/{model}"] = [("intervals", SimpleNamespace(model=model))]
    jobs["accounting"] = [
        ("accounting-curve", SimpleNamespace(algorithm=algorithm, accountant=accountant))
        for algorithm, accountant in study.accounting_curves
    ]
    jobs["certified"] = [("certification", of_cell(cell)) for cell, _ in study.replaced_cells]
    jobs["audit"] = [("audit-case", SimpleNamespace(case=case)) for case in study.audited_cases]
    jobs["tables"] = [(name, None) for name in ("study-tables", "analysis-tables", "joined-table")]
    parts = {name: part(study, listed) for name, listed in jobs.items() if listed}
    return parts | {name: chain_part(study, of_part) for name, of_part in cells.items()}


def of_cell(cell, **more):
    """What stands for the wildcards of a cell."""
    return SimpleNamespace(**cell._asdict(), **more)


def chain_part(study, cells):
    """Digest of the chains of a model and an algorithm, and of their rows."""
    names = study.precomputed_by(cells[0].algorithm)
    jobs = [("precomputed", SimpleNamespace(precomputed=name)) for name in names]
    for cell in cells:
        jobs += [("budget", of_cell(cell)), ("chain", of_cell(cell, seed=0))]
    table = study.chain_table(cells[0].model, cells)
    return part(study, jobs, table, JOBS["chain-table"].source(study, cells[0]))


def part(study, jobs, *more):
    """Digest of jobs, pairs of a name in the table and what stands for wildcards."""
    contents = [
        (JOBS[name].settings(study, of) if JOBS[name].spec else None, JOBS[name].source(study, of))
        for name, of in jobs
    ]
    text = json.dumps([contents, more], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
