"""Distances from the posterior: MMD (thesis, section 5.3), mean, covariance; accuracy."""

import math
from collections.abc import Callable

import numpy as np

from dpmcmc.models.model import Model

LARGEST_MMD = math.sqrt(2)  # of any two samples, but for what the unbiased estimate adds
# A chain has diverged if its draws are so many times as far from the posterior's mean as exact
# draws (root mean square). Its MMD would tell nothing: any cloud that is wide enough has about 1/2,
# as the bandwidth is a median distance.
FARTHEST = 1e6
BLOCK = 64  # points whose kernel values with all others are in memory at once


def kept_draws(positions: np.ndarray) -> np.ndarray:
    """The draws after burn-in: the last k - floor((k - 1) / 2) of k, (kept, d)."""
    return positions[max(0, (len(positions) - 1) // 2) :]


def thin(draws: np.ndarray, limit: int) -> np.ndarray:
    """At most `limit` draws, evenly spaced from the first to the last."""
    if len(draws) <= limit:
        return draws
    return draws[np.linspace(0, len(draws) - 1, limit).round().astype(int)]


def median_bandwidth(
    rng: np.random.Generator, draws: np.ndarray, reference: np.ndarray, num_pairs: int
) -> float:
    """Median distance of random pairs, one point of each sample, drawn with replacement.

    Infinite or NaN where the squares of distances overflow.
    """
    left = draws[rng.integers(len(draws), size=num_pairs)]
    right = reference[rng.integers(len(reference), size=num_pairs)]
    return float(np.median(np.linalg.norm(left - right, axis=1)))


def mmd(draws: np.ndarray, reference: np.ndarray, bandwidth: float) -> float:
    """Maximum mean discrepancy with the Gaussian kernel, reported as sqrt(|unbiased MMD^2|).

    The unbiased estimate (Gretton et al. 2012, Lemma 6) leaves out the pairs of a point with
    itself, so it may be negative for samples of the same distribution; hence the absolute value.

    Parameters
    ----------
    draws : (k, d) array
        k >= 2.
    reference : (l, d) array
        l >= 2.
    bandwidth : float
        Standard deviation of the kernel; `LARGEST_MMD` is returned where it is not finite.
    """
    if not math.isfinite(bandwidth):
        return LARGEST_MMD
    centre = reference.mean(axis=0)  # near both: squared distances then lose no digits
    x, y = (draws - centre) / bandwidth, (reference - centre) / bandwidth
    k, l = len(x), len(y)  # noqa: E741
    within_x = 2 * kernel_pair_sum(x) / (k * (k - 1))
    within_y = 2 * kernel_pair_sum(y) / (l * (l - 1))
    between = kernel_sum(x, y) / (k * l)
    return math.sqrt(abs(within_x + within_y - 2 * between))


def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """exp(-|x - y|^2 / 2) of every x, (k, d), and y, (l, d): (k, l)."""
    values = x @ y.T
    values -= (x * x).sum(axis=1)[:, None] / 2
    values -= (y * y).sum(axis=1) / 2
    return np.exp(values, out=values)


def kernel_sum(
    x: np.ndarray, y: np.ndarray, kernel: Callable[[np.ndarray, np.ndarray], np.ndarray] = kernel
) -> float:
    """Sum of a kernel over every x and y, block by block."""
    return sum(kernel(x[i : i + BLOCK], y).sum() for i in range(0, len(x), BLOCK))


def kernel_pair_sum(
    x: np.ndarray, kernel: Callable[[np.ndarray, np.ndarray], np.ndarray] = kernel
) -> float:
    """Sum of a kernel over the unordered pairs of distinct points, each visited once."""
    total = 0.0
    for i in range(0, len(x), BLOCK):
        values = kernel(x[i : i + BLOCK], x[i:])
        square = values[:, : len(values)]  # pairs within the block, each there twice
        total += values.sum() - (square.sum() + np.trace(square)) / 2
    return total


def has_diverged(draws: np.ndarray, reference: np.ndarray) -> bool:
    """True if draws are not finite, or `FARTHEST` times as far away as a reference sample."""
    centre = reference.mean(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        far, near = (np.linalg.norm(x - centre) / math.sqrt(len(x)) for x in (draws, reference))
        return not far <= FARTHEST * near


def mean_error(
    draws: np.ndarray, reference: np.ndarray, posterior_mean: np.ndarray | None = None
) -> float:
    """Euclidean distance of the mean from the known posterior mean, else from the reference's."""
    expected = reference.mean(axis=0) if posterior_mean is None else posterior_mean
    return float(np.linalg.norm(draws.mean(axis=0) - expected))


def covariance_error(draws: np.ndarray, reference: np.ndarray) -> float:
    """Frobenius norm of the difference of the sample covariances (divisor k - 1)."""
    return float(np.linalg.norm(covariance(draws) - covariance(reference)))


def covariance(draws: np.ndarray) -> np.ndarray:
    """Sample covariance (d, d) of draws (k, d), divisor k - 1."""
    return np.atleast_2d(np.cov(draws, rowvar=False))


def sd_ratio(
    draws: np.ndarray,
    reference: np.ndarray,
    straighten: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> float:
    """Standard deviations over those of the reference sample: geometric mean over its axes.

    Parameters
    ----------
    draws, reference : (k, d), (l, d) arrays
    straighten : function, optional
        From positions to coordinates in which the posterior is normal, where a model has such:
        there a posterior raised to a power has standard deviations in proportion.
    """
    expected, axes = principal_axes(straighten(reference))
    with np.errstate(divide="ignore"):  # of chains that never move
        spread = np.log((straighten(draws) @ axes).std(axis=0, ddof=1))
        return float(np.exp(np.mean(spread - np.log(expected))))


def principal_axes(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviations (d,) of a sample (k, d) along its principal axes, and these, (d, d)."""
    variances, axes = np.linalg.eigh(covariance(sample))
    return np.sqrt(np.maximum(variances, 0)), axes


def compare(
    rng: np.random.Generator,
    draws: np.ndarray,
    reference: np.ndarray,
    model: Model,
    bandwidth_pairs: int,
    max_draws: int,
    held_out: np.ndarray | None = None,
) -> dict[str, float]:
    """All metrics of a sample against the reference sample; NaN for fewer than two draws.

    Parameters
    ----------
    rng : numpy.random.Generator
        For the bandwidth's pairs.
    draws : (k, d) array
    reference : (l, d) array
    model : Model
        Which may know its posterior mean, and how to straighten its posterior.
    bandwidth_pairs : int
    max_draws : int
        For the MMD and its bandwidth, more draws than this are thinned evenly.
    held_out : (m, p) array, optional
        Rows that had no part in the data set, for the accuracy of a model that has one.

    Returns
    -------
    dict
        mmd, mean_error, covariance_error, sd_ratio, and mmd_draws: how many draws the MMD used;
        with held-out rows accuracy too, if the model has a function `accuracy(draws, rows)`. A
        chain that has diverged gets the worst values there are: `LARGEST_MMD`, infinite errors and
        accuracy 0.
    """
    accuracy = None if held_out is None else getattr(model, "accuracy", None)
    if len(draws) < 2:
        names = "mmd", "mean_error", "covariance_error", "sd_ratio", *["accuracy"] * bool(accuracy)
        return dict.fromkeys(names, math.nan) | {"mmd_draws": 0}
    thinned = thin(draws, max_draws)
    if has_diverged(draws, reference):
        worst = dict.fromkeys(["mean_error", "covariance_error", "sd_ratio"], math.inf)
        worst |= {"mmd": LARGEST_MMD, "mmd_draws": len(thinned)}
        return worst | ({"accuracy": 0.0} if accuracy else {})
    bandwidth = median_bandwidth(rng, thinned, reference, bandwidth_pairs)
    return {
        "mmd": mmd(thinned, reference, bandwidth),
        "mean_error": mean_error(draws, reference, model.posterior_mean),
        "covariance_error": covariance_error(draws, reference),
        "sd_ratio": sd_ratio(draws, reference, getattr(model, "straighten", np.asarray)),
        "mmd_draws": len(thinned),
    } | ({"accuracy": accuracy(draws, held_out)} if accuracy else {})
