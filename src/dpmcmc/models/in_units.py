"""A model in other coordinates: theta = centre + factor z, where z is what a sampler sees.

Gradients in z are those in theta times the factor, so clips act on both ratios and gradients in
these units. Rows, and the statistics of rows, are as they were.
"""

from dpmcmc.models.model import Model


class InUnits(Model):
    """Base of models in z."""

    def __init__(self, model, centre, factor):
        self.model, self.centre, self.factor = model, centre, factor
        self.dimension, self.num_rows = model.dimension, model.num_rows
        self.likelihood_power = model.likelihood_power
        if hasattr(model, "row_length"):
            self.row_length = model.row_length

    def theta(self, z):
        """Position of z, (d,)."""
        return self.centre + self.factor @ z

    def log_prior_ratio(self, z, z_new):
        """ln p(theta_new) - ln p(theta)."""
        return self.model.log_prior_ratio(self.theta(z), self.theta(z_new))

    def grad_log_prior(self, z):
        """Gradient in z, (d,)."""
        return self.factor.T @ self.model.grad_log_prior(self.theta(z))
