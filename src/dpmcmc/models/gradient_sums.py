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

SAMPLE = 16 * GRADIENT_BLOCK  # rows
CONDITION = 1e6  # largest condition number of a Jacobian that gives coordinates
PARALLEL = 1e-14  # what rounding leaves across the line of a parallel vector, relative
FINITE = 1e150  # a norm up to this has a finite square


class BlockedGradients:
    """What `clipped_gradient_sum` returns, for one data set of two statistics or more.

    Rows next to each other make up a block, and those of `arranged` data are near each other, in
    coordinates u that are the gradients at some position (J0 its Jacobian), but for a shift:
    u = J0^T (t - centre). A block is a box of the first two coordinates, and for the others the
    largest length r. With K = J0^-1 J, rows A and B of it for the boxed and the other coordinates,
    and s = offset - J^T centre, a gradient is g = a + B^T u_B with a = A^T u_A - s, so that

        |g|^2 <= |a|^2 + |B B^T| r^2 + 2 (|B A^T| |u_A| + |B s|) r.

    Where the largest value in a block is at most the squared bound, none of its rows is clipped.
    The block is *at rest*: its gradients add up to a function of the sum of its statistics. The
    rows of the other blocks are clipped and summed one by one; a row that is not finite makes its
    block one of these.

    The order of the rows and J0 decide about speed alone: sum and count are those of the pass over
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
        self.statistics = statistics
        self.centre, self.factor = centre_and_factor(statistics, jacobian)
        low, high, self.lengths, self.sums = joined(self._blocks(statistics))
        self.middles, self.widths = (low + high) / 2, (high - low) / 2

    def _blocks(self, statistics):
        """Least and largest boxed coordinates, lengths and sums of blocks, part by part."""
        for some in parts(statistics):
            boxed, lengths = boxed_coordinates(some, self.centre, self.factor)
            starts = np.arange(0, len(lengths), GRADIENT_BLOCK)
            low, high = (f.reduceat(boxed, starts, axis=1) for f in (np.minimum, np.maximum))
            sizes = np.diff(starts, append=len(lengths))
            sums = np.add.reduceat(some, starts, axis=1) - sizes * self.centre[:, None]
            yield low, high, np.maximum.reduceat(lengths, starts), np.vstack([sums, sizes])

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


def arranged(statistics, jacobian):
    """Data with rows near each other next to each other, for `BlockedGradients`, (m, n).

    Rows are exchangeable: no algorithm heeds their order. Parameters as for `BlockedGradients`.
    """
    if len(statistics) == 1:
        return np.sort(statistics)
    coordinates = centre_and_factor(statistics, jacobian)
    boxed, lengths = joined(boxed_coordinates(some, *coordinates) for some in parts(statistics))
    order = order_of_blocks([*boxed, lengths] if len(statistics) > 2 else boxed)
    return statistics.take(order, axis=1)


def centre_and_factor(statistics, jacobian):
    """Centre, (m,), and factor, (m, m), of the coordinates u in t = centre + factor u.

    The centre is the mean of the data or, where far rows have moved that, about the median; 0 if
    that is not finite.
    """
    sample = statistics[:, :: -(-statistics.shape[1] // SAMPLE)]
    quarters = [i * sample.shape[1] // 4 for i in (1, 2, 3)]
    low, median, high = np.partition(sample, quarters)[:, quarters].T
    with np.errstate(all="ignore"):
        mean = statistics.mean(axis=1)
    centre = np.where((low <= mean) & (mean <= high), mean, median)
    factor = np.eye(len(statistics))
    if jacobian.shape == factor.shape and np.linalg.cond(jacobian) < CONDITION:
        factor = np.linalg.inv(jacobian).T
    return np.where(np.isfinite(centre), centre, 0.0), factor


def parts(statistics):
    """The data in parts of whole blocks, small enough to compute with all at once."""
    return (statistics[:, i : i + SAMPLE] for i in range(0, statistics.shape[1], SAMPLE))


def joined(results):
    """Arrays made part by part, put together."""
    return map(np.hstack, zip(*results, strict=True))


def boxed_coordinates(statistics, centre, factor):
    """The first two coordinates u of every row, (2, n), and the length of the others, (n,)."""
    with np.errstate(all="ignore"):  # what is not finite stays so
        u = np.linalg.inv(factor) @ (statistics - centre[:, None])
        return u[:2], np.sqrt((u[2:] ** 2).sum(axis=0))


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
