# What all rules share: the validated study, where files are, wildcards, resources.

import hashlib
import json
import os
import re
import sys
from importlib.metadata import version
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.basedir)
SOURCE = ROOT / "src"

# Jobs find this checkout's package and this environment's Python, however Snakemake was started.
sys.path.insert(0, str(SOURCE))
os.environ["PYTHONPATH"] = str(SOURCE)
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
# Many jobs run side by side, each on one core.
os.environ |= {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}

from dpmcmc.study import ConfigError, Study, dimension

try:
    study = Study(config, yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text()))
except ConfigError as error:
    raise WorkflowError(f"Configuration: {error}") from None

RESULTS = f"results/{study.name}"
CONDA = "../../envs/environment.yaml"


wildcard_constraints:
    model="|".join(map(re.escape, study.model_ids)),
    algorithm="|".join(map(re.escape, study.algorithm_ids)),
    epsilon="|".join(map(re.escape, study.epsilons)),
    seed=r"\d+",


def source_digest(*names):
    """Digest of parts of the package and of the libraries whose numbers a result depends on.

    Given to rules as a parameter: Snakemake reruns jobs whose parameters change, but does not look
    into imported modules.
    """
    digest = hashlib.sha256()
    for name in ("cli.py", *names):
        path = SOURCE / "dpmcmc" / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.relative_to(SOURCE).as_posix().encode() + b"\0" + file.read_bytes())
    digest.update(" ".join(version(library) for library in ("numpy", "numba", "scipy")).encode())
    return digest.hexdigest()[:16]


MODEL_SOURCE = source_digest("models", "kernels.py", "streams.py")
ACCOUNTING_SOURCE = source_digest("accounting", "samplers")
CHAIN_SOURCE = source_digest("models", "samplers", "kernels.py", "streams.py")
METRICS_SOURCE = source_digest("metrics.py", "kernels.py", "streams.py")
TABLES_SOURCE = source_digest("tables.py")
NOTEBOOK_SOURCE = source_digest("plotting.py", "notebooks.py")


def as_json(settings):
    """Settings of one job, as they go onto its command line."""
    return json.dumps(settings, sort_keys=True)


def chain_files(model):
    """Chains of a model."""
    return [
        f"{RESULTS}/chains/{model}/{cell.algorithm}/epsilon-{cell.epsilon}/seed-{seed}.npz"
        for cell in study.cells_of(model)
        for seed in study.seeds
    ]


def megabytes_of_dataset(model, copies):
    """Memory for copies of a model's data set, beside that of the libraries."""
    settings = study.models[model]
    return 500 + int(copies * settings["num_rows"] * dimension(settings) * 8 / 2**20)
