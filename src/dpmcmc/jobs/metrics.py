"""Tables of the chains and samples of one model, with their metrics."""

import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dpmcmc import registry
from dpmcmc.evaluation.diagnostics import effective_sample_size, split_r_hat
from dpmcmc.evaluation.metrics import compare, covariance, kept_draws
from dpmcmc.files import read_json, read_npy, read_npz, reading
from dpmcmc.frames import whole, write_csv
from dpmcmc.jobs.data import held_out
from dpmcmc.study.data_sets import of_seed, truth
from dpmcmc.study.streams import generator, start_point

KEYS = ("model", "algorithm", "epsilon", "seed")  # of a row of timings
INTERVAL = (0.05, 0.95)  # quantiles
AVERAGED = ("acceptance_rate", "clip_fraction", "gradient_clip_fraction")  # over a sample's chains


def baseline_table(spec, reference, baselines, output, starts):
    """Compare exact samples of a model, and its start points, with its reference sample, as CSV.

    The start points of a sample are compared as chains that never leave them. `posterior_sd` is
    the root of the summed variances of the reference sample.
    """
    sample = read_npy(reference)
    name, model = spec["model"], registry.build(spec["model_entry"])
    others = held_out(spec)

    def metrics(kind, index, draws, own):
        rng = generator(spec["study_seed"], "bandwidth", name, kind, index)
        return compare(rng, draws, own, model, **spec["mmd"], held_out=others)

    samples = read_npy(baselines)
    per_set = samples.shape[-3]
    samples = samples.reshape(-1, *samples.shape[-2:])
    sets = np.arange(len(samples)) // per_set
    exact = [
        {"model": name, "baseline": i}
        | numbered(spec, j)
        | metrics("baseline", i, draws, of_seed(spec, sample, j))
        for i, (j, draws) in enumerate(zip(sets, samples, strict=True))
    ]
    unmoved = []
    m = spec["chains_per_sample"]
    for number in range(spec["seeds"] // m):
        own = of_seed(spec, sample, number)
        starts_of = [
            start_point(spec["study_seed"], name, model, own, seed)
            for seed in range(number * m, (number + 1) * m)
        ]
        draws = np.resize(starts_of, own.shape)  # one after another, again and again
        keys = {"model": name, "seed": number} | numbered(spec, number)
        unmoved.append(keys | metrics("start", number, draws, own))
    owns = [of_seed(spec, sample, j) for j in range(spec.get("data_sets", 1))]
    sds = np.array([math.sqrt(np.trace(covariance(own))) for own in owns])
    write_csv(pd.DataFrame(exact).assign(posterior_sd=sds[sets]), output)
    write_csv(pd.DataFrame(unmoved), starts)


def chain_table(spec, reference, chains, budgets, output, timings, budget_table, mixing):
    """Gather the chains of a model with their metrics, cost, budgets and mixing, as CSV.

    Chains that share a budget are one sample: a row of `chains`, whose `seed` is its number.
    """
    model, sample = registry.build(spec["model_entry"]), read_npy(reference)
    others = held_out(spec)
    rows, costs, allowed, cells = [], [], [], []
    for algorithm, run, stream, seeds in spec["cells"]:
        cost = read_json(Path(budgets, algorithm, f"{run}.json"))
        allowed.append({key: value for key, value in cost.items() if key != "noise_scale"})
        found = [read_chain(chains, algorithm, run, seed) for seed in range(seeds)]
        for number in range(seeds // spec["chains_per_sample"]):
            labels = algorithm, stream, number
            rows.append(sample_row(spec, model, sample, others, found, *labels))
        for chain in found:
            keys = {key: row for key, row in chain.record.items() if key in KEYS}
            costs.append(keys | chain.timing | chain.varied)
        record, varied = found[0].record, found[0].varied
        cell = {key: record[key] for key in ("model", "algorithm", "epsilon", "iterations")}
        kept = np.array([chain.kept for chain in found])
        # Chains of several data sets do not agree, and need not.
        r_hat = math.nan if "data_sets" in spec else split_r_hat(kept)
        cells.append(cell | {"r_hat": r_hat} | varied)
    write_csv(pd.DataFrame(cells), mixing)
    write_csv(pd.DataFrame(rows), output)
    write_csv(pd.DataFrame(costs), timings)
    write_csv(whole(pd.DataFrame(allowed), "allowed_iterations"), budget_table)


def sample_row(spec, model, reference, held_out, chains, algorithm, stream, number):
    """Row of the table `chains` for the sample with a number.

    Parameters
    ----------
    spec : dict
        From `dpmcmc.study.study.Study.chain_table`.
    model : Model
    reference : (size, d) array, or (data_sets, size, d)
    held_out : (k, p) array or None
        Rows to measure accuracy on.
    chains : list of ChainFile, or dict of int to ChainFile
        By seed; with those of the sample.
    algorithm, stream : str
        What seeds the sample's random pairs, with the number.
    number : int
        Of the sample; its chains have the seeds m number, ..., m number + m - 1.
    """
    m = spec["chains_per_sample"]
    part = [chains[seed] for seed in range(number * m, (number + 1) * m)]
    reference = of_seed(spec, reference, number)
    kept = np.array([chain.kept for chain in part])
    draws = np.concatenate(kept)
    rng = generator(spec["study_seed"], "bandwidth", spec["model"], algorithm, stream, number)
    metrics = compare(rng, draws, reference, model, **spec["mmd"], held_out=held_out)
    has_diverged = math.isinf(metrics["mean_error"])
    ess = 0.0 if has_diverged else effective_sample_size(kept)
    of_draws = {"kept_draws": len(draws), "ess": ess}
    if m > 1:
        of_draws["r_hat"] = split_r_hat(kept)
    return (
        part[0].record
        | {"seed": number}
        | {key: mean_of(chain.record[key] for chain in part) for key in AVERAGED}
        | of_draws
        | metrics
        | of_data_set(spec, model, draws, number)
        | {key: sum(chain.changed[key] for chain in part) for key in part[0].changed}
        | part[0].varied
    )


def of_data_set(spec, model, draws, number):
    """Of one data set of several: its number, and the share of components whose interval holds.

    The interval has 90 % of the draws in its middle, and should hold the theta of the data. That of
    a component with a draw that is not finite holds nothing.
    """
    if "data_sets" not in spec:
        return {}
    covered = math.nan
    theta = truth(spec, model, "data", number % spec["data_sets"])
    if theta is not None and len(draws) > 1:
        low, high = np.quantile(np.where(np.isfinite(draws), draws, np.nan), INTERVAL, axis=0)
        covered = float(((low <= theta) & (theta <= high)).mean())
    return numbered(spec, number) | {"coverage": covered}


def numbered(spec, seed):
    """Column `data_set`, where there are several: that of the chain with a seed."""
    return {"data_set": int(seed) % spec["data_sets"]} if "data_sets" in spec else {}


class ChainFile(NamedTuple):
    """What the job of a chain has written."""

    record: dict
    changed: dict
    varied: dict
    timing: dict
    kept: np.ndarray  # draws after burn-in, (k, d)


def read_chain(chains, algorithm, run, seed):
    """`ChainFile` of a seed, below the directory of a model's chains."""
    path = Path(chains, algorithm, run, f"seed-{seed}.npz")
    contents = read_npz(path)
    with reading(path):
        texts = (contents[key] for key in ("record", "changed", "varied", "timing"))
        return ChainFile(
            *(json.loads(str(text)) for text in texts), kept_draws(contents["positions"])
        )


def mean_of(values):
    """Mean of what chains have recorded; None of chains without an iteration."""
    values = list(values)
    return None if None in values else math.fsum(values) / len(values)
