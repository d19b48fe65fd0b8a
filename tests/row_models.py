"""The banana and a logistic regression as models of rows, in NumPy: quick to import.

New processes import it; `jax_models.py` has the same in JAX, which takes a second.
"""

from dataclasses import dataclass

import numpy as np

from dpmcmc.models.banana import Banana
from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Count, Positive, Rows


class Rewritten:
    """What does not depend on how the likelihood of the banana is written."""

    @property
    def dimension(self):
        return self.banana.dimension

    row_length = dimension

    @property
    def num_rows(self):
        return self.banana.num_rows

    @property
    def likelihood_power(self):
        return self.banana.likelihood_power

    @property
    def true_theta(self):
        return self.banana.true_theta

    def log_prior_ratio(self, theta, theta_new):
        return self.banana.log_prior_ratio(theta, theta_new)

    def grad_log_prior(self, theta):
        return self.banana.grad_log_prior(theta)

    def simulate(self, rng, theta=None):
        return np.ascontiguousarray(self.banana.simulate(rng, theta).T)

    def sample_prior(self, rng):
        return self.banana.sample_prior(rng)


@dataclass(frozen=True)
class PlainBananaRows(Rewritten, RowsModel):
    banana: Banana

    def log_likelihood(self, theta, rows):
        return (rows - self.banana.straighten(theta)) ** 2 @ (-0.5 * self.banana.precisions)

    def gradient(self, theta, rows):
        gradient = np.empty((len(theta), len(rows)))
        np.subtract(rows.T, self.banana.straighten(theta)[:, None], out=gradient)
        gradient *= self.banana.precisions[:, None]
        gradient[0] += 2 * self.banana.curvature * theta[0] * gradient[1]
        return gradient.T


@dataclass(frozen=True)
class BananaRows(PlainBananaRows):
    def log_likelihood_ratio(self, theta, theta_new, rows):
        straight, straight_new = self.banana.straighten(theta), self.banana.straighten(theta_new)
        slope = self.banana.precisions * (straight_new - straight)
        return rows @ slope - 0.5 * (slope @ (straight_new + straight))


@dataclass(frozen=True)
class Logistic:
    """y ~ Bernoulli(sigma(x . theta)), prior theta ~ N(0, prior_variance I); a row is (x, y)."""

    dimension: Count
    num_rows: Rows
    prior_variance: Positive = 1.0

    @property
    def row_length(self):
        return self.dimension + 1

    @property
    def true_theta(self):
        return np.linspace(-1, 1, self.dimension)

    def log_prior_ratio(self, theta, theta_new):
        return ((theta - theta_new) @ (theta + theta_new)) / (2 * self.prior_variance)

    def grad_log_prior(self, theta):
        return -theta / self.prior_variance

    def simulate(self, rng, theta=None):
        theta = self.true_theta if theta is None else theta
        x = rng.standard_normal((self.num_rows, self.dimension))
        y = rng.random(self.num_rows) < 1 / (1 + np.exp(-x @ theta))
        return np.column_stack([x, y])

    def sample_prior(self, rng):
        return np.sqrt(self.prior_variance) * rng.standard_normal(self.dimension)


@dataclass(frozen=True)
class PlainLogisticRows(Logistic, RowsModel):
    def log_likelihood(self, theta, rows):
        z = rows[:, :-1] @ theta
        return rows[:, -1] * z - np.maximum(z, 0) - np.log1p(np.exp(-abs(z)))

    def gradient(self, theta, rows):
        x = rows[:, :-1]
        residuals = rows[:, -1] - 1 / (1 + np.exp(-(x @ theta)))
        return np.multiply(x.T, residuals, order="C").T


@dataclass(frozen=True)
class LogisticRows(PlainLogisticRows):
    def log_likelihood_ratio(self, theta, theta_new, rows):
        z, z_new = np.stack([theta, theta_new]) @ rows[:, :-1].T
        ratio = (z_new - z) * rows[:, -1]
        ratio += np.maximum(z, 0)
        ratio -= np.maximum(z_new, 0)
        return ratio + np.log((1 + np.exp(-abs(z))) / (1 + np.exp(-abs(z_new))))
