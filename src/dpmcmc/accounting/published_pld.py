"""Privacy loss distribution of the minibatch DP penalty algorithm, as published.

The thesis runs the Fourier accountant of Koskela et al. (2020) under substitution. It compares
q N(1, s^2) + (1 - q) N(0, s^2) with q N(-1, s^2) + (1 - q) N(0, s^2), s = sqrt(tau): means that are
two sensitivities apart, where those of the mechanism are one. Valid, but loose. dp_accounting
computes the privacy loss of the same pair, rounded to the safe side;
`dpmcmc.accounting.privacy_loss` composes it, from above as well.
"""

import math
from functools import lru_cache

from dpmcmc.accounting.mechanisms import SubsampledGaussianMechanism, require
from dpmcmc.accounting.privacy_loss import PrivacyLoss

FINEST = 1e-4  # distance of losses on a grid
FINEST_REACH = 40.0  # of the losses on it, from the least to the largest
POINTS = 2**15  # most losses where they reach farther


def check(mechanism):
    """Raise a TypeError or ValueError, with the reason, for a mechanism that is not priced."""
    require(mechanism, "published-pld", SubsampledGaussianMechanism)


def delta(mechanism, iterations, epsilon):
    """Delta that the iterations of a subsampled Gaussian mechanism cost at epsilon; an upper bound.

    Parameters
    ----------
    mechanism : SubsampledGaussianMechanism
    iterations : int
        >= 0.
    epsilon : float
        >= 0.

    Raises
    ------
    TypeError
        If the mechanism is of another kind.
    """
    check(mechanism)
    if iterations == 0:
        return 0.0
    return one_iteration(mechanism).delta(iterations, epsilon)


@lru_cache(maxsize=8)
def one_iteration(mechanism):
    """`PrivacyLoss` of one iteration."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution

    pair = privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=mechanism.noise_variance**0.5,
        sampling_prob=mechanism.sampling_probability,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
        value_discretization_interval=grid(mechanism.noise_variance),
    )
    pmf = pair._pmf_remove.to_dense_pmf()  # the pair is symmetric: "add" is the same
    return PrivacyLoss(pmf._discretization, pmf._lower_loss, pmf._probs, pmf._infinity_mass)


def grid(noise_variance):
    """Distance of the losses of one iteration, which are rounded to the safe side whatever it is.

    On the finest grid small noise would have a million losses, and a price takes minutes.
    """
    reach = (1 + 20 * math.sqrt(noise_variance)) / noise_variance  # ten deviations beyond a mean
    if reach <= FINEST_REACH:
        return FINEST
    return FINEST * 2.0 ** math.ceil(math.log2(reach / FINEST / POINTS))


def loss_variance(mechanism):
    """About the variance of the privacy loss of one iteration, for small batches."""
    check(mechanism)
    q = mechanism.sampling_probability
    return 4 * q**2 * math.sinh(min(1 / mechanism.noise_variance, 50.0))
