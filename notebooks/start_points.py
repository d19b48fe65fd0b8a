"""Points where the chains of a study start, and how many lie off the posterior."""

import numpy as np

from dpmcmc.random_streams import start_point

RARE = 0.01  # share of the draws whose density is lower: a start below that is off the posterior


def starts_of(study, model, target, reference):
    """Points where the chains on a model start, (seeds, d)."""
    return np.array(
        [
            start_point(study.seed, model, target.model, reference, seed)
            for seed in range(study.seeds)
        ]
    )


def num_off(target, reference, starts):
    """Number of starts where the density is below that of 99 % of the reference sample.

    Parameters
    ----------
    target : Target
    reference : (size, d) array
    starts : (m, d) array
    """
    centre = reference[0]
    of_reference, of_starts = (
        [target.log_density_ratio(centre, theta) for theta in points]
        for points in (reference, starts)
    )
    return int((np.array(of_starts) < np.quantile(of_reference, RARE)).sum())
