"""Sums of clipped gradients without reading every row each time."""

import math

import numpy as np

from dpmcmc.kernels import (
    GRADIENT_BLOCK,
    ROUNDING,
    clipped_gradient_block_sum,
    clipped_gradient_sum,
    resting_block_sum,
)
from dpmcmc.models.ratio_sums import SortedColumn

SAMPLE = 4096  # rows
CONDITION = 1e6  # largest condition number of a Jacobian that gives coordinates
PARALLEL = 1e-14  # what rounding leaves across the line of a parallel vector, relative
FINITE = 1e150  # a norm up to this has a finite square


class BlockedGradients:
    """What `clipped_gradient_sum` returns, for one data set of two statistics or more.

    Rows near each other make up a block, in coordinates u that are the gradients at some position
    (J0 its Jacobian), but for a shift: u = J0^T (t - centre). A block is a box of the first two
    coordinates, and for the others the largest length r. With K = J0^-1 J, rows A and B of it for
    the boxed and the other coordinates, and s = offset - J^T centre, a gradient is
    g = a + B^T u_B with a = A^T u_A - s, so that

        |g|^2 <= |a|^2 + |B B^T| r^2 + 2 (|B A^T| |u_A| + |B s|) r.

    Where the largest value in a block is at most the squared bound, none of its rows is clipped.
    The block is *at rest*: its gradients add up to a function of the sum of its statistics. The
    rows of the other blocks are clipped and summed one by one; a row that is not finite makes its
    block one of these.

    Which rows make up a block decides about speed alone: sum and count are those of the pass over
    all rows, up to the order of summation. Comparisons leave a margin for rounding. So the clip
    holds for every row, and neither it nor the privacy that rests on it depends on the blocks.

    Parameters
    ----------
    statistics : (m, n) array
        t(x) of every row.
    jacobian : (m, d) array
        J0; any other would do, if it cannot be inverted the identity does.
    """

    def __init__(self, statistics, jacobian):
        num_statistics, num_rows = statistics.shape
        self.centre = centre(statistics)
        self.factor = np.eye(num_statistics)
        if jacobian.shape == self.factor.shape and np.linalg.cond(jacobian) < CONDITION:
            self.factor = np.linalg.inv(jacobian).T
        boxed, lengths = boxed_coordinates(statistics, self.centre, self.factor)
        order = order_of_blocks([*boxed, lengths] if len(statistics) > 2 else boxed)
        starts = np.arange(0, num_rows, GRADIENT_BLOCK)
        boxed, lengths = boxed.take(order, axis=1), lengths[order]
        low, high = (f.reduceat(boxed, starts, axis=1) for f in (np.minimum, np.maximum))
        self.middles, self.widths = (low + high) / 2, (high - low) / 2
        self.lengths = np.maximum.reduceat(lengths, starts)
        self.statistics = statistics.take(order, axis=1)
        sizes = np.diff(starts, append=num_rows)
        sums = np.add.reduceat(self.statistics, starts, axis=1) - sizes * self.centre[:, None]
        self.sums = np.vstack([sums, sizes])

    def at(self, jacobian, offset, bound):
        """Sum of the clipped gradients, (d,), and how many were clipped.

        Parameters
        ----------
        jacobian : (m, d) array
        offset : (d,) array
        bound : float
        """
        shift = offset - self.centre @ jacobian
        # What rounding may change in a component of a gradient, and far more than that.
        slack = ROUNDING * (norm(offset) + norm(self.centre) * norm(jacobian))
        rest, active = self.rest(jacobian, shift, slack, bound)
        total, num_clipped = clipped_gradient_block_sum(
            self.statistics, active, jacobian, offset, bound
        )
        if rest[-1] > 0:
            total += rest[:-1] @ jacobian - rest[-1] * shift
        return total, num_clipped

    def rest(self, jacobian, shift, slack, bound):
        """Blocks at rest: sum of t - centre and number of rows, (m + 1,); indices of the others."""
        slopes = self.factor.T @ jacobian
        a, b = slopes[:2], slopes[2:]
        steepness = mixing = pull = 0.0
        if len(b):
            steepness = np.abs(b @ b.T).sum(axis=1).max()  # at least the largest eigenvalue
            mixing = norm(b @ a.T)
            pull = norm(b @ shift) + slack * norm(b)
        return resting_block_sum(
            self.middles,
            self.widths,
            self.lengths,
            self.sums,
            a,
            shift,
            slack,
            steepness,
            mixing,
            pull,
            bound,
        )


def norm(array):
    """Square root of the sum of squares; `numpy.linalg.norm` takes longer than a pass may."""
    flat = array.ravel()
    return math.sqrt(flat @ flat)


def centre(statistics):
    """About the median of the data, (m,), which far rows do not move; 0 if it is not finite."""
    sample = statistics[:, :: -(-statistics.shape[1] // SAMPLE)]
    middle = sample.shape[1] // 2
    median = np.partition(sample, middle)[:, middle]
    return np.where(np.isfinite(median), median, 0.0)


def boxed_coordinates(statistics, centre, factor):
    """The first two coordinates u of every row, (2, n), and the length of the others, (n,)."""
    num_rows = statistics.shape[1]
    inverse = np.linalg.inv(factor)
    boxed, lengths = np.empty((2, num_rows)), np.empty(num_rows)
    for start in range(0, num_rows, SAMPLE):
        some = slice(start, start + SAMPLE)
        with np.errstate(all="ignore"):  # what is not finite stays so
            u = inverse @ (statistics[:, some] - centre[:, None])
            boxed[:, some] = u[:2]
            lengths[some] = np.sqrt((u[2:] ** 2).sum(axis=0))
    return boxed, lengths


def order_of_blocks(coordinates, rows=None):
    """An order of the rows in which those of a block have nearly the same coordinates.

    Sorted by the first into slices of whole blocks, then each slice by the others.
    """
    rows = np.arange(len(coordinates[0])) if rows is None else rows
    rows = rows[coordinates[0][rows].argsort()]
    if len(coordinates) == 1:
        return rows
    num_blocks = len(rows) / GRADIENT_BLOCK
    size = GRADIENT_BLOCK * math.ceil(num_blocks ** (1 - 1 / len(coordinates)))
    slices = (rows[start : start + size] for start in range(0, len(rows), size))
    return np.concatenate([order_of_blocks(coordinates[1:], some) for some in slices])


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
