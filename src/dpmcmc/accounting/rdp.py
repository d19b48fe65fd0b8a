"""Renyi DP of the minibatch DP penalty algorithm (thesis, Theorem 3.5), classic conversion."""

from functools import cache

import numpy as np

from dpmcmc.accounting.amplification import amplified_epsilon, delta_of_renyi_curve
from dpmcmc.accounting.mechanisms import SubsampledGaussianMechanism, require

ORDERS = np.arange(2, 513)


def check(mechanism):
    """Raise a TypeError or ValueError, with the reason, for a mechanism that is not priced."""
    require(mechanism, "rdp", SubsampledGaussianMechanism)


def delta(mechanism, iterations, epsilon):
    """Delta that the iterations of a subsampled Gaussian mechanism cost at epsilon; an upper bound.

    Parameters
    ----------
    mechanism : SubsampledGaussianMechanism
    iterations : int
        >= 0.
    epsilon : float
        > 0.

    Raises
    ------
    TypeError
        If the mechanism is of another kind.
    """
    check(mechanism)
    return delta_of_renyi_curve(ORDERS, renyi_curve(mechanism), iterations, epsilon)


@cache
def renyi_curve(mechanism):
    """Renyi epsilon of one iteration at each of ORDERS; on the batch it is alpha / (2 tau)."""
    base = np.arange(ORDERS[-1] + 1) / (2 * mechanism.noise_variance)
    q = mechanism.sampling_probability
    curve = np.array([amplified_epsilon(alpha, q, base[: alpha + 1]) for alpha in ORDERS])
    curve.setflags(write=False)
    return curve
