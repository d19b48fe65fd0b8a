"""The prior that several models share."""

import math


class NormalPrior:
    """Prior theta ~ N_d(0, prior_variance I), for a model with these settings and a `dimension`."""

    def sample_prior(self, rng):
        """A draw of the prior, (d,)."""
        return math.sqrt(self.prior_variance) * rng.standard_normal(self.dimension)

    def log_prior_ratio(self, theta, theta_new):
        """ln p(theta_new) - ln p(theta)."""
        return ((theta - theta_new) @ (theta + theta_new)) / (2 * self.prior_variance)

    def grad_log_prior(self, theta):
        """Gradient of the log prior, (d,)."""
        return -theta / self.prior_variance
