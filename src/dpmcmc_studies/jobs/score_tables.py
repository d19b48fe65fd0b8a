"""Tables of scores of the chains of one model: what each is worth beside its reference draws.

Scores are a table and parts of their own, so that they make no other number old.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from dpmcmc.evaluation import scores
from dpmcmc_studies.frames import read_csv, write_csv
from dpmcmc_studies.jobs.chain_files import Given
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.data_sets import numbered, of_seed

KEYS = ("model", "algorithm", "epsilon", "iterations")  # of a chain's record


def score_table(spec: specs.ScoreTable, rows: specs.Rows, results, reference, output):
    """Score all samples of a model by its reference draws, as CSV.

    Chains that share a budget are one sample. Rows of a cell that is taken are those that are
    committed.

    Parameters
    ----------
    spec : specs.ScoreTable
    rows : specs.Rows
        Of the cells.
    results : path
        Directory of the study's results, with the chains.
    reference : path or None
        None where all rows are committed.
    output : path
        The table that is written.
    """
    committed = {}
    if any(rows.parts.values()):
        table = read_csv(Path(rows.tables, "scores.csv"))
        committed = dict(list(table.groupby(specs.CELL_COLUMNS)))
    given = Given(spec, results, reference)
    prior, records = scores.prior_draws(given.model), []
    for algorithm, run, _, seeds in spec.cells:
        cell = spec.model, algorithm, run
        if rows.parts[f"scores/{'/'.join(cell)}"]:
            of_cell = committed[cell].dropna(axis="columns", how="all").to_dict("records")
        else:
            of_cell = cell_scores(given, prior, algorithm, run, range(seeds))
        records += [row | {"run": run} for row in of_cell]
    table = pd.DataFrame(records)
    write_csv(table[[*table.columns.drop("run"), "run"]], output)


def cell_scores(given, prior, algorithm, run, seeds):
    """Rows of one cell, a list of dicts: a row a sample.

    Where the model has several simulated data sets, `widened_ratio` is the score ratio of intervals
    that are widened by one factor. The factor for a data set is found on the others, which are
    simulated in the same way: so a user could find it without data.

    Parameters
    ----------
    given : Given
    prior : (m, d) array or None
        Draws of the prior, whose intervals a sample gets that has none.
    algorithm, run : str
        As in paths.
    seeds : range
    """
    spec, found = given.spec, given.chains(algorithm, run, seeds)
    m = spec.chains_per_sample
    parts = [found[first : first + m] for first in range(0, len(found), m)]
    rows = [score_row(given, prior, part, number) for number, part in enumerate(parts)]
    if spec.data_sets and spec.data_sets > 1:
        samples = [drawn(given, part, number) for number, part in enumerate(parts)]
        for number, (row, sample) in enumerate(zip(rows, samples, strict=True)):
            others = (i for i in range(len(parts)) if (i - number) % spec.data_sets)
            factor = scores.widening_factor(samples[i] for i in others)
            widened = scores.interval_metrics(*sample, prior, factor=factor)
            row["widened_ratio"] = widened["score_ratio"]
    return rows


def score_row(given, prior, part, number):
    """Row of one sample, without what other samples decide.

    Parameters
    ----------
    given : Given
    prior : (m, d) array or None
    part : list of ChainFile
        Its chains.
    number : int
        Of the sample.
    """
    record, sample = part[0].record, drawn(given, part, number)
    return (
        {key: record[key] for key in KEYS}
        | {"sample": number}
        | numbered(given.spec, number)
        | scores.interval_metrics(*sample, prior)
        | {"energy_ratio": scores.energy_ratio(*sample, prior)}
        | part[0].varied
    )


def drawn(given, part, number):
    """Draws of a sample, (k, d), and those of the exact posterior of its data set, (l, d)."""
    draws = np.concatenate([chain.kept for chain in part])
    return draws, of_seed(given.spec, given.reference, number)
