"""Robust regression in JAX: log radon from log uranium, with Student's t for outliers."""

from dataclasses import dataclass

from jax.scipy.stats import t

from dpmcmc.models.jax import JaxModel
from dpmcmc.settings import Positive, Rows


@dataclass(frozen=True)
class Robust(JaxModel):
    """y ~ theta_1 + theta_2 x + scale t_4, theta ~ Normal(0, prior_sd^2 I). A row: (x, y)."""

    num_rows: Rows
    scale: Positive = 0.7
    prior_sd: Positive = 2.0

    dimension = row_length = 2
    columns = ("log_uranium", "log_radon")
    parameter_names = ("intercept", "slope")

    def log_likelihood_row(self, theta, row):
        """ln p(row | theta), of which JAX takes the gradient."""
        return t.logpdf(row[1], 4, theta[0] + theta[1] * row[0], self.scale)

    def log_prior_ratio(self, theta, theta_new):
        """ln p(theta_new) - ln p(theta)."""
        return (theta @ theta - theta_new @ theta_new) / (2 * self.prior_sd**2)

    def grad_log_prior(self, theta):
        """Gradient of ln p(theta), (2,)."""
        return -theta / self.prior_sd**2
