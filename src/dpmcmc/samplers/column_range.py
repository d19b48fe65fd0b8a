"""A column whose values have a public range: mean and standard deviation by two noisy sums.

In units u of the range, from -1 to 1, a row adds (u, sqrt(2) u^2). Two rows differ there by at most
2 in norm, as they do in u alone. So the squares cost nothing (docs/accounting.md has the proof).
The answer is the model's posterior given noisy sums, whatever law the values have.
"""

import math
from typing import NamedTuple

import numpy as np

from dpmcmc.models.normal_columns import on_grid
from dpmcmc.samplers.column_scale import finite_parts
from dpmcmc.samplers.streams import Streams

OF_SQUARE = math.sqrt(2)  # the factor of u^2
SENSITIVITY = 2.0  # of both sums together
MOST_BELOW = 50.0  # of a grid of ln s, below the prior


class Normal(NamedTuple):
    """A normal distribution."""

    mean: float
    variance: float


class PublicRange(NamedTuple):
    """Where the values of a column can be, in units of z."""

    middle: float
    half: float  # of its length


def sums_in_range(values: np.ndarray, place: PublicRange) -> tuple[np.ndarray, float]:
    """Sums of u and of sqrt(2) u^2 of values (n,), (2,), and the share of them beyond the range."""
    total, squares, inside = 0.0, 0.0, 0
    for part in finite_parts(values):
        with np.errstate(over="ignore"):
            u = (part - place.middle) / place.half
        inside += int((np.abs(u) <= 1 + 1e-9).sum())
        u = np.clip(u, -1.0, 1.0)
        total, squares = total + float(u.sum()), squares + float((u * u).sum())
    return np.array([total, OF_SQUARE * squares]), 1 - inside / len(values)


class InRange(NamedTuple):
    """What the releases of a column say of it.

    `mean` and `square` are the noisy means of u and of u^2; the variances are those of their noise,
    which is independent.
    """

    place: PublicRange
    mean: float
    square: float
    mean_noise: float
    square_noise: float
    rows: float  # n, times the power of the likelihood

    @property
    def variance(self) -> Normal:
        """Variance of u: what is released of it, and the variance of its noise."""
        of_mean = 4 * self.mean**2 * self.mean_noise + 2 * self.mean_noise**2
        value = self.square - self.mean**2 + self.mean_noise
        return Normal(value, self.square_noise + of_mean)

    def draws(
        self, rng: np.random.Generator, prior_variance: float, size: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws (size,) of the mean and of ln sd, in units of z.

        Given m and s the rows have a mean N(m, s^2 / n) and a variance N(s^2, 2 c^2 / n), where c
        is what was released of it. The noise of the variance, which is square - mean^2, is
        correlated with that of the mean. The posterior is a density of ln s on a grid, and a normal
        distribution of m given s.
        """
        half = self.place.half
        prior_mean, prior_log = self.prior
        v, w = prior_variance / half**2, prior_variance
        variance, noise = self.variance
        together = -2 * self.mean * self.mean_noise

        def given(logs: np.ndarray) -> tuple[np.ndarray, ...]:
            """By how much a variance misses, and mean and variance of the mean given it."""
            squared = np.exp(2 * logs)
            off = variance - squared
            of_mean = squared / self.rows + self.mean_noise - slope**2 * of_variance
            return off, self.mean - slope * off, of_mean

        def log_density(logs: np.ndarray) -> np.ndarray:
            off, mean, of_mean = given(logs)
            total = v + of_mean
            found = off**2 / of_variance + (mean - prior_mean) ** 2 / total + np.log(total)
            return -(found + (logs - prior_log) ** 2 / w) / 2

        of_variance = 2 * max(variance, 0.0) ** 2 / self.rows + noise
        slope = together / of_variance
        guess = 0.5 * math.log(max(variance, math.sqrt(noise)))
        # Where the variance is not above its noise, ln s has the lower tail of the prior.
        low = min(guess, prior_log) - min(5 * math.sqrt(w), MOST_BELOW)
        logs, weights = on_grid(log_density, low, max(guess, prior_log))
        cumulated = np.concatenate([[0], np.cumsum((weights[1:] + weights[:-1]) / 2)])
        drawn = np.interp(rng.random(size) * cumulated[-1], cumulated, logs)
        _, mean, of_mean = given(drawn)
        precision = 1 / of_mean + 1 / v
        centre = (mean / of_mean + prior_mean / v) / precision
        means = centre + rng.standard_normal(size) / np.sqrt(precision)
        return self.place.middle + half * means, drawn - prior_log

    def misfit(self, prior_variance: float) -> float:
        """How far the mean is from the prior's, in standard deviations of what it may be."""
        variance = max(self.variance.mean, 0.0) / self.rows + self.mean_noise
        total = prior_variance / self.place.half**2 + variance
        return abs(self.mean - self.prior[0]) / math.sqrt(total)

    @property
    def prior(self) -> tuple[float, float]:
        """Means of the prior of the mean of u and of ln s."""
        return -self.place.middle / self.place.half, -math.log(self.place.half)


def released_in_range(
    rng: Streams, values: np.ndarray, place: PublicRange, power: float, noise: float
) -> tuple[InRange, float]:
    """What is released of values (n,), and the share of them beyond the range.

    Parameters
    ----------
    rng : Streams
    values : (n,) array
    place : PublicRange
        Public, or released before.
    power : float
        T of the likelihood.
    noise : float
        1 / mu of this release.
    """
    n, sd = len(values), SENSITIVITY * noise
    sums, share = sums_in_range(values, place)
    total, squares = rng.add_noise(sums, SENSITIVITY, sd) / n
    return InRange(
        place,
        mean=float(total),
        square=float(squares) / OF_SQUARE,
        mean_noise=(sd / n) ** 2,
        square_noise=(sd / n / OF_SQUARE) ** 2,
        rows=n * power,
    ), share
