"""Zero-concentrated DP of Gaussian releases, classic conversion (thesis, Theorems 3.1 and 4.2)."""

import math

from dpmcmc.accounting.releases import GaussianRelease, require


def check(release):
    """Raise a TypeError or ValueError, with the reason, for a release that is not priced."""
    require(release, "zcdp", GaussianRelease)


def delta(release, iterations, epsilon):
    """delta that the iterations of a Gaussian release cost at epsilon; an upper bound.

    k iterations with mu each are rho-zCDP with rho = k mu^2 / 2, hence (epsilon, delta)-DP with
    delta = exp(-(epsilon - rho)^2 / (4 rho)) while rho < epsilon (Bun and Steinke 2016,
    Proposition 1.3): the theorems' rho = (sqrt(eps - ln delta) - sqrt(-ln delta))^2, solved for
    delta.

    Parameters
    ----------
    release : GaussianRelease
    iterations : int
        >= 0.
    epsilon : float
        > 0.

    Raises
    ------
    TypeError
        If the release is not Gaussian.
    """
    check(release)
    rho = iterations * release.mu**2 / 2
    if rho == 0:
        return 0.0
    if rho >= epsilon:
        return 1.0
    return math.exp(-((epsilon - rho) ** 2) / (4 * rho))
