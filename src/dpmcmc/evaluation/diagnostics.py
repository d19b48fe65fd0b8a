"""Diagnostics of mixing: effective sample size and split R-hat, rank-normalised.

Vehtari et al. (2021), Rank-normalization, folding, and localization: an improved R-hat. To the last
digit these are the numbers of ArviZ 0.23, whose import takes seconds: each step is done as there.
"""

import math

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import ndtri

LEAST_DRAWS = 4  # of a chain, for either number


def effective_sample_size(chains):
    """Bulk effective sample size of chains together: the least over the components.

    Parameters
    ----------
    chains : (m, k, d) array

    Returns
    -------
    float
        m for chains that never move, each of which says no more than one draw; NaN for fewer than
        `LEAST_DRAWS` draws.
    """
    if chains.shape[1] < LEAST_DRAWS:
        return math.nan
    components = np.moveaxis(chains, 2, 0)
    sizes = (bulk_size(x) if np.ptp(x, axis=1).any() else len(x) for x in components)
    return float(min(sizes))


def split_r_hat(chains):
    """Rank-normalised split R-hat of chains as long as each other: the largest over the components.

    Parameters
    ----------
    chains : (m, k, d) array

    Returns
    -------
    float
        Infinite where no chain moves, and they start apart; NaN for fewer than two chains or fewer
        than `LEAST_DRAWS` draws.
    """
    if len(chains) < 2 or chains.shape[1] < LEAST_DRAWS:
        return math.nan
    if not np.ptp(chains, axis=1).any():
        return math.inf
    r_hats = [r_hat(x) for x in np.moveaxis(chains, 2, 0)]
    return max(math.inf if math.isnan(value) else value for value in r_hats)


def bulk_size(x):
    """Bulk effective sample size of one component.

    Parameters
    ----------
    x : (m, k) array

    Returns
    -------
    float
        NaN if a draw is.
    """
    return math.nan if np.isnan(x).any() else size_of_halves(normal_scores(halves(x)))


def tail_size(x):
    """Tail effective sample size of one component: the lesser of its 5 % and 95 % quantiles'."""
    if np.isnan(x).any():
        return math.nan
    ordered = np.sort(x, axis=None)
    sizes = []
    for p in (0.05, 0.95):
        place = len(ordered) * p + (1 - p)
        below = math.floor(min(max(place, 1), len(ordered) - 1))
        weight = min(max(place - below, 0), 1)
        quantile = (1 - weight) * ordered[below - 1] + weight * ordered[below]
        sizes.append(size_of_halves(halves(x <= quantile).astype(float)))
    return min(sizes)


def r_hat(x):
    """Rank-normalised split R-hat of one component: the larger of bulk and tail.

    Parameters
    ----------
    x : (m, k) array

    Returns
    -------
    float
        NaN if a draw is, or no chain moves.
    """
    if np.isnan(x).any():
        return math.nan
    split = halves(x)
    with np.errstate(all="ignore"):  # of a component in which no chain moves
        bulk = plain_r_hat(normal_scores(split))
        tail = plain_r_hat(normal_scores(abs(split - np.median(split))))
    return max(bulk, tail)


def halves(x):
    """First and second halves of chains, (2 m, k // 2), without the middle of an odd number."""
    half = x.shape[1] // 2
    return np.vstack((x[:, :half], x[:, -half:]))


def normal_scores(x):
    """Normal quantiles of the ranks of all draws together; NaN, all of them, if a draw is."""
    if np.isnan(x).any():
        return np.full(x.shape, math.nan)
    _, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2  # the mean of those that are equal
    return ndtri((ranks - 3 / 8) / (x.size - 2 * 3 / 8 + 1))[which].reshape(x.shape)


def plain_r_hat(x):
    """R-hat of chains as they are, (m, k)."""
    length = x.shape[1]
    between = length * variance(x.mean(axis=1))
    return float(np.sqrt((between / variance(x).mean() + length - 1) / length))


def size_of_halves(x):
    """Effective sample size of chains as they are, (m, k), by Geyer's monotone sequence."""
    if np.isnan(x).any():
        return math.nan
    if np.ptp(x) < np.finfo(float).resolution:
        return float(x.size)
    number, length = x.shape
    covariance = np.ascontiguousarray(autocovariance(x).T).mean(axis=1)  # at each lag
    within = covariance[0] * length / (length - 1)
    total = within * (length - 1) / length
    if number > 1:
        total += variance(x.mean(axis=1))
    with np.errstate(all="ignore"):
        correlation = (1 - (within - covariance) / total).tolist()
    correlation[0] = even = 1.0
    odd = correlation[1]
    kept = [even, odd] + [0.0] * (length - 2)
    lag = 1
    while lag < length - 3 and even + odd > 0:
        even, odd = correlation[lag + 1 : lag + 3]
        if even + odd >= 0:
            kept[lag + 1], kept[lag + 2] = even, odd
        lag += 2
    last = lag - 2
    if even > 0:
        kept[last + 1] = even
    for lag in range(1, last - 1, 2):
        if kept[lag + 1] + kept[lag + 2] > kept[lag - 1] + kept[lag]:
            kept[lag + 1] = kept[lag + 2] = (kept[lag - 1] + kept[lag]) / 2
    if np.isnan(kept).any():
        return math.nan
    time = -1 + 2 * np.sum(kept[: last + 1]) + np.sum(kept[last + 1 : last + 2])
    return float(x.size / max(time, 1 / np.log10(x.size)))


def autocovariance(x):
    """Autocovariances of each chain, (m, k), at lags from 0, with the divisor k."""
    length = x.shape[1]
    padded = next_fast_len(2 * length, real=True)
    transform = np.fft.rfft(x - x.mean(axis=1, keepdims=True), n=padded)
    transform *= np.conjugate(transform)
    return np.fft.irfft(transform, n=padded)[:, :length] / length


def variance(x):
    """Sample variance over the last axis, from sums taken from the first to the last."""
    length = x.shape[-1]
    mean, square = (np.cumsum(y, axis=-1)[..., -1] / length for y in (x, x * x))
    return (square - mean**2) * (length / (length - 1))
