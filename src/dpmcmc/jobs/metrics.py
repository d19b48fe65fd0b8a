"""Tables of the chains and samples of one model, with their metrics."""

import json
from pathlib import Path

import pandas as pd

from dpmcmc import registry
from dpmcmc.evaluation.metrics import compare, kept_draws
from dpmcmc.files import read_json, read_npy, read_npz, reading
from dpmcmc.frames import whole, write_csv
from dpmcmc.study.streams import generator

KEYS = ("model", "algorithm", "epsilon", "seed")  # of a row of timings


def baseline_table(spec, reference, baselines, output):
    """Compare the baseline samples of a model with its reference sample, as CSV."""
    sample = read_npy(reference)
    posterior_mean = registry.build(spec["model_entry"]).posterior_mean
    rows = []
    for i, draws in enumerate(read_npy(baselines)):
        rng = generator(spec["study_seed"], "bandwidth", spec["model"], "baseline", i)
        metrics = compare(rng, draws, sample, posterior_mean, **spec["mmd"])
        rows.append({"model": spec["model"], "baseline": i} | metrics)
    write_csv(pd.DataFrame(rows), output)


def chain_table(spec, reference, chains, budgets, output, timings, budget_table):
    """Gather the chains of a model with their metrics, their cost and their budgets, as CSV."""
    sample = read_npy(reference)
    posterior_mean = registry.build(spec["model_entry"]).posterior_mean
    rows, costs, allowed = [], [], []
    for algorithm, run, stream in spec["cells"]:
        allowed.append(read_json(Path(budgets, algorithm, f"{run}.json")))
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
            rows.append(record | {"kept_draws": len(draws)} | metrics | changed | varied)
            keys = {key: row for key, row in record.items() if key in KEYS}
            costs.append(keys | timing | varied)
    write_csv(pd.DataFrame(rows), output)
    write_csv(pd.DataFrame(costs), timings)
    write_csv(whole(pd.DataFrame(allowed), "allowed_iterations"), budget_table)
