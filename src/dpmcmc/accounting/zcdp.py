"""Zero-concentrated DP of Gaussian mechanisms, classic conversion (thesis, Theorems 3.1, 4.2)."""

import math

from dpmcmc.accounting.gaussian import total_mu
from dpmcmc.accounting.mechanisms import GaussianMechanism, require
from dpmcmc.accounting.sequences import Prepared, main_part


def check(mechanism):
    """Raise a TypeError or ValueError, with the reason, for a mechanism that is not priced."""
    require(main_part(mechanism), "zcdp", GaussianMechanism)


def delta(mechanism, iterations, epsilon):
    """delta that the iterations of a Gaussian mechanism cost at epsilon; an upper bound.

    k iterations with mu each are rho-zCDP with rho = k mu^2 / 2, hence (epsilon, delta)-DP with
    delta = exp(-(epsilon - rho)^2 / (4 rho)) while rho < epsilon (Bun and Steinke 2016,
    Proposition 1.3): the theorems' rho = (sqrt(eps - ln delta) - sqrt(-ln delta))^2, solved for
    delta.

    Parameters
    ----------
    mechanism : GaussianMechanism, or Prepared with such iterations or free ones
    iterations : int
        >= 0.
    epsilon : float
        > 0.

    Raises
    ------
    TypeError
        If the mechanism is not Gaussian.
    """
    check(mechanism)
    if isinstance(mechanism, Prepared):
        rho = total_mu(mechanism, iterations) ** 2 / 2
    else:
        rho = iterations * mechanism.mu**2 / 2
    if rho == 0:
        return 0.0
    if rho >= epsilon:
        return 1.0
    return math.exp(-((epsilon - rho) ** 2) / (4 * rho))
