"""A mixture of two normals with two modes a posteriori (Heikkila et al. 2019, section 4)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from msgspec import Meta

from dpmcmc.arrays import read_only
from dpmcmc.models.rows import RowsModel
from dpmcmc.models.tempered import Tempered
from dpmcmc.settings import Count, Number, Positive, Rows

Two = Meta(min_length=2, max_length=2)


@dataclass(frozen=True)
class GaussianMixture(Tempered, RowsModel):
    """x ~ N(theta_1, variance) / 2 + N(theta_1 + theta_2, variance) / 2, theta_j ~ N(0, v_j).

    Another theta has the same likelihood: (theta_1 + theta_2, -theta_2). So there are two modes,
    whose shares the prior decides.

    Attributes
    ----------
    num_rows : int
        n.
    variance : float
        Of either component.
    prior_variances : list of float
        v_1 and v_2.
    true_position : list of float
        theta that the data are drawn at.
    tempered_rows : int, optional
        n0: the likelihood is raised to the power T = n0 / n. By default n0 = n.
    start_sd : float, optional
        Chains start at Normal(true_position, start_sd^2 I). By default as those of other models do.
    """

    num_rows: Rows
    variance: Positive
    prior_variances: Annotated[list[Positive], Two]
    true_position: Annotated[list[Number], Two]
    tempered_rows: Count | None = None
    start_sd: Positive | None = None

    dimension = 2
    row_length = 1

    def check(self) -> None:
        """Refuse more tempered rows than there are."""
        self.check_tempering()

    @cached_property
    def true_theta(self) -> np.ndarray:
        """theta that the data are drawn at, (2,)."""
        return read_only(np.array(self.true_position, dtype=float))

    def start_point(self, rng: np.random.Generator, reference: np.ndarray) -> np.ndarray:
        """Normal(true_position, start_sd^2 I), whatever the reference sample (size, 2)."""
        if self.start_sd is None:
            return super().start_point(rng, reference)
        return self.true_theta + self.start_sd * rng.standard_normal(2)

    def mirrored(self, theta: np.ndarray) -> np.ndarray:
        """The other theta (..., 2) with the same likelihood."""
        first, second = theta[..., 0], theta[..., 1]
        return np.stack([first + second, -second], axis=-1)

    def sample_prior(self, rng: np.random.Generator) -> np.ndarray:
        """A draw of the prior, (2,)."""
        return np.sqrt(self.prior_variances) * rng.standard_normal(2)

    def simulate(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """Rows at theta, by default the true position, (n, 1)."""
        first, second = self.true_theta if theta is None else theta
        is_second = rng.random(self.num_rows) < 0.5
        noise = rng.standard_normal(self.num_rows)
        rows = first + second * is_second + np.sqrt(self.variance) * noise
        return rows[:, None]

    def log_likelihood_ratio(
        self, theta: np.ndarray, theta_new: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """ln p(x|theta_new) - ln p(x|theta) of rows (k, 1), with one logarithm a row: (k,).

        About the centre c of the two means c - h and c + h a row x = c + y has, but for a constant,
        the density exp(-(y^2 + h^2) / (2 variance)) cosh(h y / variance).
        """
        (c, h), (c_new, h_new) = centre_and_half(theta), centre_and_half(theta_new)
        y, y_new = rows[:, 0] - c, rows[:, 0] - c_new
        u, u_new = np.abs(h / self.variance * y), np.abs(h_new / self.variance * y_new)
        of_squares = (c_new - c) * (y + y_new) + (h - h_new) * (h + h_new)
        # ln cosh(u) = u + ln(1 + exp(-2 u)) - ln 2
        of_cosh = (u_new - u) + np.log((1 + np.exp(-2 * u_new)) / (1 + np.exp(-2 * u)))
        return of_squares / (2 * self.variance) + of_cosh

    def gradient(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Its gradients, (k, 2)."""
        first = rows[:, 0] - theta[0]
        second = first - theta[1]
        odds = (first * first - second * second) / (2 * self.variance)  # logarithm, of the second
        share = (1 + np.tanh(odds / 2)) / 2
        of_second = share * second
        return np.array([(1 - share) * first + of_second, of_second]).T / self.variance

    def log_prior_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """ln p(theta_new) - ln p(theta)."""
        return float(((theta - theta_new) * (theta + theta_new) / self.prior_variances).sum() / 2)

    def grad_log_prior(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of the log prior, (2,)."""
        return -theta / self.prior_variances


def centre_and_half(theta: np.ndarray) -> tuple[float, float]:
    """Centre of the two means, and half of their distance, which may be negative."""
    half = float(theta[1]) / 2
    return float(theta[0]) + half, half
