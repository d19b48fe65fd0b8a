"""Renyi DP of the minibatch DP penalty algorithm (thesis, Theorem 3.5), classic conversion."""

from functools import cache

import numpy as np

from dpmcmc.accounting.amplification import amplified_epsilon, delta_of_renyi_curve
from dpmcmc.accounting.releases import SubsampledGaussianRelease, require

ORDERS = np.arange(2, 513)


def check(release):
    """Raise a TypeError or ValueError, with the reason, for a release that is not priced."""
    require(release, "rdp", SubsampledGaussianRelease)


def delta(release, iterations, epsilon):
    """Delta that the iterations of a subsampled Gaussian release cost at epsilon; an upper bound.

    Parameters
    ----------
    release : SubsampledGaussianRelease
    iterations : int
        >= 0.
    epsilon : float
        > 0.

    Raises
    ------
    TypeError
        If the release is of another kind.
    """
    check(release)
    return delta_of_renyi_curve(ORDERS, renyi_curve(release), iterations, epsilon)


@cache
def renyi_curve(release):
    """Renyi epsilon of one iteration at each of ORDERS; on the batch it is alpha / (2 tau)."""
    base = np.arange(ORDERS[-1] + 1) / (2 * release.noise_variance)
    q = release.sampling_probability
    curve = np.array([amplified_epsilon(alpha, q, base[: alpha + 1]) for alpha in ORDERS])
    curve.setflags(write=False)
    return curve
