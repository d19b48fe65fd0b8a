"""Likelihoods of exponential families: sums of clipped affine functions of a statistic."""

import math
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
from dpmcmc.likelihoods.information import clipped_sum, derivative, rows_at_once
from dpmcmc.likelihoods.ratio_sums import BatchRatioSums, RatioSums

ROWS_READ_WHOLE = 4096  # up to this many are read faster than one decides which to read
MAX_COPIED_BYTES = 100 * 2**20  # bytes of data of which no rearranged copies are made


class AffineLikelihood:
    """Sums over rows that `Target` needs, for an exponential family.

    Ratios and gradients are affine in t(x), so compiled passes clip and sum them, and most rows
    need not be read at all. What is prepared for that is made when it is first of use.

    Parameters
    ----------
    model : ExponentialFamily
    statistics : (m, n) array
        t(x) of every row.

    Attributes
    ----------
    num_rows : int
        n.
    """

    def __init__(self, model, statistics):
        self.model = model
        self.statistics = statistics
        self.num_rows = statistics.shape[1]

    def ratio_sum(self, theta, theta_new, bound):
        """Same result as `Target.clipped_log_likelihood_ratio`."""
        slope, intercept = self.model.ratio_coefficients(theta, theta_new)
        if not is_finite(slope, intercept, theta_new):
            return -math.inf, 0
        if self._is_prepared:
            return self._ratio_sums.at(slope, intercept, bound)
        total, _, num_clipped = clipped_ratio_sum(self.statistics, slope, intercept, bound)
        return total, num_clipped

    def batch_ratio_sum(self, theta, theta_new, bound, batch):
        """Same result as `Target.clipped_batch_ratio`."""
        slope, intercept = self.model.ratio_coefficients(theta, theta_new)
        if not is_finite(slope, intercept, theta_new):
            return -math.inf, 0.0, 0
        if batch.dtype == bool:
            return clipped_ratio_sum(self.statistics, slope, intercept, bound, batch)
        if self._is_prepared:
            return self._batch_ratio_sums.at(slope, intercept, bound, batch)
        return clipped_ratio_sum(self.statistics.take(batch, axis=1), slope, intercept, bound)

    def gradient_sum(self, theta, bound):
        """Same result as `Target.clipped_gradient`."""
        jacobian, offset = self.model.gradient_coefficients(theta)
        if bound >= FINITE and self._are_finite(jacobian, offset):  # nothing to clip
            return self.total_statistics @ jacobian - self.num_rows * offset, 0
        return self._gradient_sums.at(jacobian, offset, bound)

    def batch_gradient_sum(self, theta, bound, batch):
        """Same result as `Target.clipped_batch_gradient`."""
        jacobian, offset = self.model.gradient_coefficients(theta)
        select = self.statistics.compress if batch.dtype == bool else self.statistics.take
        statistics = select(batch, axis=1)
        if not statistics.size:
            return np.zeros(len(offset)), 0
        return GradientSums(statistics, self._largest_norm).at(jacobian, offset, bound)

    def statistic_sum(self, centre, whiten, radius):
        """Same result as `Target.clipped_statistics`."""
        total, num_clipped = np.zeros(len(whiten)), 0
        for first in range(0, self.num_rows, ROWS_READ_WHOLE):
            block = self.statistics[:, first : first + ROWS_READ_WHOLE]
            z = whiten @ (block - centre[:, None])
            with np.errstate(all="ignore"):
                is_far = ~(np.einsum("ij,ij->j", z, z) <= radius * radius)  # NaN is
                z[:, is_far], is_clipped = clipped_to_ball(z[:, is_far], radius)
            total += z.sum(axis=1)
            num_clipped += int(is_clipped.sum())
        return total, num_clipped

    def information_sum(self, theta, bound):
        """Same result as `Target.clipped_information`, by differences of the coefficients."""

        def coefficients(theta):
            jacobian, offset = self.model.gradient_coefficients(theta)
            return np.vstack([-jacobian, offset])

        slopes = derivative(coefficients, theta, bound).swapaxes(1, 2)  # (d, d, m + 1)
        size, (total, num_clipped) = rows_at_once(len(theta)), (0.0, 0)
        for start in range(0, self.num_rows, size):
            statistics = self.statistics[:, start : start + size]
            with np.errstate(all="ignore"):
                matrices = slopes[..., :-1] @ statistics + slopes[..., -1:]
                sums = clipped_sum(matrices, bound)
            total, num_clipped = total + sums[0], num_clipped + sums[1]
        return total, num_clipped

    def log_ratio(self, theta, theta_new):
        """Sum of the log-likelihood ratios, not clipped, from the summed statistics alone."""
        slope, intercept = self.model.ratio_coefficients(theta, theta_new)
        return slope @ self.total_statistics - self.num_rows * intercept

    @cached_property
    def total_statistics(self):
        """Sum of t(x) over the rows, (m,)."""
        return read_only(self.statistics.sum(axis=1))

    def _are_finite(self, jacobian, offset):
        """True if the gradients of all rows have finite norms."""
        return norm(jacobian) * self._largest_norm + norm(offset) < FINITE

    @cached_property
    def _largest_norm(self):
        return largest_norm(self.statistics)

    @cached_property
    def _is_prepared(self):
        """True if rows are rearranged, in part copied, so that fewer are read each time."""
        return self.num_rows > ROWS_READ_WHOLE and self.statistics.nbytes <= MAX_COPIED_BYTES

    @cached_property
    def _ratio_sums(self):
        return RatioSums(self.statistics, lambda: self._blocks)

    @cached_property
    def _batch_ratio_sums(self):
        return BatchRatioSums(self.statistics)

    @cached_property
    def _gradient_sums(self):
        if len(self.statistics) == 1 and self._is_prepared:
            return SortedGradients(self.statistics)
        if len(self.statistics) == 1 or self.num_rows <= ROWS_READ_WHOLE:
            return GradientSums(self.statistics)
        return BlockedGradients(self._blocks)

    @cached_property
    def _blocks(self):
        """Rows near each other; nothing is copied."""
        return Blocks(self.statistics, self.model.typical_jacobian)


def is_finite(slope, intercept, theta_new):
    """True if a proposal and its ratios can be computed with."""
    return math.isfinite(intercept + sum(slope.tolist()) + sum(theta_new.tolist()))


def clipped_to_ball(z, radius):
    """Columns of z (m, k) clipped to a length, 0 if not finite, and which were clipped: (k,)."""
    is_finite = np.isfinite(z).all(axis=0)
    z = np.where(is_finite, z, 0.0)
    largest = np.abs(z).max(axis=0, initial=0.0)  # by which squares do not overflow
    unit = np.where(largest > 0, largest, 1.0)
    lengths = unit * np.sqrt(((z / unit) ** 2).sum(axis=0))
    is_long = lengths > radius
    factors = np.where(is_long, radius / np.where(is_long, lengths, 1.0), 1.0)
    return z * factors, is_long | ~is_finite
