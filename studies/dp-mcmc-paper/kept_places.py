"""Places that the page on the central limit keeps of chains."""

import numpy as np

from dpmcmc_studies.reporting.draws import run_of, sample_draws


def all_places(study, cells, count):
    """Places of a chain of each cell, (count, d), by `ALGORITHM/MODEL`.

    Parameters
    ----------
    study : StudyResults
    cells : dict of (str, str) to DataFrame
        Rows of the table `chains` by algorithm and model.
    count : int
    """
    return {
        f"{algorithm}/{model}": places(study, model, algorithm, run_as_set(study, cell), count)
        for (algorithm, model), cell in cells.items()
    }


def places(study, model, algorithm, run, count):
    """Places of a chain, evenly spaced among the kept draws, (count, d).

    Parameters
    ----------
    study : StudyResults
    model, algorithm : str
        Ids; the algorithm has a move.
    run : str
        As it stands in paths; the first chain is taken.
    count : int
    """
    draws = sample_draws(study, model, algorithm, run, 0)[0]
    return draws[np.linspace(0, len(draws) - 1, count).astype(int)]


def run_as_set(study, cell):
    """Run, as it stands in paths, of a cell's chains whose swept settings are the algorithm's own.

    Parameters
    ----------
    study : StudyResults
    cell : DataFrame
        Rows of the table `chains`, of one model and algorithm.
    """
    model, algorithm = cell.iloc[0][["model", "algorithm"]]
    own = study.algorithms[algorithm].settings[model]
    swept = [key for key in own if key in cell and cell[key].notna().any()]
    is_own = np.logical_and.reduce(
        [np.ones(len(cell), dtype=bool), *(np.isclose(cell[key], own[key]) for key in swept)]
    )
    return run_of(study, cell[is_own].iloc[0])
