"""Models whose log-likelihood is affine in a statistic of the row."""

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dpmcmc.arrays import read_only
from dpmcmc.likelihoods.affine import AffineLikelihood
from dpmcmc.likelihoods.blocks import arranged
from dpmcmc.likelihoods.bounded_scores import Scores, plain_scores
from dpmcmc.models.in_units import InUnits
from dpmcmc.models.model import Model

PRIOR_DRAWS = 1000


class ExponentialFamily(Model):
    """A model with ln p(x|theta) = eta(theta) . t(x) - A(theta) + const(x), t(x) in R^m.

    Log-likelihood ratios and gradients are then affine in t(x). A data set is an array (m, n):
    one contiguous stretch of memory a statistic. Beside the members of `Model` it defines:

    num_statistics : int
        m; d if it says nothing.
    ratio_coefficients(theta, theta_new)
        Slope (m,) and intercept: ln p(x|theta_new) - ln p(x|theta) = slope . t(x) - intercept.
    gradient_coefficients(theta)
        Jacobian (m, d) and offset (d,): grad ln p(x|theta) = jacobian^T t(x) - offset.

    For `NoisyStatistics`:

    statistic_mean(theta), statistic_covariance(theta)
        Mean (m,) and covariance (m, m) of t(x) at theta.
    has_constant_covariance : bool
        Whether that covariance is the same at every theta, so public; then theta may be None.
    """

    has_constant_covariance = False

    if TYPE_CHECKING:

        def ratio_coefficients(
            self, theta: np.ndarray, theta_new: np.ndarray
        ) -> tuple[np.ndarray, float]:
            """Slope (m,) and intercept."""

        def gradient_coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Jacobian (m, d) and offset (d,)."""

    def statistic_mean(self, theta: np.ndarray) -> np.ndarray:
        """Mean of t(x) at theta, (m,); raises NotImplementedError unless the model defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no statistic_mean")

    def statistic_covariance(self, theta: np.ndarray | None) -> np.ndarray:
        """Covariance of t(x) at theta, (m, m); NotImplementedError unless the model defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no statistic_covariance")

    def sample_given_total(
        self, rng: np.random.Generator, total: np.ndarray, size: int, power: float = 1.0
    ) -> np.ndarray:
        """Exact draws, (size, d), of the density p(theta) exp(power (eta(theta) . total - n A)).

        The total (m,) is that of t(x) over the n rows, and A depends on theta: the posterior, where
        power is T. Raises NotImplementedError unless the model defines it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no sample_given_total")

    @cached_property
    def prior_means(self) -> np.ndarray:
        """Means of t(x) at draws of the prior, (1000, m); always the same, so public."""
        rng = np.random.default_rng(0)
        draws = [self.sample_prior(rng) for _ in range(PRIOR_DRAWS)]
        return read_only(np.array([self.statistic_mean(theta) for theta in draws]))

    @property
    def num_statistics(self) -> int:
        """Length m of the statistic of a row."""
        return self.dimension

    @property
    def data_shape(self) -> tuple[int, ...]:
        """Shape of a data set, (m, n)."""
        return self.num_statistics, self.num_rows

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Gradients of rows t(x), (k, m), cut to the bound; same as `Model.bounded_scores`."""
        jacobian, offset = self.gradient_coefficients(theta)
        return plain_scores(rows @ jacobian - offset)

    def likelihood(self, data: np.ndarray) -> AffineLikelihood:
        """Clipped sums over the rows of one data set."""
        return AffineLikelihood(self, data)

    def dataset(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """A simulated data set, (m, n), with rows near each other next to each other."""
        return arranged(self.simulate(rng, theta), self.typical_jacobian)

    def statistics(self, rows: np.ndarray) -> np.ndarray:
        """t(x) of rows (n, p) from `prepare`: (m, n); by default t(x) = x."""
        return rows.T

    def from_rows(self, rows: np.ndarray) -> np.ndarray:
        """The statistics of rows, (m, n), with rows near each other next to each other."""
        return arranged(self.statistics(rows), self.typical_jacobian)

    @property
    def typical_jacobian(self) -> np.ndarray:
        """Jacobian (m, d) at the true theta, which orders the rows; the identity without one."""
        if self.true_theta is None:
            return np.eye(self.num_statistics)
        return self.gradient_coefficients(self.true_theta)[0]

    def in_units(self, centre: np.ndarray, factor: np.ndarray) -> "ExponentialFamilyInUnits":
        """The model of z, where theta = centre + factor z."""
        return ExponentialFamilyInUnits(self, centre, factor)


class ExponentialFamilyInUnits(InUnits, ExponentialFamily):
    """An `ExponentialFamily` in z."""

    model: ExponentialFamily

    @property
    def num_statistics(self) -> int:
        """m."""
        return self.model.num_statistics

    def ratio_coefficients(self, z: np.ndarray, z_new: np.ndarray) -> tuple[np.ndarray, float]:
        """Same as in the model, at theta."""
        return self.model.ratio_coefficients(self.theta(z), self.theta(z_new))

    def gradient_coefficients(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian (m, d) and offset (d,) of the gradient in z."""
        jacobian, offset = self.model.gradient_coefficients(self.theta(z))
        return jacobian @ self.factor, offset @ self.factor

    @cached_property
    def typical_jacobian(self) -> np.ndarray:
        """Jacobian (m, d) at the centre."""
        return self.gradient_coefficients(np.zeros(self.dimension))[0]
