"""Sums over rows for a release: each row is read and clipped by itself, in the order of the file.

Elsewhere most rows are not read, as sums over blocks of near rows are known (`Target`). Such a sum
is the same number up to rounding, and rounding is what a release must bound. So here nothing is
rearranged, and blocks are of at most 4096 rows. Code of one's own sees `in_blocks` of them.
"""

import numpy as np

from dpmcmc.kernels.blocks import BOX
from dpmcmc.kernels.gradients import far_gradient_block_sum
from dpmcmc.likelihoods.affine import AffineLikelihood
from dpmcmc.likelihoods.rows import RowsLikelihood
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.in_blocks import in_blocks
from dpmcmc.models.model import Model

BLOCK = 4096  # rows, at most, that are added up before their sum is added to others


class FarGradients:
    """Same results as `GradientSums`; each row's gradient is computed once, clipped by itself."""

    def __init__(self, statistics):
        self.statistics = statistics
        self.blocks = np.arange(-(-statistics.shape[1] // BOX))

    def at(self, jacobian, offset, bound):
        """Sum of the clipped gradients, (d,), and how many were clipped."""
        return far_gradient_block_sum(self.statistics, self.blocks, jacobian, offset, bound)


class AffineRows(AffineLikelihood):
    """An `AffineLikelihood` without its shortcuts."""

    _is_prepared = False

    @property
    def _gradient_sums(self):
        return FarGradients(self.statistics)

    def _are_finite(self, jacobian, offset):
        """No: else sums of unclipped gradients would be made of the summed statistics."""
        return False

    def batch_gradient_sum(self, theta, bound, batch):
        """Same result as `Target.clipped_batch_gradient`."""
        select = self.statistics.compress if batch.dtype == bool else self.statistics.take
        return AffineRows(self.model, select(batch, axis=1)).gradient_sum(theta, bound)

    def information_sum(self, theta, bound):
        """Same result as `Target.clipped_information`."""
        parts = [self.statistics[:, i : i + BLOCK] for i in range(0, self.num_rows, BLOCK)]
        likelihoods = [AffineLikelihood(self.model, part) for part in parts]
        return added(one.information_sum(theta, bound) for one in likelihoods)


class PlainRows(RowsLikelihood):
    """A `RowsLikelihood` whose blocks are small."""

    def information_sum(self, theta, bound):
        """Same result as `Target.clipped_information`."""
        parts = [self.rows[i : i + BLOCK] for i in range(0, self.num_rows, BLOCK)]
        likelihoods = [RowsLikelihood(self.model, part) for part in parts]
        return added(one.information_sum(theta, bound) for one in likelihoods)


def added(sums):
    """Pairs (total, num_clipped), added up."""
    totals, counts = zip(*sums, strict=True)
    return sum(totals), sum(counts)


class RowByRow(Target):
    """A `Target` for a release.

    Raises
    ------
    ValueError
        If the model has a kind of likelihood of its own.
    """

    def __init__(self, model, data, nonfinite="refuse"):
        model = in_blocks(model)
        super().__init__(model, data, nonfinite)
        kind = type(self.likelihood)
        if kind is AffineLikelihood:
            self.likelihood = AffineRows(model, self.data)
        elif kind is RowsLikelihood:
            self.likelihood = PlainRows(model, self.data)
        elif kind.__module__ != "dpmcmc.likelihoods.jax":  # whose blocks are of 4096 rows
            raise ValueError(f"model: {type(model).__name__} has a likelihood of its own")


def in_file_order(model, rows):
    """The data set that rows (n, p) from `prepare` make, in their order.

    `ExponentialFamily.from_rows` sorts rows by their values: so one row would move others.
    """
    if type(model).from_rows not in (Model.from_rows, ExponentialFamily.from_rows):
        raise ValueError(f"model: {type(model).__name__} has a from_rows of its own")
    return model.statistics(rows) if isinstance(model, ExponentialFamily) else rows
