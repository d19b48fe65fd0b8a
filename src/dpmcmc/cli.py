"""One command for each rule of the workflow: `python -m dpmcmc chain ...`.

Each command imports what it needs itself, so that a chain job, of which there are thousands,
starts without pandas, SciPy or matplotlib. `--spec` is a JSON object of the job's own settings
(see `dpmcmc.study.Study`). A result is written under a temporary name and renamed, so a file that
exists is complete.
"""

import argparse
import json
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path

STARTED = time.perf_counter()


class JobError(Exception):
    """An error with one clear line for the person who runs the workflow."""


def main(arguments=None):
    """Run one command; exits with one line on stderr for a JobError."""
    parser = argparse.ArgumentParser(prog="python -m dpmcmc", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(function, *files, spec=True):
        name = function.__name__.replace("_", "-")
        subparser = commands.add_parser(name, help=function.__doc__.splitlines()[0])
        if spec:
            subparser.add_argument("--spec", type=json.loads, required=True)
        for file in files:
            nargs = "+" if file.endswith("+") else None
            subparser.add_argument(f"--{file.rstrip('+')}", required=True, nargs=nargs)
        subparser.set_defaults(function=function)

    command(dataset, "output")
    command(reference, "dataset", "output")
    command(budget, "output")
    command(chain, "dataset", "reference", "budget", "output")
    command(baseline_table, "reference", "output")
    command(chain_table, "reference", "chains", "output", "timings")
    command(study_tables, "chains+", "timings+", "baselines+", "budgets+", "output")
    command(notebook, "notebook", "output", "html", "failed")

    options = vars(parser.parse_args(arguments))
    function = options.pop("function")
    try:
        function(**{key.replace("-", "_"): value for key, value in options.items()})
    except JobError as error:
        sys.exit(f"{function.__name__.replace('_', '-')}: {error}")


def dataset(spec, output):
    """Simulate the data set of a model: its statistics t(x), (m, n), as .npy."""
    import numpy as np

    from dpmcmc.models import build_model
    from dpmcmc.streams import generator

    rng = generator(spec["study_seed"], "data", spec["model"])
    statistics = build_model(spec["model_settings"]).simulate(rng)
    with replacing(output) as file:
        np.save(file, statistics)


def reference(spec, dataset, output):
    """Draw the reference sample (draws, d) and the baseline samples (samples, draws, d)."""
    import numpy as np

    from dpmcmc.models import build_model
    from dpmcmc.streams import generator

    model, statistics = build_model(spec["model_settings"]), read_npy(dataset)

    def draw(*labels):
        rng = generator(spec["study_seed"], *labels)
        return model.sample_posterior(rng, statistics, spec["reference_draws"])

    samples = {
        "reference": draw("reference", spec["model"]),
        "baselines": np.stack(
            [draw("baseline", spec["model"], i) for i in range(spec["baseline_samples"])]
        ),
    }
    with replacing(output) as file:
        np.savez(file, **samples)


def budget(spec, output):
    """Work out how many iterations epsilon and delta allow, as JSON."""
    from dpmcmc.accounting import accountant, max_iterations
    from dpmcmc.samplers import ALGORITHMS

    release = ALGORITHMS[spec["algorithm"]](**spec["settings"]).release(spec["num_rows"])
    delta = accountant(spec["accountant"])
    iterations = max_iterations(delta, release, spec["epsilon"], spec["delta"])
    record = {
        "model": spec["model"],
        "algorithm": spec["algorithm"],
        "epsilon": spec["epsilon"],
        "target_delta": spec["delta"],
        "accountant": spec["accountant"],
        "iterations": iterations,
        "delta": delta(release, iterations, spec["epsilon"]),
    }
    with replacing(output) as file:
        file.write(json.dumps(record, indent=1).encode())


def chain(spec, dataset, reference, budget, output):
    """Run one chain; positions (k, d), is_accepted (k,), start (d,), and a JSON record, as .npz."""
    import numpy as np

    from dpmcmc.models import Target, build_model
    from dpmcmc.samplers import ALGORITHMS, run_chain
    from dpmcmc.streams import chain_streams, start_point

    study_seed, model_id, seed = spec["study_seed"], spec["model"], spec["seed"]
    model = build_model(spec["model_settings"])
    target = Target(model, read_npy(dataset))
    sampler = ALGORITHMS[spec["algorithm"]](**spec["settings"])
    rng = chain_streams(study_seed, model_id, spec["algorithm"], spec["epsilon"], seed)
    start = start_point(study_seed, model_id, model, read_npz(reference)["reference"], seed)
    cost = json.loads(Path(budget).read_text())

    result = run_chain(sampler, target, rng, start, cost["iterations"])

    def mean(values):
        return float(values.mean()) if len(values) else None

    record = {
        "model": model_id,
        "algorithm": spec["algorithm"],
        "epsilon": cost["epsilon"],
        "delta": cost["target_delta"],
        "seed": seed,
        "iterations": cost["iterations"],
        "acceptance_rate": mean(result.is_accepted),
        "clip_fraction": mean(result.clip_fraction),
        "gradient_clip_fraction": mean(result.gradient_clip_fraction),
    }
    with replacing(output) as file:
        np.savez(
            file,
            positions=result.positions,
            is_accepted=result.is_accepted,
            start=start,
            record=json.dumps(record),
            timing=json.dumps(measure_process()),
        )


def baseline_table(spec, reference, output):
    """Compare the baseline samples of a model with its reference sample, as CSV."""
    import pandas as pd

    from dpmcmc.metrics import compare
    from dpmcmc.models import build_model
    from dpmcmc.streams import generator

    samples = read_npz(reference)
    posterior_mean = build_model(spec["model_settings"]).posterior_mean
    rows = []
    for i, draws in enumerate(samples["baselines"]):
        rng = generator(spec["study_seed"], "bandwidth", spec["model"], "baseline", i)
        metrics = compare(rng, draws, samples["reference"], posterior_mean, **spec["mmd"])
        rows.append({"model": spec["model"], "baseline": i} | metrics)
    write_csv(pd.DataFrame(rows), output)


def chain_table(spec, reference, chains, output, timings):
    """Gather the chains of a model, with their metrics, as CSV; and what they cost."""
    import pandas as pd

    from dpmcmc.metrics import compare, kept_draws
    from dpmcmc.models import build_model
    from dpmcmc.streams import generator

    sample = read_npz(reference)["reference"]
    posterior_mean = build_model(spec["model_settings"]).posterior_mean
    rows, costs = [], []
    for algorithm, epsilon in spec["cells"]:
        for seed in range(spec["seeds"]):
            contents = read_npz(Path(chains, algorithm, f"epsilon-{epsilon}", f"seed-{seed}.npz"))
            record, timing = (json.loads(str(contents[key])) for key in ("record", "timing"))
            draws = kept_draws(contents["positions"])
            labels = (spec["model"], algorithm, epsilon, seed)
            rng = generator(spec["study_seed"], "bandwidth", *labels)
            metrics = compare(rng, draws, sample, posterior_mean, **spec["mmd"])
            rows.append(record | {"kept_draws": len(draws)} | metrics)
            keys = {key: record[key] for key in ("model", "algorithm", "epsilon", "seed")}
            costs.append(keys | timing)
    write_csv(pd.DataFrame(rows), output)
    write_csv(pd.DataFrame(costs), timings)


def study_tables(spec, chains, timings, baselines, budgets, output):
    """Put the tables of all models together, and summarise them, in the directory `output`."""
    from dpmcmc import tables

    for name, table in tables.study_tables(spec, chains, timings, baselines, budgets).items():
        write_csv(table, Path(output, f"{name}.csv"))


def notebook(spec, notebook, output, html, failed):
    """Execute a notebook with the parameters of the spec; write it and its rendered page.

    A notebook that fails is kept, with its traceback, under the name `failed`.
    """
    from dpmcmc import notebooks

    with replacing(output) as executed, replacing(html) as page:
        try:
            notebooks.execute(notebook, executed.name, spec)
        except notebooks.NotebookError as error:
            Path(failed).parent.mkdir(parents=True, exist_ok=True)
            os.replace(executed.name, failed)
            raise JobError(f"{error}; the notebook with its traceback is {failed}") from None
        page.write(notebooks.render(executed.name).encode())


# -- Files --------------------------------------------------------------------------------------


@contextmanager
def replacing(path):
    """Open a temporary file beside `path` for writing; on success, it takes that name."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_csv(table, path):
    """Write a data frame; floats in full precision, missing values empty."""
    with replacing(path) as file:
        table.to_csv(file, index=False)


def read_npy(path):
    """Memory-mapped array of a .npy file, so that parallel jobs share its pages."""
    import numpy as np

    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError) as error:
        raise JobError(f"{path} is damaged ({error}); delete it and run again") from error


def read_npz(path):
    """Arrays of an .npz file, by name; never unpickles."""
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as contents:
            return dict(contents)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise JobError(f"{path} is damaged ({error}); delete it and run again") from error


def measure_process():
    """CPU and wall seconds since this process started, and its peak memory in megabytes."""
    import resource

    if sys.platform == "linux":
        # Start of the process in clock ticks since boot. Peak memory since its exec: getrusage
        # would count the memory of the process that it was forked from.
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        wall = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        status = Path("/proc/self/status").read_text()
        peak_kb = int(status.partition("VmHWM:")[2].split()[0])
    else:  # wall time from the import of this module
        wall = time.perf_counter() - STARTED
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cpu_seconds": round(time.process_time(), 3),
        "wall_seconds": round(wall, 3),
        "peak_rss_mb": round(peak_kb / 1024, 1),
    }
