"""The same digits on every x86-64 machine with AVX2: jobs under emulated processors."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, once
from running import environment

from dpmcmc import machine
from dpmcmc_studies.jobs.chain_tables import TABLES
from dpmcmc_studies.jobs.reuse import Reuse
from dpmcmc_studies.jobs.table import text_of
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.loading import load_study

QEMU = shutil.which("qemu-x86_64")
# One cell of each kind, and its iterations: gradients and a Cholesky factor, a batch, Barker's
# test with certified accounting.
RUNS = [
    ("gauss-30d", "dp-hmc", 20),
    ("tempered-banana-10d", "minibatch-dp-penalty", 50),
    ("flat-banana-2d", "dp-barker", 200),
]
# Choices that a user's shell may force on libraries, of which none must reach a job.
FORCED = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Nehalem",
    "OPENBLAS_NUM_THREADS": "2",
    "NUMBA_CPU_NAME": "nehalem",
}
needs_level = pytest.mark.skipif(not machine.is_common(), reason=f"no {machine.LEVEL} here")


@pytest.fixture(scope="module")
def study():
    """One chain of each of `RUNS`, on fewer rows; certified accounting of one."""
    changes = {
        "study": "digits",
        "seeds": 1,
        "reference_draws": 200,
        "models": {model: {"num_rows": 20_000} for model, *_ in RUNS},
        "algorithms": {
            "minibatch-dp-penalty": {"accountant": "rdp"},
            "dp-barker": {"accountant": "certified"},
        },
        "runs": [
            {"models": [model], "algorithms": [algorithm], "iterations": [iterations]}
            for model, algorithm, iterations in RUNS
        ],
        "notebooks": None,
        "accounting_curves": None,
        "audit": None,
        "tuning": None,
    }
    return load_study(ROOT, [], changes)


def commands(study, top):
    """The jobs of a study up to its chains, and the metrics of the last: name and arguments."""
    for name in study.precomputed:
        yield "precompute", {"spec": study.precompute(name), "output": top / f"{name}.json"}
    for cell in study.cells:
        model, tail = cell.model, Path(cell.model, cell.algorithm, cell.run)
        data, reference = top / f"{model}.npy", top / f"{model}-reference.npy"
        budget, chain = top / "budgets" / f"{tail}.json", top / "chains" / tail / "seed-0.npz"
        precomputed = [top / f"{name}.json" for name in study.precomputed_by(cell.algorithm)]
        inputs = {"dataset": data, "reference": reference, "budget": budget}
        inputs["precomputed"] = precomputed
        yield "dataset", {"spec": study.dataset(model), "output": data}
        spec = study.reference(model)
        yield "reference", {"spec": spec, "dataset": data, "output": reference}
        yield "budget", {"spec": study.budget(cell), "output": budget}
        yield "chain", {"spec": study.chain(cell, 0), **inputs, "output": chain}
    yield (
        "chain_table",
        {
            "spec": study.chain_table(model),
            "rows": Reuse(study).rows(*(f"chains/{'/'.join(c)}" for c in study.cells_of(model))),
            "results": top,
            "reference": reference,
            **{name: top / f"{model}-{name}.csv" for name in TABLES},
        },
    )


# All jobs in one process: a start takes seconds under emulation, and digits are no start's.
IN_ONE_PROCESS = """
import json, sys
from dpmcmc_studies.cli import main
for arguments in json.load(sys.stdin):
    main(arguments)
"""


def arguments_of(study, top):
    """Of each job of `commands`, the arguments of its command; makes its directory."""
    for name, options in commands(study, top):
        arguments = [name]
        for option, value in options.items():
            values = value if isinstance(value, list) else [value]
            texts = [text_of(v, True) if isinstance(v, specs.Spec) else str(v) for v in values]
            arguments += [f"--{option}", *texts]
        if "output" in options:
            Path(options["output"]).parent.mkdir(parents=True, exist_ok=True)
        yield arguments


def run_jobs(study, top, *emulator, forced=None):
    """Run the jobs in a directory.

    Each job is a process of its own, as under Snakemake; in the cases that are compared with that,
    with an emulator or with what a shell forces, all are one.
    """
    jobs = list(arguments_of(study, top))
    runs = [([*emulator, sys.executable, "-c", IN_ONE_PROCESS], json.dumps(jobs))]
    if not emulator and not forced:
        runs = [([sys.executable, "-m", "dpmcmc_studies", *job], None) for job in jobs]
    variables = environment() | {"PYTHONPATH": str(ROOT / "src")} | (forced or {})
    for command, text in runs:
        result = subprocess.run(
            command, env=variables, input=text, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr[-2000:]


def made(top):
    """Contents of all files that the jobs have made in a directory, but for what they took."""
    found = {}
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top).as_posix()
        if path.suffix == ".npz":
            with np.load(path) as chain:
                found |= {f"{name} {k}": chain[k].tobytes() for k in chain if k != "timing"}
        elif path.is_file() and not name.endswith("timings.csv"):
            found[name] = path.read_bytes()
    return found


@pytest.fixture(scope="module")
def native(study, tmp_path_factory):
    return made(once(tmp_path_factory, "native", lambda top: run_jobs(study, top)))


@needs_level
@pytest.mark.skipif(QEMU is None, reason="no qemu-x86_64 (Debian package qemu-user)")
@pytest.mark.parametrize(
    "processor", ["Skylake-Server", pytest.param("EPYC", marks=pytest.mark.torture)]
)
def test_jobs_on_another_processor_give_the_same_bytes(study, native, tmp_path, processor):
    """As far as the emulation reaches, which is AVX2: vendor, family and caches differ."""
    run_jobs(study, tmp_path, QEMU, "-cpu", processor)
    assert made(tmp_path) == native


@needs_level
def test_what_a_shell_forces_on_libraries_changes_nothing(study, native, tmp_path):
    run_jobs(study, tmp_path, forced=FORCED)
    assert made(tmp_path) == native


SUM = (
    "import numpy as np; rng = np.random.default_rng(1);"
    "x = rng.standard_normal((300, 30));"
    "print(np.exp(x @ x.T / 30).sum().hex(), np.linalg.inv(x.T @ x).sum().hex())"
)


@needs_level
def test_digits_would_differ_where_nothing_is_pinned():
    """So the other tests can fail: the package alone leaves the choice to NumPy."""
    digits = []
    pinned = f"import dpmcmc; dpmcmc.pin(); {SUM}"
    for forced, code in ((FORCED, f"import dpmcmc; {SUM}"), ({}, pinned)):
        variables = environment() | {"PYTHONPATH": str(ROOT / "src")} | forced
        command = [sys.executable, "-c", code]
        digits.append(
            subprocess.run(command, env=variables, capture_output=True, check=True).stdout
        )
    assert digits[0] != digits[1]
