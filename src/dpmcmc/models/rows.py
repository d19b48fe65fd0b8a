"""Models that compute with rows themselves, in NumPy."""

from typing import TYPE_CHECKING

import numpy as np

from dpmcmc.likelihoods.bounded_scores import Scores, plain_scores
from dpmcmc.likelihoods.rows import RowsLikelihood
from dpmcmc.models.in_units import InUnits
from dpmcmc.models.model import Model


class RowsModel(Model):
    """A model with functions of k rows at once; a data set is an array (n, p).

    Beside the members of `Model` it defines:

    row_length : int
        p.
    log_likelihood(theta, rows)
        ln p(x|theta) of rows (k, p), up to a term without theta: (k,). Not called if the model
        has a `log_likelihood_ratio` of its own.
    gradient(theta, rows)
        Its gradients, (k, d). They are read fastest from memory in which each component of
        theta is contiguous, as in the transpose of an array (d, k).

    The result for a row must not depend on other rows: privacy rests on it.
    """

    if TYPE_CHECKING:

        @property
        def row_length(self) -> int:
            """Entries of a row, p."""

        def log_likelihood(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
            """ln p(x|theta) of rows (k, p), (k,)."""

        def gradient(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
            """Gradients of ln p(x|theta), (k, d)."""

    @property
    def data_shape(self) -> tuple[int, ...]:
        """Shape of a data set, (n, p)."""
        return self.num_rows, self.row_length

    def log_likelihood_ratio(
        self, theta: np.ndarray, theta_new: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """ln p(x|theta_new) - ln p(x|theta) of rows (k, p), (k,).

        A model may have one of its own that is faster, or loses fewer digits to the difference.
        """
        return self.log_likelihood(theta_new, rows) - self.log_likelihood(theta, rows)

    def log_likelihood_ratios(
        self, theta: np.ndarray, positions: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Sums of these ratios over a block of rows, for many new positions (m, d): (m,).

        For references, not for chains. A model may have one of its own that is faster.
        """
        return np.array(
            [self.log_likelihood_ratio(theta, position, rows).sum() for position in positions]
        )

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Gradients, cut to the bound; same as `Model.bounded_scores`."""
        return plain_scores(np.asarray(self.gradient(theta, rows)))

    def likelihood(self, data: np.ndarray) -> RowsLikelihood:
        """Clipped sums over the rows of one data set."""
        return RowsLikelihood(self, data)

    def in_units(self, centre: np.ndarray, factor: np.ndarray) -> "RowsModelInUnits":
        """The model of z, where theta = centre + factor z."""
        return RowsModelInUnits(self, centre, factor)


class RowsModelInUnits(InUnits, RowsModel):
    """A `RowsModel` in z."""

    model: RowsModel

    def log_likelihood_ratio(
        self, z: np.ndarray, z_new: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """ln p(x|theta_new) - ln p(x|theta) of rows (k, p), (k,)."""
        return self.model.log_likelihood_ratio(self.theta(z), self.theta(z_new), rows)

    def gradient(self, z: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Gradients in z of rows (k, p), (k, d)."""
        return (self.factor.T @ np.asarray(self.model.gradient(self.theta(z), rows)).T).T
