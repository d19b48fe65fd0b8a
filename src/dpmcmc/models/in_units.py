"""A model in other coordinates: theta = centre + factor z, where z is what a sampler sees.

Gradients in z are those in theta times the factor, so clips act on both ratios and gradients in
these units. Rows, and the statistics of rows, are as they were.
"""

import numpy as np

from dpmcmc.models.model import Model


class InUnits(Model):
    """Base of models in z."""

    dimension: int
    num_rows: int
    likelihood_power: float
    row_length: int

    def __init__(self, model: Model, centre: np.ndarray, factor: np.ndarray) -> None:
        self.model, self.centre, self.factor = model, centre, factor
        self.dimension, self.num_rows = model.dimension, model.num_rows
        self.likelihood_power = model.likelihood_power
        if hasattr(model, "row_length"):
            self.row_length = model.row_length

    def theta(self, z: np.ndarray) -> np.ndarray:
        """Position of z, (d,)."""
        return self.centre + self.factor @ z

    def log_prior_ratio(self, z: np.ndarray, z_new: np.ndarray) -> float:
        """ln p(theta_new) - ln p(theta)."""
        return self.model.log_prior_ratio(self.theta(z), self.theta(z_new))

    def grad_log_prior(self, z: np.ndarray) -> np.ndarray:
        """Gradient in z, (d,)."""
        return self.factor.T @ self.model.grad_log_prior(self.theta(z))
