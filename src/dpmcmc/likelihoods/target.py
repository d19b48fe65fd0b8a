"""A posterior bound to its data: what samplers see."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpmcmc.arrays import read_only
from dpmcmc.kernels.ratios import clipped_ratio_sum
from dpmcmc.likelihoods.blocks import Blocks
from dpmcmc.likelihoods.gradient_sums import (
    FINITE,
    BlockedGradients,
    GradientSums,
    SortedGradients,
    largest_norm,
    norm,
)
from dpmcmc.likelihoods.ratio_sums import BatchRatioSums, RatioSums
from dpmcmc.models.model import Model

SMALL = 4096  # rows: up to this many are read faster than one decides which to read
LARGE = 100 * 2**20  # bytes of data of which no rearranged copies are made
REMEMBERED = 128  # positions, more than a trajectory has


@dataclass(frozen=True)
class Target:
    """Tempered posterior p(theta | X) ~ p(X | theta)^T p(theta) of a model for one data set.

    Likelihood terms are returned *without* the power T, since clipping and privacy noise act on
    the untempered terms; samplers multiply by `likelihood_power` themselves.

    Attributes
    ----------
    model
        A `Model`.
    statistics : (m, n) array
        t(x) of every row.
    """

    model: Model
    statistics: np.ndarray

    @cached_property
    def num_rows(self):
        """Number of rows n."""
        return self.statistics.shape[1]

    @cached_property
    def likelihood_power(self):
        """Tempering T = n0 / n; 1 without tempering."""
        return self.model.likelihood_power

    def clipped_log_likelihood_ratio(self, theta, theta_new, bound):
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
        """
        slope, intercept = self.model.ratio_coefficients(theta, theta_new)
        if not is_finite(slope, intercept, theta_new):
            return -math.inf, 0
        if self._is_prepared:
            return self._ratio_sums.at(slope, intercept, bound)
        total, _, num_clipped = clipped_ratio_sum(self.statistics, slope, intercept, bound)
        return total, num_clipped

    def clipped_batch_ratio(self, theta, theta_new, bound, batch):
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
        slope, intercept = self.model.ratio_coefficients(theta, theta_new)
        if not is_finite(slope, intercept, theta_new):
            return -math.inf, 0.0, 0
        if batch.dtype == bool:
            if len(batch) != self.num_rows:
                raise ValueError(f"a mask of {self.num_rows} rows is needed, not of {len(batch)}")
            return clipped_ratio_sum(self.statistics, slope, intercept, bound, batch)
        if self._is_prepared:
            return self._batch_ratio_sums.at(slope, intercept, bound, batch)
        return clipped_ratio_sum(self.statistics.take(batch, axis=1), slope, intercept, bound)

    def clipped_gradient(self, theta, bound):
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
        """
        key = theta.tobytes(), bound
        result = self._gradients.pop(key, None)
        if result is None:
            jacobian, offset = self.model.gradient_coefficients(theta)
            if bound >= FINITE and self._are_finite(jacobian, offset):  # nothing to clip
                result = self.total_statistics @ jacobian - self.num_rows * offset, 0
            else:
                result = self._gradient_sums.at(jacobian, offset, bound)
            read_only(result[0])
            if len(self._gradients) == REMEMBERED:
                del self._gradients[next(iter(self._gradients))]  # the one asked for longest ago
        self._gradients[key] = result
        return result

    def _are_finite(self, jacobian, offset):
        """Whether the gradients of all rows have finite norms."""
        return norm(jacobian) * self._largest_norm + norm(offset) < FINITE

    @cached_property
    def _largest_norm(self):
        return largest_norm(self.statistics)

    @cached_property
    def _is_prepared(self):
        """Whether rows are rearranged, in part copied, so that fewer are read each time."""
        return self.num_rows > SMALL and self.statistics.nbytes <= LARGE

    @cached_property
    def _ratio_sums(self):
        return RatioSums(self.statistics, lambda: self._blocks)

    @cached_property
    def _batch_ratio_sums(self):
        return BatchRatioSums(self.statistics)

    @cached_property
    def _gradients(self):
        """Results of `clipped_gradient`: a trajectory starts where an earlier one started or ended.

        Samplers add fresh noise each time.
        """
        return {}

    @cached_property
    def _gradient_sums(self):
        if len(self.statistics) == 1 and self._is_prepared:
            return SortedGradients(self.statistics)
        if len(self.statistics) == 1 or self.num_rows <= SMALL:
            return GradientSums(self.statistics)
        return BlockedGradients(self._blocks)

    @cached_property
    def _blocks(self):
        """Rows near each other; nothing is copied."""
        jacobian, _ = self.model.gradient_coefficients(self.model.true_theta)
        return Blocks(self.statistics, jacobian)

    def log_density_ratio(self, theta, theta_new):
        """ln p(theta_new | X) - ln p(theta | X), tempered, from the summed statistics alone."""
        slope, intercept = self.model.ratio_coefficients(theta, theta_new)
        log_likelihood_ratio = slope @ self.total_statistics - self.num_rows * intercept
        prior = self.model.log_prior_ratio(theta, theta_new)
        return self.likelihood_power * log_likelihood_ratio + prior

    @cached_property
    def total_statistics(self):
        """Sum of t(x) over the rows, (m,)."""
        return read_only(self.statistics.sum(axis=1))


def is_finite(slope, intercept, theta_new):
    """Whether a proposal and its ratios can be computed with."""
    return math.isfinite(intercept + sum(slope.tolist()) + sum(theta_new.tolist()))
