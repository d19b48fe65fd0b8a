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
from dpmcmc.accounting.privacy_loss import Composition, PrivacyLoss
from dpmcmc.accounting.releases import grouped

ALIKE = 1.01  # ratio of the noise variances of mechanisms that are priced as one kind
FINEST = 1e-4  # distance of losses on a grid
FINEST_REACH = 40.0  # of the losses on it, from the least to the largest
MOST_LOSSES = 2**15  # most losses where they reach farther


def check(releases):
    """Raise a TypeError, with the reason, for a mechanism that is not priced."""
    require(releases, "published-pld", SubsampledGaussianMechanism)


def delta(releases, epsilon):
    """Delta that subsampled Gaussian mechanisms cost at epsilon; an upper bound.

    Parameters
    ----------
    releases : list of (SubsampledGaussianMechanism, int)
    epsilon : float
        >= 0.

    Raises
    ------
    TypeError
        If a mechanism is of another kind.
    """
    check(releases)
    parts = [(mechanism, count) for mechanism, count in grouped(releases, ALIKE) if count]
    if not parts:
        return 0.0
    coarsest = max(grid(mechanism.noise_variance) for mechanism, _ in parts)
    losses = [(privacy_loss(mechanism, coarsest), count) for mechanism, count in parts]
    return Composition(losses).delta(epsilon)


@lru_cache(maxsize=128)
def privacy_loss(mechanism, grid):
    """`PrivacyLoss` of one mechanism, on multiples of `grid`."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution

    pair = privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=mechanism.noise_variance**0.5,
        sampling_prob=mechanism.sampling_probability,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
        value_discretization_interval=grid,
    )
    pmf = pair._pmf_remove.to_dense_pmf()  # the pair is symmetric: "add" is the same
    return PrivacyLoss(pmf._discretization, pmf._lower_loss, pmf._probs, pmf._infinity_mass)


def grid(noise_variance):
    """Distance of the losses of a mechanism, which are rounded to the safe side whatever it is.

    On the finest grid small noise would have a million losses, and a price takes minutes.
    """
    reach = (1 + 20 * math.sqrt(noise_variance)) / noise_variance  # ten deviations beyond a mean
    if reach <= FINEST_REACH:
        return FINEST
    return FINEST * 2.0 ** math.ceil(math.log2(reach / FINEST / MOST_LOSSES))


def loss_variance(mechanism):
    """About the variance of the privacy loss of a mechanism, for small batches."""
    q = mechanism.sampling_probability
    return 4 * q**2 * math.sinh(min(1 / mechanism.noise_variance, 50.0))
