"""Privacy loss distribution of the minibatch DP penalty algorithm, as published.

The thesis runs the Fourier accountant of Koskela et al. (2020) under substitution. It compares
q N(1, s^2) + (1 - q) N(0, s^2) with q N(-1, s^2) + (1 - q) N(0, s^2), s = sqrt(tau): means that are
two sensitivities apart, where those of the release are one. Valid, but loose. dp_accounting
computes the privacy loss of the same pair, rounded to the safe side;
`dpmcmc.accounting.privacy_loss` composes it, from above as well.
"""

import math
from functools import lru_cache

from dpmcmc.accounting.privacy_loss import PrivacyLoss
from dpmcmc.accounting.releases import SubsampledGaussianRelease, require


def check(release):
    """Raise a TypeError or ValueError, with the reason, for a release that is not priced."""
    require(release, "published-pld", SubsampledGaussianRelease)


def delta(release, iterations, epsilon):
    """Delta that the iterations of a subsampled Gaussian release cost at epsilon; an upper bound.

    Parameters
    ----------
    release : SubsampledGaussianRelease
    iterations : int
        >= 0.
    epsilon : float
        >= 0.

    Raises
    ------
    TypeError
        If the release is of another kind.
    """
    check(release)
    if iterations == 0:
        return 0.0
    return one_iteration(release).delta(iterations, epsilon)


@lru_cache(maxsize=8)
def one_iteration(release):
    """`PrivacyLoss` of one iteration."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution

    pair = privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=release.noise_variance**0.5,
        sampling_prob=release.sampling_probability,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    )
    pmf = pair._pmf_remove.to_dense_pmf()  # the pair is symmetric: "add" is the same
    return PrivacyLoss(pmf._discretization, pmf._lower_loss, pmf._probs, pmf._infinity_mass)


def loss_variance(release):
    """About the variance of the privacy loss of one iteration, for small batches."""
    check(release)
    q = release.sampling_probability
    return 4 * q**2 * math.sinh(min(1 / release.noise_variance, 50.0))
