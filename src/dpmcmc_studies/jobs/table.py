"""The table of jobs: function, options, settings, and source that the result depends on.

Rules, the command line and fingerprints read it. A job is given its own settings and nothing
else, so a change of the configuration reruns what it changes and no more. This module is imported
by every job and stays clear of everything slow.
"""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from dpmcmc import registry

SITE = Path(__file__).parents[1] / "reporting/site"  # settings of Sphinx, and templates


class Job(NamedTuple):
    """A kind of job. `of` has the fields of a rule's wildcards: model, algorithm, run, seed, ...

    Options of its command are the parameters of its function, and fields of its rule: `spec` is
    JSON and stands first, all others are paths; +, * and ? after a name take several, any or one
    that may be missing. `output` is all that a rule writes.
    """

    function: str  # module and function below dpmcmc_studies.jobs
    reads: str  # options that are fields of the rule's input
    writes: str  # likewise of its output
    given: str = ""  # likewise of its parameters; `rows` is JSON
    spec: callable = None  # (study, of) -> settings, a `Spec`; None: it has none
    modules: callable = None  # (study, of) -> modules and files that its settings do not name
    is_ordered: bool = False  # keys of its settings stay in the order of the configuration

    def settings(self, study, of):
        """Its settings as JSON: the same for the same settings in another order."""
        return text_of(self.spec(study, of), self.is_ordered)

    def source(self, study, of):
        """Digest of the source that the result depends on."""
        modules = modules_of(msgspec.to_builtins(self.spec(study, of))) if self.spec else []
        modules += self.modules(study, of) if self.modules else []
        return digest_of(f"dpmcmc_studies.jobs.{self.function.partition('.')[0]}", *modules)

    def command(self, name):
        """Command line of the job for the shell of its rule."""
        options = [
            f"--{option.rstrip('+*?')} {{{field}.{option.rstrip('+*?')}:q}}"
            for field, options in (("input", self.reads), ("params", self.given))
            for option in options.split()
        ]
        for option in self.writes.split():
            field = "output" if option == "output" else f"output.{option}"
            options.append(f"--{option} {{{field}:q}}")
        spec = ["--spec @/dev/stdin"] if self.spec else []
        end = "<<< {params.spec:q} > {log:q} 2>&1" if self.spec else "> {log:q} 2>&1"
        return " ".join(["python -m dpmcmc_studies", name, *spec, *options, end])


def text_of(spec, is_ordered=False):
    """JSON of settings; with keys in their order, or else in alphabetical order."""
    return json.dumps(msgspec.to_builtins(spec), sort_keys=not is_ordered)


# -- Modules that a job's result depends on, beside that of its function ---------------------------


def modules_of(spec):
    """Modules of what settings name: classes, an accountant, a kind of reference sample."""
    from dpmcmc.accounting.accountants import module_name
    from dpmcmc_studies.jobs.data import REFERENCES

    parts = [spec, spec.get("twin", {}), spec.get("budget", {})]
    parts += [cell for cell in spec.get("cells", []) if isinstance(cell, dict)]
    entries = [entry for part in parts for entry in registry.nested(part)]
    modules = [registry.module_of(entry["class"]) for entry in entries if "class" in entry]
    modules += [module_name(part["accountant"]) for part in parts if part.get("accountant")]
    kinds = [part.get("reference") for part in parts]
    return modules + [REFERENCES[kind] for kind in REFERENCES if kind in kinds]


def file_reader(study, of, key="file"):
    """The reader of a model's data, if these are in a file and its entry has a key."""
    from dpmcmc_studies.jobs.data import FILES

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
    modules += [registry.module_of(study.models[model].spec["class"]) for model in page.data_models]
    given = json.dumps(page.parameters)
    for name in study.algorithm_ids:
        if f'"{name}"' in given:
            algorithm = study.algorithms[name]
            parts = algorithm.sampler, algorithm.move, algorithm.start
            modules += [registry.module_of(part) for part in parts if part]
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
    modules = modules_of(msgspec.to_builtins(spec))
    return replace(spec, source=digest_of("dpmcmc_studies.jobs.tuning", *modules))


JOBS = {
    "dataset": Job("data.dataset", "", "output", spec=by("dataset", "model"), modules=file_reader),
    "reference": Job(
        "data.reference", "dataset?", "output", "committed?", by("reference", "model")
    ),
    "baselines": Job("data.baselines", "dataset", "output", spec=by("baselines", "model")),
    "precomputed": Job(
        "samplers.precompute",
        "",
        "output",
        spec=by("precompute", "precomputed"),
    ),
    "budget": Job("budgets.budget", "", "output", spec=by("budget", "cell")),
    "certification": Job(
        "budgets.certification", "budget", "output", "fingerprint", by("certification", "cell")
    ),
    "accounting-curve": Job(
        "budgets.accounting_curve",
        "",
        "output",
        "fingerprint",
        by("accounting_curve", "algorithm", "accountant"),
    ),
    "chain": Job(
        "chains.chain",
        "dataset reference budget precomputed*",
        "output",
        spec=by("chain", "cell", "seed"),
    ),
    "chain-table": Job(
        "chain_tables.chain_table",
        "reference?",
        "chains timings budgets mixing",
        "rows results",
        by("chain_table", "model"),
        held_out_reader,
    ),
    "baseline-table": Job(
        "baseline_tables.baseline_table",
        "reference? baselines?",
        "exact starts",
        "rows",
        by("baseline_table", "model"),
        held_out_reader,
    ),
    "study-tables": Job("tables.study_tables", "parts+", "", "directory", by("study_tables")),
    "analysis-tables": Job(
        "tables.analysis_tables", "given+", "", "directory", by("analysis_tables")
    ),
    "intervals": Job("coverage.intervals", "", "output", "fingerprint", by("intervals", "model")),
    "joined-table": Job("tables.joined_table", "parts*", "output", "rows"),
    "audit-case": Job("audits.audit_case", "", "output", "fingerprint", by("audit_case", "case")),
    "search": Job("tuning.search", "precomputed*", "table best", "journal", search),
    "tuning-tables": Job("tuning.tuning_tables", "trials+ best+", "", "directory"),
    "study": Job("reports.describe_study", "", "output", spec=by("description"), is_ordered=True),
    "provenance": Job(
        "reports.provenance",
        "",
        "output",
        spec=lambda study, of: {"config": msgspec.to_builtins(study.config)},
    ),
    "notebook": Job(
        "reports.notebook",
        "notebook",
        "executed page",
        "failed committed?",
        lambda study, of: (
            study.notebooks[of.notebook].parameters | {"results": f"results/{study.name}"}
        ),
        notebook_modules,
    ),
    "site": Job("reports.site", "", "page readme", "results", modules=site_files),
}


@cache
def digest_of(*modules):
    """Digest of modules and of what they import: the same for thousands of jobs."""
    from dpmcmc_studies.study.sources import digest

    return digest(*modules)
