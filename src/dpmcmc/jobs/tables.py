"""Tables: of the chains of one model, and of the whole study."""

import json
from pathlib import Path

import pandas as pd

from dpmcmc import registry
from dpmcmc.evaluation import tables
from dpmcmc.evaluation.metrics import compare, kept_draws
from dpmcmc.files import read_json, read_npy, read_npz, reading
from dpmcmc.frames import read_csv, write_csv
from dpmcmc.study.streams import generator


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
                record, further, timing = (
                    json.loads(str(contents[key])) for key in ("record", "further", "timing")
                )
                draws = kept_draws(contents["positions"])
            labels = spec["model"], algorithm, stream, seed
            rng = generator(spec["study_seed"], "bandwidth", *labels)
            metrics = compare(rng, draws, sample, posterior_mean, **spec["mmd"])
            rows.append(record | {"kept_draws": len(draws)} | metrics | further)
            keys = {key: row for key, row in record.items() if key in KEYS}
            costs.append(keys | timing | further)
    write_csv(pd.DataFrame(rows), output)
    write_csv(pd.DataFrame(costs), timings)
    write_csv(tables.whole(pd.DataFrame(allowed), "allowed_iterations"), budget_table)


KEYS = ("model", "algorithm", "epsilon", "seed")  # of a row of timings


def study_tables(spec, chains, timings, baselines, budgets, output):
    """Put the tables of all models together, and summarise them, in the directory `output`."""
    write_tables(tables.study_tables(spec, chains, timings, baselines, budgets), output)


def analysis_tables(spec, chains, baselines, models, accounting, output):
    """Rank the algorithms and judge the chapter's claims, in the directory `output`."""
    given = [read_csv(path) for path in (chains, baselines, models)]
    curves = read_csv(*accounting) if accounting else None
    write_tables(tables.analysis_tables(*given, **spec, accounting=curves), output)


def write_tables(tables, directory):
    """Write data frames, a dict by name, as CSV files."""
    for name, table in tables.items():
        write_csv(table, Path(directory, f"{name}.csv"))


def joined_table(parts, output):
    """Put tables of the same columns together."""
    write_csv(tables.concatenate(parts), output)
