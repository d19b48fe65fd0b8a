"""Renyi DP of the minibatch DP penalty algorithm (thesis, Theorem 3.5), classic conversion."""

from functools import cache

import numpy as np

from dpmcmc.accounting.amplification import amplified_epsilon, delta_of_renyi_curve
from dpmcmc.accounting.mechanisms import SubsampledGaussianMechanism, require
from dpmcmc.accounting.releases import grouped

ALIKE = 1.01  # ratio of the noise variances of mechanisms that are priced as one kind
ORDERS = np.arange(2, 513)


def check(releases):
    """Raise a TypeError, with the reason, for a mechanism that is not priced."""
    require(releases, "rdp", SubsampledGaussianMechanism)


def delta(releases, epsilon):
    """Delta that subsampled Gaussian mechanisms cost at epsilon; an upper bound.

    Parameters
    ----------
    releases : list of (SubsampledGaussianMechanism, int)
    epsilon : float
        > 0.

    Raises
    ------
    TypeError
        If a mechanism is of another kind.
    """
    check(releases)
    kinds = grouped(releases, ALIKE)
    curves = [count * renyi_curve(mechanism) for mechanism, count in kinds if count]
    return delta_of_renyi_curve(ORDERS, sum(curves), epsilon) if curves else 0.0


@cache
def renyi_curve(mechanism):
    """Renyi epsilon of one iteration at each of ORDERS; on the batch it is alpha / (2 tau)."""
    base = np.arange(ORDERS[-1] + 1) / (2 * mechanism.noise_variance)
    q = mechanism.sampling_probability
    curve = np.array([amplified_epsilon(alpha, q, base[: alpha + 1]) for alpha in ORDERS])
    curve.setflags(write=False)
    return curve
