"""Exact accounting of Gaussian releases (thesis, Theorems 2.11 (3), 3.2 and 4.3)."""

import math

from scipy.special import log_ndtr

from dpmcmc.accounting.releases import GaussianRelease, require


def delta(release, iterations, epsilon):
    """delta that the iterations of a Gaussian release cost at epsilon; tight.

    k iterations with mu each compose to one Gaussian release with mu sqrt(k), whose curve is
    Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle and Wang 2018, Theorem 8). The
    difference is taken between logarithms: e^eps overflows near eps = 700.

    Parameters
    ----------
    release : GaussianRelease
    iterations : int
        >= 0.
    epsilon : float
        >= 0.

    Raises
    ------
    TypeError
        If the release is not Gaussian.
    """
    require(release, GaussianRelease, "gaussian")
    if iterations == 0:
        return 0.0
    mu = release.mu * math.sqrt(iterations)
    log_first = log_ndtr(mu / 2 - epsilon / mu)
    log_second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return math.exp(log_first) * -math.expm1(min(log_second - log_first, 0.0))
