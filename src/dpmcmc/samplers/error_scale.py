"""The errors of a regression, by noisy counts of residuals: their standard deviation and skewness.

What is known of ln sigma is a density on a grid: its prior times the likelihood of each release. A
residual at some coefficients has the variance S^2 = sigma^2 + (x . way)^2, where the way to the
true coefficients is as long as is believed. So the likelihood of S is averaged over this belief.

The counts also say where clipped errors have mean zero, which for skewed ones depends on the clip.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from dpmcmc.samplers.column_scale import (
    COUNTS_SENSITIVITY,
    Bins,
    bins_of,
    counts,
    first_place,
    normal_shares,
)
from dpmcmc.samplers.drawn_information import Normal
from dpmcmc.samplers.streams import Streams

SDS = 6.0  # of a density of ln sigma, to either end of its grid
LEAST_LOG, MOST_LOG = 12.0, 30.0  # end of a grid of ln sigma, at least and at most
CELLS = 800
ZOOMS = 4
LEAST = 1e-300  # of a mass
# Real residuals are not quite normal: their shares of bins may be off by so much of themselves, and
# of the rows. Else a few far ones would say that the errors of all are large.
OFF, LEAST_OFF = 0.1, 0.005
MOST_NOISE = 0.03  # of a count, over the number of rows: with more, no location is found
# Centres of clips: bins that are not farther, in sigmas; values in each; clips, in sigmas; rounds;
# and the least share of the rows that a clip leaves as they are.
FARTHEST, VALUES, CLIPS, ROUNDS, LEAST_SLOPE = 8.0, 8, 2.0 ** np.arange(-4.0, 4.5, 0.5), 30, 0.1
SURE = 3.0  # standard deviations of its noise, of a centre that is not 0
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

    def exactly_given(self, log_likelihood: LogLikelihood, squares: np.ndarray) -> Self:
        """The same as `given`, on a grid that is as fine as need be."""
        found = self.given(log_likelihood, squares)
        for _ in range(ZOOMS):
            found = self.near(found).given(log_likelihood, squares)
        return found

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


class Centres(NamedTuple):
    """Centres s of clips c, with which E clip(r - s, -c, c) is 0."""

    clips: np.ndarray  # (k,)
    centres: np.ndarray  # (k,)
    sds: np.ndarray  # (k,), of the noise
    squares: np.ndarray  # (k,): E clip(r - s, -c, c)^2
    squares_sds: np.ndarray  # (k,), of the noise
    usual: float  # clip of a usual row

    @property
    def middle(self) -> float:
        """The centre of the usual clip, if noise does not explain it; else 0."""
        centre, sd = (float(self.at(self.usual, of)) for of in (self.centres, self.sds))
        return centre if abs(centre) > SURE * sd else 0.0

    def excess(self, variance: float) -> float:
        """Variance at the usual clip over the one that is expected, if surely more; else 1."""
        square, sd = (float(self.at(self.usual, of)) for of in (self.squares, self.squares_sds))
        return max(square / variance, 1.0) if square - variance > SURE * sd else 1.0

    def apart(self, clips: np.ndarray) -> np.ndarray:
        """How far centres of some clips are from that of the usual one."""
        return self.at(clips, self.centres) - self.at(self.usual, self.centres)

    def at(self, clips: np.ndarray | float, values: np.ndarray) -> np.ndarray:
        """Centres or sds of other clips."""
        return np.interp(np.log(clips), np.log(self.clips), values)


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

    def centres(self, location: float, sigma: float, usual: float) -> "Centres":
        """Where clipped errors have mean 0.

        Parameters
        ----------
        location : float
            Taken off residuals since they were counted.
        sigma : float
            Standard deviation of an error, as it is known.
        usual : float
            Clip of a usual row.
        """
        edges, reach = self.bins.edges - location, FARTHEST * sigma
        lows, highs, counts = edges[:-1], edges[1:], self.counts[1:-1]
        is_near = (highs > -reach) & (lows < reach)
        lows, highs, counts = lows[is_near], highs[is_near], counts[is_near]
        parts = (np.arange(VALUES) + 0.5) / VALUES
        values = lows[:, None] + (highs - lows)[:, None] * parts
        weights = counts / max(counts.sum(), self.num_rows / 2) / VALUES
        clips = (sigma * CLIPS)[:, None, None]
        centres = np.zeros(len(CLIPS))
        for _ in range(ROUNDS):
            off = values - centres[:, None, None]
            slopes = np.maximum(weights @ (abs(off) < clips).sum(axis=2).T, LEAST_SLOPE)
            clipped = np.clip(off, -clips, clips)
            step = weights @ clipped.sum(axis=2).T / slopes
            # A mean and a median are never farther apart than the standard deviation.
            centres = np.clip(centres + step, -sigma, sigma)
        means, squares = clipped.mean(axis=2), (clipped**2).mean(axis=2)
        sds, squares_sds = (
            self.sd / self.num_rows * np.sqrt((of**2).sum(axis=1)) for of in (means, squares)
        )
        squares = squares @ (weights * VALUES)
        return Centres(sigma * CLIPS, centres, sds / slopes, squares, squares_sds, usual)

    def log_likelihood(self, location: float) -> LogLikelihood:
        """Of ln S, if residuals are N(location, S^2)."""
        end = math.log(self.bins.edges[-1])
        log_sds = np.linspace(-end, end, CELLS + 1)
        expected = self.num_rows * normal_shares(location, np.exp(log_sds), self.bins.edges)
        variances = self.sd**2 + expected + (OFF * expected) ** 2 + (LEAST_OFF * self.num_rows) ** 2
        off = ((self.counts - expected) ** 2 / variances + np.log(variances)).sum(axis=1)
        return lambda log_sd: np.interp(log_sd, log_sds, -off / 2)


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
