"""Joint cost of releases of the same data, where each is chosen on all that came before.

A joint composition of privacy losses holds for settings that are fixed in advance. Here each
release r has two numbers in place of its curve h_r: delta0_r, and the least mu_r with

    h_r(eps) <= delta_mu_r(eps) + delta0_r        for all eps >= 0,

delta_mu being the curve of the Gaussian mechanism. If the sum of mu_r^2 is at most M^2 and that of
delta0_r at most d, M and d fixed in advance, then all releases together are
(eps, delta_M(eps) + d)-differentially private, for every eps, whoever chose the next one and why
(docs/release.md has the proof; for d = 0 it is a theorem of Smith and Thakurta 2022).

Mechanisms on all rows have delta0 = 0 and lose nothing. Those on batches lose 1 to 4 % of epsilon.
"""

import math
from bisect import bisect
from functools import cache
from itertools import pairwise

from dpmcmc.accounting import certified, gaussian
from dpmcmc.accounting.mechanisms import GaussianMechanism

CURVE_POINTS = 200  # epsilons at which curves are compared
TILTS = 6  # of compositions, each of which is sharp about one epsilon,
SPREAD = 6.0  # from 0 to nearly so many standard deviations of the loss
MOST_MU = 1e3
MOST_EPSILON = 100.0
ROUNDING = 1e-9  # of a searched mu, upwards


def gaussian_delta(mu, epsilon):
    """Delta of a Gaussian mechanism at epsilon >= 0; 0 where mu is."""
    return gaussian.delta([(GaussianMechanism(mu), 1)], epsilon) if mu > 0 else 0.0


def largest_mu(epsilon, delta):
    """Largest mu whose Gaussian mechanism is (epsilon, delta)-private, rounded down."""
    return _bisected(lambda mu: gaussian_delta(mu, epsilon) <= delta) * (1 - ROUNDING)


def mu_and_delta0(releases, delta0):
    """The two numbers of a release: mu_r, rounded up, and the part of `delta0` that it needs.

    Parameters
    ----------
    releases : list of (mechanism, int)
        Of all chains, as `certified.delta` takes it.
    delta0 : float
        What a release on batches may have. One that reads all rows needs none.

    Returns
    -------
    mu, delta0 : float
    """
    certified.check(releases)
    if certified.is_gaussian(releases):
        return gaussian.total_mu(releases), 0.0
    delta = _curve(certified.composition(releases))
    last = 1.0
    while delta(last) > delta0:
        last *= 1.5
        if last > MOST_EPSILON:
            return math.inf, delta0
    epsilons = [
        last * (i / CURVE_POINTS) ** 1.5 for i in range(CURVE_POINTS + 1)
    ]  # closer together near 0
    mu = 0.0
    for low, high in pairwise(epsilons):
        # Both curves fall: from low to high theirs is at most that at low, ours at least at high.
        excess = delta(low) - delta0
        if excess > 0 and gaussian_delta(mu, high) < excess:
            least = _bisected(lambda m, e=excess, h=high: gaussian_delta(m, h) < e)
            mu = max(mu, least * (1 + ROUNDING))
    return mu, delta0


def _curve(composition):
    """Upper bound of delta at any epsilon, from compositions at a few tilts."""
    sd = math.sqrt(composition._cumulants(0.0)[2])
    centres = [sd * SPREAD * i / TILTS for i in range(TILTS)]
    composed = [composition._composed(composition._tilt_at(centre)) for centre in centres]

    @cache
    def delta(epsilon):
        after = bisect(centres, epsilon)
        near = composed[max(after - 1, 0) : after + 1]  # others are bounds too, and larger ones
        return min(1.0, min(c.delta(epsilon) for c in near) / (1 - certified.MARGIN))

    return delta


def _bisected(holds):
    """Largest mu up to which something holds, to a part of 1e-10."""
    low, high = 0.0, MOST_MU
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
