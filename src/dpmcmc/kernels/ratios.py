"""Compiled passes over the rows that clip and sum log-likelihood ratios.

In an exponential family with a statistic t(x) in R^m, a log-likelihood ratio of one row is an
affine function of t(x). Statistics are held as an array of shape (m, n): one contiguous stretch of
memory a statistic. One with coefficient zero is not read, which makes a one-component move read one
column.

Privacy rests on the clip holding for *every* row. A NaN therefore counts as 0, and an infinite
ratio as the clip bound.
"""

import numpy as np

from dpmcmc.kernels.blocks import ROUNDING
from dpmcmc.kernels.compiling import byte_matrix, compiled, indices, mask, matrix, vector

BLOCK = 1024  # rows a block: a block of ratios stays in the first-level cache
BATCH_BLOCK = 256  # rows a block, all of whose statistics do
EVERY_ROW = np.empty(0, np.bool_)
BOX_ROUNDING = 1e-8  # as ROUNDING, in coordinates whose Jacobian is nearly singular


def clipped_ratio_sum(statistics, slope, intercept, bound, members=EVERY_ROW):
    """Same result as `clipped_ratio_block_sum`, for all rows."""
    statistics = matrix(statistics)
    blocks = np.arange(-(-statistics.shape[1] // BLOCK))
    return clipped_ratio_block_sum(statistics, blocks, BLOCK, slope, intercept, bound, members)


@compiled("Tuple((float64, float64, int64))", matrix, indices, int, vector, float, float, mask)
def clipped_ratio_block_sum(statistics, blocks, length, slope, intercept, bound, members=EVERY_ROW):
    """Sum over some rows of the clipped affine function r = slope . t - intercept.

    Parameters
    ----------
    statistics : (m, n) array
        t(x) of every row x.
    blocks : (k,) array of int
        Which blocks of rows are summed: block i has the rows from i length on.
    length : int
        Rows of a block; at most BLOCK.
    slope : (m,) array
        Coefficients; statistics with coefficient zero are not read.
    intercept : float
        Subtracted in every row.
    bound : float
        Each r is clipped to [-bound, bound]; may be infinite.
    members : (n,) array of bool
        The rows that count; the others' ratios are 0. An empty one means all.

    Returns
    -------
    total : float
        Sum of the clipped values.
    squares : float
        Sum of the squares of the clipped values.
    num_clipped : int
        Rows with r outside [-bound, bound], NaN included.
    """
    num_rows = statistics.shape[1]
    used = np.flatnonzero(slope)
    num_used = used.shape[0]
    # Statistics are taken in pairs, for speed. The last pair or single one is added where ratios
    # are clipped, so that one loop reads all that ratios of one or two statistics need.
    last = (num_used - 1) // 2 * 2 if num_used else 0
    has_first, has_second = last < num_used, last + 1 < num_used
    slope_j = slope[used[last]] if has_first else 0.0
    slope_k = slope[used[last + 1]] if has_second else 0.0
    ratios = np.full(BLOCK, -intercept)  # without that pair
    nothing = np.zeros(BLOCK)
    every_row = np.ones(BLOCK, np.bool_)
    total = 0.0
    squares = 0.0
    num_clipped = 0
    for block in blocks:
        start = block * length
        size = min(length, num_rows - start)
        stop = start + size
        if last:
            ratios[:] = -intercept
        for e in range(0, last, 2):
            a, b = used[e], used[e + 1]
            slope_a, slope_b = slope[a], slope[b]
            column_a, column_b = statistics[a, start:stop], statistics[b, start:stop]
            for i in range(size):
                ratios[i] += slope_a * column_a[i] + slope_b * column_b[i]
        column_j = statistics[used[last], start:stop] if has_first else nothing[:size]
        column_k = statistics[used[last + 1], start:stop] if has_second else nothing[:size]
        is_in = members[start:stop] if members.shape[0] else every_row[:size]
        # Block sums first, then a sum of blocks: the rounding error grows with n / BLOCK only.
        block_total = 0.0
        block_squares = 0.0
        block_inside = 0
        for i in range(size):
            ratio = ratios[i] + (slope_j * column_j[i] + slope_k * column_k[i])
            ratio = ratio if is_in[i] else 0.0
            block_inside += (-bound <= ratio) & (ratio <= bound)
            ratio = ratio if ratio == ratio else 0.0
            ratio = min(max(ratio, -bound), bound)
            block_total += ratio
            block_squares += ratio * ratio
        total += block_total
        squares += block_squares
        num_clipped += size - block_inside
    return total, squares, num_clipped


@compiled("Tuple((float64, float64, int64))", matrix, indices, vector, float, float)
def clipped_batch_sum(rows, batch, slope, intercept, bound):
    """Same result as `clipped_ratio_sum`, for a batch of rows.

    Parameters
    ----------
    rows : (n, m) array
        t(x) of every row; here the statistics of one row lie side by side.
    batch : (b,) array of int
        Indices of rows.
    slope, intercept, bound
        As for `clipped_ratio_sum`.
    """
    num_rows = batch.shape[0]
    used = np.flatnonzero(slope)
    num_used = used.shape[0]
    buffer = np.empty(BATCH_BLOCK)
    total = 0.0
    squares = 0.0
    num_inside = 0
    for start in range(0, num_rows, BATCH_BLOCK):
        size = min(BATCH_BLOCK, num_rows - start)
        chosen = batch[start : start + size]
        ratios = buffer[:size]
        ratios[:] = -intercept
        for e in range(0, num_used - 1, 2):  # in pairs, for speed
            j, k = used[e], used[e + 1]
            slope_j, slope_k = slope[j], slope[k]
            for i in range(size):
                ratios[i] += slope_j * rows[chosen[i], j] + slope_k * rows[chosen[i], k]
        if num_used % 2:
            j = used[num_used - 1]
            slope_j = slope[j]
            for i in range(size):
                ratios[i] += slope_j * rows[chosen[i], j]
        block_total = 0.0
        block_squares = 0.0
        for i in range(size):
            ratio = ratios[i]
            num_inside += (-bound <= ratio) & (ratio <= bound)
            ratio = ratio if ratio == ratio else 0.0
            ratio = min(max(ratio, -bound), bound)
            block_total += ratio
            block_squares += ratio * ratio
        total += block_total
        squares += block_squares
    return total, squares, num_rows - num_inside


@compiled("Tuple((float64, int64))", vector, vector, float, float, float, float)
def sorted_ratio_sum(column, sums, centre, slope, intercept, bound):
    """Same result as `clipped_ratio_sum`, for one statistic, in O(log n).

    The computed ratio slope t - intercept does not decrease with t, or does not increase, so each
    kind of row (below -bound, above bound, between) is a stretch of the sorted column.

    Parameters
    ----------
    column : (n,) array
        t(x) of every row in ascending order, finite.
    sums : (n + 1,) array
        Sums of the first 0, 1, ..., n values of t(x) - centre.
    centre, slope, intercept : float
        Slope not zero.
    bound : float

    Returns
    -------
    total : float
    num_clipped : int
    """
    num_rows = column.shape[0]
    ends = (0, 0)  # rows of the column with -bound <= ratio <= bound
    for end in range(2):
        first, last = 0, num_rows
        while first < last:
            i = (first + last) // 2
            ratio = -intercept
            ratio += slope * column[i]
            if slope < 0.0:
                ratio = -ratio
            if ratio < -bound or (end == 1 and ratio <= bound):
                first = i + 1
            else:
                last = i
        ends = (ends[1], first)
    first, last = ends
    total = slope * (sums[last] - sums[first]) + (last - first) * (slope * centre - intercept)
    num_below, num_above = first, num_rows - last
    if num_below != num_above:
        excess = bound * (num_above - num_below)
        total += excess if slope > 0.0 else -excess
    return total, num_below + num_above


@compiled(
    "Tuple((float64, int64))",
    matrix,
    byte_matrix,
    int,
    vector,
    float,
    float,
    vector,
    float,
    float,
)
def clipped_ratio_excess(rows, codes, first, slope, intercept, bound, weights, shift, limit):
    """Change by clipping of the sum of the affine function r = slope . t - intercept.

    Only the rows with |weights . code + shift| > limit are looked at; the caller vouches that
    the others are not clipped. That test is in single precision.

    Parameters
    ----------
    rows : (n, m) array
        t(x) of every row, finite; here the statistics of one row lie side by side.
    codes : (m, n) array of int8
        A rough copy of the statistics.
    first : int
        The rows before this one are not looked at.
    slope, intercept, bound
        As for `clipped_ratio_sum`.
    weights : (m,) array
        Coefficients of the codes; those with slope zero are not read.
    shift, limit : float

    Returns
    -------
    excess : float
        Sum of clip(r) - r.
    num_clipped : int
        Rows with r outside [-bound, bound].
    """
    num_rows = rows.shape[0]
    used = np.flatnonzero(slope)
    num_used = used.shape[0]
    shift = np.float32(shift)
    limit = np.float32(limit)
    rough = np.empty(BLOCK, np.float32)
    is_doubtful = np.zeros(BLOCK, np.uint8)
    eights = is_doubtful.view(np.uint64)  # of rows; without one in doubt they are passed over
    doubtful = np.empty(BLOCK + 1, np.int64)
    ratios = np.empty(BLOCK)
    excess = 0.0
    num_clipped = 0
    for start in range(first, num_rows, BLOCK):
        size = min(BLOCK, num_rows - start)
        rough[:] = shift
        for e in range(0, num_used - 1, 2):  # in pairs, for speed
            j, k = used[e], used[e + 1]
            weight_j, weight_k = np.float32(weights[j]), np.float32(weights[k])
            column_j = codes[j, start : start + size]
            column_k = codes[k, start : start + size]
            for i in range(size):
                rough[i] += weight_j * np.float32(column_j[i]) + weight_k * np.float32(column_k[i])
        if num_used % 2:
            j = used[num_used - 1]
            weight_j = np.float32(weights[j])
            column_j = codes[j, start : start + size]
            for i in range(size):
                rough[i] += weight_j * np.float32(column_j[i])
        for i in range(size):
            is_doubtful[i] = not (abs(rough[i]) <= limit)
        is_doubtful[size:] = 0
        count = 0
        for e in range(BLOCK // 8):
            if eights[e]:
                for i in range(8 * e, 8 * e + 8):
                    doubtful[count] = start + i
                    count += is_doubtful[i]
        for i in range(count):
            ratios[i] = -intercept
        for j in used:
            coefficient = slope[j]
            for i in range(count):
                ratios[i] += coefficient * rows[doubtful[i], j]
        block_excess = 0.0
        for i in range(count):
            ratio = ratios[i]
            clipped = min(max(ratio, -bound), bound)
            block_excess += clipped - ratio
            num_clipped += clipped != ratio
        excess += block_excess
    return excess, num_clipped


@compiled(
    "Tuple((float64[::1], int64[::1]))",
    matrix,
    matrix,
    vector,
    vector,
    matrix,
    vector,
    matrix,
    vector,
    float,
    float,
    float,
    float,
)
def settled_block_sum(
    middles,
    widths,
    lengths,
    reaches,
    sums,
    centre,
    factor,
    slope,
    intercept,
    bound,
    most_terms,
    most_partial,
):
    """Add up what belongs to the blocks of rows of which none is clipped, or all on one side.

    In a block, t = centre + factor u with |u_j - middle_j| <= width_j for the first coordinates,
    A, and |u_B| <= r for the others. With c = factor^T slope, a ratio slope . t - intercept is
    within |c_B| r of

        c_A . u_A + slope . centre - intercept.

    Blocks with large terms, compared with the bound, are left out: their sums have lost the digits
    of the rows that are near.

    Parameters
    ----------
    middles, widths : (q, k) arrays
        Middle and half width of each of q coordinates in each of k blocks.
    lengths, reaches : (k,) arrays
        r, and the largest |t - centre|, of every block.
    sums : (m + 1, k) array
        Sum of t - centre over the rows of a block, and how many they are.
    centre : (m,) array
    factor : (m, m) array
    slope : (m,) array
    intercept, bound : float
    most_terms : float
        Size of terms up to which a block may be summed as a whole.
    most_partial : float
        Size up to which the partial sums may add up; if they do not keep to it, no block counts.

    Returns
    -------
    total : (m + 3,) array
        The sums over the blocks of which no row is clipped; then how many rows are in blocks of
        which all are above the bound, and in blocks of which all are below its negative.
    active : array of int
        Indices of the other blocks.
    """
    num_coordinates, num_blocks = middles.shape
    num_statistics = slope.shape[0]
    coefficients = np.zeros(num_statistics)
    shift = -intercept
    # Sums of absolute values are not below the lengths of these vectors, and do not underflow.
    size = 0.0
    extent = 0.0
    for j in range(num_statistics):
        shift += slope[j] * centre[j]
        size += abs(slope[j])
        extent += abs(centre[j])
        for i in range(num_statistics):
            coefficients[i] += slope[j] * factor[j, i]
    common = size * extent + abs(intercept)
    slack = ROUNDING * common
    steepness = 0.0
    for i in range(num_coordinates, num_statistics):
        steepness += abs(coefficients[i])
    middle = np.full(num_blocks, shift)
    most = steepness * lengths + (BOX_ROUNDING * size) * reaches + slack
    for j in range(num_coordinates):
        for i in range(num_blocks):
            middle[i] += coefficients[j] * middles[j, i]
            most[i] += abs(coefficients[j]) * widths[j, i]
    total = np.zeros(num_statistics + 3)
    active = np.empty(num_blocks, np.int64)
    num_active = 0
    partial = 0.0
    for i in range(num_blocks):
        lowest, highest = middle[i] - most[i], middle[i] + most[i]
        is_near = size * reaches[i] + common <= most_terms
        if is_near and -bound <= lowest and highest <= bound:
            for j in range(num_statistics + 1):
                total[j] += sums[j, i]
            for j in range(num_statistics):
                partial += abs(total[j])
        elif is_near and lowest > bound:
            total[num_statistics + 1] += sums[num_statistics, i]
        elif is_near and highest < -bound:
            total[num_statistics + 2] += sums[num_statistics, i]
        else:
            active[num_active] = i
            num_active += 1
    if not size * partial <= most_partial:
        return np.zeros(num_statistics + 3), np.arange(num_blocks)
    return total, active[:num_active]
