"""Sums of clipped gradients without reading every row each time."""

import math
from functools import cached_property

import numpy as np

from dpmcmc.kernels.blocks import BOX
from dpmcmc.kernels.gradients import (
    clipped_gradient_block_sum,
    far_gradient_block_sum,
    resting_block_sum,
)
from dpmcmc.likelihoods.ratio_sums import SortedColumn
from dpmcmc.likelihoods.rounding import CLOSE, HAS_LONG_DOUBLES, largest_partial_sums, largest_terms

FINITE = 1e150  # a norm up to this has a finite square
TIES = 1e-12  # of the bound: rows so near to it may count as clipped in one way of rounding only


class GradientSums:
    """Sums of clipped gradients of one data set, or of some blocks of it, row by row.

    Where rounding could matter to what a row adds (`dpmcmc.likelihoods.rounding`), each row's
    gradient is clipped by itself, which takes longer.

    Parameters
    ----------
    statistics : (m, n) array
        t(x) of every row.
    known_largest : float
        Not below |t(x)| of any row, where that is known without reading them.
    """

    def __init__(self, statistics, known_largest=math.inf):
        self.statistics = statistics
        self.known_largest = known_largest

    @cached_property
    def all_blocks(self):
        """Indices of all blocks of rows."""
        return np.arange(-(-self.statistics.shape[1] // BOX))

    @cached_property
    def largest(self):
        """Largest |t(x)| of any row, from the rows."""
        return largest_norm(self.statistics)

    def at(self, jacobian, offset, bound, blocks=None):
        """Sum of the clipped gradients, (d,), and how many were clipped.

        Parameters
        ----------
        jacobian : (m, d) array
        offset : (d,) array
        bound : float
        blocks : (k,) array of int, optional
            Of BOX rows each; all, if not given.
        """
        num_statistics, num_rows = self.statistics.shape
        size, length = norm(jacobian), norm(offset)
        most = largest_terms(num_rows, num_statistics, bound)
        is_near = size * self.known_largest + length <= most
        is_near = is_near or size * self.largest + length <= most
        block_sum = clipped_gradient_block_sum if is_near else far_gradient_block_sum
        blocks = self.all_blocks if blocks is None else blocks
        return block_sum(self.statistics, blocks, jacobian, offset, bound)


class BlockedGradients:
    """Same results as `GradientSums`, for one data set of two statistics or more.

    Where no gradient of a block of near rows can be clipped, the block is *at rest*: its gradients
    add up to a function of the sum of its statistics. The rows of the other blocks are clipped and
    summed one by one; a row that is not finite makes its block one of these, and so does one so far
    away that rounding could matter.

    The sum and the count are those of the pass over all rows, up to the order of summation.
    Comparisons leave a margin for rounding. So the clip holds for every row, and neither it nor
    the privacy that rests on it depends on the blocks.

    Parameters
    ----------
    blocks : Blocks
    """

    def __init__(self, blocks):
        self.blocks = blocks
        self.rows = GradientSums(blocks.statistics)

    def at(self, jacobian, offset, bound):
        """Sum and count as `GradientSums.at`."""
        at_rest, active = self.rest(jacobian, offset, bound)
        total, num_clipped = self.rows.at(jacobian, offset, bound, active)
        return total + at_rest, num_clipped

    def rest(self, jacobian, offset, bound):
        """Sum of the gradients in blocks at rest, (d,); indices of the others."""
        blocks = self.blocks
        num_statistics, num_rows = blocks.statistics.shape
        return resting_block_sum(
            blocks.middles,
            blocks.widths,
            blocks.lengths,
            blocks.reaches,
            blocks.sums,
            blocks.centre,
            blocks.factor,
            jacobian,
            offset,
            bound,
            largest_terms(num_rows, num_statistics, bound),
            largest_partial_sums(bound),
        )


class SortedGradients:
    """Same results as `GradientSums`, for one data set of a single statistic.

    Where the offset is a multiple c of the Jacobian j, all gradients j (t_i - c) lie on one line,
    as on the circle. Clipping them is clipping the numbers |j| (t_i - c), whose sum a sorted
    column gives in O(log n). Elsewhere all rows are read, and where rows are at the bound to
    rounding: whether they count as clipped is then for their norms to say.

    Parameters
    ----------
    statistics : (1, n) array
        t(x) of every row.
    """

    def __init__(self, statistics):
        self.rows = GradientSums(statistics)
        self.column = SortedColumn(statistics, 0)

    def at(self, jacobian, offset, bound):
        """Sum and count as `GradientSums.at`."""
        return self.on_line(jacobian, offset, bound) or self.rows.at(jacobian, offset, bound)

    def on_line(self, jacobian, offset, bound):
        """Sum and count where a sorted column gives them, else None."""
        j = jacobian[0]
        length = norm(j)
        if not (HAS_LONG_DOUBLES and 0 < length < FINITE):
            return None
        along = j @ offset / length
        across = norm(offset - along / length * j)  # left out of the sum, for every row
        if not self.rows.statistics.shape[1] * across <= CLOSE * bound:
            return None
        slope = np.array([length])
        inner = self.column.at(slope, along, (1 - TIES) * bound)
        outer = self.column.at(slope, along, (1 + TIES) * bound)
        if inner is None or outer is None or inner[1] != outer[1]:
            return None
        total, num_clipped = self.column.at(slope, along, bound)
        return total / length * j, num_clipped


def largest_norm(statistics):
    """Not below |t(x)| of any row; not finite if a row is not."""
    return norm(np.maximum(statistics.max(axis=1), -statistics.min(axis=1)))


def norm(array):
    """Square root of the sum of squares; `numpy.linalg.norm` takes longer than a pass may."""
    flat = array.ravel()
    return math.sqrt(flat @ flat)
