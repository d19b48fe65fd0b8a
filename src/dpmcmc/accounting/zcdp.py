"""Zero-concentrated DP of Gaussian mechanisms, classic conversion (thesis, Theorems 3.1, 4.2)."""

import math

from dpmcmc.accounting.mechanisms import GaussianMechanism, require


def check(releases):
    """Raise a TypeError, with the reason, for a mechanism that is not priced."""
    require(releases, "zcdp", GaussianMechanism)


def delta(releases, epsilon):
    """Delta that Gaussian mechanisms cost at epsilon; an upper bound.

    k of them with mu each are rho-zCDP with rho = k mu^2 / 2, hence (epsilon, delta)-DP with
    delta = exp(-(epsilon - rho)^2 / (4 rho)) while rho < epsilon (Bun and Steinke 2016,
    Proposition 1.3): the theorems' rho = (sqrt(eps - ln delta) - sqrt(-ln delta))^2, solved for
    delta.

    Parameters
    ----------
    releases : list of (GaussianMechanism, int)
    epsilon : float
        > 0.

    Raises
    ------
    TypeError
        If a mechanism is not Gaussian.
    """
    check(releases)
    rho = math.fsum(count * mechanism.mu**2 for mechanism, count in releases) / 2
    if rho == 0:
        return 0.0
    if rho >= epsilon:
        return 1.0
    return math.exp(-((epsilon - rho) ** 2) / (4 * rho))
