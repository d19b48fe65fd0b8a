"""Microseconds an iteration of DP Barker by the size of its batch, beside the least it could take.

    PYTHONPATH=src taskset -c 0 python bench/batches.py --base CHECKOUT

The base is another version with its kernels built; both run in turn, each in its own process, and
the best of many short chains counts, so that other work on the machine matters little. The floor
is what no drawing of uniform batches and no sum over their rows can do without:

* log2 of the number of batches in random bits, at the speed of NumPy's generator;
* the values of the batch's rows, read once: the sooner of NumPy's `take` of these rows, another
  batch each time, and of a bare sum over the statistics of all rows, column by column;
* the rest of an iteration, such as the proposal and the test: one of 64 rows in all.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path

import dpmcmc.pinned  # before NumPy: it chooses the machine code

# isort: split
import numba
import numpy as np
from bench import ENVIRONMENT, ROOT, table

from dpmcmc import registry
from dpmcmc.samplers.barker_correction import Correction
from dpmcmc.samplers.batches import draw_batch
from dpmcmc_studies.study.loading import load_study

NUM_ROWS = 200_000
SIZES = [100, 1000, 10_000, 25_000, 62_400, 100_000]
MODELS = {"flat-banana-2d": 0.00122, "flat-banana-10d": 0.000229}  # and their proposal scales
SECONDS = 0.02  # of a chain
ROUNDS, CALLS = 40, 10


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, help="a checkout of another version to compare with")
    parser.add_argument("--chains", action="store_true", help="run chains when told on stdin")
    options = parser.parse_args()
    if len(os.sched_getaffinity(0)) > 1:
        raise SystemExit("versions are compared on one core: taskset -c 0 python bench/batches.py")
    if options.chains:
        serve()
    else:
        compare([ROOT, *([options.base] if options.base else [])])


def targets():
    """A target for each model, of all rows."""
    models = load_study(ROOT).models
    for name in MODELS:
        model = registry.build(models[name].spec | {"num_rows": NUM_ROWS})
        yield name, dpmcmc.Target(model, model.dataset(np.random.default_rng(1)))


def iteration_times(target, sampler):
    """A function without arguments: seconds of one iteration, from a chain of about SECONDS."""
    rng, start = dpmcmc.streams(1), target.model.true_theta

    def chain_seconds(count):
        before = time.process_time()
        dpmcmc.run_chain(sampler, target, rng, start, count)
        return time.process_time() - before

    chain_seconds(3 + 2 * NUM_ROWS // sampler.batch_size)  # until all that pays is prepared
    count = math.ceil(SECONDS / (chain_seconds(20) / 20))
    return lambda: chain_seconds(count) / count


def serve():
    """Run a round of chains for each line of standard input, and print their times."""
    correction = Correction.compute()
    chains = [
        iteration_times(target, dpmcmc.DPBarker(dpmcmc.GaussianWalk(MODELS[name]), b, correction))
        for name, target in targets()
        for b in SIZES
    ]
    for _ in sys.stdin:
        print(json.dumps([chain() for chain in chains]), flush=True)


def compare(versions):
    """Measure versions in turn, and the floor in between; print the table."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--chains"],
            env=ENVIRONMENT | {"PYTHONPATH": str(version / "src")},
            **pipes,
        )
        for version in versions
    ]
    times, floors, parts = [[] for _ in versions], [], floor_parts()
    for _ in range(ROUNDS):
        for process, some in zip(processes, times, strict=True):
            process.stdin.write("\n")
            process.stdin.flush()
            some.append(json.loads(process.stdout.readline()))
        floors.append([[part() for part in some] for some in parts])
    for process in processes:
        process.communicate()
    ours, *base = (1e6 * np.min(some, axis=0) for some in times)
    floors = 1e6 * np.min(floors, axis=0)
    labels = [(name, b) for name in MODELS for b in SIZES]
    rows = []
    for i, (name, b) in enumerate(labels):
        measured = [f"{some[i]:.0f}" for some in (*base, ours)]
        ratio = f"{ours[i] / floors[i].sum():.1f}"
        rows.append([name, f"{b:,}", *measured, *floor_cells(floors[i]), ratio])
    header = ["model", "b", *(["before"] if base else []), "now", "floor"]
    header += ["bits + rows + rest", "now / floor"]
    print(f"n = {NUM_ROWS:,}; microseconds, best of {ROUNDS}\n\n{table(header, rows)}")


def floor_cells(parts):
    """The floor, and what it is the sum of, as text."""
    return f"{parts.sum():.0f}", " + ".join(f"{part:.0f}" for part in parts)


def floor_parts():
    """Functions that time random bits, reading and the rest, by model and size of a batch."""

    @numba.njit(fastmath=True)
    def bare_sum(values):
        total = 0.0
        for value in values.flat:
            total += value
        return total

    rng = dpmcmc.streams(2)
    correction = Correction.compute()
    parts = []
    for name, target in targets():
        tiny = registry.build(load_study(ROOT).models[name].spec | {"num_rows": 64})
        tiny = dpmcmc.Target(tiny, target.data[:, :64])
        sampler = dpmcmc.DPBarker(dpmcmc.GaussianWalk(MODELS[name]), 64, correction)
        rest = iteration_times(tiny, sampler)
        statistics = target.likelihood.statistics
        rows = np.ascontiguousarray(statistics.T)
        for b in SIZES:
            batches = cycle([as_indices(draw_batch(rng, NUM_ROWS, b)) for _ in range(CALLS)])
            words = math.ceil(log2_binomial(NUM_ROWS, b) / 64)
            parts.append(
                [
                    lambda k=words: seconds(lambda: rng.noise.bit_generator.random_raw(k)),
                    lambda s=statistics, r=rows, i=batches: min(
                        seconds(lambda: bare_sum(s)), seconds(lambda: r.take(next(i), axis=0))
                    ),
                    rest,
                ]
            )
    return parts


def seconds(function):
    """Least seconds of a few calls."""
    times = []
    for _ in range(CALLS):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def as_indices(batch):
    """Indices of a batch's rows."""
    return np.flatnonzero(batch) if batch.dtype == bool else batch


def log2_binomial(n, b):
    """Bits that a batch of b of n rows holds."""
    return (math.lgamma(n + 1) - math.lgamma(b + 1) - math.lgamma(n - b + 1)) / math.log(2)


if __name__ == "__main__":
    main()
