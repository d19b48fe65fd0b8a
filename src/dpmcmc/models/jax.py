"""Models that are written for one row in JAX; the only module that brings JAX with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpmcmc.likelihoods.bounded_scores import Scores, plain_scores
from dpmcmc.likelihoods.jax import JaxLikelihood, Passes, compiled_passes, row_gradients
from dpmcmc.models.in_units import InUnits
from dpmcmc.models.model import Model
from dpmcmc.settings import Rows

if TYPE_CHECKING:
    from dpmcmc.models.numpyro import Traced


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

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Gradients, cut to the bound; same as `Model.bounded_scores`."""
        return plain_scores(row_gradients(self.log_likelihood_row, theta, rows))

    def likelihood(self, data: np.ndarray) -> JaxLikelihood:
        """Clipped sums over the rows of one data set."""
        return JaxLikelihood(self, data)

    def in_units(self, centre: np.ndarray, factor: np.ndarray) -> "JaxModelInUnits":
        """The model of z, where theta = centre + factor z."""
        return JaxModelInUnits(self, centre, factor)

    @staticmethod
    def from_numpyro(model: Callable[[Any], Any], columns: Sequence[str]) -> "type[NumPyroModel]":
        """The class of a model that is written in NumPyro, with one plate over the rows.

        Theta has its latent variables, which stand outside the plate, as numbers without
        constraint; `parameters` has them as the model does. The likelihood of a row is that of the
        model of this row alone, so nothing in it can depend on other rows. Entries of simulated
        rows that the model does not observe are standard normal; derive a class for other ones.

        Parameters
        ----------
        model : function
            It takes rows (n, p), and observes entries of theirs.
        columns : list of str
            Names of the p columns of a file that a row is made of.

        Returns
        -------
        subclass of NumPyroModel
            Its only setting is num_rows. A study names it as any class of one's own.

        Raises
        ------
        ValueError
            In one line, for latent variables inside the plate, no or several plates, or what
            belongs to no row.
        """
        from dpmcmc.models.numpyro import Traced

        name = getattr(model, "__name__", "Model")
        members = {
            "traced": Traced(model, len(columns)),
            "columns": tuple(columns),
            "__doc__": model.__doc__,
            "__module__": model.__module__,
            "__annotations__": {"num_rows": Rows},
        }
        return dataclass(frozen=True)(type(name, (NumPyroModel,), members))


class NumPyroModel(JaxModel):
    """A model that is written in NumPyro; see `JaxModel.from_numpyro`."""

    if TYPE_CHECKING:
        traced: ClassVar["Traced"]

    @property
    def dimension(self) -> int:
        """Components of theta, d."""
        return len(self.traced.names)

    @property
    def row_length(self) -> int:
        """Entries of a row, p."""
        return len(self.columns)

    @property
    def parameter_names(self) -> Sequence[str]:
        """Names of the components of theta."""
        return tuple(self.traced.names)

    def log_likelihood_row(self, theta: Any, row: Any) -> Any:
        """ln p(x|theta) of a row (p,)."""
        return self.traced.log_likelihood_row(theta, row)

    def log_prior_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """ln p(theta_new) - ln p(theta)."""
        return float(self.traced.log_prior(theta_new)) - float(self.traced.log_prior(theta))

    def grad_log_prior(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of ln p(theta), (d,)."""
        return np.asarray(self.traced.grad_log_prior(theta))

    def sample_prior(self, rng: np.random.Generator) -> np.ndarray:
        """A draw of the prior, (d,)."""
        return self.traced.sample_prior(rng)

    def simulate(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """Rows (n, p): outcomes by the model, and other entries standard normal."""
        at = self.sample_prior(rng) if theta is None else theta
        return self.traced.simulate(rng, at, self.num_rows)

    def parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Latent variables of the model at theta (d,), by name, within their constraints."""
        return self.traced.parameters(theta)


class JaxModelInUnits(InUnits, JaxModel):
    """A `JaxModel` in z; its passes are compiled anew."""

    model: JaxModel

    def log_likelihood_row(self, z: Any, row: Any) -> Any:
        """ln p(x|theta) of a row."""
        return self.model.log_likelihood_row(self.theta(z), row)
