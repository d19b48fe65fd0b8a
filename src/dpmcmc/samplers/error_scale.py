"""The standard deviation of a regression's errors, by noisy counts and by clipped squares.

What is known of ln sigma is a density on a grid: its prior times the likelihood of each release. A
residual at some coefficients has the variance S^2 = sigma^2 + (x . way)^2, where the way to the
true coefficients is as long as is believed. So the likelihood of S is averaged over this belief.
"""

import math
from typing import Self

import numpy as np
from scipy.special import ndtr

from dpmcmc.models.linear_regression import table_of_clips
from dpmcmc.samplers.clipped_residuals import clipped_variance
from dpmcmc.samplers.streams import Streams

SDS = 6.0  # of the prior of ln sigma, to either end of the grid
MOST_LOG = 30.0  # end of the grid at most
CELLS = 1600
COUNTS_SENSITIVITY = math.sqrt(2)  # a row leaves one bin and enters another
WAYS = 64  # squared lengths of the way, by which a belief is known


class ErrorScale:
    """Density of ln sigma.

    Parameters
    ----------
    grid : (k,) array
        ln sigma.
    logs : (k,) array
        Of the density, but for a constant.
    """

    def __init__(self, grid: np.ndarray, logs: np.ndarray) -> None:
        self.grid, self.logs = grid, logs

    @classmethod
    def prior(cls, variance: float) -> Self:
        """N(0, variance)."""
        end = min(SDS * math.sqrt(variance), MOST_LOG)
        grid = np.linspace(-end, end, CELLS + 1)
        return cls(grid, -(grid**2) / (2 * variance))

    @property
    def masses(self) -> np.ndarray:
        """Of the cells of the grid, (k,)."""
        masses = np.exp(self.logs - self.logs.max())
        return masses / masses.sum()

    @property
    def mean(self) -> float:
        """Mean of ln sigma."""
        return float(self.masses @ self.grid)

    @property
    def variance(self) -> float:
        """Variance of ln sigma, that of a cell counted."""
        cell = float(self.grid[1] - self.grid[0])
        return float(self.masses @ (self.grid - self.mean) ** 2) + cell**2 / 12

    def given(self, of_log_sd: np.ndarray, squares: np.ndarray) -> Self:
        """The density after a release.

        Parameters
        ----------
        of_log_sd : (k,) array
            Log-likelihood of ln S on the grid.
        squares : (m,) array
            Mean squares of x . way at draws of a belief, of equal weight.
        """
        log_sds = np.log(np.exp(2 * self.grid)[:, None] + squares) / 2
        logs = np.interp(log_sds, self.grid, of_log_sd)
        top = logs.max()
        return type(self)(
            self.grid, self.logs + top + np.log(np.exp(logs - top).mean(axis=1) + 1e-300)
        )

    # -- Releases ----------------------------------------------------------------------------------

    def with_counts(
        self, rng: Streams, residuals: np.ndarray, squares: np.ndarray, noise: float
    ) -> Self:
        """The density after noisy counts of residuals (n,) in bins of half octaves.

        Noise is its standard deviation over the sensitivity.
        """
        octaves = math.ceil(self.grid[-1] / math.log(2))
        edges = 2.0 ** (np.arange(-2 * octaves, 2 * octaves + 1) / 2)
        finite = abs(residuals[np.isfinite(residuals)])
        found = np.bincount(np.searchsorted(edges, finite), minlength=len(edges) + 1)
        sd = COUNTS_SENSITIVITY * noise
        counts = rng.add_noise(found.astype(float), COUNTS_SENSITIVITY, sd)
        below = 2 * ndtr(edges / np.exp(self.grid)[:, None]) - 1
        expected = len(residuals) * np.diff(below, axis=1, prepend=0.0, append=1.0)
        variances = sd**2 + expected
        off = (counts - expected) ** 2 / variances + np.log(variances)
        return self.given(-off.sum(axis=1) / 2, squares)

    def with_squares(
        self,
        rng: Streams,
        residuals: np.ndarray,
        squares: np.ndarray,
        noise: float,
        sigma: float,
        power: float,
    ) -> Self:
        """The density after a noisy sum of min((residual / sigma)^2, c^2).

        C is the one with the least variance if sigma, which was released before, is right.

        Parameters
        ----------
        rng : Streams
        residuals : (n,) array
        squares : (m,) array
            As in `given`.
        noise : float
            Standard deviation of the noise over the sensitivity.
        sigma : float
        power : float
            T: the variance by the sampling of rows is divided by it.
        """
        n = len(residuals)
        c, _, _, slope, variance = table_of_clips()[:, 1:]
        best = int(((variance / n + (c**2 * noise / n) ** 2) / slope**2).argmin())
        most = float(c[best]) ** 2
        with np.errstate(over="ignore"):
            z = np.minimum((residuals[np.isfinite(residuals)] / sigma) ** 2, most)
        found = float(rng.add_noise(z.sum(), most, most * noise)) / n
        ratios = np.exp(self.grid) / sigma
        expected = clipped_variance(ratios, c[best])
        of_row = np.minimum(ratios**4 * np.interp(c[best] / ratios, c, variance), most**2 / 4)
        spread = of_row / (n * power) + (most * noise / n) ** 2
        return self.given(-((found - expected) ** 2 / spread + np.log(spread)) / 2, squares)


def squares_of(covariance: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Mean squares of x . way, (WAYS,), for ways of a covariance and x of second moments."""
    ways = np.random.default_rng(7).standard_normal((WAYS, len(moments)))
    ways = ways @ np.linalg.cholesky(covariance).T
    return np.einsum("ki,ij,kj->k", ways, moments, ways)
