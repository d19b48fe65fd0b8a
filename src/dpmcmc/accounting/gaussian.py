"""Exact accounting of Gaussian mechanisms (thesis, Theorems 2.11 (3), 3.2 and 4.3)."""

import math

from scipy.special import erfcx, log_ndtr

from dpmcmc.accounting.mechanisms import GaussianMechanism, require
from dpmcmc.accounting.search import cost_epsilon
from dpmcmc.accounting.sequences import Prepared, main_part

MIDPOINT_MU = 1e-4  # the midpoint of so short an interval is good to seven digits and more


def check(mechanism):
    """Raise a TypeError or ValueError, with the reason, for a mechanism that is not priced."""
    require(main_part(mechanism), "gaussian", GaussianMechanism)


def delta(mechanism, iterations, epsilon):
    """delta that the iterations of a Gaussian mechanism cost at epsilon; tight.

    k iterations with mu each compose to one Gaussian mechanism with mu sqrt(k), whose curve is
    Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle and Wang 2018, Theorem 8). The
    difference is taken between logarithms: e^eps overflows near eps = 700. For a small mu, where it
    would lose its digits, it is the integral of phi(x) (1 - z R(z)), x = eps/mu - mu/2 and R Mills'
    ratio, over the mu from x on, by the midpoint z.

    Parameters
    ----------
    mechanism : GaussianMechanism, or Prepared with such iterations or free ones
    iterations : int
        >= 0.
    epsilon : float
        >= 0.

    Raises
    ------
    TypeError
        If the mechanism is not Gaussian.
    """
    check(mechanism)
    mu = total_mu(mechanism, iterations)
    if mu == 0:
        return 0.0
    if mu < MIDPOINT_MU:
        x, z = epsilon / mu - mu / 2, epsilon / mu
        mills = math.sqrt(math.pi / 2) * float(erfcx(z / math.sqrt(2)))
        return mu * max(0.0, 1 - z * mills) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    log_first = log_ndtr(mu / 2 - epsilon / mu)
    log_second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return math.exp(log_first) * -math.expm1(min(log_second - log_first, 0.0))


def total_mu(mechanism, iterations):
    """mu of the one Gaussian mechanism that the iterations, and a preparation, compose to."""
    if not isinstance(mechanism, Prepared):
        return mechanism.mu * math.sqrt(iterations)
    following = mechanism.iteration.mu if mechanism.iteration else 0.0
    return math.hypot(mechanism.preparations.mu, following * math.sqrt(iterations))


def epsilon(mechanism, iterations, delta_wanted):
    """Least epsilon at which the iterations cost that delta, to a part of 1e-6, from above."""
    return cost_epsilon(delta, mechanism, iterations, delta_wanted)
