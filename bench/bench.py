"""Measure what the study costs, and write the tables of docs/benchmark.md: see `make bench`.

Absolute times belong to the machine; ratios between two versions come from one run, in turn.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dpmcmc.pinned  # before NumPy: it chooses the machine code

# isort: split
import numpy as np

from dpmcmc import machine
from dpmcmc.files import read_json, read_npz
from dpmcmc.kernels.gradients import clipped_gradient_sum
from dpmcmc.kernels.library import kernel_build
from dpmcmc.kernels.ratios import clipped_ratio_sum
from dpmcmc_studies.jobs.table import text_of
from dpmcmc_studies.reporting.provenance import processor
from dpmcmc_studies.study.loading import load_study
from dpmcmc_studies.study.runs import Cell

ROOT = Path(__file__).resolve().parents[1]
TREE = [
    "Snakefile",
    "config.yaml",
    "studies",
    "workflow",
    "profiles",
    "src",
    "notebooks",
    "envs",
]
# Each version chooses its machine code by itself.
ENVIRONMENT = {name: text for name, text in os.environ.items() if name not in machine.PINNED}
ENVIRONMENT["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"  # as workflow/rules/common.smk
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)  # it slows every start
REPEATS = 3


def main():
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True, help="results of the full study")
    parser.add_argument("--base", type=Path, help="a checkout of another version to compare with")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--rows", type=float, default=1e7, help="rows of the largest data set")
    parser.add_argument("--jobs", type=int, nargs="*", default=[1000, 5000, 25000])
    parser.add_argument("--studies", nargs="*", default=["quick", "chapter-6"])
    options = parser.parse_args()

    parts = [
        "# Running times\n\nWritten by `make bench`; see `bench/bench.py`.",
        describe_machine(),
        passes(options.rows),
        steps(),
        chain_jobs(options.results, options.base),
        large_data(options.rows),
        scheduling(options.jobs),
        whole_studies(options.studies),
    ]
    options.output.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def describe_machine():
    """The machine and the build."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{processor()}, {os.cpu_count()} cores, {memory:.0f} GiB; {platform.platform()}, Python "
        f"{platform.python_version()}, numpy {np.__version__}; kernels: {kernel_build()}."
    )


def table(header, rows):
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def best_time(function, budget=0.5):
    """Least wall seconds of a call, over at least three calls and about `budget` seconds."""
    times = []
    while len(times) < 3 or (sum(times) < budget and len(times) < 1000):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def bandwidth():
    """Bytes a second that one core reads from memory."""
    array = np.ones(2**27)  # 1 GiB
    return array.nbytes / best_time(array.sum, budget=3)


def passes(most_rows):
    """Seconds of one pass over all rows, and the share of the memory's bandwidth it uses."""
    per_second = bandwidth()
    rng, rows = np.random.default_rng(1), []
    sizes = [10**k for k in range(4, 8) if 10**k <= most_rows]
    for n in sizes:
        for m in (1, 2, 10, 30):
            statistics = rng.standard_normal((m, n))
            slope, offset = np.full(m, 0.1), np.full(m, 0.05)
            jacobian = np.eye(m)
            bound = 2.0 * np.sqrt(m)
            ratio = best_time(lambda t=statistics, s=slope: clipped_ratio_sum(t, s, 0.01, 0.5))
            gradient = best_time(
                lambda t=statistics, j=jacobian, o=offset, b=bound: clipped_gradient_sum(t, j, o, b)
            )
            shares = [statistics.nbytes / seconds / per_second for seconds in (ratio, gradient)]
            rows.append(
                [
                    f"{n:,}",
                    m,
                    f"{1000.0 * ratio:.3f}",
                    f"{shares[0]:.0%}",
                    f"{1000.0 * gradient:.3f}",
                    f"{shares[1]:.0%}",
                ]
            )
    header = ["rows", "statistics", "ratios (ms)", "of bandwidth", "gradients (ms)", "of bandwidth"]
    return (
        "## One pass over all rows\n\nOne core; best of many calls. Bandwidth is what one core reads "
        f"from memory, {per_second / 1e9:.1f} GB/s by `numpy.sum` of 1 GiB; data in a cache are read "
        "faster than that.\n\n" + table(header, rows)
    )


def steps(num_iterations=20_000):
    """Microseconds of an iteration on a batch, drawing the batch included."""
    banana = dpmcmc.Banana(2, 100_000, 20, 1000, [2000, 2500], [0, 3])
    gauss = dpmcmc.RandomGaussian(10, 100_000, 1e4, 2025, [0, 3, 0])
    samplers = {
        "DP-SGLD": (dpmcmc.DPSGLD(2e-5, 1000, 0.2), dpmcmc.DPSGLD(1.6e-7, 1000, 15)),
        "DP-SGNHT": (dpmcmc.DPSGNHT(1e-3, 1000, 0.2, 50), dpmcmc.DPSGNHT(2e-6, 1000, 12, 30)),
    }
    rows = []
    for model in (banana, gauss):
        target = dpmcmc.Target(model, model.dataset(np.random.default_rng(1)))
        for name, of_models in samplers.items():
            sampler = of_models[model is gauss]
            seconds = []
            for _ in range(REPEATS):
                start = time.process_time()
                dpmcmc.run_chain(
                    sampler, target, dpmcmc.streams(1), model.true_theta, num_iterations
                )
                seconds.append(time.process_time() - start)
            each = 1e6 * min(seconds) / num_iterations
            rows.append([type(model).__name__, model.dimension, name, f"{each:.1f}"])
    return (
        "## An iteration on a batch\n\nOne core, batches of 1000 of 100,000 rows, including the time to "
        "draw the batch; the best of several chains.\n\n"
        + table(["model", "d", "sampler", "microseconds"], rows)
    )


def full_study():
    """The study of config.yaml."""
    return load_study(ROOT)


def run_measured(command, environment=ENVIRONMENT, cwd=None):
    """CPU seconds and wall seconds of a command with its children, from outside."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [*map(str, command)],
        env=environment,
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        sys.exit(f"{command[:6]} failed:\n{errors.decode()[-2000:]}")
    return usage.ru_utime + usage.ru_stime, wall


def chain_command(study, results, cell, output):
    """Command of the chain with seed 0 of a cell."""
    command = [sys.executable, "-m", "dpmcmc_studies", "chain"]
    command += ["--spec", text_of(study.chain(cell, 0))]
    command += ["--dataset", results / f"data/{cell.model}.npy"]
    command += ["--reference", results / f"reference/{cell.model}.npy"]
    command += ["--budget", results / f"budgets/{cell.model}/{cell.algorithm}/{cell.run}.json"]
    precomputed = [
        results / f"precomputed/{name}.json" for name in study.precomputed_by(cell.algorithm)
    ]
    return [*command, "--precomputed", *precomputed, "--output", output]


def chain_jobs(results, base):
    """CPU seconds of a chain job for each algorithm and model at epsilon 4 (circle: 1)."""
    study, rows = full_study(), []
    cells = [c for c in study.cells if c.run == f"epsilon-{1 if c.model == 'circle' else 4}"]
    totals = np.zeros(2)
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory, "chain.npz")
        for cell in cells:
            command = chain_command(study, results, cell, output)
            ours, theirs = [], []
            for _ in range(REPEATS):
                if base:
                    path = {"PYTHONPATH": str(base / "src")}
                    theirs.append(run_measured(command, ENVIRONMENT | path)[0])
                path = {"PYTHONPATH": str(ROOT / "src")}
                ours.append(run_measured(command, ENVIRONMENT | path)[0])
            timing = json.loads(str(read_npz(output)["timing"]))
            parts = [timing[f"{part}_seconds"] for part in ("startup", "load", "sampling")]
            cpu = float(np.median(ours))
            row = [cell.algorithm, cell.model, f"{cpu:.2f}", *(f"{part:.2f}" for part in parts)]
            row += [f"{max(0.0, ours[-1] - sum(parts)):.2f}", timing["peak_rss_mb"]]
            if base:
                row += [f"{np.median(theirs):.2f}", f"{np.median(theirs) / cpu:.1f}"]
                totals += cpu, np.median(theirs)
            rows.append(row)
    header = ["algorithm", "model", "CPU s", "start-up", "load", "sampling", "rest", "peak MB"]
    if base:
        header += ["base CPU s", "base / this"]
        rows.append(["all", "", f"{totals[0]:.1f}", *[""] * 5, f"{totals[1]:.1f}"])
        rows[-1].append(f"{totals[1] / totals[0]:.1f}")
        version = ["git", "-C", base, "log", "-1", "--format=%h of %cs (%s)"]
        version = subprocess.run(version, capture_output=True, text=True, check=True).stdout
        about_base = f"Base is version {version.strip()}, run in turn with this one.\n\n"
    return (
        "## Chain jobs\n\nOne process each, seed 0, epsilon 4 (circle: 1), one thread. CPU seconds "
        f"are of the whole process, seen from outside (median of {REPEATS}). Its parts are those that "
        "the job of the last run reports. The rest is the start and end of the interpreter, and "
        "writing.\n\n" + (about_base if base else "") + table(header, rows)
    )


def large_data(num_rows):
    """A chain on a data set of many rows: what memory it takes beside the data."""
    study = full_study()
    model = study.models["flat-banana-2d"].spec | {"num_rows": int(num_rows)}
    code = (
        "import json, sys, numpy as np\n"
        "from dpmcmc import registry\n"
        "from dpmcmc.files import read_npy\n"
        "from dpmcmc_studies.jobs.chains import measure_process\n"
        "from dpmcmc.likelihoods.target import Target\n"
        "from dpmcmc.samplers.chain import run_chain\n"
        "from dpmcmc.samplers.streams import Streams\n"
        "path, model, sampler = sys.argv[1], *map(json.loads, sys.argv[2:4])\n"
        "target = Target(registry.build(model), read_npy(path))\n"
        "rng = Streams(*map(np.random.default_rng, range(3)))\n"
        "run_chain(registry.build(sampler), target, rng, target.model.true_theta, 20)\n"
        "print(json.dumps(measure_process()))\n"
    )
    cells = [Cell("flat-banana-2d", name, "epsilon-4") for name in ("dp-penalty", "dp-hmc")]
    samplers = {cell.algorithm: study.sampler(cell)["sampler"] for cell in cells}
    rows = []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "data.npy")
        data = np.lib.format.open_memmap(path, "w+", float, (2, int(num_rows)))
        rng = np.random.default_rng(1)
        for column in data:
            column[:] = rng.standard_normal(int(num_rows))
        del data
        for name, sampler in samplers.items():
            arguments = [path, *map(json.dumps, (model, sampler))]
            result = subprocess.run(
                [sys.executable, "-c", code, *map(str, arguments)],
                env=ENVIRONMENT | {"PYTHONPATH": str(ROOT / "src")},
                capture_output=True,
                text=True,
                check=True,
            )
            timing = json.loads(result.stdout)
            data_mb = path.stat().st_size / 2**20
            rows.append(
                [
                    name,
                    f"{int(num_rows):,}",
                    f"{data_mb:.0f}",
                    timing["peak_rss_mb"],
                    f"{timing['peak_rss_mb'] - data_mb:.0f}",
                    timing["cpu_seconds"],
                ]
            )
    return (
        "## Many rows\n\n20 iterations on two statistics. The data are mapped into memory, where "
        "parallel jobs share them. They count in the peak.\n\n"
        + table(["algorithm", "rows", "data MB", "peak MB", "beside data", "CPU s"], rows)
    )


def scheduling(sizes):
    """What Snakemake adds to a job that does nothing."""
    rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as directory:
            shutil.copytree(ROOT / "profiles", Path(directory, "profiles"))
            scheduler = ROOT / "workflow/rules/scheduler.smk"
            Path(directory, "Snakefile").write_text(
                f'include: "{scheduler}"\n'
                f'rule all:\n    input: expand("out/{{i}}", i=range({size}))\n'
                'rule touch:\n    output: "out/{i}"\n    shell: "touch {output}"\n',
                encoding="utf-8",
            )
            command = [Path(sys.executable).with_name("snakemake"), "--cores", os.cpu_count()]
            cpu, wall = run_measured(command, cwd=directory)
            rows.append([f"{size:,}", f"{1e3 * cpu / size:.1f}", f"{1e3 * wall / size:.1f}"])
    return (
        "## Scheduling\n\nJobs that only touch a file, with the profile and the scheduler of the study. "
        "The time is that of Snakemake itself and of the shell.\n\n"
        + table(["jobs", "CPU ms a job", "wall ms a job"], rows)
    )


def whole_studies(names):
    """Wall and CPU seconds of whole studies from nothing, in a warm environment."""
    rows = []
    for name in names:
        with tempfile.TemporaryDirectory() as directory:
            for part in TREE:
                copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
                copy(ROOT / part, Path(directory, part))
            command = [Path(sys.executable).with_name("snakemake"), "--cores", os.cpu_count()]
            if name != "chapter-6":
                command += ["--configfile", f"studies/{name}/study.yaml"]
            cpu, wall = run_measured(command, cwd=directory)
            results = Path(directory, "results", name)
            chains = len(list(results.glob("c*/**/seed-*.npz")))
            in_chains = sum(
                json.loads(str(read_npz(path)["timing"]))["cpu_seconds"]
                for path in results.glob("c*/**/seed-*.npz")
            )
            read_json(results / "provenance.json")  # it has come to its end
            rows.append(
                [
                    name,
                    f"{chains:,}",
                    f"{wall / 60:.1f}",
                    f"{cpu / 60:.1f}",
                    f"{in_chains / 60:.1f}",
                ]
            )
    header = ["study", "chains", "wall min", "CPU min", "of which in chain jobs"]
    return f"## Whole studies\n\nOn {os.cpu_count()} cores.\n\n" + table(header, rows)


if __name__ == "__main__":
    main()
