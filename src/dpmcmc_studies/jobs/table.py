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

from dpmcmc import registry

SITE = Path(__file__).parents[1] / "reporting/site"  # settings of Sphinx, and templates


class Job(NamedTuple):
    """A kind of job. Its rule, command, log, function and method of the study have its name.

    Options of its command are the parameters of its function, and fields of its rule: `spec` is
    JSON and stands first, all others are paths or texts; +, * and ? after a name take several, any
    or one that may be missing. `output` is all that a rule writes.
    """

    name: str
    module: str  # of its function, below dpmcmc_studies.jobs
    reads: str  # options that are fields of the rule's input
    writes: str  # likewise of its output
    given: str = ""  # likewise of its parameters; `rows` is JSON
    of: str | None = None  # parameters of the study's method of its settings; None: it has none
    modules: callable = None  # (study, of) -> modules and files that its settings do not name
    is_ordered: bool = False  # keys of its settings stay in the order of the configuration

    def spec(self, study, of):
        """Its settings; `of` has the fields of its rule's wildcards: model, algorithm, run, ..."""
        given = [study.cell(of) if key == "cell" else getattr(of, key) for key in self.of.split()]
        return getattr(study, self.name)(*given)

    def settings(self, study, of):
        """Its settings as JSON: the same for the same settings in another order."""
        return text_of(self.spec(study, of), self.is_ordered)

    def source(self, study, of):
        """Digest of the source that the result depends on."""
        modules = [] if self.of is None else modules_of(msgspec.to_builtins(self.spec(study, of)))
        modules += self.modules(study, of) if self.modules else []
        return digest_of(f"dpmcmc_studies.jobs.{self.module}", *modules)

    @property
    def options(self):
        """Options of its command."""
        return ["spec"] * (self.of is not None) + f"{self.reads} {self.given} {self.writes}".split()

    @property
    def command(self):
        """Command line for the shell of its rule."""
        fields = ("input", self.reads), ("params", self.given), ("output", self.writes)
        options = [
            f"--{option} {{{field if option == field else f'{field}.{option}'}:q}}"
            for field, names in fields
            for option in (name.rstrip("+*?") for name in names.split())
        ]
        spec, text = ["--spec @/dev/stdin"], ["<<< {params.spec:q}"]
        if self.of is None:
            spec, text = [], []
        command = ["python -m dpmcmc_studies", self.name, *spec, *options, *text]
        return " ".join([*command, "> {log:q} 2>&1"])


def text_of(spec, is_ordered=False):
    """JSON of settings; with keys in their order, or else in alphabetical order."""
    return json.dumps(msgspec.to_builtins(spec), sort_keys=not is_ordered)


# -- Modules that a job's result depends on, beside that of its function ---------------------------


def modules_of(spec):
    """Modules of what settings name: classes, an accountant, a kind of reference sample."""
    from dpmcmc.accounting.accountants import module_name
    from dpmcmc.evaluation.references import MODULES

    parts = [spec, spec.get("twins", {}), spec.get("budget", {})]
    parts += [cell for cell in spec.get("cells", []) if isinstance(cell, dict)]
    entries = [entry for part in parts for entry in registry.nested(part)]
    modules = [registry.module_of(entry["class"]) for entry in entries if "class" in entry]
    modules += [module_name(part["accountant"]) for part in parts if part.get("accountant")]
    kinds = [part.get("reference") for part in parts]
    return modules + [MODULES[kind] for kind in MODULES if kind in kinds]


def file_reader(study, of, key="file"):
    """The reader of a model's data, if these are in a file and its entry has a key."""
    from dpmcmc_studies.jobs.data import FILES

    return [FILES] if key in (study.models[of.model].data or {}) else []


def held_out_reader(study, of):
    """The reader of rows that are held out of a model's data, if there are any."""
    return file_reader(study, of, "held_out")


def notebook_modules(study, of):
    """Inputs of a page: the notebook, models whose data it reads, algorithms it is given.

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
    """Files, beside code, that the site of a study is made from."""
    return [str(path) for path in sorted(SITE.rglob("*")) if path.is_file()]


# -- The table -------------------------------------------------------------------------------------


TABLE = [
    Job("dataset", "data", "", "output", of="model", modules=file_reader),
    Job("reference", "data", "dataset?", "output", "committed?", "model"),
    Job("baselines", "data", "dataset", "output", of="model"),
    Job("precompute", "samplers", "", "output", of="precomputed"),
    Job("budget", "budgets", "", "output", of="cell"),
    Job("certification", "budgets", "budget", "output", "run", "cell"),
    Job("accounting_curve", "budgets", "", "output", of="algorithm accountant"),
    Job("chain", "chains", "dataset reference budget precomputed*", "output", of="cell seed"),
    Job(
        "chain_table",
        "chain_tables",
        "reference?",
        "chains timings budgets mixing",
        "rows results",
        "model",
        held_out_reader,
    ),
    Job("score_table", "score_tables", "reference?", "output", "rows results", "model"),
    Job(
        "baseline_table",
        "baseline_tables",
        "reference? baselines?",
        "exact starts",
        "rows",
        "model",
        held_out_reader,
    ),
    Job("study_tables", "tables", "parts+", "", "directory", ""),
    Job("analysis_tables", "tables", "given+", "", "directory", ""),
    Job("intervals", "coverage", "", "output", of="model"),
    Job("joined_table", "tables", "parts*", "output", "rows"),
    Job("audit_case", "audits", "", "output", of="case"),
    Job("twins", "tuning", "", "output", of="model"),
    Job(
        "search",
        "tuning",
        "twins precomputed*",
        "table best",
        "source journal",
        "model algorithm epsilon",
    ),
    Job("tuning_tables", "tuning", "trials+ best+", "", "directory"),
    Job("describe_study", "reports", "", "output", of="", is_ordered=True),
    Job("provenance", "reports", "", "versions parts", "fingerprints", ""),
    Job(
        "notebook",
        "reports",
        "notebook",
        "executed page",
        "failed committed?",
        "notebook",
        notebook_modules,
    ),
    Job("site", "reports", "", "page readme", "results", modules=site_files),
]
JOBS = {job.name: job for job in TABLE}


@cache
def digest_of(*modules):
    """Digest of modules and of what they import: the same for thousands of jobs."""
    from dpmcmc_studies.study.sources import digest

    return digest(*modules)
