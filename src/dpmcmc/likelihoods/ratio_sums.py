"""Sums of clipped log-likelihood ratios without reading every row in full each time."""

import math

import numpy as np

from dpmcmc.kernels.blocks import BOX, ROUNDING
from dpmcmc.kernels.ratios import (
    clipped_batch_sum,
    clipped_ratio_block_sum,
    clipped_ratio_excess,
    clipped_ratio_sum,
    settled_block_sum,
    sorted_ratio_sum,
)
from dpmcmc.likelihoods.rounding import HAS_LONG_DOUBLES, largest_partial_sums, largest_terms

PASSES_BEFORE_SORTING = 24  # sorting a column costs about as much as so many passes
PASSES_BEFORE_CODING = 64  # all columns, or putting rows into blocks
MANY = 6  # statistics from which on codes are faster to read
DOUBT_SDS = 1.5  # standard deviations of a ratio inside the bound, for few rows to be in doubt
PREFIX_BLOCK = 256
LEVELS = 127  # codes are whole numbers between -127 and 127
FLOAT32_ROUNDING = 2e-7  # above what one operation in single precision changes, relative


class RatioSums:
    """Same result as `clipped_ratio_sum`, for one data set and one proposal after another.

    After enough proposals that use one statistic, a few or many, these are prepared for more.
    What is prepared depends on the data alone, and gives the sum and the count of the pass over
    all rows, up to the order of summation; where rounding could make more of a difference
    (`dpmcmc.likelihoods.rounding`), that pass is made. So the clip holds for every row, and neither
    it nor the privacy that rests on it depends on the chain's past. Where long doubles have no more
    digits than others, as on macOS on ARM, nothing is prepared.

    Parameters
    ----------
    statistics : (m, n) array
        t(x) of every row.
    blocks : function
        Without arguments; returns the `Blocks` of these data, where m is not 1.
    """

    def __init__(self, statistics, blocks):
        self.statistics = statistics
        self.blocks = blocks
        self.prepared = {}  # by the statistic that is used, "few" or "many"
        self.passes_left = {}

    def at(self, slope, intercept, bound):
        """Sum of the clipped ratios, and how many were clipped.

        Parameters
        ----------
        slope : (m,) array
        intercept : float
        bound : float
        """
        used = slope.nonzero()[0]
        if HAS_LONG_DOUBLES and len(used):
            key = int(used[0]) if len(used) == 1 else "few" if len(used) < MANY else "many"
            most = PASSES_BEFORE_SORTING if len(used) == 1 else PASSES_BEFORE_CODING
            passes_left = self.passes_left.setdefault(key, most)
            if passes_left:
                self.passes_left[key] -= 1
            elif result := self._prepared(key).at(slope, intercept, bound):
                return result
        total, _, num_clipped = clipped_ratio_sum(self.statistics, slope, intercept, bound)
        return total, num_clipped

    def _prepared(self, key):
        if key not in self.prepared:
            if key == "many":
                self.prepared[key] = CodedRows(self.statistics)
            elif key == "few":
                self.prepared[key] = BlockedRatios(self.blocks())
            else:
                self.prepared[key] = SortedColumn(self.statistics, key)
        return self.prepared[key]


class BatchRatioSums:
    """Same result as `clipped_ratio_sum`, for one batch after another of one data set.

    A row's statistics lie far apart in memory, and reading them takes longer than all else. So
    after as many rows have been drawn as there are, the data are copied row by row.

    Parameters
    ----------
    statistics : (m, n) array
        t(x) of every row.
    """

    def __init__(self, statistics):
        self.statistics = statistics
        self.num_drawn = 0
        self.rows = None

    def at(self, slope, intercept, bound, batch):
        """Sum of the clipped ratios and of their squares, and how many were clipped.

        Parameters
        ----------
        slope : (m,) array
        intercept : float
        bound : float
        batch : (b,) array of int
            Indices of rows.
        """
        if self.rows is None:
            self.num_drawn += len(batch)
            if self.num_drawn < self.statistics.shape[1]:
                return clipped_ratio_sum(
                    self.statistics.take(batch, axis=1), slope, intercept, bound
                )
            self.rows = np.ascontiguousarray(self.statistics.T)
        return clipped_batch_sum(self.rows, batch, slope, intercept, bound)


class SortedColumn:
    """Ratios that use one statistic: those inside the bound are a stretch of the sorted column.

    Parameters
    ----------
    statistics : (m, n) array
    j : int
        The statistic.
    """

    def __init__(self, statistics, j):
        self.j = j
        self.column = np.sort(statistics[j])
        self.centre = self.column[len(self.column) // 2]
        with np.errstate(all="ignore"):
            self.sums = prefix_sums(self.column - self.centre)
        self.terms = np.abs(self.column[[0, -1]]).sum()  # not finite if a value is not
        if not math.isfinite(self.sums[-1]):
            self.terms = math.inf

    def at(self, slope, intercept, bound):
        """Sum and count as `RatioSums.at`; None if rounding could matter."""
        slope = slope[self.j]
        terms = abs(slope) * self.terms + abs(intercept)
        if not terms <= largest_terms(len(self.column), 1, bound):
            return None
        return sorted_ratio_sum(self.column, self.sums, self.centre, slope, intercept, bound)


def prefix_sums(values):
    """Sums of the first 0, 1, ..., n values, (n + 1,).

    Sums within blocks, and sums of blocks (pairwise) in more digits, where there are any: a
    difference of two sums may be far smaller than they are.
    """
    num_blocks = -(-len(values) // PREFIX_BLOCK)
    blocks = np.zeros((num_blocks, PREFIX_BLOCK))
    blocks.ravel()[: len(values)] = values
    before = np.zeros(num_blocks)
    before[1:] = blocks[:-1].sum(axis=1).cumsum(dtype=np.longdouble)
    blocks.cumsum(axis=1, out=blocks)
    blocks += before[:, None]
    return np.concatenate([[0.0], blocks.ravel()[: len(values)]])


class BlockedRatios:
    """Ratios that use a few statistics: most blocks of near rows lie on one side of each bound.

    Where the ratios of a whole block are inside the bounds, they add up to a function of the sum of
    its statistics; where they are above or below them, to as many bounds. The rows of the other
    blocks are clipped and summed one by one. A row that is not finite makes its block one of
    these, and so does one so far away that rounding could matter: in the direction of a slope it
    may be near.

    Parameters
    ----------
    blocks : Blocks
    """

    def __init__(self, blocks):
        self.blocks = blocks

    def at(self, slope, intercept, bound):
        """Sum and count as `RatioSums.at`; None where there is no bound."""
        if not bound < math.inf:
            return None
        settled, active = self.settled(slope, intercept, bound)
        total, _, num_clipped = clipped_ratio_block_sum(
            self.blocks.statistics, active, BOX, slope, intercept, bound
        )
        *sums, num_inside, above, below = settled.tolist()
        if num_inside:
            # More digits, where there are any: the shift is taken as often as there are rows.
            shift = slope.astype(np.longdouble) @ self.blocks.centre - intercept
            total += slope @ sums + float(num_inside * shift)
        if above != below:
            total += bound * (above - below)
        return total, num_clipped + int(above + below)

    def settled(self, slope, intercept, bound):
        """Blocks on one side of each bound, (m + 3,); indices of the others.

        Of those inside the sum of t - centre and the number of rows, of those above and of those
        below the number of rows.
        """
        blocks = self.blocks
        num_statistics, num_rows = blocks.statistics.shape
        return settled_block_sum(
            blocks.middles,
            blocks.widths,
            blocks.lengths,
            blocks.reaches,
            blocks.sums,
            blocks.centre,
            blocks.factor,
            slope,
            intercept,
            bound,
            largest_terms(num_rows, num_statistics, bound),
            largest_partial_sums(bound),
        )


class CodedRows:
    """Ratios that use many statistics: a rough copy finds the rows that may be clipped.

    Without the clip the ratios r_i = slope . t_i - intercept add up to
    slope . (sum of t_i) - n intercept, and clipping adds clip(r_i) - r_i for the rows with
    |r_i| > bound. With whole numbers k_ij such that |t_ij - c_j - w_j k_ij| <= w_j / 2,

        |r_i| <= |sum_j slope_j w_j k_ij + slope . c - intercept| + sum_j |slope_j| w_j / 2,

    and where the right-hand side, with a margin for rounding, is at most the bound, row i is not
    clipped. The others are read in full. Rows are in order of their distance from the centre c,
    in units of the spread s_j of each statistic, since by Cauchy and Schwarz

        |r_i| <= |slope . c - intercept| + |(slope_j s_j)_j| |((t_ij - c_j) / s_j)_j|,

    so that up to some distance there is no need to look. The widths w_j fit the farthest row, and
    are of use only while their sum above is well below the bound; so no row is far out on that
    scale.

    Parameters
    ----------
    statistics : (m, n) array
    """

    def __init__(self, statistics):
        num_statistics, num_rows = statistics.shape
        codes = np.empty(statistics.shape, np.int8)
        self.widths, self.spreads, total = np.empty((3, num_statistics))
        squared = np.zeros(num_rows)
        with np.errstate(all="ignore"):
            self.centre = statistics.mean(axis=1)
        self.is_finite = bool(np.isfinite(self.centre).all())
        if self.is_finite:
            for j in range(num_statistics):
                deviations = statistics[j] - self.centre[j]
                total[j] = deviations.sum()
                self.widths[j] = max(deviations.max(), -deviations.min()) / LEVELS or 1.0
                self.spreads[j] = deviations.std() or 1.0
                codes[j] = np.rint(deviations / self.widths[j])
                squared += (deviations / self.spreads[j]) ** 2
        order = squared.argsort(kind="stable")
        self.distances = np.sqrt(squared[order])
        self.codes = codes.take(order, axis=1)
        # Few are read, here and there. `take` would make another copy of all on the way.
        self.rows = np.ascontiguousarray(statistics.T[order])
        self.terms = np.abs(self.centre) + LEVELS * self.widths
        # More digits, where there are any: what is subtracted from this sum is nearly as large.
        self.total = total + num_rows * self.centre.astype(np.longdouble)

    def at(self, slope, intercept, bound):
        """Sum and count as `RatioSums.at`; None if many rows would have to be read for it."""
        num_rows, num_statistics = self.rows.shape
        steepness = np.abs(slope)
        middle = slope @ self.centre - intercept
        width = steepness @ self.widths
        farthest = abs(middle) + LEVELS * width
        terms = steepness @ self.terms + abs(intercept)
        slack = 0.5 * width + FLOAT32_ROUNDING * (num_statistics + 3) * farthest + ROUNDING * terms
        if not (self.is_finite and slack < bound / 2):
            return None
        if not terms <= largest_terms(num_rows, num_statistics, bound):
            return None
        scaled = slope * self.spreads
        spread = math.sqrt(scaled @ scaled)
        room = bound - abs(middle) - slack
        if DOUBT_SDS * spread > room:
            return None
        total = float(self.total @ slope - num_rows * np.longdouble(intercept))
        first = self.distances.searchsorted((1 - ROUNDING) * room / spread)
        if first == num_rows:
            return total, 0
        excess, num_clipped = clipped_ratio_excess(
            self.rows,
            self.codes,
            first,
            slope,
            intercept,
            bound,
            slope * (self.widths / bound),
            middle / bound,
            1 - slack / bound - FLOAT32_ROUNDING,
        )
        return total + excess, num_clipped
