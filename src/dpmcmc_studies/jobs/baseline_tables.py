"""Tables of exact samples and of start points of one model, with their metrics."""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from dpmcmc import registry
from dpmcmc.evaluation.metrics import compare, covariance
from dpmcmc.files import read_npy
from dpmcmc.random_streams import generator, start_point
from dpmcmc_studies.frames import read_csv, write_csv
from dpmcmc_studies.jobs.data import held_out
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.data_sets import numbered, of_seed


def baseline_table(
    spec: specs.BaselineTable, rows: specs.Rows, reference, baselines, exact, starts
):
    """Compare exact samples of a model, and its start points, with its reference sample, as CSV.

    The start points of a sample are compared as chains that never leave them. `posterior_sd` is
    the root of the summed variances of the reference sample. Rows that are taken are those that are
    committed.
    """
    [taken] = rows.parts.values()
    if taken:
        committed = [read_csv(Path(rows.tables, f"{name}.csv")) for name in ("baselines", "starts")]
        tables = [table[table["model"] == spec.model] for table in committed]
    else:
        tables = compared(spec, reference, baselines)
    for table, path in zip(tables, (exact, starts), strict=True):
        write_csv(table, path)


def compared(spec, reference, baselines):
    """Data frames of exact samples, and of start points."""
    sample = read_npy(reference)
    name, model = spec.model, registry.build(spec.model_entry)
    others = held_out(spec)

    def metrics(kind, index, draws, own):
        rng = generator(spec.study_seed, "bandwidth", name, kind, index)
        return compare(rng, draws, own, model, **spec.mmd, held_out=others)

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
    m = spec.chains_per_sample
    for number in range(spec.seeds // m):
        own = of_seed(spec, sample, number)
        starts_of = [
            start_point(spec.study_seed, name, model, own, seed)
            for seed in range(number * m, (number + 1) * m)
        ]
        draws = np.resize(starts_of, own.shape)  # one after another, again and again
        keys = {"model": name, "sample": number} | numbered(spec, number)
        unmoved.append(keys | metrics("start", number, draws, own))
    owns = [of_seed(spec, sample, j) for j in range(spec.data_sets or 1)]
    sds = np.array([math.sqrt(np.trace(covariance(own))) for own in owns])
    return pd.DataFrame(exact).assign(posterior_sd=sds[sets]), pd.DataFrame(unmoved)
