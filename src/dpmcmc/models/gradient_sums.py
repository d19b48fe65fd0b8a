"""Sums of clipped gradients without reading every row each time."""

import math

import numpy as np

from dpmcmc.kernels import clipped_gradient_block_sum, clipped_gradient_sum, resting_block_sum
from dpmcmc.models.ratio_sums import SortedColumn

PARALLEL = 1e-14  # what rounding leaves across the line of a parallel vector, relative
FINITE = 1e150  # a norm up to this has a finite square


class BlockedGradients:
    """What `clipped_gradient_sum` returns, for one data set of two statistics or more.

    Where no gradient of a block of near rows can be clipped, the block is *at rest*: its gradients
    add up to a function of the sum of its statistics. The rows of the other blocks are clipped and
    summed one by one; a row that is not finite makes its block one of these.

    The sum and the count are those of the pass over all rows, up to the order of summation.
    Comparisons leave a margin for rounding. So the clip holds for every row, and neither it nor
    the privacy that rests on it depends on the blocks.

    Parameters
    ----------
    blocks : Blocks
    """

    def __init__(self, blocks):
        self.blocks = blocks

    def at(self, jacobian, offset, bound):
        """Sum of the clipped gradients, (d,), and how many were clipped.

        Parameters
        ----------
        jacobian : (m, d) array
        offset : (d,) array
        bound : float
        """
        at_rest, active = self.rest(jacobian, offset, bound)
        total, num_clipped = clipped_gradient_block_sum(
            self.blocks.statistics, active, jacobian, offset, bound
        )
        return total + at_rest, num_clipped

    def rest(self, jacobian, offset, bound):
        """Sum of the gradients in blocks at rest, (d,); indices of the others."""
        blocks = self.blocks
        return resting_block_sum(
            blocks.middles,
            blocks.widths,
            blocks.lengths,
            blocks.sums,
            blocks.centre,
            blocks.factor,
            jacobian,
            offset,
            bound,
        )


class SortedGradients:
    """What `clipped_gradient_sum` returns, for one data set of a single statistic.

    Where the offset is a multiple c of the Jacobian j, all gradients j (t_i - c) lie on one line,
    as on the circle. Clipping them is clipping the numbers |j| (t_i - c), whose sum a sorted
    column gives in O(log n). Elsewhere, all rows are read.

    Parameters
    ----------
    statistics : (1, n) array
        t(x) of every row.
    """

    def __init__(self, statistics):
        self.statistics = statistics
        self.column = SortedColumn(statistics, 0)

    def at(self, jacobian, offset, bound):
        """Sum of the clipped gradients, (d,), and how many were clipped.

        Parameters
        ----------
        jacobian : (1, d) array
        offset : (d,) array
        bound : float
        """
        j = jacobian[0]
        length = math.sqrt(j @ j)
        if 0 < length < FINITE:
            along = j @ offset / length
            across = offset - along / length * j
            if across @ across <= (PARALLEL * along) ** 2:
                result = self.column.at(np.array([length]), along, bound)
                if result is not None:
                    total, num_clipped = result
                    return total / length * j, num_clipped
        return clipped_gradient_sum(self.statistics, jacobian, offset, bound)
