"""Numbers that the page on the normal mean keeps of chains: their moments."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from dpmcmc.evaluation.diagnostics import effective_sample_size
from dpmcmc_studies.reporting.draws import run_of, sample_draws

ENDLESS = 1e150  # stands for what is not finite, of chains that diverge


class Moments(NamedTuple):
    """Moments of the kept draws of each of m chains; arrays of shape (m,)."""

    mean: np.ndarray
    sd: np.ndarray
    ess: np.ndarray  # effective sample size
    kept: int  # draws of a chain


def runs(study, chains, model, algorithms):
    """Algorithms on a model in one dimension, in all their settings: those of sweeps included.

    Parameters
    ----------
    study : StudyResults
    chains : DataFrame
        Table `chains` of the study.
    model : str
        Id.
    algorithms : list of str
        Ids, in whose order the runs come.

    Yields
    ------
    algorithm, run : str
        Run as it stands in paths.
    settings : dict
    cell : DataFrame
        Rows of the table.
    """
    for algorithm in algorithms:
        entry = study.algorithms[algorithm].entries[model]
        of = chains[(chains["model"] == model) & (chains["algorithm"] == algorithm)]
        swept = [key for key in of if key in entry and of[key].notna().any()]
        for _, cell in of.groupby([*swept, "iterations"], sort=False, dropna=False):
            row = cell.iloc[0]
            varied = {key: row[key] for key in swept if pd.notna(row[key])}
            yield algorithm, run_of(study, row), entry | varied, cell


def moments_of_runs(study, chains, model, algorithms):
    """Moments of the chains of `runs`, whose parameters these are: a data frame, a row a chain."""
    tables = []
    for algorithm, run, _, cell in runs(study, chains, model, algorithms):
        draws = [sample_draws(study, model, algorithm, run, r) for r in sorted(cell["sample"])]
        of_chains = moments(np.concatenate(draws))._asdict()
        tables.append(pd.DataFrame({"algorithm": algorithm, "run": run} | of_chains))
    return pd.concat(tables)


def moments(draws):
    """Moments of chains in one dimension; ENDLESS for those of chains that diverge.

    Parameters
    ----------
    draws : (m, k, 1) array
        What is kept of the chains.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, sd = draws.mean(axis=(1, 2)), draws.std(axis=(1, 2), ddof=1)
    is_finite = np.isfinite(mean) & np.isfinite(sd)
    return Moments(
        np.where(is_finite, mean, ENDLESS),
        np.where(is_finite, sd, ENDLESS),
        np.array(
            [
                effective_sample_size(chain[None]) if is_known else math.nan
                for chain, is_known in zip(draws, is_finite, strict=True)
            ]
        ),
        draws.shape[1],
    )
