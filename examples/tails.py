"""The tails of log radon: a likelihood that only a noisy histogram can release."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Rows

PRIOR_MEAN, PRIOR_SD = np.array([0.0, 0.0, 2.0]), np.array([1.0, 0.5, 1.0])  # of theta


@dataclass(frozen=True)
class Tails(RowsModel):
    """x ~ m + s t_nu, Student's t with nu degrees of freedom.

    theta = (m, ln s, ln nu), with independent normal priors. Small nu means heavy tails; nu above
    30 is nearly normal. A row is x.
    """

    num_rows: Rows

    dimension, row_length = 3, 1
    columns = ("log_radon",)
    parameter_names = ("location", "log_scale", "log_degrees_of_freedom")

    def log_likelihood(self, theta, rows):
        """ln t_nu(z) - ln s, (k,), where z = (x - m) / s."""
        z, _, nu = self.terms(theta, rows)
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - np.log(nu) / 2 - theta[1]
        return constant - (nu + 1) / 2 * np.log1p(z**2 / nu)

    def gradient(self, theta, rows):
        """Its gradient in m, ln s and ln nu, (k, 3)."""
        z, s, nu = self.terms(theta, rows)
        pull = (nu + 1) * z / (nu + z**2)
        of_constant = nu / 2 * (digamma((nu + 1) / 2) - digamma(nu / 2)) - 1 / 2
        of_nu = of_constant - nu / 2 * np.log1p(z**2 / nu) + pull * z / 2
        return np.column_stack([pull / s, pull * z - 1, of_nu])

    def terms(self, theta, rows):
        """z, (k,), s and nu."""
        s, nu = np.exp(theta[1:])
        return (rows[:, 0] - theta[0]) / s, s, nu

    def log_prior_ratio(self, theta, theta_new):
        """ln p(theta_new) - ln p(theta)."""
        old, new = (np.sum(((t - PRIOR_MEAN) / PRIOR_SD) ** 2) for t in (theta, theta_new))
        return (old - new) / 2

    def grad_log_prior(self, theta):
        """Gradient of ln p(theta), (3,)."""
        return (PRIOR_MEAN - theta) / PRIOR_SD**2

    # -- A noisy histogram simulates rows, to know how many lie in each bin ------------------------

    true_theta = None  # chains start about the mean of the reference sample

    def simulate(self, rng, theta=None):
        """Rows (n, 1); by default at a draw of the prior."""
        theta = self.sample_prior(rng) if theta is None else theta
        s, nu = np.exp(theta[1:])
        return theta[0] + s * rng.standard_t(nu, size=(self.num_rows, 1))

    def sample_prior(self, rng):
        """A draw of the prior, (3,)."""
        return PRIOR_MEAN + PRIOR_SD * rng.standard_normal(3)
