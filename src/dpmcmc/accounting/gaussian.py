"""Exact accounting of Gaussian mechanisms (thesis, Theorems 2.11 (3), 3.2 and 4.3)."""

import math

from scipy.special import erfcx, log_ndtr

from dpmcmc.accounting.mechanisms import GaussianMechanism, require
from dpmcmc.accounting.search import cost_epsilon

MIDPOINT_MU = 1e-4  # the midpoint of so short an interval is good to seven digits and more


def check(releases):
    """Raise a TypeError, with the reason, for a mechanism that is not priced."""
    require(releases, "gaussian", GaussianMechanism)


def delta(releases, epsilon):
    """Delta that Gaussian mechanisms cost at epsilon; tight.

    k of them with mu each compose to one Gaussian mechanism with mu sqrt(k), whose curve is
    Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle and Wang 2018, Theorem 8). The
    difference is taken between logarithms: e^eps overflows near eps = 700. For a small mu, where it
    would lose its digits, it is the integral of phi(x) (1 - z R(z)), x = eps/mu - mu/2 and R Mills'
    ratio, over the mu from x on, by the midpoint z.

    Parameters
    ----------
    releases : list of (GaussianMechanism, int)
    epsilon : float
        >= 0.

    Raises
    ------
    TypeError
        If a mechanism is not Gaussian.
    """
    check(releases)
    mu = total_mu(releases)
    if mu == 0:
        return 0.0
    if mu < MIDPOINT_MU:
        x, z = epsilon / mu - mu / 2, epsilon / mu
        mills = math.sqrt(math.pi / 2) * float(erfcx(z / math.sqrt(2)))
        return mu * max(0.0, 1 - z * mills) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    log_first = log_ndtr(mu / 2 - epsilon / mu)
    log_second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return math.exp(log_first) * -math.expm1(min(log_second - log_first, 0.0))


def total_mu(releases):
    """The mu of the one Gaussian mechanism to which all in a list compose; 0 without any."""
    return math.hypot(
        *(
            mechanism.mu * math.sqrt(count)
            for mechanism, count in releases
            if isinstance(mechanism, GaussianMechanism)
        )
    )


def epsilon(releases, delta_wanted):
    """Least epsilon at which they cost that delta, to a part of 1e-6, from above."""
    return cost_epsilon(lambda at: delta(releases, at), delta_wanted)
