"""The standard deviation of a regression's errors, by noisy counts and by clipped squares.

What is known of ln sigma is a density on a grid: its prior times the likelihood of each release. A
residual at some coefficients has the variance S^2 = sigma^2 + (x . way)^2, where the way to the
true coefficients is as long as is believed. So the likelihood of S is averaged over this belief.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from dpmcmc.models.linear_regression import table_of_clips
from dpmcmc.samplers.clipped_residuals import clipped_variance
from dpmcmc.samplers.column_scale import (
    COUNTS_SENSITIVITY,
    Bins,
    bins_of,
    counts,
    first_place,
    normal_shares,
)
from dpmcmc.samplers.drawn_information import WIDER, Normal
from dpmcmc.samplers.streams import Streams

SDS = 6.0  # of a density of ln sigma, to either end of its grid
LEAST_LOG, MOST_LOG = 12.0, 30.0  # end of a grid of ln sigma, at least and at most
CELLS = 800
ZOOMS = 4
MOST_SD = 1.5  # of ln sigma, over the least: clips that are good
LEAST = 1e-300  # of a mass
# Real residuals are not quite normal: their shares of bins may be off by so much of themselves, and
# of the rows. Else a few far ones would say that the errors of all are large.
OFF, LEAST_OFF = 0.1, 0.005
MOST_NOISE = 0.03  # of a count, over the number of rows: with more, no location is found
WAYS = 64  # squared lengths of the way, by which a belief is known


LogLikelihood = Callable[[np.ndarray], np.ndarray]  # of ln S


class ErrorScale:
    """Density of ln sigma.

    Parameters
    ----------
    grid : (k,) array
        ln sigma.
    logs : (k,) array
        Of the density, but for a constant.
    prior_variance : float
        Of ln sigma.
    """

    def __init__(self, grid: np.ndarray, logs: np.ndarray, prior_variance: float) -> None:
        self.grid, self.logs, self.prior_variance = grid, logs, prior_variance

    @classmethod
    def prior(cls, variance: float) -> Self:
        """N(0, variance)."""
        end = reach_of(variance)
        grid = np.linspace(-end, end, CELLS + 1)
        return cls(grid, -(grid**2) / (2 * variance), variance)

    def wider(self) -> Self:
        """The density with releases that count less, by `WIDER`; the prior stays."""
        prior = -(self.grid**2) / (2 * self.prior_variance)
        return self.with_logs(prior + (self.logs - prior) / WIDER)

    def with_logs(self, logs: np.ndarray) -> Self:
        """Another density on the same grid."""
        return type(self)(self.grid, logs, self.prior_variance)

    def near(self, other: Self) -> Self:
        """The density on a finer grid, where another one is."""
        reach = SDS * math.sqrt(other.variance)
        low, high = (other.mean + side * reach for side in (-1, 1))
        grid = np.linspace(max(low, self.grid[0]), min(high, self.grid[-1]), CELLS + 1)
        return type(self)(grid, np.interp(grid, self.grid, self.logs), self.prior_variance)

    @property
    def masses(self) -> np.ndarray:
        """Of the points of the grid, (k,)."""
        masses = np.exp(self.logs - self.logs.max())
        return masses / masses.sum()

    @property
    def mean(self) -> float:
        """Mean of ln sigma."""
        return float(self.masses @ self.grid)

    @property
    def variance(self) -> float:
        """Variance of ln sigma, that within a cell of the grid counted."""
        cell = float(self.grid[1] - self.grid[0])
        return float(self.masses @ (self.grid - self.mean) ** 2) + cell**2 / 12

    def given(self, log_likelihood: LogLikelihood, squares: np.ndarray) -> Self:
        """The density after a release.

        Parameters
        ----------
        log_likelihood : function
            Of ln S, of what was released.
        squares : (m,) array
            Mean squares of x . way at draws of a belief, of equal weight.
        """
        logs = self.joint(log_likelihood, squares)
        top = logs.max()
        return self.with_logs(top + np.log(np.exp(logs - top).mean(axis=1) + LEAST))

    def squares_given(
        self, log_likelihood: LogLikelihood, squares: np.ndarray, count: int
    ) -> np.ndarray:
        """Quantiles (count,) of the mean square of x . way after a release; see `given`."""
        logs = self.joint(log_likelihood, squares)
        masses = np.exp(logs - logs.max()).sum(axis=0)
        order = np.argsort(squares)
        masses, squares = masses[order] / masses.sum(), squares[order]
        middles = np.cumsum(masses) - masses / 2
        return np.interp((np.arange(count) + 0.5) / count, middles, squares)

    def joint(self, log_likelihood: LogLikelihood, squares: np.ndarray) -> np.ndarray:
        """Logarithms of the density of ln sigma and the mean square, (k, m)."""
        log_sds = np.log(np.exp(2 * self.grid)[:, None] + squares) / 2
        return self.logs[:, None] + log_likelihood(log_sds)


class Counts(NamedTuple):
    """Noisy counts of residuals in public bins."""

    counts: np.ndarray  # (bins,)
    bins: Bins
    num_rows: int
    sd: float  # of the noise of a count

    @classmethod
    def of(cls, rng: Streams, residuals: np.ndarray, variance: float, noise: float) -> Self:
        """Counts of residuals (n,), in bins for coefficients and ln sigma of a prior variance.

        Noise is its standard deviation over the sensitivity.
        """
        bins, sd = bins_of(reach_of(variance)), COUNTS_SENSITIVITY * noise
        found = rng.add_noise(counts(residuals, bins.edges), COUNTS_SENSITIVITY, sd)
        return cls(found, bins, len(residuals), sd)

    @property
    def location(self) -> float:
        """Mean of the normal distribution that is nearest; 0 where the noise hides it."""
        if not self.are_precise:
            return 0.0
        shares, noise = self.counts / self.num_rows, self.sd / self.num_rows
        return first_place(shares, noise, self.bins).mean

    @property
    def are_precise(self) -> bool:
        """True if noise does not hide the location."""
        return self.sd <= MOST_NOISE * self.num_rows

    def log_likelihood(self, location: float) -> LogLikelihood:
        """Of ln S, if residuals are N(location, S^2)."""
        end = math.log(self.bins.edges[-1])
        log_sds = np.linspace(-end, end, CELLS + 1)
        expected = self.num_rows * normal_shares(location, np.exp(log_sds), self.bins.edges)
        variances = self.sd**2 + expected + (OFF * expected) ** 2 + (LEAST_OFF * self.num_rows) ** 2
        off = ((self.counts - expected) ** 2 / variances + np.log(variances)).sum(axis=1)
        return lambda log_sd: np.interp(log_sd, log_sds, -off / 2)


class Squares(NamedTuple):
    """Noisy mean of min((residual / sigma)^2, c^2)."""

    mean: float
    sigma: float
    clip: float  # c
    num_rows: int
    sd: float  # of the noise

    @classmethod
    def of(cls, rng: Streams, residuals: np.ndarray, sigma: float, noise: float) -> Self:
        """That of residuals (n,), with the largest clip that is good if sigma is right.

        With a small one, errors of heavy tails would have the standard deviation of their middle.
        Noise is its standard deviation over the sensitivity.
        """
        n = len(residuals)
        c, _, _, slope, variance = table_of_clips()[:, 1:]
        sds = np.sqrt(variance / n + (c**2 * noise / n) ** 2) / slope
        clip = float(c[sds <= MOST_SD * sds.min()].max())
        most = clip**2
        with np.errstate(over="ignore"):
            squares = np.minimum((residuals[np.isfinite(residuals)] / sigma) ** 2, most)
        found = float(rng.add_noise(squares.sum(), most, most * noise)) / n
        return cls(found, sigma, clip, n, most * noise / n)

    def log_likelihood(self) -> LogLikelihood:
        """Of ln S, if residuals are N(0, S^2)."""
        c, _, _, _, variance = table_of_clips()

        def of(log_sd: np.ndarray) -> np.ndarray:
            ratio = np.exp(log_sd) / self.sigma
            of_row = ratio**4 * np.interp(self.clip / ratio, c, variance)
            of_row = np.minimum(of_row, self.clip**4 / 4)  # at most, of what is between 0 and c^2
            total = of_row / self.num_rows + self.sd**2
            off = self.mean - clipped_variance(ratio, self.clip)
            return -(off**2 / total + np.log(total)) / 2

        return of

    def error_scale(self, before: ErrorScale, squares: np.ndarray) -> ErrorScale:
        """What is known of sigma after this; on a grid that is as fine as need be."""
        found = before.given(self.log_likelihood(), squares)
        for _ in range(ZOOMS):
            found = before.near(found).given(self.log_likelihood(), squares)
        return found


def reach_of(variance: float) -> float:
    """How far from 0 ln sigma is looked for: far, as many rows can outweigh a prior."""
    return min(max(SDS * math.sqrt(variance), LEAST_LOG), MOST_LOG)


def squares_of(belief: Normal, theta: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Mean squares of x . way, (WAYS,), for ways from theta to draws of a belief.

    Moments are those of x, (p, p).
    """
    draws = np.random.default_rng(7).standard_normal((WAYS, len(theta)))
    ways = belief.mean - theta + draws @ np.linalg.cholesky(belief.covariance).T
    return np.einsum("ki,ij,kj->k", ways, moments, ways)
