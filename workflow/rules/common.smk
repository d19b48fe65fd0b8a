# What all rules share: the validated study, where files are, wildcards, resources.

import json
import math
import os
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(workflow.basedir)
SOURCE = ROOT / "src"

# Jobs find this checkout's package and this environment's Python, however Snakemake was started.
sys.path.insert(0, str(SOURCE))
os.environ.update(
    PYTHONPATH=str(SOURCE),
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]),
)
# Large arrays in large pages of memory: chains on thirty statistics take a sixth less time.
os.environ.update(GLIBC_TUNABLES="glibc.malloc.hugetlb=1")

from dpmcmc import machine
from dpmcmc.accounting.accountants import module_name
from dpmcmc.jobs.data import FILES, REFERENCES
from dpmcmc.reporting.provenance import tree_digest
from dpmcmc.study.config import ConfigError
from dpmcmc.study.notebooks import listed
from dpmcmc.study.runs import Cell
from dpmcmc.study.sources import digest as digest_of
from dpmcmc.study.study import load_study

try:
    study = load_study(
        ROOT / "config.yaml",
        workflow.configfiles,
        config,
        yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text()),
    )
except ConfigError as error:
    sys.exit(f"Configuration error: {error}")

RESULTS = f"results/{study.name}"
CONDA = "../../envs/environment.yaml"


def any_of(values):
    """Regular expression of certain values and no others."""
    return "|".join(map(re.escape, sorted(set(values)))) or "(?!)"


wildcard_constraints:
    accountant=any_of(name for _, name in study.accounting_curves),
    model=any_of(study.model_ids),
    algorithm=any_of(study.algorithms),
    run=any_of(cell.run for cell in study.cells),
    case=any_of(study.audited_cases),
    needed=any_of(study.needed),
    seed=r"\d+",


# Digests of the source that results depend on: what a job, its model and its sampler import. Asked
# for by every job, and the same for thousands of them.
digest = cache(digest_of)


def module_of(reference):
    return reference.rpartition(":")[0]


def model_modules(model):
    return [module_of(study.models[model].spec["class"])]


def sampler_modules(algorithm):
    entry = study.algorithms[algorithm]
    return [module_of(reference) for reference in (entry.sampler, entry.move) if reference]


def dataset_source(wildcards):
    files = [FILES] if study.models[wildcards.model].data else []
    return digest("dpmcmc.jobs.data", *model_modules(wildcards.model), *files)


def reference_modules(model):
    kind = study.models[model].reference
    return [REFERENCES[kind]] if kind in REFERENCES else []


def reference_source(wildcards):
    model = wildcards.model
    return digest("dpmcmc.jobs.data", *model_modules(model), *reference_modules(model))


def needed_source(wildcards):
    return digest("dpmcmc.jobs.samplers", module_of(study.needed[wildcards.needed]))


def budget_source(wildcards):
    accountant = study.algorithms[wildcards.algorithm].accountant
    priced = [module_name(accountant)] if accountant else []
    return digest("dpmcmc.jobs.budgets", *sampler_modules(wildcards.algorithm), *priced)


def certification_source(wildcards):
    accountant = certification_spec(wildcards)["accountant"]
    modules = sampler_modules(wildcards.algorithm)
    return digest("dpmcmc.jobs.budgets", *modules, module_name(accountant))


def curve_source(wildcards):
    modules = sampler_modules(wildcards.algorithm)
    return digest("dpmcmc.jobs.budgets", *modules, module_name(wildcards.accountant))


def chain_source(wildcards):
    modules = model_modules(wildcards.model) + sampler_modules(wildcards.algorithm)
    return digest("dpmcmc.jobs.chains", *modules)


def chain_table_source(wildcards):
    data = study.models[wildcards.model].data
    files = [FILES] if data and "held_out" in data else []
    return digest("dpmcmc.jobs.metrics", *model_modules(wildcards.model), *files)


def notebook_source(notebook):
    """With the classes of what it may build: models whose data it reads, algorithms it is told."""
    lists = [
        listed(value) for value in notebook.parameters.values() if isinstance(value, str | list)
    ]
    told = {name for names in lists for name in names if isinstance(name, str)}
    modules = [module for model in notebook.data_models for module in model_modules(model)]
    for name in study.algorithm_ids:
        modules += sampler_modules(name) if name in told else []
    return digest("dpmcmc.jobs.reports", *TEMPLATES, str(notebook.path), *modules)


def search_source(wildcards):
    entry = study.algorithms[wildcards.algorithm]
    modules = model_modules(wildcards.model) + sampler_modules(wildcards.algorithm)
    modules += reference_modules(wildcards.model)
    return digest("dpmcmc.jobs.tuning", *modules, module_name(entry.accountant))


# Of jobs that know no model and no sampler.
TABLES_SOURCE = digest("dpmcmc.jobs.tables")
AUDIT_SOURCE = digest("dpmcmc.jobs.audits")
TUNING_SOURCE = digest("dpmcmc.jobs.tuning")
TEMPLATES = sorted(map(str, (SOURCE / "dpmcmc/reporting/templates").glob("*")))
PAGES_SOURCE = digest("dpmcmc.jobs.reports", *TEMPLATES)


def as_json(settings):
    """Settings of one job, as they go onto its command line."""
    return json.dumps(settings, sort_keys=True)


# Settings of a job, as parameters of its rule.


def cell_of(wildcards):
    return Cell(wildcards.model, wildcards.algorithm, wildcards.run)


def dataset_settings(wildcards):
    return as_json(study.dataset(wildcards.model))


def reference_settings(wildcards):
    return as_json(study.reference(wildcards.model))


def baseline_settings(wildcards):
    return as_json(study.baselines(wildcards.model))


def needed_settings(wildcards):
    return as_json({"class": study.needed[wildcards.needed]})


def budget_settings(wildcards):
    return as_json(study.budget(cell_of(wildcards)))


def certification_spec(wildcards):
    cell = cell_of(wildcards)
    return study.certification(cell, dict(study.doubled_cells)[cell])


def certification_settings(wildcards):
    return as_json(certification_spec(wildcards))


def accounting_curve_settings(wildcards):
    return as_json(study.accounting_curve(wildcards.algorithm, wildcards.accountant))


def audit_settings(wildcards):
    return as_json(study.audited_case(wildcards.case))


def chain_settings(wildcards):
    return as_json(study.chain(cell_of(wildcards), int(wildcards.seed)))


def chain_table_settings(wildcards):
    return as_json(study.chain_table(wildcards.model))


def baseline_table_settings(wildcards):
    return as_json(study.baseline_table(wildcards.model))


def search_settings(wildcards):
    spec = study.search(wildcards.model, wildcards.algorithm)
    return as_json(spec | {"source": search_source(wildcards)})


def provenance_settings():
    return as_json({"config": study.config, "source": tree_digest(ROOT)})


# Files that a rule gathers.


def chain_files(cell):
    place = f"{RESULTS}/chains/{cell.model}/{cell.algorithm}/{cell.run}"
    return [f"{place}/seed-{seed}.npz" for seed in study.seeds_of(cell)]


def chains_of_model(wildcards):
    return [path for cell in study.cells_of(wildcards.model) for path in chain_files(cell)]


def needed_files(wildcards):
    return [f"{RESULTS}/needed/{name}.json" for name in study.needed_by(wildcards.algorithm)]


def accounting_curves(wildcards):
    return [
        f"{RESULTS}/accounting/{algorithm}/{accountant}.csv"
        for algorithm, accountant in study.accounting_curves
    ]


def budgets_of_model(wildcards):
    return [
        f"{RESULTS}/budgets/{cell.model}/{cell.algorithm}/{cell.run}.json"
        for cell in study.cells_of(wildcards.model)
    ]


def certifications(wildcards):
    return [
        f"{RESULTS}/certified/{cell.model}/{cell.algorithm}/{cell.run}.csv"
        for cell, _ in study.doubled_cells
    ]


def table_files(names):
    return [f"{RESULTS}/tables/{name}.csv" for name in names]


# Notebooks: what they read, draw and are told.


def notebook_settings(notebook):
    return as_json(notebook.parameters | {"results": RESULTS})


def notebook_inputs(notebook):
    yield f"{RESULTS}/study.json"
    yield from table_files(notebook.tables)
    for model in notebook.data_models:
        yield f"{RESULTS}/data/{model}.npy"
        yield f"{RESULTS}/reference/{model}.npy"
    for model in notebook.chain_models:
        for cell in study.cells_of(model):
            yield from chain_files(cell)


def figure_files(notebook):
    for figure in notebook.figures:
        yield f"{RESULTS}/figures/{figure}.pdf"
        yield f"{RESULTS}/figures/{figure}.png"


def pages_and_figures(wildcards):
    for name, notebook in study.notebooks.items():
        yield f"{RESULTS}/notebooks/{name}.html"
        yield from figure_files(notebook)


def rule_name(notebook):
    return f"render_{re.sub('[^0-9A-Za-z]', '_', notebook)}"


def tuning_files(wildcards):
    if not study.searches:
        sys.exit("Configuration error: missing key tuning, which says what is searched")
    return [f"{RESULTS}/tuning/{name}" for name in ("trials.csv", "summary.csv", "settings.yaml")]


# Memory in megabytes (the libraries and copies of the data set) and run time in minutes: generous,
# and doubled by a second attempt (`--retries 1`).


def dataset_memory(wildcards, attempt):
    return attempt * (500 + 3 * megabytes_of_dataset(wildcards.model))


def chain_memory(wildcards, attempt):
    return attempt * (500 + megabytes_of_dataset(wildcards.model))


def small_memory(wildcards, attempt):
    return attempt * 500


def table_memory(wildcards, attempt):
    return attempt * 1000


def notebook_memory(wildcards, attempt):
    return attempt * 1500


def short_runtime(wildcards, attempt):
    return attempt * 10


def reference_runtime(wildcards, attempt):
    return attempt * (240 if reference_modules(wildcards.model) else 10)


def chain_runtime(wildcards, attempt):
    return attempt * 30


def audit_runtime(wildcards, attempt):
    return attempt * (10 + study.config["audit"]["runs"] // 10_000)


def search_memory(wildcards, attempt):
    return attempt * (1500 + 3 * megabytes_of_dataset(wildcards.model))


def search_runtime(wildcards, attempt):
    return attempt * 720


def table_runtime(wildcards, attempt):
    return attempt * 60


def chain_priority(wildcards):
    """After all else that is ready, and one model after another: most chains that run side by side
    then read the same data, which the cache of the processor holds but once."""
    return -1 - study.model_ids.index(wildcards.model)


def megabytes_of_dataset(model):
    return math.prod(study.models[model].model.data_shape) * 8 // 2**20


def report_full_disk():
    """Say so, as the logs of jobs cannot where they lie on that disk."""
    if os.path.isdir(RESULTS) and shutil.disk_usage(RESULTS).free < 2**16:
        print(f"No space left on the disk of {RESULTS}; make some and run again", file=sys.stderr)
