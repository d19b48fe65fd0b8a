"""The circle model (thesis, section 5.1)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from msgspec import Meta

from dpmcmc.arrays import read_only
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.settings import Number, Positive, Rows


@dataclass(frozen=True)
class Circle(ExponentialFamily):
    """ln p(r | x, y) = -a (x^2 + y^2 - r^2)^2, flat prior on the plane. Statistic: t(r) = r^2.

    Attributes
    ----------
    num_rows : int
        n.
    sharpness : float
        a.
    radius_mean, radius_sd : float
        The data are r ~ Normal(radius_mean, radius_sd^2).
    start_mean : list of float
        Chains start at Normal(start_mean, start_sd^2 I).
    start_sd : float
    """

    num_rows: Rows
    sharpness: Positive
    radius_mean: Number
    radius_sd: Positive
    start_mean: Annotated[list[Number], Meta(min_length=2, max_length=2)]
    start_sd: Positive

    dimension = 2
    num_statistics = 1
    has_constant_covariance = True
    is_generative = False

    @cached_property
    def posterior_mean(self) -> np.ndarray:
        """The origin, by symmetry."""
        return read_only(np.zeros(2))

    @cached_property
    def true_theta(self) -> np.ndarray:
        """Centre of the start points, (2,); no theta of the model generates the data."""
        return read_only(np.array(self.start_mean, dtype=float))

    def statistics(self, rows: np.ndarray) -> np.ndarray:
        """Squares of radii (n, 1), as (1, n)."""
        return rows.T**2

    def simulate(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """A data set as the squared radii, (1, n); at no theta, as none generates data."""
        if theta is not None:
            raise NotImplementedError("Circle has no simulate at a theta: it is no density of r")
        return rng.normal(self.radius_mean, self.radius_sd, size=(1, self.num_rows)) ** 2

    def ratio_coefficients(
        self, theta: np.ndarray, theta_new: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Slope (1,) and intercept of ln p(r|theta_new) - ln p(r|theta) as a function of r^2."""
        squared, squared_new = theta @ theta, theta_new @ theta_new
        slope = 2 * self.sharpness * (squared_new - squared)
        return np.array([slope]), 0.5 * slope * (squared_new + squared)

    def gradient_coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian (1, 2) and offset (2,) of grad ln p(r|theta) = J^T r^2 - g."""
        jacobian = 4 * self.sharpness * theta
        return jacobian[None, :], jacobian * (theta @ theta)

    def log_prior_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """0: the prior is flat."""
        return 0.0

    def grad_log_prior(self, theta: np.ndarray) -> np.ndarray:
        """0: the prior is flat."""
        return read_only(np.zeros(2))

    def statistic_mean(self, theta: np.ndarray) -> np.ndarray:
        """x^2 + y^2, (1,)."""
        return np.array([theta @ theta])

    def statistic_covariance(self, theta: np.ndarray | None = None) -> np.ndarray:
        """1 / (2 a), (1, 1): that of the normal density of r^2 that the likelihood looks like."""
        return np.array([[0.5 / self.sharpness]])

    def sample_posterior(
        self, rng: np.random.Generator, statistics: np.ndarray, size: int
    ) -> np.ndarray:
        """Exact draws of the posterior, (size, 2)."""
        return self.draws_about(rng, statistics.mean(), size)

    def sample_given_total(
        self, rng: np.random.Generator, total: np.ndarray, size: int, power: float = 1.0
    ) -> np.ndarray:
        """Exact draws given the sum (1,) of r^2, (size, 2); it may be negative, of noise."""
        return self.draws_about(rng, total[0] / self.num_rows, size, power)

    def draws_about(
        self, rng: np.random.Generator, mean: float, size: int, power: float = 1.0
    ) -> np.ndarray:
        """Exact draws given the mean of r^2, (size, 2).

        With u = x^2 + y^2 the area element is du dphi / 2, so the angle phi is uniform and u is
        Normal(mean of r_i^2, 1 / (2 a n)) truncated to u > 0. The mean of data is not negative, so
        the rejection below keeps at least every other draw. One far below 0 is inverted.
        """
        spread = (2 * self.sharpness * self.num_rows * power) ** -0.5
        if mean < 0:
            from scipy.stats import truncnorm  # which takes longer to import than this to run

            shape = -mean / spread, np.inf
            squared = truncnorm.rvs(*shape, mean, spread, size, random_state=rng)
        else:
            squared = rng.normal(mean, spread, size)
        while (negative := squared <= 0).any():
            squared[negative] = rng.normal(mean, spread, negative.sum())
        angle = rng.uniform(0.0, 2 * np.pi, size)
        return np.sqrt(squared)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    def start_point(self, rng: np.random.Generator, reference: np.ndarray) -> np.ndarray:
        """Normal(start_mean, start_sd^2 I), whatever the reference sample."""
        return self.true_theta + self.start_sd * rng.standard_normal(2)
