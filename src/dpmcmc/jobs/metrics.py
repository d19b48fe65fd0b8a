"""Tables of the chains and samples of one model, with their metrics."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from dpmcmc import registry
from dpmcmc.evaluation.diagnostics import effective_sample_size, split_r_hat
from dpmcmc.evaluation.metrics import compare, kept_draws
from dpmcmc.files import read_json, read_npy, read_npz, reading
from dpmcmc.frames import whole, write_csv
from dpmcmc.study.streams import generator, start_point

KEYS = ("model", "algorithm", "epsilon", "seed")  # of a row of timings


def baseline_table(spec, reference, baselines, output, starts):
    """Compare exact samples of a model, and its start points, with its reference sample, as CSV.

    A start point is compared as a chain that never leaves it.
    """
    sample = read_npy(reference)
    name, model = spec["model"], registry.build(spec["model_entry"])

    def metrics(kind, index, draws):
        rng = generator(spec["study_seed"], "bandwidth", name, kind, index)
        return compare(rng, draws, sample, model.posterior_mean, **spec["mmd"])

    exact = [
        {"model": name, "baseline": i} | metrics("baseline", i, draws)
        for i, draws in enumerate(read_npy(baselines))
    ]
    unmoved = []
    for seed in range(spec["seeds"]):
        start = start_point(spec["study_seed"], name, model, sample, seed)
        draws = np.broadcast_to(start, sample.shape)
        unmoved.append({"model": name, "seed": seed} | metrics("start", seed, draws))
    write_csv(pd.DataFrame(exact), output)
    write_csv(pd.DataFrame(unmoved), starts)


def chain_table(spec, reference, chains, budgets, output, timings, budget_table, mixing):
    """Gather the chains of a model with their metrics, cost, budgets and mixing, as CSV."""
    sample = read_npy(reference)
    posterior_mean = registry.build(spec["model_entry"]).posterior_mean
    rows, costs, allowed, cells = [], [], [], []
    for algorithm, run, stream in spec["cells"]:
        allowed.append(read_json(Path(budgets, algorithm, f"{run}.json")))
        kept = []
        for seed in range(spec["seeds"]):
            path = Path(chains, algorithm, run, f"seed-{seed}.npz")
            contents = read_npz(path)
            with reading(path):
                record, changed, varied, timing = (
                    json.loads(str(contents[key]))
                    for key in ("record", "changed", "varied", "timing")
                )
                draws = kept_draws(contents["positions"])
            labels = spec["model"], algorithm, stream, seed
            rng = generator(spec["study_seed"], "bandwidth", *labels)
            metrics = compare(rng, draws, sample, posterior_mean, **spec["mmd"])
            ess = effective_sample_size(draws)
            of_draws = {"kept_draws": len(draws), "ess": ess}
            rows.append(record | of_draws | metrics | changed | varied)
            keys = {key: row for key, row in record.items() if key in KEYS}
            costs.append(keys | timing | varied)
            kept.append(draws)
        cell = {key: record[key] for key in ("model", "algorithm", "epsilon", "iterations")}
        cells.append(cell | {"r_hat": split_r_hat(np.array(kept))} | varied)
    write_csv(pd.DataFrame(cells), mixing)
    write_csv(pd.DataFrame(rows), output)
    write_csv(pd.DataFrame(costs), timings)
    write_csv(whole(pd.DataFrame(allowed), "allowed_iterations"), budget_table)
