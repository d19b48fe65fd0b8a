# What all rules share: the validated study, where files are, wildcards, resources.

import hashlib
import json
import os
import re
import shutil
import sys
from importlib.metadata import version
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
# Many jobs run side by side, each on one core.
os.environ.update({f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")})
# Large arrays in large pages of memory: chains on thirty statistics take a sixth less time.
os.environ.update(GLIBC_TUNABLES="glibc.malloc.hugetlb=1")

from dpmcmc.kernels.library import kernel_build
from dpmcmc.reporting.captions import TABLES
from dpmcmc.reporting.provenance import add_files, tree_digest
from dpmcmc.study.study import AUDITED, CORRECTED, ConfigError, dimension, load_study

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


wildcard_constraints:
    accountant="|".join(map(re.escape, sorted({name for _, name in study.accounting_curves}))),
    model="|".join(map(re.escape, study.model_ids)),
    algorithm="|".join(map(re.escape, study.algorithms)),
    epsilon="|".join(map(re.escape, study.epsilons)),
    clipped="|".join(map(re.escape, study.clipping["algorithms"])),
    case="|".join(map(re.escape, study.audited_cases)),
    bound="|".join(map(re.escape, sorted({cell.bound for cell in study.clipping_cells}))),
    seed=r"\d+",


def source_digest(*names):
    """Digest of parts of the package and of the libraries whose numbers a result depends on.

    Given to rules as a parameter: Snakemake reruns jobs whose parameters change, but does not look
    into imported modules.
    """
    digest = hashlib.sha256()
    add_files(digest, SOURCE, *(f"dpmcmc/{name}" for name in ("jobs.py", "files.py", *names)))
    digest.update(" ".join(version(library) for library in ("numpy", "numba", "scipy")).encode())
    if "kernels.py" in names:
        digest.update(kernel_build().encode())
    return digest.hexdigest()[:16]


MODEL_SOURCE = source_digest("models", "kernels.py", "streams.py")
ACCOUNTING_SOURCE = f"{source_digest('accounting', 'samplers')} {version('dp-accounting')}"
CORRECTION_SOURCE = source_digest("samplers/barker_correction.py", "accounting/releases.py")
AUDIT_SOURCE = (
    source_digest("audit.py", "samplers", "models", "accounting", "kernels.py", "streams.py")
    + f" {version('dp-accounting')}"
)
CHAIN_SOURCE = source_digest(
    "models", "samplers", "accounting/releases.py", "kernels.py", "streams.py"
)
METRICS_SOURCE = source_digest("metrics.py", "kernels.py", "streams.py")
TABLES_SOURCE = source_digest("tables.py", "study.py")
ANALYSIS_SOURCE = source_digest("tables.py", "analysis.py", "claims.py", "streams.py", "study.py")
TUNING_SOURCE = source_digest(
    "tuning.py",
    "analysis.py",
    "metrics.py",
    "accounting",
    "models",
    "samplers",
    "kernels.py",
    "streams.py",
)
NOTEBOOK_SOURCE = source_digest(
    "accounting",
    "study.py",
    "plotting.py",
    "analysis.py",
    "captions.py",
    "notebooks.py",
    "pages.py",
    "templates",
    "models",
    "samplers",
    "kernels.py",
    "streams.py",
)


def as_json(settings):
    """Settings of one job, as they go onto its command line."""
    return json.dumps(settings, sort_keys=True)


# Settings of a job, as parameters of its rule.


def dataset_settings(wildcards):
    return as_json(study.dataset(wildcards.model))


def reference_settings(wildcards):
    return as_json(study.reference(wildcards.model))


def baseline_settings(wildcards):
    return as_json(study.baselines(wildcards.model))


def budget_settings(wildcards):
    return as_json(study.budget(wildcards.model, wildcards.algorithm, wildcards.epsilon))


def certification_settings(wildcards):
    return as_json(study.certification(wildcards.model, wildcards.algorithm, wildcards.epsilon))


def accounting_curve_settings(wildcards):
    return as_json(study.accounting_curve(wildcards.algorithm, wildcards.accountant))


def audit_settings(wildcards):
    return as_json(study.audited_case(wildcards.case))


def chain_settings(wildcards):
    return as_json(
        study.chain(wildcards.model, wildcards.algorithm, wildcards.epsilon, int(wildcards.seed))
    )


def chain_table_settings(wildcards):
    return as_json(study.chain_table(wildcards.model))


def clipped_chain_settings(wildcards):
    return as_json(
        study.clipped_chain(
            wildcards.model, wildcards.clipped, wildcards.bound, int(wildcards.seed)
        )
    )


def clipping_table_settings(wildcards):
    return as_json(study.clipping_table(wildcards.model))


def baseline_table_settings(wildcards):
    return as_json(study.baseline_table(wildcards.model))


def search_settings(wildcards):
    versions = {library: version(library) for library in ("dp-accounting", "optuna")}
    return as_json(
        study.search(wildcards.model, wildcards.algorithm)
        | {"source": TUNING_SOURCE, "versions": versions}
    )


def provenance_settings():
    return as_json({"config": study.config, "source": tree_digest(ROOT)})


# Files that a rule gathers.


def chains_of_model(wildcards):
    model = wildcards.model
    return [
        f"{RESULTS}/chains/{model}/{cell.algorithm}/epsilon-{cell.epsilon}/seed-{seed}.npz"
        for cell in study.cells_of(model)
        for seed in study.seeds
    ]


def clipped_chains_of_model(wildcards):
    model = wildcards.model
    return [
        f"{RESULTS}/clipping/{model}/{cell.algorithm}/bound-{cell.bound}/seed-{seed}.npz"
        for cell in study.clipping_cells
        if cell.model == model
        for seed in study.seeds
    ]


def correction_of_chain(wildcards):
    return [f"{RESULTS}/barker-correction.json"] if wildcards.algorithm in CORRECTED else []


def correction_of_case(wildcards):
    return [f"{RESULTS}/barker-correction.json"] if AUDITED[wildcards.case] in CORRECTED else []


def accounting_curves(wildcards):
    return [
        f"{RESULTS}/accounting/{algorithm}/{accountant}.csv"
        for algorithm, accountant in study.accounting_curves
    ]


def budgets_of_model(wildcards):
    return [
        f"{RESULTS}/budgets/{cell.model}/{cell.algorithm}/epsilon-{cell.epsilon}.json"
        for cell in study.cells_of(wildcards.model)
    ]


def certifications(wildcards):
    return [
        f"{RESULTS}/certified/{cell.model}/{cell.algorithm}/epsilon-{cell.epsilon}.csv"
        for cell in study.doubled_cells
    ]


def table_files(names):
    return [f"{RESULTS}/tables/{name}.csv" for name in names]


def tuning_files(wildcards):
    if not study.searches:
        sys.exit("Configuration error: missing key tuning, which says what is searched")
    return [f"{RESULTS}/tuning/{name}" for name in ("trials.csv", "summary.csv", "settings.yaml")]


# Outputs that `snakemake --report` shows.


def reported_table(name):
    labels = {"table": name, "holds": TABLES[name]}
    return reported(f"{RESULTS}/tables/{name}.csv", "table", labels)


def reported(path, kind, labels):
    caption, category = f"../report/{kind}.rst", f"{kind.capitalize()}s"
    flagged = report(path, caption=caption, category=category, labels=labels)
    return flagged


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


def chain_runtime(wildcards, attempt):
    return attempt * 5


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
    settings = study.models[model]
    return settings["num_rows"] * dimension(settings) * 8 // 2**20


def report_full_disk():
    """Say so, as the logs of jobs cannot where they lie on that disk."""
    if os.path.isdir(RESULTS) and shutil.disk_usage(RESULTS).free < 2**16:
        print(f"No space left on the disk of {RESULTS}; make some and run again", file=sys.stderr)
