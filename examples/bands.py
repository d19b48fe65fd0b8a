"""A hierarchical model in NumPy: log radon in bands of uranium, means and spreads unknown."""

from dataclasses import dataclass

import numpy as np

from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Positive, Rows

EDGES = np.array([-0.2, 0.2, 0.5, 0.8])  # of log uranium: between five bands
UNIT = 20  # of m and ln tau in theta


@dataclass(frozen=True)
class Bands(RowsModel):
    """y ~ Normal(m_j, sigma^2) in band j, m_j ~ Normal(m, tau^2).

    A row is y and, of each band, 1 if the house is in it, else 0. The priors: m ~ Normal(0,
    prior_sd^2); tau and sigma are half-normal, |Normal(0, prior_sd^2)|.

    Chains walk over all real numbers, so theta has the *logarithms* of the spreads:
    (m / 20, ln tau / 20, ln sigma, m_1, ..., m_5). Noise for privacy grows with the length of a
    step, in whatever direction. The posterior of m and ln tau is wide; divided by 20 they vary
    about as much as the others.
    """

    num_rows: Rows
    prior_sd: Positive = 1.0

    dimension, row_length = 8, 6
    columns = ("log_radon", "log_uranium")
    parameter_names = ("mean/20", "log_tau/20", "log_sigma", *(f"band_{j}" for j in range(1, 6)))

    def prepare(self, rows):
        """Rows of the file, (n, 2), as the model has them."""
        return with_bands(rows[:, 0], np.searchsorted(EDGES, rows[:, 1]))

    def log_likelihood(self, theta, rows):
        """-ln sigma - r^2 / 2, (k,): r is how many sigma a house is from the mean of its band."""
        r = (rows[:, 0] - rows[:, 1:] @ theta[3:]) / np.exp(theta[2])
        return -theta[2] - r**2 / 2

    def gradient(self, theta, rows):
        """(0, 0, r^2 - 1, r / sigma in the place of the band), (k, 8)."""
        sigma = np.exp(theta[2])
        r = (rows[:, 0] - rows[:, 1:] @ theta[3:]) / sigma
        nothing = np.zeros((len(rows), 2))
        return np.column_stack([nothing, r**2 - 1, rows[:, 1:] * (r / sigma)[:, None]])

    def log_prior(self, theta):
        """ln p(theta), up to a constant.

        A density of a spread s, p(s), is one of ln s once it is multiplied by ds / d ln s = s: the
        Jacobian adds ln tau and ln sigma.
        """
        mean, log_tau, log_sigma = self.top(theta)
        tau, sigma = np.exp([log_tau, log_sigma])
        z = (theta[3:] - mean) / tau
        of_top = -(mean**2 + tau**2 + sigma**2) / (2 * self.prior_sd**2) + log_tau + log_sigma
        return of_top - len(z) * log_tau - z @ z / 2

    def log_prior_ratio(self, theta, theta_new):
        """ln p(theta_new) - ln p(theta)."""
        return self.log_prior(theta_new) - self.log_prior(theta)

    def grad_log_prior(self, theta):
        """Gradient of ln p(theta), (8,)."""
        mean, log_tau, log_sigma = self.top(theta)
        tau, sigma = np.exp([log_tau, log_sigma])
        z = (theta[3:] - mean) / tau
        of_mean = z.sum() / tau - mean / self.prior_sd**2
        of_log_tau = 1 - (tau / self.prior_sd) ** 2 - len(z) + z @ z
        of_log_sigma = 1 - (sigma / self.prior_sd) ** 2
        return np.array([UNIT * of_mean, UNIT * of_log_tau, of_log_sigma, *(-z / tau)])

    def top(self, theta):
        """m, ln tau and ln sigma."""
        return theta[:3] * [UNIT, UNIT, 1]

    # -- For `check`, which tries likelihood and prior against what these draw ---------------------

    true_theta = None  # chains start about the mean of the reference sample

    def simulate(self, rng, theta=None):
        """Rows (n, 6), all bands alike; by default at a prior draw."""
        theta = self.sample_prior(rng) if theta is None else theta
        band = rng.integers(5, size=self.num_rows)
        noise = np.exp(theta[2]) * rng.standard_normal(self.num_rows)
        return with_bands(theta[3 + band] + noise, band)

    def sample_prior(self, rng):
        """A draw of the prior, (8,)."""
        mean, *spreads = self.prior_sd * rng.standard_normal(3)
        tau, sigma = np.abs(spreads)
        means = mean + tau * rng.standard_normal(5)
        return np.array([mean / UNIT, np.log(tau) / UNIT, np.log(sigma), *means])


def with_bands(y, band):
    """Rows (k, 6) of log radon (k,) and bands (k,) from 0 to 4."""
    return np.column_stack([y, band[:, None] == np.arange(5)])
