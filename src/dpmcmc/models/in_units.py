"""A model in other coordinates: theta = centre + factor z, where z is what a sampler sees.

Gradients in z are those in theta times the factor, so clips act on both ratios and gradients in
these units. Rows, and the statistics of rows, are as they were.
"""

from functools import cached_property

import numpy as np

from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.model import Model
from dpmcmc.models.rows import RowsModel


def in_units(model, centre, factor):
    """The model of z.

    Parameters
    ----------
    model : Model
        An `ExponentialFamily`, `RowsModel` or `JaxModel`.
    centre : (d,) array
    factor : (d, d) array

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        For a model of another kind.
    """
    if isinstance(model, ExponentialFamily):
        return ExponentialFamilyInUnits(model, centre, factor)
    if isinstance(model, RowsModel):
        return RowsModelInUnits(model, centre, factor)
    if hasattr(model, "log_likelihood_row"):
        from dpmcmc.models.jax import JaxModel  # which takes seconds to import

        class JaxModelInUnits(InUnits, JaxModel):
            """A `JaxModel` in z; its passes are compiled anew."""

            def log_likelihood_row(self, z, row):
                """ln p(x|theta) of a row."""
                return self.model.log_likelihood_row(self.theta(z), row)

        return JaxModelInUnits(model, centre, factor)
    raise ValueError(f"model: cannot be put in other units: {type(model).__name__}")


class InUnits(Model):
    """What models in z share."""

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


class ExponentialFamilyInUnits(InUnits, ExponentialFamily):
    """An `ExponentialFamily` in z."""

    @property
    def num_statistics(self):
        """m."""
        return self.model.num_statistics

    def ratio_coefficients(self, z, z_new):
        """As of the model, at theta."""
        return self.model.ratio_coefficients(self.theta(z), self.theta(z_new))

    def gradient_coefficients(self, z):
        """Jacobian (m, d) and offset (d,) of the gradient in z."""
        jacobian, offset = self.model.gradient_coefficients(self.theta(z))
        return jacobian @ self.factor, offset @ self.factor

    @cached_property
    def typical_jacobian(self):
        """Jacobian (m, d) at the centre."""
        return self.gradient_coefficients(np.zeros(self.dimension))[0]


class RowsModelInUnits(InUnits, RowsModel):
    """A `RowsModel` in z."""

    def log_likelihood_ratio(self, z, z_new, rows):
        """ln p(x|theta_new) - ln p(x|theta) of rows (k, p), (k,)."""
        return self.model.log_likelihood_ratio(self.theta(z), self.theta(z_new), rows)

    def gradient(self, z, rows):
        """Gradients in z of rows (k, p), (k, d)."""
        return (self.factor.T @ np.asarray(self.model.gradient(self.theta(z), rows)).T).T
