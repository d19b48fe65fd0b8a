"""The accountant that is sound and tight for every mechanism there is.

A Gaussian mechanism on all rows is priced exactly (`dpmcmc.accounting.gaussian`); a mechanism on a
batch drawn without replacement by its privacy loss distribution.

The hockey-stick curve of a mechanism on the batch, h0(alpha) = sup of P(S) - alpha Q(S) over events
and over the mechanisms' worst pair, bounds that of the mechanism on the whole data set by

    h(alpha) = q h0(1 + (alpha - 1) / q)        for alpha >= 1,
    h(1 / alpha) = 1 - 1 / alpha + h(alpha) / alpha   below

(Balle, Barthe and Gaboardi 2018, Theorem 9, for substitution; Zhu, Dong and Wang 2022,
Proposition 30, for the second half). The stitched curve is convex, so one pair of distributions
has it, and mechanisms dominated by that pair compose adaptively to its composition. dp_accounting
turns the curve into a distribution on a grid, rounded to the safe side (Doroshenko et al. 2022);
`dpmcmc.accounting.privacy_loss` composes it, from above as well.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpmcmc.accounting import gaussian
from dpmcmc.accounting.mechanisms import (
    NOISE_VARIANCE,
    BarkerMechanism,
    GaussianMechanism,
    SubsampledGaussianMechanism,
    require,
)
from dpmcmc.accounting.privacy_loss import Composition, PrivacyLoss
from dpmcmc.accounting.releases import grouped

ALIKE = 1.01  # ratio of the noise variances of mechanisms that are priced as one kind
MARGIN = 1e-3  # of delta
ROUNDING = 1e-8  # of the curve, relative: far above what rounding changes in it
GRIDS = {SubsampledGaussianMechanism: 1e-4, BarkerMechanism: 1e-5}  # of losses, or finer:
FINENESS = 50  # points a standard deviation of the loss of one release
# Above 0 on the grid: large losses of small batches get a coarser one. A power of 2, as what losses
# reach is one times the grid, so that kinds which compose stay on one grid.
MOST_LOSSES = 2**17
LARGEST_LOSS = 100.0  # larger ones count as infinite
TAIL_CUTOFF = 1e-25  # losses above which h is less than this count as infinite too


def check(releases):
    """Raise a TypeError, with the reason, for a mechanism that is not priced."""
    require(releases, "certified", GaussianMechanism, *GRIDS)


def delta(releases, epsilon):
    """Delta that a list of releases costs at epsilon; an upper bound.

    Parameters
    ----------
    releases : list of (mechanism, int)
        Of any kind in `dpmcmc.accounting.mechanisms`.
    epsilon : float
        >= 0.

    Returns
    -------
    float
        On batches larger than the computed bound by a thousandth, for numbers given with as many
        digits.

    Raises
    ------
    TypeError
        If a mechanism is of another kind.
    ArithmeticError
        If the cost cannot be computed.
    """
    check(releases)
    if is_gaussian(releases):
        return gaussian.delta(on_all_rows(releases), epsilon)
    computed = composition(releases).delta(epsilon)
    if not math.isfinite(computed):
        raise ArithmeticError(f"the cost of {releases} is not finite")
    return min(1.0, computed / (1 - MARGIN))


def epsilon(releases, delta):
    """Epsilon that they cost at delta, rounded likewise; infinite if delta is too small.

    Parameters as for `delta`.
    """
    check(releases)
    if is_gaussian(releases):
        return gaussian.epsilon(on_all_rows(releases), delta)
    return composition(releases).epsilon(delta * (1 - MARGIN))


def on_all_rows(releases):
    """Entries of a list that are Gaussian mechanisms on all rows."""
    return [entry for entry in releases if isinstance(entry[0], GaussianMechanism)]


def on_batches(releases):
    """Entries on batches, but for those of count 0."""
    return [entry for entry in releases if entry[1] and not isinstance(entry[0], GaussianMechanism)]


def is_gaussian(releases):
    """True if no entry is on a batch."""
    return not on_batches(releases)


def composition(releases):
    """`Composition` of a list, with something of a batch in it, on a grid that all are on."""
    parts = grouped(on_batches(releases), ALIKE)
    if mu := gaussian.total_mu(releases):  # those on all rows compose to one, exactly
        parts = [(GaussianMechanism(mu), 1), *parts]
    if len(parts) == 1:
        [(kind, count)] = parts
        return Composition([(one_release(kind), count)])
    # A power of 2 times that of the kind, so that other numbers of iterations have the same one.
    finest = min(grid_of(kind) for kind, _ in parts)
    most = GRIDS[SubsampledGaussianMechanism]
    finest = most * 2.0 ** math.floor(math.log2(finest / most))
    grid = max([finest, *(reach(kind, finest) / MOST_LOSSES for kind, _ in parts)])
    return Composition([(one_release(kind, grid), count) for kind, count in parts])


def grid_of(mechanism):
    """Grid of the losses of a mechanism, but for the reach of those."""
    coarsest = GRIDS.get(type(mechanism), GRIDS[SubsampledGaussianMechanism])
    return min(coarsest, math.sqrt(loss_variance(mechanism)) / FINENESS)


def reach(mechanism, grid):
    """A multiple of the grid, above which losses count as infinite."""
    largest = grid
    while largest < LARGEST_LOSS and not curve(mechanism, np.array([largest]))[0] <= TAIL_CUTOFF:
        largest *= 2
    return largest


@lru_cache(maxsize=256)
def one_release(mechanism, grid=None):
    """Privacy loss of one release, on multiples of `grid`; a `PrivacyLoss`, pessimistic."""
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots_fixed_gap

    grid = grid or grid_of(mechanism)
    largest = reach(mechanism, grid)
    grid = max(grid, largest / MOST_LOSSES)
    highest = math.ceil(largest / grid)
    losses = grid * np.arange(highest + 1)
    deltas = curve(mechanism, losses)
    if not np.isfinite(deltas).all():
        raise ArithmeticError(f"the privacy curve of {mechanism} is not finite")
    # Rounding must not make the curve smaller, nor let it increase.
    deltas = np.minimum.accumulate(np.clip((1 + ROUNDING) * deltas, 0.0, 1.0))
    above = create_pmf_pessimistic_connect_dots_fixed_gap(grid, 0, highest, deltas).to_dense_pmf()
    # The pair is symmetric: a loss of -x has e^-x the probability of x. Differences of the curve
    # below 0, where it is near 1, would lose that in rounding. What remains goes to a loss of 0.
    probabilities = above._probs[1:]
    mirrored = (np.exp(-losses[1:]) * probabilities)[::-1]
    remainder = 1 - above._infinity_mass - probabilities.sum() - mirrored.sum()
    probabilities = np.concatenate([mirrored, [max(0.0, remainder)], probabilities])
    return PrivacyLoss(grid, -highest, probabilities, above._infinity_mass)


def loss_variance(mechanism):
    """About the variance of the privacy loss of one release."""
    if isinstance(mechanism, GaussianMechanism):
        return mechanism.mu**2
    q = mechanism.sampling_probability
    if isinstance(mechanism, BarkerMechanism):
        least = NOISE_VARIANCE - mechanism.batch_variance
        return 4 * q**2 / (0.91 * least * mechanism.batch_size)
    return q**2 * math.expm1(min(1 / mechanism.noise_variance, 50.0))


def curve(mechanism, epsilon):
    """Stitched hockey-stick curve h(e^epsilon) of one release, at an array of epsilons."""
    if isinstance(mechanism, GaussianMechanism):  # as of a batch that is all rows
        mechanism = SubsampledGaussianMechanism(1 / mechanism.mu**2, 1.0)
    q = mechanism.sampling_probability
    size = np.abs(epsilon)
    # ln(1 + (e^size - 1) / q), without overflow
    near = np.log1p(np.expm1(np.minimum(size, 1.0)) / q)
    far = size - math.log(q) + np.log1p((q - 1) * np.exp(-np.maximum(size, 1.0)))
    above = q * base_curve(mechanism, np.where(size < 1, near, far))
    below = -np.expm1(-size) + np.exp(-size) * above
    return np.where(epsilon >= 0, above, below)


def base_curve(mechanism, epsilon):
    """Hockey-stick curve h0(e^epsilon) of the mechanism on a batch, epsilon >= 0."""
    if isinstance(mechanism, SubsampledGaussianMechanism):
        return gaussian_curve(epsilon, 1.0, mechanism.noise_variance, mechanism.noise_variance)
    # Given the batch, DP Barker releases a normal variable of variance 2 - f s_B^2, in [least, 2].
    # That no other pair of variances is worse is proved in docs/accounting.md.
    b = mechanism.batch_size
    distance = 2 / math.sqrt(b)
    least = NOISE_VARIANCE - mechanism.batch_variance
    change = 4 * (1 - 1 / b) / b * mechanism.batch_variance  # most that a row can change it
    variances = [(least, least), (least + change, least), (least, least + change)]
    return np.maximum.reduce([gaussian_curve(epsilon, distance, *pair) for pair in variances])


def gaussian_curve(epsilon, distance, variance_p, variance_q):
    """P(S) - e^epsilon Q(S) of the best S, for P = N(distance, variance_p), Q = N(0, variance_q).

    S is where the log of the ratio of the densities exceeds epsilon: above a point for equal
    variances, else outside or inside of two roots.
    """
    sd_p, sd_q = math.sqrt(variance_p), math.sqrt(variance_q)
    if variance_p == variance_q:
        mu = distance / sd_p
        return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
    # The log ratio is (a x^2 + 2 b x + c) / 2.
    a = 1 / variance_q - 1 / variance_p
    b = distance / variance_p
    c = -(distance**2) / variance_p + math.log(variance_q / variance_p)
    with np.errstate(invalid="ignore"):
        root = np.sqrt(b * b - a * (c - 2 * epsilon))
    low, high = np.sort([(-b - root) / a, (-b + root) / a], axis=0)
    z_p, z_q = ((low - distance) / sd_p, (high - distance) / sd_p), (low / sd_q, high / sd_q)
    if a > 0:  # outside; without roots, everywhere
        p, q = (ndtr(z[0]) + ndtr(-z[1]) for z in (z_p, z_q))
        return np.where(np.isnan(root), -np.expm1(np.minimum(epsilon, 1.0)), p - scaled(q, epsilon))
    # Inside; without roots, nowhere.
    p, q = (between(*z) for z in (z_p, z_q))
    return np.where(np.isnan(root), 0.0, p - scaled(q, epsilon))


def scaled(probability, epsilon):
    """e^epsilon times a probability; infinite at most where it is not zero."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.exp(epsilon + np.log(probability))


def between(low, high):
    """Probability of a standard normal variable between two points, accurate in the tails."""
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    return ndtr(high) - ndtr(low)
