"""Tables of the chains of one model, with their metrics."""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from dpmcmc.evaluation.diagnostics import effective_sample_size, split_r_hat
from dpmcmc.evaluation.metrics import compare
from dpmcmc.random_streams import generator
from dpmcmc_studies.frames import read_csv, whole, write_csv
from dpmcmc_studies.jobs.chain_files import Given
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.data_sets import numbered, of_seed, truth

TABLES = ("chains", "timings", "budgets", "mixing")
WHOLE = {"chains": "changed_decisions", "budgets": "allowed_iterations"}  # some are missing
INTERVAL = (0.05, 0.95)  # quantiles
AVERAGED = ("acceptance_rate", "clip_fraction", "gradient_clip_fraction")  # over a sample's chains


def chain_table(
    spec: specs.ChainTable, rows: specs.Rows, results, reference, chains, timings, budgets, mixing
):
    """Gather the chains of a model with their metrics, cost, budgets and mixing, as CSV.

    Chains that share a budget are one sample: a row of `chains`, whose `sample` is its number. Rows
    of a cell that is taken are those that are committed.

    Parameters
    ----------
    spec : specs.ChainTable
    rows : specs.Rows
        Of the cells.
    results : path
        Directory of the study's results, with chains and budgets.
    reference : path or None
        None where all rows are committed.
    chains, timings, budgets, mixing : path
        Tables that are written.
    """
    committed = {}
    if any(rows.parts.values()):
        committed = {name: read_csv(Path(rows.tables, f"{name}.csv")) for name in TABLES}
    by_cell = {
        name: dict(list(table.groupby(specs.CELL_COLUMNS))) for name, table in committed.items()
    }
    given, records = Given(spec, results, reference), {name: [] for name in TABLES}
    for algorithm, run, stream, seeds in spec.cells:
        cell = spec.model, algorithm, run
        if rows.parts[f"chains/{'/'.join(cell)}"]:
            of_cell = {name: by_cell[name][cell].to_dict("records") for name in TABLES}
        else:
            of_cell = cell_rows(given, algorithm, run, stream, range(seeds))
        for name in TABLES:
            records[name] += [row | {"run": run} for row in of_cell[name]]
    for name, path in zip(TABLES, (chains, timings, budgets, mixing), strict=True):
        table = pd.DataFrame(records[name])
        columns = [*dict.fromkeys([*committed.get(name, ()), *table])]
        columns.append(columns.pop(columns.index("run")))
        write_csv(whole(table[columns], WHOLE.get(name)), path)


def cell_rows(given, algorithm, run, stream, seeds):
    """Rows of one cell for each table of chains, lists of dicts by the name of the table.

    Parameters
    ----------
    given : Given
    algorithm, run : str
        As in paths.
    stream : str
        Label of the run in random streams.
    seeds : range
    """
    spec, found = given.spec, given.chains(algorithm, run, seeds)
    cost = given.budget(algorithm, run)
    m = spec.chains_per_sample
    samples = [
        sample_row(given, found[number * m : (number + 1) * m], algorithm, stream, number)
        for number in range(len(found) // m)
    ]
    medians = pd.DataFrame([chain.timing for chain in found]).median().round(3).to_dict()
    budget = {key: value for key, value in cost.items() if key != "noise_scale"}
    record = found[0].record
    ids = {key: record[key] for key in ("model", "algorithm", "epsilon")}
    cell = ids | {"iterations": record["iterations"]}
    timing = ids | {"chains": len(found)} | medians | found[0].varied
    # Chains of several data sets do not agree, and need not.
    kept = np.array([chain.kept for chain in found])
    r_hat = math.nan if spec.data_sets else split_r_hat(kept)
    rows = samples, [timing], [budget], [cell | {"r_hat": r_hat} | found[0].varied]
    return dict(zip(TABLES, rows, strict=True))


def sample_row(given, part, algorithm, stream, number):
    """Row of the table `chains` for one sample.

    Parameters
    ----------
    given : Given
    part : list of ChainFile
        Its chains.
    algorithm, stream : str
        What seeds the sample's random pairs, with the number.
    number : int
        Of the sample; its chains have the seeds m number, ..., m number + m - 1.
    """
    spec, model = given.spec, given.model
    reference = of_seed(spec, given.reference, number)
    kept = np.array([chain.kept for chain in part])
    draws = np.concatenate(kept)
    rng = generator(spec.study_seed, "bandwidth", spec.model, algorithm, stream, number)
    metrics = compare(rng, draws, reference, model, **spec.mmd, held_out=given.held_out)
    has_diverged = math.isinf(metrics["mean_error"])
    ess = 0.0 if has_diverged else effective_sample_size(kept)
    of_draws = {"kept_draws": len(draws), "ess": ess}
    if len(part) > 1:
        of_draws["r_hat"] = split_r_hat(kept)
    return (
        part[0].record
        | {"sample": number}
        | {key: mean_of(chain.record[key] for chain in part) for key in AVERAGED}
        | of_draws
        | metrics
        | of_data_set(spec, model, draws, number)
        | {key: sum(chain.changed[key] for chain in part) for key in part[0].changed}
        | part[0].varied
    )


def of_data_set(spec, model, draws, number):
    """Columns for one data set of several: its number, and its share of intervals that cover.

    The interval has 90 % of the draws in its middle, and should hold the theta of the data. That of
    a component with a draw that is not finite holds nothing.
    """
    if not spec.data_sets:
        return {}
    covered = math.nan
    theta = truth(spec, model, "data", number % spec.data_sets)
    if theta is not None and len(draws) > 1:
        low, high = np.quantile(np.where(np.isfinite(draws), draws, np.nan), INTERVAL, axis=0)
        covered = float(((low <= theta) & (theta <= high)).mean())
    return numbered(spec, number) | {"coverage": covered}


def mean_of(values):
    """Mean of what chains have recorded; None of chains without an iteration."""
    values = list(values)
    return None if None in values else math.fsum(values) / len(values)
