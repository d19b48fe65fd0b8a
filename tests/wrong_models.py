"""Models that are wrong in a way of their own: in a module that is quick to import."""

from dataclasses import dataclass

import numpy as np
from row_models import PlainLogisticRows

from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Rows


@dataclass(frozen=True)
class LogScale(RowsModel):
    """x ~ N(theta_1, exp(theta_2)^2), theta_1 ~ N(0, 1) and exp(theta_2) ~ Exponential(1)."""

    num_rows: Rows = 300
    dimension = 2
    row_length = 1
    true_theta = np.array([0.5, -0.5])

    def log_prior(self, theta):
        return -(theta[0] ** 2) / 2 - np.exp(theta[1]) + theta[1]

    def log_prior_ratio(self, theta, theta_new):
        return self.log_prior(theta_new) - self.log_prior(theta)

    def grad_log_prior(self, theta):
        return np.array([-theta[0], 1 - np.exp(theta[1])])

    def sample_prior(self, rng):
        return np.array([rng.standard_normal(), np.log(rng.exponential())])

    def simulate(self, rng, theta=None):
        theta = self.true_theta if theta is None else theta
        return theta[0] + np.exp(theta[1]) * rng.standard_normal((self.num_rows, 1))

    def log_likelihood(self, theta, rows):
        return -((rows[:, 0] - theta[0]) ** 2) / 2 * np.exp(-2 * theta[1]) - theta[1]

    def gradient(self, theta, rows):
        z = (rows[:, 0] - theta[0]) * np.exp(-theta[1])
        return np.column_stack([z * np.exp(-theta[1]), z**2 - 1])


class WithoutJacobian(LogScale):
    """The prior of the scale, taken for one of its logarithm."""

    def log_prior(self, theta):
        return super().log_prior(theta) - theta[1]

    def grad_log_prior(self, theta):
        return super().grad_log_prior(theta) - np.array([0.0, 1.0])


class SquaredScale(LogScale):
    """Data of a scale that is exp(2 theta_2)."""

    def simulate(self, rng, theta=None):
        theta = self.true_theta if theta is None else theta
        return super().simulate(rng, np.array([theta[0], 2 * theta[1]]))


class WithoutNormalizer(LogScale):
    """The density of a row without its factor 1 / scale."""

    def log_likelihood(self, theta, rows):
        return super().log_likelihood(theta, rows) + theta[1]

    def gradient(self, theta, rows):
        return super().gradient(theta, rows) + np.array([0.0, 1.0])


class Twice(LogScale):
    """Each row counts twice."""

    def log_likelihood(self, theta, rows):
        return 2 * super().log_likelihood(theta, rows)

    def gradient(self, theta, rows):
        return 2 * super().gradient(theta, rows)


class Centred(LogScale):
    """The rows of a block are taken about their mean."""

    def log_likelihood(self, theta, rows):
        return super().log_likelihood(theta, rows - rows.mean(axis=0))

    def gradient(self, theta, rows):
        return super().gradient(theta, rows - rows.mean(axis=0))


class ScaledByTheLargest(PlainLogisticRows):
    """Covariates of a block are scaled by the largest of them, and theta back."""

    def log_likelihood(self, theta, rows):
        x = rows[:, :-1]
        largest = np.abs(x[np.isfinite(x)]).max(initial=1e-3)
        return super().log_likelihood(theta * largest, np.column_stack([x / largest, rows[:, -1]]))


class HalfAGradient(PlainLogisticRows):
    """The gradient of one component is half of what it is."""

    def gradient(self, theta, rows):
        return super().gradient(theta, rows) * np.array([1.0, 0.5])


class WidePrior(PlainLogisticRows):
    """Draws of a prior that is wider than its density says."""

    def sample_prior(self, rng):
        return 1.2 * super().sample_prior(rng)


@dataclass(frozen=True)
class StatisticsOfAllRows(ExponentialFamily):
    """The statistic of a row is its deviation from the mean of the rows."""

    num_rows: Rows = 300
    dimension = 1

    def statistics(self, rows):
        return rows.T - rows.mean()

    def log_prior_ratio(self, theta, theta_new):
        return (theta @ theta - theta_new @ theta_new) / 2

    def grad_log_prior(self, theta):
        return -theta

    def simulate(self, rng, theta=None):
        return (0.0 if theta is None else theta[0]) + rng.standard_normal((1, self.num_rows))

    def ratio_coefficients(self, theta, theta_new):
        return theta_new - theta, float(theta_new @ theta_new - theta @ theta) / 2

    def gradient_coefficients(self, theta):
        return np.eye(1), theta
