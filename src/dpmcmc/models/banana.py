"""The banana model (thesis, section 5.1, Definition 5.1 and Theorem 5.2)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from msgspec import Meta

from dpmcmc.arrays import read_only
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.filled import check_lengths, fill
from dpmcmc.models.tempered import Tempered
from dpmcmc.settings import Count, Number, Numbers, Positive, Positives, Rows


@dataclass(frozen=True)
class Banana(Tempered, ExponentialFamily):
    """x_j ~ N(y_j, likelihood variance j) with y(theta) = (theta_1, theta_2 + a theta_1^2, ...).

    In the straightened coordinates y, prior and posterior are Gaussian with independent
    components, and theta -> y has Jacobian 1. With a = 0 the model itself is Gaussian. The
    thesis's b and m are 0. Statistic: t(x) = x.

    Attributes
    ----------
    dimension : int
        d, at least 2 and at most 1000.
    num_rows : int
        n.
    curvature : float
        a.
    prior_variance : float
        sigma_0^2, of every component of y.
    likelihood_variances : list of float
        sigma_j^2. If the list is shorter than d, its last value is repeated.
    true_position : list of float
        theta that the data are drawn at; its last value is repeated too.
    tempered_rows : int, optional
        n0: the likelihood is raised to the power T = n0 / n. By default n0 = n.
    """

    dimension: Annotated[int, Meta(ge=2, le=1000)]
    num_rows: Rows
    curvature: Number
    prior_variance: Positive
    likelihood_variances: Positives
    true_position: Numbers
    tempered_rows: Count | None = None

    has_constant_covariance = True

    def check(self) -> None:
        """Refuse lists longer than d, and more tempered rows than there are."""
        check_lengths(self, "likelihood_variances", "true_position")
        self.check_tempering()

    @cached_property
    def true_theta(self) -> np.ndarray:
        """theta that the data are drawn at, (d,)."""
        return read_only(fill(self.true_position, self.dimension))

    @cached_property
    def precisions(self) -> np.ndarray:
        """1 / sigma_j^2 of the likelihood, (d,)."""
        return read_only(1.0 / fill(self.likelihood_variances, self.dimension))

    def straighten(self, theta: np.ndarray) -> np.ndarray:
        """y(theta): theta with a theta_1^2 added to its second component; theta is (..., d)."""
        straight = np.array(theta, dtype=float)
        first = straight.T[0]
        straight.T[1] += self.curvature * first * first
        return straight

    def bend(self, straight: np.ndarray) -> np.ndarray:
        """Inverse of `straighten`."""
        theta = np.array(straight, dtype=float)
        theta.T[1] -= self.curvature * theta.T[0] ** 2
        return theta

    def sample_prior(self, rng: np.random.Generator) -> np.ndarray:
        """A draw of the prior, (d,)."""
        return self.bend(np.sqrt(self.prior_variance) * rng.standard_normal(self.dimension))

    def simulate(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """A data set at theta, by default the true position, (d, n)."""
        mean = self.straighten(self.true_theta if theta is None else theta)
        noise = rng.standard_normal((self.dimension, self.num_rows))
        return mean[:, None] + noise / np.sqrt(self.precisions)[:, None]

    def ratio_coefficients(
        self, theta: np.ndarray, theta_new: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Slope (d,) and intercept of ln p(x|theta_new) - ln p(x|theta) as a function of x."""
        straight, straight_new = self.straighten(theta), self.straighten(theta_new)
        slope = self.precisions * (straight_new - straight)
        return slope, 0.5 * (slope @ (straight_new + straight))

    def gradient_coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian (d, d) and offset (d,) of grad ln p(x|theta) = J^T x - g."""
        jacobian = self._scaled_identity.copy()
        jacobian[1, 0] = self._bend_rate(theta) * self.precisions[1]
        return jacobian, self._pull_back(theta, self.precisions * self.straighten(theta))

    def log_prior_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """ln p(theta_new) - ln p(theta)."""
        straight, straight_new = self.straighten(theta), self.straighten(theta_new)
        return ((straight - straight_new) @ (straight + straight_new)) / (2 * self.prior_variance)

    def grad_log_prior(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of the log prior, (d,)."""
        return self._pull_back(theta, self.straighten(theta) / -self.prior_variance)

    @cached_property
    def _scaled_identity(self) -> np.ndarray:
        return read_only(np.diag(self.precisions))

    def _bend_rate(self, theta: np.ndarray) -> float:
        """The one entry off the diagonal of the Jacobian D of `straighten`: d y_2 / d theta_1."""
        return 2 * self.curvature * theta[0]

    def _pull_back(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """D^T times a gradient in y, (d,), in place."""
        gradient[0] += self._bend_rate(theta) * gradient[1]
        return gradient

    def statistic_mean(self, theta: np.ndarray) -> np.ndarray:
        """y(theta), (d,)."""
        return self.straighten(theta)

    def statistic_covariance(self, theta: np.ndarray | None = None) -> np.ndarray:
        """Diagonal of the likelihood variances, (d, d)."""
        return np.diag(1.0 / self.precisions)

    def sample_posterior(
        self, rng: np.random.Generator, statistics: np.ndarray, size: int
    ) -> np.ndarray:
        """Exact draws of the tempered posterior (Theorem 5.2), (size, d)."""
        return self.sample_given_total(rng, statistics.sum(axis=1), size, self.likelihood_power)

    def sample_given_total(
        self, rng: np.random.Generator, total: np.ndarray, size: int, power: float = 1.0
    ) -> np.ndarray:
        """Exact draws given the sum (d,) of the rows, (size, d)."""
        weight = power * self.precisions
        variance = 1.0 / (self.num_rows * weight + 1.0 / self.prior_variance)
        mean = variance * weight * total
        return self.bend(mean + np.sqrt(variance) * rng.standard_normal((size, self.dimension)))
