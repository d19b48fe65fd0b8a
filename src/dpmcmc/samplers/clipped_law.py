"""Mean and covariance of one row's statistic after a clip to a ball, at every theta.

They are what a noisy sum of clipped rows is compared with, so that the clip biases nothing as long
as the rows follow the model (docs/accounting.md has the derivation).
"""

import math
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from dpmcmc.models.exponential_family import ExponentialFamily

POINTS = 8  # of a table, in one standard deviation of a row
BEYOND = 10.0  # standard deviations outside of the ball, up to which there is a table
FAR = 2e3  # a ball that is larger has a flat surface, so it is shifted to this radius
TAIL = 9.0  # standard deviations of a Poisson distribution, outside of which it is left out
PUBLIC_DRAWS = 20_000


class Ball(NamedTuple):
    """A ball that rows are clipped to, in public units z = W (t(x) - centre)."""

    centre: np.ndarray  # (m,), in the units of t(x)
    whiten: np.ndarray  # W, (m, m)
    radius: float


class NormalMoments:
    """Moments of z ~ N(D, I_m) after a clip to a ball of radius R about 0, by r = |D|.

    The clipped z has mean a D and covariance b I + (g - a^2) D D^T. So does its component along D:
    mean a r and variance b + (g - a^2) r^2.

    Parameters
    ----------
    size : int
        m.
    radius : float
        R.
    """

    def __init__(self, size: int, radius: float) -> None:
        from scipy.interpolate import CubicSpline

        self.shift = max(radius - FAR, 0.0)
        radius -= self.shift
        self.end = radius + BEYOND
        self.start = math.sqrt(max(max(radius - BEYOND, 0.0) ** 2 - size, 0.0))
        r = np.linspace(self.start, self.end, math.ceil(POINTS * (self.end - self.start)) + 1)
        a, b, g = mixtures(size, radius, r)
        along = np.maximum(b + (g - a * a) * r * r, 1e-12)
        self._tables = [CubicSpline(r, values) for values in (a * r, b, along)]
        self._slope = self._tables[0].derivative()
        self._grid, self._means = r, np.maximum.accumulate(a * r)

    def at(self, r: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean along D, variance across D, and variance along D; beyond the table by powers."""
        near = r - self.shift
        inside = np.clip(near, self.start, self.end)
        ratio = np.minimum((self.end + self.shift) / np.maximum(r, 1e-300), 1.0)
        mean, across, along = (table(inside) for table in self._tables)
        mean = np.where(near < self.start, near, mean) + self.shift
        return mean, across * ratio**2, along * ratio**4

    def slope(self, r: np.ndarray | float) -> np.ndarray:
        """Derivative of the mean along D by r."""
        r = r - self.shift
        found = self._slope(np.clip(r, self.start, self.end))
        return np.where(r > self.end, 0.0, np.where(r < self.start, 1.0, found))

    def distance(self, mean: float) -> float:
        """The r whose clipped mean has that length; at most the end of the table."""
        near = mean - self.shift
        if near <= self._means[0]:
            return mean
        return float(np.interp(near, self._means, self._grid)) + self.shift


@cache
def normal_moments(size: int, radius: float) -> NormalMoments:
    """`NormalMoments`, made once."""
    return NormalMoments(size, radius)


def mixtures(size: int, radius: float, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a, b and g at distances r (k,), as Poisson(r^2 / 2) mixtures of their values at 0.

    E f(chi'^2_k(r^2)) = sum_j Poisson(j; r^2 / 2) E f(chi^2_{k + 2 j}).
    """
    from scipy.special import gammainc, gammaincc, gammaln

    means = r * r / 2
    spread = TAIL * np.sqrt(means + TAIL)
    low = np.maximum(np.floor(means - spread), 0).astype(int)
    high = np.ceil(means + spread).astype(int) + 1
    j = np.arange(low.min(), high.max() + 1)
    square = radius * radius / 2  # F_k(R^2) = gammainc(k / 2, R^2 / 2)
    logs = gammaln((size + 1) / 2 + j) - gammaln((size + 2) / 2 + j)
    beyond = radius / math.sqrt(2) * np.exp(logs) * gammaincc((size + 1) / 2 + j, square)
    k = size + 2 * j
    inside = gammainc((size + 2) / 2 + j, square)
    b = inside + radius * radius / k * gammaincc(k / 2, square)
    values, log_factorials = np.array([inside + beyond, b]).T, gammaln(j + 1)
    found = np.empty((len(r), 3))
    for i, mean in enumerate(means):
        part = slice(low[i] - j[0], high[i] - j[0])
        after = slice(part.start + 1, part.stop + 1)
        weights = np.exp(j[part] * math.log(max(mean, 1e-300)) - mean - log_factorials[part])
        found[i, :2] = weights @ values[part]
        found[i, 2] = weights @ b[after]
    return found[:, 0], found[:, 1], found[:, 2]


class NormalLaw:
    """Clipped statistics of a model whose t(x) is normal with a constant, public covariance.

    Parameters
    ----------
    model : ExponentialFamily
    ball : Ball
        W whitens t(x).
    """

    def __init__(self, model: ExponentialFamily, ball: Ball) -> None:
        self.model, self.ball = model, ball
        self.moments = normal_moments(len(ball.centre), ball.radius)

    def offset(self, theta: np.ndarray) -> np.ndarray:
        """D, (m,)."""
        return self.ball.whiten @ (self.model.statistic_mean(theta) - self.ball.centre)

    def mean(self, theta: np.ndarray) -> np.ndarray:
        """Mean of a row's clipped z, (m,)."""
        offset = self.offset(theta)
        r = math.sqrt(offset @ offset)
        return self.moments.at(r)[0] / max(r, 1e-12) * offset

    def slope(self, theta: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
        """Its derivative by theta, (m, d); `jacobian` is that of the natural parameters."""
        offset = self.offset(theta)
        r = max(math.sqrt(offset @ offset), 1e-12)
        across, along = self.moments.at(r)[0] / r, float(self.moments.slope(r))
        unit = offset / r
        by_mean = across * np.eye(len(unit)) + (along - across) * np.outer(unit, unit)
        return by_mean @ self.ball.whiten @ self.model.statistic_covariance(theta) @ jacobian

    def covariance(self, theta: np.ndarray) -> np.ndarray:
        """Covariance of a row's clipped z, (m, m)."""
        offset = self.offset(theta)
        r = max(math.sqrt(offset @ offset), 1e-12)
        _, across, along = self.moments.at(r)
        unit = offset / r
        return across * np.eye(len(unit)) + (along - across) * np.outer(unit, unit)

    def log_density(
        self, offsets: np.ndarray, total: np.ndarray, row_weight: float, variance: float
    ) -> np.ndarray:
        """ln of the density of the noisy sum at offsets D (k, m), up to a constant: (k,).

        Parameters
        ----------
        offsets : (k, m) array
        total : (m,) array
            The noisy sum of clipped z.
        row_weight : float
            n / T: rows' covariances that are added.
        variance : float
            Of the noise.
        """
        n, m = self.model.num_rows, len(total)
        r = np.maximum(np.sqrt((offsets * offsets).sum(axis=1)), 1e-12)
        mean, across, along = self.moments.at(r)
        across, along = row_weight * across + variance, row_weight * along + variance
        by_unit = (offsets @ total) / r
        squares = np.maximum(total @ total - by_unit**2, 0.0)
        distance = squares / across + (by_unit - n * mean) ** 2 / along
        return -0.5 * (distance + (m - 1) * np.log(across) + np.log(along))


class DrawnLaw:
    """Clipped statistics of any exponential family, by public draws of rows at one theta.

    Near that theta the bias of the clip is linear in the natural parameters, whose derivative of
    E T is Cov(T, t), and the clip changes the covariance by a fixed factor. Without a clip both are
    exact everywhere.

    Parameters
    ----------
    model : ExponentialFamily
        That can simulate.
    ball : Ball
    theta : (d,) array
    """

    def __init__(self, model: ExponentialFamily, ball: Ball, theta: np.ndarray) -> None:
        self.model, self.ball, self.theta = model, ball, theta
        rng = np.random.default_rng(0)  # the same draws at every theta, so public and smooth
        rows = replace(model, num_rows=PUBLIC_DRAWS).simulate(rng, theta)
        z = ball.whiten @ (rows - ball.centre[:, None])
        lengths = np.sqrt((z * z).sum(axis=0))
        clipped = z * np.minimum(1, ball.radius / np.maximum(lengths, 1e-300))
        lost = z - clipped
        self._bias = lost.mean(axis=1)
        self._bias_slope = lost @ (rows - rows.mean(axis=1)[:, None]).T / PUBLIC_DRAWS
        self._factor = np.linalg.solve(cholesky(z).T, cholesky(clipped).T).T

    def mean(self, theta: np.ndarray) -> np.ndarray:
        """Mean of a row's clipped z, (m,)."""
        change, _ = self.model.ratio_coefficients(self.theta, theta)
        offset = self.ball.whiten @ (self.model.statistic_mean(theta) - self.ball.centre)
        return offset - self._bias - self._bias_slope @ change

    def slope(self, theta: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
        """Its derivative by theta, (m, d); `jacobian` is that of the natural parameters."""
        by_natural = self.ball.whiten @ self.model.statistic_covariance(theta) - self._bias_slope
        return by_natural @ jacobian

    def covariance(self, theta: np.ndarray) -> np.ndarray:
        """Covariance of a row's clipped z, (m, m)."""
        both = self._factor @ self.ball.whiten
        return both @ self.model.statistic_covariance(theta) @ both.T


class UnclippedLaw:
    """The statistics of a row as the model has them."""

    def __init__(self, model: ExponentialFamily) -> None:
        self.model = model

    def mean(self, theta: np.ndarray) -> np.ndarray:
        """Mean of t(x), (m,)."""
        return self.model.statistic_mean(theta)

    def slope(self, theta: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
        """Its derivative by theta, (m, d): Cov t(x) times that of the natural parameters."""
        return self.model.statistic_covariance(theta) @ jacobian

    def covariance(self, theta: np.ndarray) -> np.ndarray:
        """Covariance of t(x), (m, m)."""
        return self.model.statistic_covariance(theta)


def cholesky(z: np.ndarray) -> np.ndarray:
    """Lower triangular factor (m, m) of the covariance of columns z (m, k)."""
    return np.linalg.cholesky(np.atleast_2d(np.cov(z)))
