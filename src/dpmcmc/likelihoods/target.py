"""A posterior bound to its data: what samplers see."""

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpmcmc.arrays import read_only
from dpmcmc.settings import Settings, check_object

REMEMBERED = 128  # positions, more than a trajectory has
if TYPE_CHECKING:
    from dpmcmc.models.model import Model

NONFINITE = ("refuse", "clip")
LEAST_BOUND = 1e-140  # of a gradient's norm, whose square must not underflow


class Target:
    """Tempered posterior p(theta | X) ~ p(X | theta)^T p(theta) of a model for one data set.

    Likelihood terms are returned *without* the power T, since clipping and privacy noise act on
    the untempered terms; samplers multiply by `likelihood_power` themselves.

    Privacy requires that the clip holds for *every* row, whatever its values. A ratio that is not a
    number counts as 0, an infinite one as the bound, and a gradient without a finite norm as the
    zero vector. Such a row counts as clipped.

    Parameters
    ----------
    model : Model
    data : array_like
        Of shape `model.data_shape`. An array of float64 in C order is not copied, and may be
        memory-mapped. The columns of a data frame are taken by name, if the model has names
        (`columns`).
    nonfinite : str
        What to do if rows are not finite: "refuse" the data, or "clip" these rows by the rule
        above.

    Attributes
    ----------
    model : Model
    data : array
        Read-only.
    likelihood : AffineLikelihood, RowsLikelihood or JaxLikelihood
    num_rows : int
        n.
    likelihood_power : float
        Tempering T = n0 / n; 1 without tempering.

    Raises
    ------
    ValueError
        If the model is not a model, or the data are not numbers, have another shape, are not
        finite, or lack a column.
    """

    def __init__(self, model: "Model", data: Any, nonfinite: str = "refuse") -> None:
        check_object("model", model, Settings, "Gaussian(...)")
        self.model = model
        self.data = checked(model, data, nonfinite)
        self.likelihood = model.likelihood(self.data)
        self.num_rows = self.likelihood.num_rows
        self.likelihood_power = model.likelihood_power
        # A trajectory starts where an earlier one started or ended. Samplers add fresh noise.
        self._gradients: dict[tuple[bytes, float], tuple[np.ndarray, int]] = {}
        # The units asked for last, and the target in them.
        self._in_units: tuple[tuple[bytes, bytes] | None, Any] = None, None

    def clipped_log_likelihood_ratio(
        self, theta: np.ndarray, theta_new: np.ndarray, bound: float
    ) -> tuple[float, int]:
        """Sum over rows of clip(ln p(x|theta_new) - ln p(x|theta)), log scale, untempered.

        Parameters
        ----------
        theta, theta_new : (d,) arrays
        bound : float
            Clip bound of one row's ratio.

        Returns
        -------
        total : float
            -inf, without reading the data, where the proposal is not finite: such a proposal is
            rejected.
        num_clipped : int
            Rows with a ratio outside [-bound, bound].
        """
        return self.likelihood.ratio_sum(theta, theta_new, bound)

    def clipped_batch_ratio(
        self, theta: np.ndarray, theta_new: np.ndarray, bound: float, batch: np.ndarray
    ) -> tuple[float, float, int]:
        """Sum over the rows of a batch of the clipped ratios, and of their squares.

        Parameters
        ----------
        theta, theta_new, bound
            As for `clipped_log_likelihood_ratio`.
        batch : (b,) array of int or (n,) array of bool
            Indices of rows, or a mask.

        Returns
        -------
        total, squares : float
            -inf and 0, without reading the data, where the proposal is not finite.
        num_clipped : int

        Raises
        ------
        ValueError
            If a mask is not of as many rows as there are.
        """
        self._check(batch)
        return self.likelihood.batch_ratio_sum(theta, theta_new, bound, batch)

    def clipped_gradient(self, theta: np.ndarray, bound: float) -> tuple[np.ndarray, int]:
        """Sum over rows of the norm-clipped gradient of ln p(x|theta), untempered.

        Parameters
        ----------
        theta : (d,) array
        bound : float
            Largest Euclidean norm of one row's gradient.

        Returns
        -------
        total : (d,) array
            Read-only, as it is remembered.
        num_clipped : int
            Rows with a norm above the bound, or without a finite norm.

        Raises
        ------
        ValueError
            If the bound is too small to clip by.
        """
        check_bound(bound)
        key = theta.tobytes(), bound
        result = self._gradients.pop(key, None)
        if result is None:
            result = self.likelihood.gradient_sum(theta, bound)
            read_only(result[0])
            if len(self._gradients) == REMEMBERED:
                del self._gradients[next(iter(self._gradients))]  # the one asked for longest ago
        self._gradients[key] = result
        return result

    def clipped_batch_gradient(
        self, theta: np.ndarray, bound: float, batch: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Same result as `clipped_gradient`, for the rows of a batch; not remembered.

        Parameters
        ----------
        theta, bound
            As for `clipped_gradient`.
        batch
            As for `clipped_batch_ratio`.
        """
        check_bound(bound)
        self._check(batch)
        return self.likelihood.batch_gradient_sum(theta, bound, batch)

    def clipped_information(self, theta: np.ndarray, bound: float) -> tuple[np.ndarray, int]:
        """Sum over rows of the clipped information, minus the second derivatives of ln p(x|theta).

        The log-likelihood is untempered. The sum is a vector: the upper triangle of the matrix row
        by row, entries off the diagonal times sqrt(2). `dpmcmc.likelihoods.information.as_matrix`
        makes a matrix of it.

        Parameters
        ----------
        theta : (d,) array
        bound : float
            Largest Frobenius norm of one row's information; finite, as it also says how small a
            change of theta is small where derivatives are differences.

        Returns
        -------
        total : (d (d + 1) / 2,) array
            One row, replaced by another, moves it by 2 bounds at most.
        num_clipped : int
            Rows with a norm above the bound, or without a finite norm: these count as 0.

        Raises
        ------
        ValueError
            If the bound is infinite, or too small to clip by.
        """
        if not bound < math.inf:
            raise ValueError(f"information_clip_bound: must be finite, not {bound}")
        check_bound(bound)
        return self.likelihood.information_sum(theta, bound)

    def clipped_statistics(
        self, centre: np.ndarray, whiten: np.ndarray, radius: float
    ) -> tuple[np.ndarray, int]:
        """Sum over rows of W (t(x) - centre), each clipped to a ball; exponential families only.

        Parameters
        ----------
        centre : (m,) array
        whiten : (m, m) array
            W.
        radius : float
            Of the ball about 0: largest Euclidean norm of one row's term.

        Returns
        -------
        total : (m,) array
        num_clipped : int
            Rows outside of the ball; those that are not finite count, as the zero vector.

        Raises
        ------
        ValueError
            If the model is no exponential family, or the radius so small that it would not clip.
        """
        check_bound(radius, "radius")
        if not hasattr(self.likelihood, "statistic_sum"):
            name = type(self.model).__name__
            raise ValueError(f"model: must be an ExponentialFamily to have statistics, not {name}")
        return self.likelihood.statistic_sum(centre, whiten, radius)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of the log posterior, (d,), tempered; nothing is clipped."""
        total, _ = self.clipped_gradient(theta, math.inf)
        return self.likelihood_power * total + self.model.grad_log_prior(theta)

    def in_units(self, centre: np.ndarray, factor: np.ndarray) -> Self:
        """The target in coordinates z, theta = centre + factor z; remembered until others come.

        Parameters
        ----------
        centre : (d,) array
        factor : (d, d) array

        Returns
        -------
        Target
        """
        key = centre.tobytes(), factor.tobytes()
        if self._in_units[0] != key:
            model = self.model.in_units(centre, factor)
            self._in_units = key, type(self)(model, self.data, "clip")
            self._in_units[1].likelihood_power = self.likelihood_power
        return self._in_units[1]

    def row_ratios(
        self,
        theta: np.ndarray,
        theta_new: np.ndarray,
        bound: float = math.inf,
        rows: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ratios of single rows, clipped, and whether each was: two arrays (k,).

        Parameters
        ----------
        theta, theta_new, bound
            As for `clipped_log_likelihood_ratio`.
        rows : (k,) array of int, optional
            Indices; by default all rows.
        """
        rows = np.arange(self.num_rows) if rows is None else rows
        ratios, is_clipped = np.empty(len(rows)), np.empty(len(rows), dtype=bool)
        for i, row in enumerate(rows[:, None]):
            ratios[i], _, is_clipped[i] = self.clipped_batch_ratio(theta, theta_new, bound, row)
        return ratios, is_clipped

    def row_gradients(
        self, theta: np.ndarray, bound: float = math.inf, rows: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients of single rows, clipped, (k, d), and whether each was; as `row_ratios`."""
        rows = np.arange(self.num_rows) if rows is None else rows
        gradients, is_clipped = np.empty((len(rows), len(theta))), np.empty(len(rows), dtype=bool)
        for i, row in enumerate(rows[:, None]):
            gradients[i], is_clipped[i] = self.clipped_batch_gradient(theta, bound, row)
        return gradients, is_clipped

    def log_density_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """ln p(theta_new | X) - ln p(theta | X), tempered; nothing is clipped."""
        log_likelihood_ratio = self.likelihood.log_ratio(theta, theta_new)
        prior = self.model.log_prior_ratio(theta, theta_new)
        return self.likelihood_power * log_likelihood_ratio + prior

    def _check(self, batch: np.ndarray) -> None:
        if batch.dtype == bool and len(batch) != self.num_rows:
            raise ValueError(f"a mask of {self.num_rows} rows is needed, not of {len(batch)}")


def check_bound(bound: float, name: str = "gradient_clip_bound") -> None:
    """Refuse a bound of a norm whose square underflows, so that it would not clip."""
    if not bound >= LEAST_BOUND:
        raise ValueError(f"{name}: must be at least {LEAST_BOUND:g}, not {bound:g}")


def checked(model: "Model", data: Any, nonfinite: str) -> np.ndarray:
    """Data as a read-only array of float64 in C order.

    Parameters
    ----------
    model, data, nonfinite
        As for `Target`.

    Raises
    ------
    ValueError
        In one line, which quotes no value, since data may be secret.
    """
    if nonfinite not in NONFINITE:
        raise ValueError(f"nonfinite: must be one of {', '.join(NONFINITE)}, not {nonfinite!r}")
    name = f"data of {type(model).__name__}"
    expected = f"{name}: must be numbers of shape {model.data_shape}"
    if model.columns and hasattr(data, "columns"):  # of a data frame, in any order
        if missing := [column for column in model.columns if column not in data.columns]:
            raise ValueError(
                f"{name}: has no column {', '.join(missing)}; "
                f"it takes {', '.join(model.columns)}, or an array of these in that order"
            )
        data = data[list(model.columns)]
    try:
        if is_masked(data):
            raise TypeError
        data = np.asarray(data)
        if data.dtype.kind not in "biufO":
            raise TypeError
        data = np.asarray(data, np.float64, order="C").view()
    except (TypeError, ValueError):
        kind = type(data).__name__ if not isinstance(data, np.ndarray) else data.dtype
        kind = "a masked array" if is_masked(data) else kind
        raise ValueError(f"{expected}, not {kind}") from None
    if data.shape != model.data_shape:
        transposed = " (transposed)" if data.shape[::-1] == model.data_shape else ""
        raise ValueError(f"{expected}, not {data.shape}{transposed}")
    if nonfinite == "refuse" and (count := num_not_finite(data)):
        raise ValueError(
            f"{expected} that are finite, and {count} of {data.size} are not; "
            'Target(model, data, nonfinite="clip") takes them and clips their rows'
        )
    return read_only(data)


def is_masked(data: object) -> bool:
    """True if it is a masked array, whose mask would be lost; without the import of numpy.ma."""
    return isinstance(data, np.ndarray) and hasattr(data, "mask")


def num_not_finite(data: np.ndarray) -> int:
    """Number of values that are not finite; in one pass if the sum of squares is finite."""
    flat = data.ravel()
    with np.errstate(all="ignore"):
        if np.isfinite(flat @ flat):
            return 0
    return data.size - int(np.count_nonzero(np.isfinite(data)))
