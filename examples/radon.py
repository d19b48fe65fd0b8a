"""Logistic regression in NumPy: the floor that radon was measured on, from radon and uranium."""

from dataclasses import dataclass

import numpy as np

from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Positive, Rows

BASEMENT, NOT_RECORDED = 0, 9  # of the column floor


@dataclass(frozen=True)
class Logistic(RowsModel):
    """y ~ Bernoulli(sigma(theta . (1, x_1, x_2))), theta ~ Normal(0, prior_sd^2 I).

    A row is (y, x_1, x_2): basement or not, log radon, log uranium.
    """

    num_rows: Rows
    prior_sd: Positive = 2.0

    dimension = row_length = 3
    columns = ("floor", "log_radon", "log_uranium")
    parameter_names = ("intercept", "log_radon", "log_uranium")

    def prepare(self, rows):
        """Leave out houses whose floor was not recorded."""
        rows = rows[rows[:, 0] != NOT_RECORDED]
        return np.column_stack([rows[:, 0] == BASEMENT, rows[:, 1:]])

    def log_likelihood(self, theta, rows):
        """y eta - ln(1 + e^eta), (k,)."""
        eta = theta[0] + rows[:, 1:] @ theta[1:]
        return rows[:, 0] * eta - np.logaddexp(0, eta)

    def gradient(self, theta, rows):
        """(y - sigma(eta)) (1, x_1, x_2), (k, 3)."""
        eta = theta[0] + rows[:, 1:] @ theta[1:]
        error = rows[:, 0] - 1 / (1 + np.exp(-eta))
        return np.stack([error, error * rows[:, 1], error * rows[:, 2]]).T

    def log_prior_ratio(self, theta, theta_new):
        """ln p(theta_new) - ln p(theta)."""
        return (theta @ theta - theta_new @ theta_new) / (2 * self.prior_sd**2)

    def grad_log_prior(self, theta):
        """Gradient of ln p(theta), (3,)."""
        return -theta / self.prior_sd**2

    # -- For `check` alone, which simulates rows to see whether these recover theta ----------------

    true_theta = None  # chains start about the mean of the reference sample

    def simulate(self, rng, theta):
        """Rows (n, 3) of houses with standard normal measurements."""
        x = rng.standard_normal((self.num_rows, 2))
        chance = 1 / (1 + np.exp(-theta[0] - x @ theta[1:]))
        return np.column_stack([rng.random(self.num_rows) < chance, x])

    def sample_prior(self, rng):
        """A draw of the prior, (3,)."""
        return self.prior_sd * rng.standard_normal(3)
