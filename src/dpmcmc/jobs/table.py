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

TEMPLATES = Path(__file__).parents[1] / "reporting/templates"


class Job(NamedTuple):
    """A kind of job. `of` has the fields of a rule's wildcards: model, algorithm, run, seed, ..."""

    function: str  # module and function below dpmcmc.jobs
    options: str  # of its command: spec is JSON, all others are paths; + and * take several
    spec: callable = None  # (study, of) -> settings, a dict; None: it has none
    modules: callable = None  # (study, of) -> modules and files, beside that of the function
    is_ordered: bool = False  # keys of its settings stay in the order of the configuration

    def settings(self, study, of):
        """Its settings as JSON: the same for the same settings in another order."""
        return json.dumps(self.spec(study, of), sort_keys=not self.is_ordered)

    def source(self, study, of):
        """Digest of the source that the result depends on."""
        module = f"dpmcmc.jobs.{self.function.partition('.')[0]}"
        return digest_of(module, *(self.modules(study, of) if self.modules else ()))


# -- Modules that a job's result depends on --------------------------------------------------------


def model_modules(study, of):
    """Of a model's class."""
    return [module_of(study.models[of.model].spec["class"])]


def sampler_modules(study, of):
    """Of an algorithm's sampler and move."""
    entry = study.algorithms[of.algorithm]
    return [module_of(reference) for reference in (entry.sampler, entry.move) if reference]


def module_of(reference):
    """Module of a class, `module:Class`."""
    return reference.rpartition(":")[0]


def data_modules(study, of):
    """Of a model, and the reader of its file where it has one."""
    from dpmcmc.jobs.data import FILES

    return model_modules(study, of) + ([FILES] if study.models[of.model].data else [])


def reference_modules(study, of):
    """Of a model, and of what draws its reference sample."""
    from dpmcmc.jobs.data import REFERENCES

    kind = study.models[of.model].reference
    return model_modules(study, of) + ([REFERENCES[kind]] if kind in REFERENCES else [])


def metric_modules(study, of):
    """Of a model, and the reader of the rows that it holds out, where it does."""
    data = study.models[of.model].data
    return data_modules(study, of) if data and "held_out" in data else model_modules(study, of)


def chain_modules(study, of):
    """Of a model and an algorithm."""
    return model_modules(study, of) + sampler_modules(study, of)


def priced_by(accountant):
    """Modules of an algorithm and of an accountant, the value of a function of (study, of)."""

    def modules(study, of):
        from dpmcmc.accounting.accountants import module_name

        name = accountant(study, of)
        return sampler_modules(study, of) + ([module_name(name)] if name else [])

    return modules


def own_accountant(study, of):
    """Accountant of an algorithm; None without privacy."""
    return study.algorithms[of.algorithm].accountant


def search_modules(study, of):
    """Of all that a search of settings runs."""
    return reference_modules(study, of) + priced_by(own_accountant)(study, of)


def notebook_modules(study, of):
    """Of a page: the notebook, templates, models whose data it reads, algorithms it is given."""
    page = study.notebooks[of.notebook]
    given = {
        name
        for value in page.parameters.values()
        for name in (value if isinstance(value, list) else [value])
        if isinstance(name, str)
    }
    modules = [str(page.path), *template_files()]
    for model in page.data_models:
        modules += model_modules(study, SimpleNamespace(model=model))
    for algorithm in study.algorithm_ids:
        if algorithm in given:
            modules += sampler_modules(study, SimpleNamespace(algorithm=algorithm))
    return modules


def template_files():
    """Templates of pages."""
    return sorted(map(str, TEMPLATES.glob("*")))


# -- The table -------------------------------------------------------------------------------------


JOBS = {
    "dataset": Job(
        "data.dataset", "spec output", lambda study, of: study.dataset(of.model), data_modules
    ),
    "reference": Job(
        "data.reference",
        "spec dataset output",
        lambda study, of: study.reference(of.model),
        reference_modules,
    ),
    "baselines": Job(
        "data.baselines",
        "spec dataset output",
        lambda study, of: study.baselines(of.model),
        reference_modules,
    ),
    "precomputed": Job(
        "samplers.precompute",
        "spec output",
        lambda study, of: {"class": study.precomputed[of.precomputed]},
        lambda study, of: [module_of(study.precomputed[of.precomputed])],
    ),
    "budget": Job(
        "budgets.budget",
        "spec output",
        lambda study, of: study.budget(study.cell(of)),
        priced_by(own_accountant),
    ),
    "certification": Job(
        "budgets.certification",
        "spec budget output",
        lambda study, of: study.certification(study.cell(of)),
        priced_by(lambda study, of: study.certification(study.cell(of))["accountant"]),
    ),
    "accounting-curve": Job(
        "budgets.accounting_curve",
        "spec output",
        lambda study, of: study.accounting_curve(of.algorithm, of.accountant),
        priced_by(
            lambda study, of: study.accounting_curve(of.algorithm, of.accountant)["accountant"]
        ),
    ),
    "chain": Job(
        "chains.chain",
        "spec dataset reference budget precomputed* output",
        lambda study, of: study.chain(study.cell(of), int(of.seed)),
        chain_modules,
    ),
    "chain-table": Job(
        "metrics.chain_table",
        "spec reference chains budgets output timings budget-table mixing",
        lambda study, of: study.chain_table(of.model),
        metric_modules,
    ),
    "baseline-table": Job(
        "metrics.baseline_table",
        "spec reference baselines output starts",
        lambda study, of: study.baseline_table(of.model),
        metric_modules,
    ),
    "study-tables": Job(
        "tables.study_tables",
        "spec chains+ timings+ baselines+ starts+ budgets+ mixing+ output",
        lambda study, of: study.study_tables(),
    ),
    "analysis-tables": Job(
        "tables.analysis_tables",
        "spec chains baselines starts models summary* accounting* output",
        lambda study, of: study.analysis(),
    ),
    "joined-table": Job("tables.joined_table", "parts+ output"),
    "audit-case": Job(
        "audits.audit_case", "spec output", lambda study, of: study.audited_case(of.case)
    ),
    "search": Job(
        "tuning.search",
        "spec precomputed* journal output best",
        lambda study, of: (
            study.search(of.model, of.algorithm) | {"source": JOBS["search"].source(study, of)}
        ),  # of which journal to go on with
        search_modules,
    ),
    "tuning-tables": Job("tuning.tuning_tables", "trials+ best+ output"),
    "study": Job(
        "reports.describe_study",
        "spec output",
        lambda study, of: study.description(),
        is_ordered=True,
    ),
    "provenance": Job(
        "reports.provenance",
        "spec output",
        lambda study, of: {"config": study.config, "recipe": recipe(study)},
    ),
    "notebook": Job(
        "reports.notebook",
        "spec notebook output html failed",
        lambda study, of: (
            study.notebooks[of.notebook].parameters | {"results": f"results/{study.name}"}
        ),
        notebook_modules,
    ),
    "index": Job(
        "reports.index", "results output readme", modules=lambda study, of: template_files()
    ),
}


@cache
def digest_of(*modules):
    """Digest of modules and of what they import: the same for thousands of jobs."""
    from dpmcmc.study.sources import digest

    return digest(*modules)


# -- Recipes ---------------------------------------------------------------------------------------


def recipe(study):
    """What the tables of a study depend on: {part: digest of the settings and sources of its jobs}.

    Parts are `reference/MODEL`, `baselines/MODEL`, `chains/MODEL/ALGORITHM`, `accounting`,
    `certified`, `audit` and `tables`. Pages, labels and prose are in none of them.
    """
    parts = {}
    for model in study.model_ids:
        of = SimpleNamespace(model=model)
        parts[f"reference/{model}"] = part(study, [("dataset", of), ("reference", of)])
        parts[f"baselines/{model}"] = part(study, [("baselines", of), ("baseline-table", of)])
    for cell in study.cells:
        parts.setdefault(f"chains/{cell.model}/{cell.algorithm}", []).append(cell)
    for name, cells in parts.items():
        if isinstance(cells, list):
            parts[name] = chain_part(study, cells)
    others = {
        "accounting": [
            ("accounting-curve", SimpleNamespace(algorithm=algorithm, accountant=accountant))
            for algorithm, accountant in study.accounting_curves
        ],
        "certified": [("certification", of_cell(cell)) for cell, _ in study.replaced_cells],
        "audit": [("audit-case", SimpleNamespace(case=case)) for case in study.audited_cases],
        "tables": [("study-tables", None), ("analysis-tables", None), ("joined-table", None)],
    }
    return parts | {name: part(study, jobs) for name, jobs in others.items() if jobs}


def of_cell(cell, **more):
    """What stands for the wildcards of a cell."""
    return SimpleNamespace(**cell._asdict(), **more)


def chain_part(study, cells):
    """Digest of the chains of a model and an algorithm, and of their rows."""
    jobs = [
        ("precomputed", SimpleNamespace(precomputed=name))
        for name in study.precomputed_by(cells[0].algorithm)
    ]
    for cell in cells:
        jobs += [("budget", of_cell(cell)), ("chain", of_cell(cell, seed=0))]
    table = study.chain_table(cells[0].model, cells)
    return part(study, jobs, table, JOBS["chain-table"].source(study, of_cell(cells[0])))


def part(study, jobs, *more):
    """Digest of jobs, pairs of a name in the table and what stands for wildcards."""
    contents = [
        (JOBS[name].settings(study, of) if JOBS[name].spec else None, JOBS[name].source(study, of))
        for name, of in jobs
    ]
    text = json.dumps([contents, more], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
