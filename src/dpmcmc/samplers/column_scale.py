"""Where the values of a column are, and how far they spread: by counts first, then by moments.

Counts of values in public bins, whose ends grow by half octaves to both sides, find values of any
scale. The normal distribution that is nearest to them gives a first guess. Moments of clipped
values about it correct the guess, in some rounds, so that the standard deviation of skewed values,
or of some that lie far out, is not that of their peak. Everything here is a function of released
sums, or a sum of a bounded function of each row.
"""

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

ROUNDS = 3  # of clipped moments
CLIP = 3.0  # standard deviations
COUNTS_SENSITIVITY = math.sqrt(2)  # a row leaves one bin and enters another
SUM_SENSITIVITY = 2 * CLIP
SQUARES_SENSITIVITY = CLIP**2
LEAST_SQUARE, MOST_SQUARE = 0.01, 0.97 * CLIP**2  # of clipped values, that some normal ones have
LEAST_LOG, MOST_LOG = -3.0, 2.5  # of a standard deviation, over the one before
ROWS_AT_ONCE = 2**16
MOST_VALUES, DOUBLINGS = 0.95, 12  # share of the values that the first guess must hold
NOISE = 2.0  # standard deviations by which it may miss that
GRID = 61  # guesses of each parameter


class Place(NamedTuple):
    """Mean and standard deviation of the normal distribution that stands for a column."""

    mean: float
    sd: float

    def moved(self, step: "Place") -> "Place":
        """The place that is at `step` in units of this one."""
        return Place(self.mean + self.sd * step.mean, self.sd * step.sd)


Moments = tuple[float, float]  # means of clipped values and of their squares


# -- Sums over rows --------------------------------------------------------------------------------


def finite_parts(values: np.ndarray) -> Iterable[np.ndarray]:
    """The values that are numbers, part by part."""
    for first in range(0, len(values), ROWS_AT_ONCE):
        part = values[first : first + ROWS_AT_ONCE]
        yield part[np.isfinite(part)]


def counts(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """How many values are in each bin, the first and the last without end: (len(edges) + 1,)."""
    total = np.zeros(len(edges) + 1)
    for part in finite_parts(values):
        total += np.bincount(np.searchsorted(edges, part, side="right"), minlength=len(total))
    return total


def clipped_sums(values: np.ndarray, place: Place) -> tuple[float, float]:
    """Sums of values about a place, in its units and clipped, and of their squares."""
    total, squares = 0.0, 0.0
    for part in finite_parts(values):
        with np.errstate(over="ignore"):
            z = np.clip((part - place.mean) / place.sd, -CLIP, CLIP)
        total, squares = total + float(z.sum()), squares + float((z * z).sum())
    return total, squares


# -- What follows from them ------------------------------------------------------------------------


class Bins(NamedTuple):
    """Public bins, and normal distributions with their shares of these."""

    edges: np.ndarray  # (k,)
    means: np.ndarray  # (GRID,)
    log_sds: np.ndarray  # (GRID,)
    shares: np.ndarray  # (GRID, GRID, k + 1)


@cache
def bins_of(reach: float) -> Bins:
    """Bins for columns whose mean and ln sd are at most `reach` from 0."""
    octaves = math.ceil((reach + math.log(reach + 1) + 1) / math.log(2))
    positive = 2.0 ** (np.arange(-2 * octaves, 2 * octaves + 1) / 2)
    edges = np.concatenate([-positive[::-1], positive])
    means = np.sinh(np.linspace(-1, 1, GRID) * math.asinh(edges[-1])) * (reach / edges[-1])
    log_sds = np.linspace(-reach, reach, GRID)
    mean, sd = np.meshgrid(means, np.exp(log_sds), indexing="ij")
    return Bins(edges, means, log_sds, normal_shares(mean, sd, edges))


def normal_shares(mean: Any, sd: Any, edges: np.ndarray) -> np.ndarray:
    """Shares of the bins by normal distributions, whose means and sds may be arrays (...,)."""
    below = ndtr((edges - np.asarray(mean)[..., None]) / np.asarray(sd)[..., None])
    return np.diff(below, axis=-1, prepend=0.0, append=1.0)


def last_place(
    place: Place, moments: Callable[[int, Place], Moments], rounds: int = ROUNDS
) -> tuple[Place, Place]:
    """The place after all rounds, from the first one, and the last step to it.

    A release and the laws that it is compared with go the same way, with noise and without.

    Parameters
    ----------
    place : Place
    moments : function
        Of the number of a round and the place before it, to the moments that are found there.
    rounds : int
    """
    for i in range(rounds):
        step = matched(*moments(i, place))
        place = place.moved(step)
    return place, step


def first_place(shares: np.ndarray, sd: float, bins: Bins) -> Place:
    """The normal distribution whose shares of the bins are nearest, or a wider one.

    Parameters
    ----------
    shares : (bins,) array
        Noisy shares of the bins.
    sd : float
        Standard deviation of the noise in each.
    bins : Bins
    """
    off = ((shares - bins.shares) ** 2).sum(axis=-1)
    i, j = np.unravel_index(int(off.argmin()), off.shape)
    guess = Place(float(bins.means[i]), math.exp(bins.log_sds[j]))

    def distance(step: Place) -> float:
        found = normal_shares(*guess.moved(step), bins.edges)
        return float(((shares - found) ** 2).sum())

    return widened(guess.moved(least(distance)), shares, sd, bins.edges)


def widened(place: Place, shares: np.ndarray, sd: float, edges: np.ndarray) -> Place:
    """The place with an sd doubled until bins within `CLIP` of it hold most values.

    The nearest normal distribution of a column with few values, or with many that are the same, is
    one peak of it.
    """
    lows, highs = np.append(-np.inf, edges), np.append(edges, np.inf)
    for _ in range(DOUBLINGS):
        reach = CLIP * place.sd
        is_near = (highs > place.mean - reach) & (lows < place.mean + reach)
        if shares[is_near].sum() >= MOST_VALUES - NOISE * sd * math.sqrt(is_near.sum()):
            break
        place = place._replace(sd=2 * place.sd)
    return place


def normal_moments(place: Place) -> Moments:
    """E z and E z^2 of a normal variable that is clipped to [-CLIP, CLIP]."""
    mean, sd = place
    low, high = (-CLIP - mean) / sd, (CLIP - mean) / sd
    below, above = float(ndtr(low)), float(ndtr(-high))
    inside = 1 - below - above
    at_low, at_high = (math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (low, high))
    first = mean * inside + sd * (at_low - at_high) + CLIP * (above - below)
    second = (mean * mean + sd * sd) * inside + 2 * mean * sd * (at_low - at_high)
    return first, second + sd * sd * (low * at_low - high * at_high) + CLIP**2 * (above + below)


def matched(first: float, second: float) -> Place:
    """The normal distribution whose clipped values have these moments, or nearly so."""
    second = min(max(second, LEAST_SQUARE), MOST_SQUARE)
    most = 0.98 * math.sqrt(second)
    first = min(max(first, -most), most)

    def distance(place: Place) -> float:
        found = normal_moments(place)
        return (found[0] - first) ** 2 + (found[1] - second) ** 2

    guess = Place(first, math.sqrt(second - first * first))
    return guess.moved(least(lambda step: distance(guess.moved(step))))


def least(distance: Callable[[Place], float]) -> Place:
    """Where a distance is least, near mean 0 and sd 1."""
    from scipy.optimize import minimize

    def of_logs(x: np.ndarray) -> float:
        return distance(Place(float(x[0]), math.exp(min(max(x[1], LEAST_LOG), MOST_LOG))))

    start = np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.2]])
    found = minimize(
        of_logs,
        start[0],
        method="Nelder-Mead",
        options={"initial_simplex": start, "xatol": 1e-5, "fatol": 1e-10, "maxiter": 400},
    )
    return Place(float(found.x[0]), math.exp(min(max(found.x[1], LEAST_LOG), MOST_LOG)))
