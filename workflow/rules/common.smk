# What all rules share: the validated study, where files are, wildcards, resources.

import math
import os
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(workflow.basedir)
SOURCE = ROOT / "src"

# Jobs find this checkout's package and this environment's Python, however Snakemake was started.
sys.path.insert(0, str(SOURCE))
os.environ.update(
    PYTHONPATH=os.pathsep.join(filter(None, [str(SOURCE), os.getenv("PYTHONPATH")])),
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]),
)
# Large arrays in large pages of memory: chains on thirty statistics take a sixth less time.
os.environ.update(GLIBC_TUNABLES="glibc.malloc.hugetlb=1")

from dpmcmc import machine
from dpmcmc_studies.jobs.publishing import committed_files
from dpmcmc_studies.jobs.parts import KINDS, parts_of
from dpmcmc_studies.jobs.reuse import Reuse
from dpmcmc_studies.jobs.table import JOBS, text_of
from dpmcmc.configuration.yaml_files import ConfigError
from dpmcmc_studies.study.loading import load_study
from dpmcmc_studies.study.study import MEASURED

overrides = dict(workflow.config_settings.config)
# With `--config reuse=true` a run takes from docs/ what the present settings have made, except old
# parts that `renewed` names (dpmcmc_studies/jobs/reuse.py). `anew` names parts that are computed
# all the same; `assume` takes what other settings have made, too, so that some parts can be compared
# with it (dpmcmc_studies/jobs/check_results.py).
reused, renewed, anew, assume = (
    overrides.pop(key, None) for key in ("reuse", "renewed", "anew", "assume")
)

try:
    study = load_study(ROOT, workflow.configfiles, overrides)
    COMMITTED = ROOT / "docs" / study.name
    reuse = Reuse(study, COMMITTED if reused else None, renewed or [], anew or [], bool(assume))
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
    precomputed=any_of(study.precomputed),
    seed=r"\d+",


def say_plan():
    """Say what a run reuses, what it computes, and why."""
    for line in reuse.plan() if reused else []:
        print(line, file=sys.stderr)


def job(name, of=None):
    """Parameters of a rule: settings of its job, and the digest of the source behind its result.

    Snakemake reruns jobs whose parameters change, but does not look into imported modules.
    """
    entry = JOBS[name]
    params = {"source": lambda wildcards: entry.source(study, of or wildcards)}
    if entry.of is not None:
        params["spec"] = lambda wildcards: entry.settings(study, of or wildcards)
    return params


def unless_reused(part, file):
    """Input of a rule: a file, or none where the part of the results that it makes is committed."""
    return lambda wildcards: (
        [] if reuse.has(part.format(**wildcards)) else file.format(**wildcards)
    )


# Memory in megabytes and run time in minutes: generous, and doubled by a second attempt
# (`--retries 1`).


def megabytes(base, data_sets=0):
    """So many, and so many times the data set of the job's model."""

    def needed(wildcards, attempt):
        numbers = math.prod(study.models[wildcards.model].model.data_shape) if data_sets else 0
        return attempt * (base + data_sets * (numbers * 8 // 2**20))

    return needed


def minutes(count):
    """So many; `count` may be a function of wildcards."""
    return lambda wildcards, attempt: attempt * (count(wildcards) if callable(count) else count)


SMALL = {"mem_mb": megabytes(500), "runtime": minutes(10)}


def reference_minutes(wildcards):
    return 10 if study.models[wildcards.model].reference == "exact" else 240


def chain_priority(wildcards):
    """After all else that is ready, and one model after another: most chains that run side by side
    then read the same data, which the cache of the processor holds but once."""
    return -1 - study.model_ids.index(wildcards.model)


# Files that a rule gathers.


def chain_files(cell):
    return [f"{RESULTS}/chains/{'/'.join(cell)}/seed-{seed}.npz" for seed in study.seeds_of(cell)]


def computed_cells(kind):
    """Function of wildcards: cells of the model whose rows in a table of chains are computed."""
    return lambda wildcards: [
        cell
        for cell in study.cells_of(wildcards.model)
        if not reuse.has(f"{kind}/{'/'.join(cell)}")
    ]


def chains_of(kind, budgets=False):
    """Files that a table of chains is computed from."""

    def files(wildcards):
        for cell in computed_cells(kind)(wildcards):
            if budgets:
                yield f"{RESULTS}/budgets/{'/'.join(cell)}.json"
            yield from chain_files(cell)

    return files


def reference_of(kind):
    """Reference sample, if any row of a table of chains is computed."""
    return lambda wildcards: (
        [f"{RESULTS}/reference/{wildcards.model}.npy"] * bool(computed_cells(kind)(wildcards))
    )


def rows_of(kind):
    """Rows of a table of chains that are reused, as JSON."""

    def rows(wildcards):
        parts = [f"{kind}/{'/'.join(cell)}" for cell in study.cells_of(wildcards.model)]
        return text_of(reuse.rows(*parts), is_ordered=True)

    return rows


def precomputed_files(wildcards):
    names = study.precomputed_by(wildcards.algorithm)
    return [f"{RESULTS}/precomputed/{name}.json" for name in names]


# Tables that put those of many jobs one below another: the parts of the results in each.
JOINED = {name: parts_of(study, name) for name, kind in KINDS.items() if kind.is_joined}


def parts_of_table(wildcards):
    (file,) = KINDS[wildcards.joined].files
    parts = [part for part in JOINED[wildcards.joined] if not reuse.has(part)]
    return [f"{RESULTS}/{file.format(part.partition('/')[2])}" for part in parts]


def table_files(names):
    return [f"{RESULTS}/tables/{name}.csv" for name in names]


def notebook_inputs(name, notebook):
    yield f"{RESULTS}/study.json"
    yield from table_files(study.all_tables)
    for model in notebook.data_models:
        yield f"{RESULTS}/data/{model}.npy"
        yield f"{RESULTS}/reference/{model}.npy"
    if not (notebook.kept and reuse.has(f"kept/{name}")):
        for model in notebook.chain_models:
            for cell in study.cells_of(model):
                yield from chain_files(cell)


def figure_files(notebook):
    for figure in notebook.figures:
        yield f"{RESULTS}/figures/{figure}.pdf"
        yield f"{RESULTS}/figures/{figure}.png"


def pages_and_figures(wildcards):
    for name, notebook in study.notebooks.items():
        yield f"{RESULTS}/pages/{name}.md"
        yield from figure_files(notebook)


def rule_name(notebook):
    return f"notebook_{re.sub('[^0-9A-Za-z]', '_', notebook)}"


def tuning_files(wildcards):
    if not study.searches:
        sys.exit("Configuration error: missing key tuning, which says what is searched")
    return [f"{RESULTS}/tuning/{name}" for name in ("trials.csv", "summary.csv", "settings.yaml")]


def report_full_disk():
    """Say so, as the logs of jobs cannot where they lie on that disk."""
    if os.path.isdir(RESULTS) and shutil.disk_usage(RESULTS).free < 2**16:
        print(f"No space left on the disk of {RESULTS}; make some and run again", file=sys.stderr)
