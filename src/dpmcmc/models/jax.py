"""Models that are written for one row in JAX; the only module that brings JAX with it."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.likelihoods.jax import JaxLikelihood, Passes, compiled_passes
from dpmcmc.models.in_units import InUnits
from dpmcmc.models.model import Model


class JaxModel(Model):
    """A model of which only the log-likelihood of one row is written; a data set is (n, p).

    Ratios and gradients follow by `vmap`, `grad` and `jit`, with 64 bits. Beside the members of
    `Model` it defines:

    row_length : int
        p.
    log_likelihood_row(theta, row)
        ln p(x|theta) of a row (p,) in `jax.numpy`, up to a term without theta: a scalar.
    """

    if TYPE_CHECKING:

        @property
        def row_length(self) -> int:
            """Entries of a row, p."""

        def log_likelihood_row(self, theta: Any, row: Any) -> Any:
            """ln p(x|theta) of a row (p,)."""

    @property
    def data_shape(self) -> tuple[int, ...]:
        """Shape of a data set, (n, p)."""
        return self.num_rows, self.row_length

    @cached_property
    def passes(self) -> Passes:
        """Compiled passes over blocks of rows, shared by all data sets of this model."""
        return compiled_passes(self.log_likelihood_row)

    def __getstate__(self) -> dict[str, Any]:
        """All but the passes, which are compiled anew where it is unpickled."""
        return {name: value for name, value in vars(self).items() if name != "passes"}

    def likelihood(self, data: np.ndarray) -> JaxLikelihood:
        """Clipped sums over the rows of one data set."""
        return JaxLikelihood(self, data)

    def in_units(self, centre: np.ndarray, factor: np.ndarray) -> "JaxModelInUnits":
        """The model of z, where theta = centre + factor z."""
        return JaxModelInUnits(self, centre, factor)


class JaxModelInUnits(InUnits, JaxModel):
    """A `JaxModel` in z; its passes are compiled anew."""

    model: JaxModel

    def log_likelihood_row(self, z: Any, row: Any) -> Any:
        """ln p(x|theta) of a row."""
        return self.model.log_likelihood_row(self.theta(z), row)
