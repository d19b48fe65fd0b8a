"""What a chain says after so many iterations, and what that has cost."""

import numpy as np


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
