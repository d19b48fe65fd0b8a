"""Numbers that the page on the mixture keeps of chains: modes, widths and running errors."""

import numpy as np

from dpmcmc.evaluation.metrics import kept_draws, thin
from dpmcmc.files import read_npz
from dpmcmc_studies.reporting.draws import chain_path

DOTS = 1000  # draws of a chain that are drawn
NUM_ENDS = 40  # up to which the errors of a chain are shown


def results_of_cell(study, model, algorithm, run, seeds, reference, first):
    """Numbers that the page shows of the chains of a cell, as arrays by name.

    Parameters
    ----------
    study : StudyResults
    model, algorithm : str
        Ids.
    run : str
        As it stands in paths.
    seeds : sequence of int
    reference : (size, 2) array
        Of the posterior.
    first : float
        Share of the positions before which errors are not shown.

    Returns
    -------
    dict of str to array
        `second_shares` and `variances`, (chains,), and `num_draws`, of the kept draws of each
        chain; `draws`, some of the first chain; `of_mean` and `of_variance`, (chains, e), errors of
        the first `ends`, (e,), of `num_positions`.
    """
    positions = np.stack(
        [read_npz(chain_path(study, model, algorithm, run, seed))["positions"] for seed in seeds]
    )
    draws = np.stack([kept_draws(chain) for chain in positions])
    length = positions.shape[1]
    ends = np.unique(np.linspace(max(1, first * length), length, NUM_ENDS).astype(int))
    of_mean, of_variance = running_errors(positions, reference, ends)
    return {
        "second_shares": second_shares(draws),
        "variances": variances(draws),
        "num_draws": draws.shape[1],
        "draws": thin(draws[0], DOTS).astype(np.float32),
        "num_positions": length,
        "ends": ends,
        "of_mean": of_mean,
        "of_variance": of_variance,
    }


def second_shares(draws):
    """Share of the second mode in draws of each chain, (chains,)."""
    return (draws[..., 1] < 0).mean(axis=1)


def variances(draws):
    """Variances of both components, added up, in draws of each chain, (chains,)."""
    return draws.var(axis=1, ddof=1).sum(axis=-1)


def running_errors(chains, reference, ends):
    """Errors of the mean and of the variance of the first iterations of chains.

    Parameters
    ----------
    chains : (m, k, d) array
        Positions, evenly spaced.
    reference : (size, d) array
        Of the posterior.
    ends : (e,) array of int
        Up to which positions.

    Returns
    -------
    of_mean, of_variance : (m, e) arrays
        Euclidean norms of the differences from the reference's mean and variances.
    """
    counts = np.arange(1, chains.shape[1] + 1)[:, None]
    means = chains.cumsum(axis=1) / counts
    centre = reference.mean(axis=0)
    squares = ((chains - centre) ** 2).cumsum(axis=1) / counts
    variances = squares - (means - centre) ** 2
    at = np.asarray(ends) - 1
    return (
        np.linalg.norm(means[:, at] - centre, axis=2),
        np.linalg.norm(variances[:, at] - reference.var(axis=0), axis=2),
    )
