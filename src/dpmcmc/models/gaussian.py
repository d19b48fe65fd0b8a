"""Gaussian models with known covariance, given (thesis, section 5.1) or drawn at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta

from dpmcmc.arrays import read_only
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.filled import check_lengths, fill
from dpmcmc.models.laws import ERRORS, Law, normal, other_errors
from dpmcmc.models.normal_prior import NormalPrior
from dpmcmc.settings import Dimension, Numbers, Positive, Rows, Seed


class GaussianMean(NormalPrior, ExponentialFamily):
    """x ~ N_d(theta, C) with prior theta ~ N_d(0, prior_variance I).

    Beside settings `num_rows` and `prior_variance` its classes have `dimension`, `true_theta` and

    covariance_matrix : (d, d) array
        C, known.
    """

    has_constant_covariance = True
    other_laws = other_errors(*ERRORS)

    if TYPE_CHECKING:

        @property
        def covariance_matrix(self) -> np.ndarray:
            """Covariance of a row, (d, d)."""

    @cached_property
    def precision(self) -> np.ndarray:
        """Inverse of the covariance, (d, d)."""
        return read_only(np.linalg.inv(self.covariance_matrix))

    def names_of(self, columns: Sequence[str]) -> Sequence[str]:
        """Names of the means: those of the columns."""
        return list(columns)

    def simulate(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """Statistics of a data set at theta, by default the true position, (d, n)."""
        return self.statistics(self.simulate_rows(rng, theta).T)

    def simulate_as(self, law: str, rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
        """Statistics of a data set whose errors have another law, (d, n)."""
        return self.statistics(self.simulate_rows(rng, theta, ERRORS[law][0]).T)

    def simulate_rows(
        self, rng: np.random.Generator, theta: np.ndarray | None = None, law: Law = normal
    ) -> np.ndarray:
        """Rows at theta, by default the true position, else a draw of the prior, (d, n)."""
        mean = self.true_theta if theta is None else theta
        mean = self.sample_prior(rng) if mean is None else mean
        factor = np.linalg.cholesky(self.covariance_matrix)
        noise = factor @ law(rng, (self.dimension, self.num_rows))
        return mean[:, None] + noise

    def posterior_draws(
        self, rng: np.random.Generator, pull: np.ndarray, size: int, power: float = 1.0
    ) -> np.ndarray:
        """Exact draws of the posterior, (size, d); `pull` is the sum of C^-1 x, (d,)."""
        posterior_precision = power * self.num_rows * self.precision
        posterior_precision[np.diag_indices(self.dimension)] += 1.0 / self.prior_variance
        mean = np.linalg.solve(posterior_precision, power * pull)
        factor = np.linalg.cholesky(posterior_precision)
        noise = rng.standard_normal((self.dimension, size))
        return mean + np.linalg.solve(factor.T, noise).T


@dataclass(frozen=True)
class Gaussian(GaussianMean):
    """x ~ N_d(theta, covariance) with prior theta ~ N_d(0, prior_variance I). Statistic: t(x) = x.

    Attributes
    ----------
    num_rows : int
        n.
    prior_variance : float
    covariance : list of lists of float
        Known covariance of a row, (d, d), positive definite.
    true_position : list of float, optional
        theta that the data are drawn at, (d,); by default a draw of the prior.
    """

    num_rows: Rows
    prior_variance: Positive
    covariance: Annotated[list[Numbers], Meta(min_length=1)]
    true_position: Numbers | None = None

    def check(self) -> None:
        """Refuse what is not a covariance of as many components as the true position has."""
        d = len(self.true_position or self.covariance)
        if not is_covariance(self.covariance, d):
            raise ValueError(
                f"covariance: must be a symmetric positive definite {d} x {d} matrix "
                + "(true_position has as many entries)" * (self.true_position is not None)
            )

    @property
    def dimension(self) -> int:
        """d."""
        return len(self.covariance)

    @cached_property
    def true_theta(self) -> np.ndarray | None:
        """theta that the data are drawn at, (d,); None without a true position."""
        if self.true_position is None:
            return None
        return read_only(np.array(self.true_position, dtype=float))

    @cached_property
    def covariance_matrix(self) -> np.ndarray:
        """Covariance of a row, (d, d)."""
        return read_only(np.array(self.covariance, dtype=float))

    def ratio_coefficients(
        self, theta: np.ndarray, theta_new: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Slope (d,) and intercept of ln p(x|theta_new) - ln p(x|theta) as a function of x."""
        slope = self.precision @ (theta_new - theta)
        return slope, 0.5 * (slope @ (theta_new + theta))

    def gradient_coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian (d, d) and offset (d,) of grad ln p(x|theta) = J^T x - g."""
        return self.precision, self.precision @ theta

    def statistic_mean(self, theta: np.ndarray) -> np.ndarray:
        """theta, (d,)."""
        return theta

    def statistic_covariance(self, theta: np.ndarray | None = None) -> np.ndarray:
        """C, (d, d)."""
        return self.covariance_matrix

    def sample_posterior(
        self, rng: np.random.Generator, statistics: np.ndarray, size: int
    ) -> np.ndarray:
        """Exact draws of the posterior, (size, d)."""
        return self.sample_given_total(rng, statistics.sum(axis=1), size)

    def sample_given_total(
        self, rng: np.random.Generator, total: np.ndarray, size: int, power: float = 1.0
    ) -> np.ndarray:
        """Exact draws given the sum (d,) of t(x), (size, d)."""
        return self.posterior_draws(rng, self.precision @ total, size, power)


@dataclass(frozen=True)
class RandomGaussian(GaussianMean):
    """x ~ N_d(theta, Q diag(g) Q^T) with prior theta ~ N_d(0, prior_variance I).

    The covariance is drawn once: g_i ~ Gamma(shape 1/2, scale 1), and Q from the QR decomposition
    of a matrix of uniform entries. So the condition number is large, and the smallest variance
    depends on chance. Statistic: t(x) = C^-1 x, with which gradients are shifts and cost least.

    Attributes
    ----------
    dimension : int
        d, at most 1000.
    num_rows : int
        n.
    prior_variance : float
    covariance_seed : int
        Of that draw.
    true_position : list of float
        theta that the data are drawn at. If the list is shorter than d, its last value is repeated.
    """

    dimension: Dimension
    num_rows: Rows
    prior_variance: Positive
    covariance_seed: Seed
    true_position: Numbers

    def check(self) -> None:
        """Refuse a position longer than d."""
        check_lengths(self, "true_position")

    @cached_property
    def true_theta(self) -> np.ndarray:
        """theta that the data are drawn at, (d,)."""
        return read_only(fill(self.true_position, self.dimension))

    @cached_property
    def covariance_matrix(self) -> np.ndarray:
        """Covariance of a row, (d, d)."""
        d, rng = self.dimension, np.random.default_rng(self.covariance_seed)
        q, _ = np.linalg.qr(rng.random((d, d)))
        covariance = (q * rng.gamma(0.5, size=d)) @ q.T
        return read_only((covariance + covariance.T) / 2)

    def statistics(self, rows: np.ndarray) -> np.ndarray:
        """t(x) of rows (n, d): C^-1 x, (d, n)."""
        return self.precision @ rows.T

    def ratio_coefficients(
        self, theta: np.ndarray, theta_new: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Slope (d,) and intercept of ln p(x|theta_new) - ln p(x|theta) as a function of t(x)."""
        slope = theta_new - theta
        return slope, 0.5 * (slope @ (self.precision @ (theta_new + theta)))

    def gradient_coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian (d, d) and offset (d,) of grad ln p(x|theta) = t(x) - C^-1 theta."""
        return self._identity, self.precision @ theta

    @cached_property
    def _identity(self) -> np.ndarray:
        return read_only(np.eye(self.dimension))

    def statistic_mean(self, theta: np.ndarray) -> np.ndarray:
        """C^-1 theta, (d,)."""
        return self.precision @ theta

    def statistic_covariance(self, theta: np.ndarray | None = None) -> np.ndarray:
        """C^-1, (d, d)."""
        return self.precision

    def sample_posterior(
        self, rng: np.random.Generator, statistics: np.ndarray, size: int
    ) -> np.ndarray:
        """Exact draws of the posterior, (size, d)."""
        return self.sample_given_total(rng, statistics.sum(axis=1), size)

    def sample_given_total(
        self, rng: np.random.Generator, total: np.ndarray, size: int, power: float = 1.0
    ) -> np.ndarray:
        """Exact draws given the sum (d,) of t(x), (size, d)."""
        return self.posterior_draws(rng, total, size, power)


def is_covariance(rows: Sequence[Sequence[float]], d: int) -> bool:
    """True for a symmetric d x d matrix that is positive definite beyond rounding errors."""
    if len(rows) != d or any(len(row) != d for row in rows):
        return False
    if any(rows[i][j] != rows[j][i] for i in range(d) for j in range(i)):
        return False
    rows = [[float(entry) for entry in row] for row in rows]
    largest = max(abs(rows[i][i]) for i in range(d))
    for pivot in range(d):
        if not rows[pivot][pivot] > 1e-12 * largest:
            return False
        for i in range(pivot + 1, d):
            factor = rows[i][pivot] / rows[pivot][pivot]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[pivot], strict=True)]
    return True
