"""The job that a study has thousands of: one chain. It starts without pandas and SciPy."""

import json
import math
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

from dpmcmc import registry
from dpmcmc.files import JobError, read_json, read_npy, reading, replacing
from dpmcmc.likelihoods.target import Target
from dpmcmc.precomputed import with_noise
from dpmcmc.random_streams import chain_streams, start_point
from dpmcmc.samplers.chain import run_chain
from dpmcmc_studies.jobs.samplers import build_sampler
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.data_sets import of_seed

STARTED = time.perf_counter()


def chain(spec: specs.Chain, dataset, reference, budget, precomputed, output):
    """Run one chain; positions (k, d), is_accepted (k,), start (d,), and a JSON record, as .npz.

    With `stored_draws` in the spec the positions are thinned to at most so many.
    """
    model = registry.build(spec.model_entry)
    sampler = build_sampler(spec, precomputed)
    imported = time.process_time()
    study_seed, model_id, seed = spec.study_seed, spec.model, spec.seed
    data = of_seed(spec, read_npy(dataset), seed)
    with reading(dataset):
        target = Target(model, data)
    rng = chain_streams(study_seed, model_id, spec.algorithm, spec.run, seed)
    sample = of_seed(spec, read_npy(reference), seed)
    start = start_point(study_seed, model_id, model, sample, seed, spec.start_sd)
    cost = read_json(budget)
    sampler = with_noise(sampler, cost)
    loaded = time.process_time()

    try:
        result = run_chain(sampler, target, rng, start, cost["iterations"], spec.stored_draws)
    except NotImplementedError as error:  # of a model without exact draws, say
        raise JobError(f"{spec.algorithm} on {model_id}: {error}") from None

    record = {
        "model": model_id,
        "algorithm": spec.algorithm,
        "epsilon": cost["epsilon"],
        "delta": cost["target_delta"],
        "sample": seed,
        "iterations": cost["iterations"],
        "acceptance_rate": mean(result.is_accepted),
        "clip_fraction": mean(result.clip_fraction),
        "gradient_clip_fraction": mean(result.gradient_clip_fraction),
    }
    if sampler.has_free_steps:  # they clip no row
        for name in ("clip_fraction", "gradient_clip_fraction"):
            record[name] = number(getattr(result.preparation, name))
    # Of chains without noise: decisions that clipping has changed.
    is_private = cost["accountant"] is not None
    changed = {} if is_private else {"changed_decisions": int(result.is_changed.sum())}
    parts = {
        "startup_seconds": imported,
        "load_seconds": loaded - imported,
        "sampling_seconds": time.process_time() - loaded,
    }
    timing = measure_process() | {name: round(value, 3) for name, value in parts.items()}
    with replacing(output) as file:
        np.savez(
            file,
            positions=result.positions,
            is_accepted=result.is_accepted,
            start=result.start,
            record=json.dumps(record),
            changed=json.dumps(changed),
            varied=json.dumps(spec.varied),
            timing=json.dumps(timing),
        )


def number(value):
    """A number, None for NaN as JSON has no such."""
    return None if math.isnan(value) else float(value)


def mean(values):
    """Mean of an array, None if it is empty."""
    return float(values.mean()) if len(values) else None


def measure_process():
    """CPU and wall seconds since this process started, and its peak memory in megabytes."""
    if sys.platform == "linux":
        # Start of the process in clock ticks since boot. Peak memory since its exec: getrusage
        # would count the memory of the process that started it, of which it is a copy at first.
        ticks = int(
            Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
        )
        wall = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        peak_kb = int(status.partition("VmHWM:")[2].split()[0])
    else:  # wall time from the import of this module
        wall = time.perf_counter() - STARTED
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cpu_seconds": round(time.process_time(), 3),
        "wall_seconds": round(wall, 3),
        "peak_rss_mb": round(peak_kb / 1024, 1),
    }
