"""Regressions on bounded covariates: logistic, and robust with Student's t."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpmcmc.models.normal_prior import NormalPrior
from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Dimension, Positive, Rows


@dataclass(frozen=True)
class Regression(NormalPrior, RowsModel):
    """A regression of an outcome on d covariates, with prior theta ~ N_d(0, prior_variance I).

    A row is (y, x_1, ..., x_d). Rows whose covariates are longer than `covariate_bound`, a public
    setting, are scaled back to that length: so the gradient of a row has a bound, whatever the row.
    There is no intercept; a covariate that is always 1 is one.
    """

    dimension: Dimension
    num_rows: Rows
    prior_variance: Positive
    covariate_bound: Positive

    @property
    def row_length(self) -> int:
        """d + 1."""
        return self.dimension + 1

    @abstractmethod
    def outcomes(self, rng: np.random.Generator, means: np.ndarray) -> np.ndarray:
        """Outcomes (n,) at values (n,) of x . theta."""

    def names_of(self, columns: Sequence[str]) -> Sequence[str]:
        """Names of the coefficients: those of the covariates' columns."""
        return columns[1:]

    def prepare(self, rows: np.ndarray) -> np.ndarray:
        """Rows of a file (k, d + 1), with covariates of at most the bound's length."""
        lengths = np.linalg.norm(rows[:, 1:], axis=1)
        factors = self.covariate_bound / np.maximum(lengths, self.covariate_bound)
        return np.column_stack([rows[:, 0], rows[:, 1:] * factors[:, None]])

    def simulate(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """Rows (n, d + 1) at theta, by default a draw of the prior; covariates are N(0, I)."""
        theta = self.sample_prior(rng) if theta is None else theta
        rows = np.zeros((self.num_rows, self.row_length))
        rows[:, 1:] = rng.standard_normal((self.num_rows, self.dimension))
        rows = self.prepare(rows)
        rows[:, 0] = self.outcomes(rng, rows[:, 1:] @ theta)
        return rows


@dataclass(frozen=True)
class LogisticRegression(Regression):
    """P(y = 1 | x) = 1 / (1 + exp(-x . theta)), for y in {0, 1}.

    The gradient of a row is no longer than `covariate_bound`, and its information no larger than a
    quarter of the square of that, in Frobenius norm.

    Attributes
    ----------
    dimension : int
        d.
    num_rows : int
        n.
    prior_variance : float
    covariate_bound : float
        Largest length of a row's covariates.
    """

    outcome_values = "0 or 1"

    def is_outcome(self, outcomes: np.ndarray) -> np.ndarray:
        """Mask (k,) of outcomes that are 0 or 1."""
        return (outcomes == 0) | (outcomes == 1)

    def outcomes(self, rng: np.random.Generator, means: np.ndarray) -> np.ndarray:
        """Outcomes, 0 or 1, for values (n,) of x . theta."""
        return rng.random(len(means)) < sigmoid(means)

    def log_likelihood_ratio(
        self, theta: np.ndarray, theta_new: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """ln P(y|x, theta_new) - ln P(y|x, theta) of rows (k, d + 1), (k,)."""
        signs = 2 * rows[:, 0] - 1
        old, new = (signs * (rows[:, 1:] @ position) for position in (theta, theta_new))
        # ln P = min(m, 0) - ln(1 + exp(-|m|)) for m = x . theta, with the sign of y.
        of_old, of_new = np.exp(-abs(old)), np.exp(-abs(new))
        logarithms = np.log1p((of_old - of_new) / (1 + of_new))
        return np.minimum(new, 0) - np.minimum(old, 0) + logarithms

    def gradient(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Gradients of ln P(y|x, theta), (k, d): (y - P(1|x)) x."""
        covariates = rows[:, 1:]
        return (covariates.T * (rows[:, 0] - sigmoid(covariates @ theta))).T


@dataclass(frozen=True)
class RobustRegression(Regression):
    """y = x . theta + scale t, with t of Student's distribution with known degrees of freedom.

    With nu degrees the gradient of a row is no longer than covariate_bound (nu + 1) /
    (2 scale sqrt(nu)), and its information, in Frobenius norm, no larger than covariate_bound^2
    (nu + 1) / (nu scale^2).

    Attributes
    ----------
    dimension : int
        d.
    num_rows : int
        n.
    prior_variance : float
    covariate_bound : float
        Largest length of a row's covariates.
    degrees : float
        Degrees of freedom nu of the errors.
    scale : float
        Of the errors.
    """

    degrees: Positive = 4.0
    scale: Positive = 1.0

    def outcomes(self, rng: np.random.Generator, means: np.ndarray) -> np.ndarray:
        """Outcomes for values (n,) of x . theta."""
        return means + self.scale * rng.standard_t(self.degrees, size=len(means))

    def log_likelihood_ratio(
        self, theta: np.ndarray, theta_new: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """ln p(y|x, theta_new) - ln p(y|x, theta) of rows (k, d + 1), (k,)."""
        old, new = (self._residuals(position, rows) ** 2 for position in (theta, theta_new))
        half = (self.degrees + 1) / 2
        return half * (np.log1p(old / self.degrees) - np.log1p(new / self.degrees))

    def gradient(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Gradients of ln p(y|x, theta), (k, d)."""
        residuals = self._residuals(theta, rows)
        slopes = (self.degrees + 1) / self.scale * residuals / (self.degrees + residuals**2)
        return (rows[:, 1:].T * slopes).T

    def _residuals(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(y - x . theta) / scale of rows, (k,)."""
        return (rows[:, 0] - rows[:, 1:] @ theta) / self.scale


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))
