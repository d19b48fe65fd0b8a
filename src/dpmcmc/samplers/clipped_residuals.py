"""Clipped residuals times covariates: scores of a linear regression, of which one row moves little.

A metric Q turns the covariates x of a row into Q x, of length l. The score of a row with residual r
is w Q x clip(r, -c, c) with w = min(1, (reach / l)^4) and c = B / (w l). It is never longer than
B, whatever the outcome and the covariates are. It is odd in r, so its mean is zero at the true
coefficients for all errors that are symmetric. For skewed errors it is not, and rows of other
lengths have other means. So r may have a *centre* taken off that depends on the row's c alone, and
that was released before: with it the mean of a clipped error is zero at every c.

Its slope is M Q x x' Q. For normal errors and a normal belief of the coefficients, of variance
`spread` along Q x / l, the residual is N(0, S^2) with S^2 = sigma^2 + spread l^2. The slope that is
best over the belief, that of a linear regression of the score, is M = w P(|r| < c) (Stein's
identity). M knows no outcome, and M l^2 is at most C. So rows are released with their M, where the
covariates decide, and not with an average. docs/accounting.md has the proofs.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import chdtri, ndtr

from dpmcmc.likelihoods.information import upper_triangle
from dpmcmc.samplers.drawn_information import Slope
from dpmcmc.samplers.metric import Metric

POWER = 4  # of the weight of a long row
REACH = 0.99  # share of public rows that have the weight 1
LENGTHS = np.linspace(0, 10, 4001)[1:]  # in reaches, among which M l^2 is largest
MARGIN = 1.001  # on that maximum; a row that would pass it gets a smaller M
# v = (b C / B)^2, for information that is released in units of 1 / b; at most 1 + 1 / sqrt(2).
INFORMATION_PART = 1.7
SENSITIVITY = math.sqrt(4 + INFORMATION_PART)  # of gradient and information together, over B
SAMPLING_MARGIN = 1.1  # on the variance of scores by the sampling of rows
PLACES = 12  # ways to the coefficients, for what is not linear
ROWS_AT_ONCE = 4096
SHORTEST, LONGEST = 1e-60, 1e60  # rows that count: powers of other lengths are no numbers
NEAR = 1.05  # of the least variance: bounds that are as good
BOUNDS = 2.0 ** np.arange(-5.0, 3.0, 0.5)  # tried, in `unit`


class Design:
    """Public rows of covariates in a metric.

    Parameters
    ----------
    rows : (k, p) array
        Covariates, before the metric.
    metric : Metric
        Q.
    """

    def __init__(self, rows: np.ndarray, metric: Metric) -> None:
        self.metric, self.rows = metric, rows @ metric.matrix
        self.lengths = np.sqrt(np.einsum("kp,kp->k", self.rows, self.rows))
        self.size = float((self.lengths**2).mean())  # E l^2
        self.reach = float(np.quantile(self.lengths, REACH))

    @property
    def moments(self) -> np.ndarray:
        """E Q x x' Q, (p, p)."""
        return self.rows.T @ self.rows / len(self.rows)

    def with_moments(self, moments: np.ndarray, metric: Metric) -> Self:
        """Rows of the same shape with other E x x', (p, p), in another metric."""
        turned = np.linalg.solve(np.linalg.cholesky(self.moments), self.rows.T)
        return type(self)((np.linalg.cholesky(moments) @ turned).T, metric)


class ClippedResiduals:
    """Scores at some coefficients.

    Parameters
    ----------
    design : Design
    bound : float
        B.
    sigma : float
        Standard deviation of an error, as it is known.
    spread : float
        Variance of the belief in a direction, with which rows are released.
    centres : function, optional
        Of clips (n,), to what is taken off residuals. By default that is nothing.
    excess : float
        Factor of the variance of clipped errors: 1 for normal ones.
    """

    def __init__(
        self,
        design: Design,
        bound: float,
        sigma: float,
        spread: float,
        centres: Callable[[np.ndarray], np.ndarray] = np.zeros_like,
        excess: float = 1.0,
    ) -> None:
        self.design, self.bound, self.sigma, self.spread = design, bound, sigma, spread
        self.centres, self.excess = centres, excess

    def weights(self, lengths: np.ndarray) -> np.ndarray:
        """Weights w of rows of some lengths."""
        return np.minimum(1.0, (self.design.reach / lengths) ** POWER)

    def clips(self, lengths: np.ndarray) -> np.ndarray:
        """Clips c of rows of some lengths."""
        return self.bound / (self.weights(lengths) * lengths)

    def slopes(self, lengths: np.ndarray, spread: float) -> np.ndarray:
        """Slopes M of rows of some lengths, over a belief."""
        sd = np.sqrt(self.sigma**2 + spread * lengths**2)
        return self.weights(lengths) * (2 * ndtr(self.clips(lengths) / sd) - 1)

    @cached_property
    def largest(self) -> float:
        """The bound C: M l^2 of a released row is at most that."""
        lengths = LENGTHS * self.design.reach
        return MARGIN * float((self.slopes(lengths, self.spread) * lengths**2).max())

    @property
    def ratio(self) -> float:
        """The ratio b: information is released in units of 1 / b."""
        return math.sqrt(INFORMATION_PART) * self.bound / self.largest

    def sums(
        self, covariates: np.ndarray, residuals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Sums of scores (p,) and of M Q x x' Q, as a vector, and the number of clipped rows.

        Rows with a residual that is not finite, or beyond `SHORTEST` and `LONGEST`, count as 0.

        Parameters
        ----------
        covariates : (n, p) array
            Before the metric.
        residuals : (n,) array
        """
        p = covariates.shape[1]
        gradient, information, num_clipped = np.zeros(p), np.zeros((p, p)), 0
        for first in range(0, len(residuals), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            with np.errstate(all="ignore"):
                x = covariates[part] @ self.design.metric.matrix
                lengths = np.sqrt(np.einsum("kp,kp->k", x, x))
                is_fine = (lengths > SHORTEST) & (lengths < LONGEST) & np.isfinite(residuals[part])
            x, lengths, r = x[is_fine], lengths[is_fine], residuals[part][is_fine]
            c = self.clips(lengths)
            r = r - self.centres(c)
            gradient += (self.weights(lengths) * np.clip(r, -c, c)) @ x
            slopes = np.minimum(self.slopes(lengths, self.spread), self.largest / lengths**2)
            information += (x * slopes[:, None]).T @ x
            num_clipped += int(np.count_nonzero(abs(r) > c))
        i, j, factors = upper_triangle(p)
        return gradient, information[i, j] * factors, num_clipped

    # -- What is known of them beforehand ----------------------------------------------------------

    @property
    def unit(self) -> float:
        """Root mean square of |Q x| times the standard deviation of a residual."""
        size = self.design.size
        return math.sqrt((self.sigma**2 + self.spread * size) * size)

    @property
    def usual_clip(self) -> float:
        """Clip of a row of the root mean square length."""
        return float(self.clips(np.array([math.sqrt(self.design.size)]))[0])

    def mean(self, values: np.ndarray) -> float:
        """Mean of a number of each public row, by l^2."""
        return float((values * self.design.lengths**2).mean()) / self.design.size

    def mean_slope(self, spread: float) -> float:
        """M over a belief, the mean by l^2."""
        return self.mean(self.slopes(self.design.lengths, spread))

    @cached_property
    def sampling(self) -> float:
        """Variance of a score by the sampling of rows, the mean by l^2."""
        lengths = self.design.lengths
        c, w = self.clips(lengths), self.weights(lengths)
        return self.excess * self.mean(w**2 * clipped_variance(self.sigma, c))

    def rest(self, spreads: np.ndarray) -> float:
        """Variance of a component of the mean score of a row, by what is not linear.

        The way to the coefficients has any direction, and each of some lengths.
        """
        design = self.design
        c, w = (of(design.lengths)[:, None] for of in (self.clips, self.weights))
        linear = self.slopes(design.lengths, float(spreads.mean()))[:, None]
        ways = np.random.default_rng(5).standard_normal((len(spreads), design.rows.shape[1]))
        squares = np.einsum("ki,ij,kj->k", ways, design.moments, ways)
        ways = design.rows @ (ways * np.sqrt(spreads * design.size / squares)[:, None]).T
        off = w * clipped_mean(ways, self.sigma, c) - linear * ways
        return float(((design.rows.T @ off / len(ways)) ** 2).mean())

    def slope(self, num_rows: int, spreads: np.ndarray) -> Slope:
        """How summed scores over M answer where the way to the coefficients has such lengths.

        The slope stays M, which rests on counts of residuals. One that follows what is believed
        after a step gives intervals that are too short where covariates are correlated.
        """
        released, p = self.mean_slope(self.spread), self.design.rows.shape[1]
        return Slope(1.0, num_rows * self.rest(spreads) * p / (released**2 * self.design.size))

    def spread_after(self, num_rows: int, noise: float) -> float:
        """Variance of the belief in a direction after a release, by a recursion.

        Parameters
        ----------
        num_rows : int
        noise : float
            Standard deviation of the noise over the sensitivity.
        """
        n, p = num_rows, self.design.rows.shape[1]
        of_entry = self.design.size / p
        sd = self.bound * SENSITIVITY * noise
        of_information = min((sd / self.ratio) ** 2, (n * of_entry) ** 2)
        variance = n * self.sampling * of_entry + sd**2
        spread = self.spread
        for _ in range(4):
            lengths = spread * chdtri(p, (np.arange(PLACES) + 0.5) / PLACES) / p
            more = n**2 * self.rest(lengths) + of_information * spread * (p + 1) / 2
            information = (n * self.mean_slope(spread) * of_entry) ** 2 / (variance + more)
            spread = 1 / (1 / self.spread + information)
        return spread


def best_of(bounds: np.ndarray, spread_after: Callable[[float], float]) -> float:
    """The largest of the bounds after which a belief is nearly the narrowest."""
    after = np.array([spread_after(bound) for bound in bounds.tolist()])
    return float(bounds[after <= NEAR * after.min()].max())


def clipped_mean(way: Any, sd: Any, clip: Any) -> Any:
    """E clip(way + sd e, -clip, clip), with e standard normal."""
    high, low = (clip - way) / sd, (-clip - way) / sd
    inside = ndtr(high) - ndtr(low)
    return way * inside + sd * (density(low) - density(high)) + clip * (ndtr(-high) - ndtr(low))


def clipped_variance(sd: Any, clip: Any) -> Any:
    """E clip(sd e, -clip, clip)^2, with e standard normal."""
    k = clip / sd
    return sd**2 * (2 * ndtr(k) - 1 - 2 * k * density(k)) + 2 * clip**2 * ndtr(-k)


def density(z: Any) -> Any:
    """Of the standard normal distribution."""
    return np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
