"""The prior that several models share."""

import math

import numpy as np

from dpmcmc.models.model import Model


class NormalPrior(Model):
    """Prior theta ~ N_d(0, prior_variance I), for a model with these settings and a `dimension`."""

    prior_variance: float

    def sample_prior(self, rng: np.random.Generator) -> np.ndarray:
        """A draw of the prior, (d,)."""
        return math.sqrt(self.prior_variance) * rng.standard_normal(self.dimension)

    def log_prior_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """ln p(theta_new) - ln p(theta)."""
        return ((theta - theta_new) @ (theta + theta_new)) / (2 * self.prior_variance)

    def grad_log_prior(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of the log prior, (d,)."""
        return -theta / self.prior_variance
