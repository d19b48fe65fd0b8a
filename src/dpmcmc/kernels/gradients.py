"""Compiled passes over the rows that clip and sum gradients.

In an exponential family with a statistic t(x) in R^m, the gradient of one row's log-likelihood is
an affine function of t(x); statistics are held as an array of shape (m, n).

Privacy rests on the clip holding for *every* row: a gradient without a finite norm counts as the
zero vector.
"""

import math

import numpy as np

from dpmcmc.kernels.blocks import BOX, ROUNDING
from dpmcmc.kernels.compiling import compiled, indices, matrix, vector

LARGEST_FLOAT32 = 1e38  # numbers below are of single precision


def clipped_gradient_sum(statistics, jacobian, offset, bound):
    """Same result as `clipped_gradient_block_sum`, for all rows."""
    blocks = np.arange(-(-statistics.shape[1] // BOX))
    return clipped_gradient_block_sum(statistics, blocks, jacobian, offset, bound)


@compiled("Tuple((float64[::1], int64))", matrix, indices, matrix, vector, float)
def clipped_gradient_block_sum(statistics, blocks, jacobian, offset, bound):
    """Sum over some rows of the gradient g = jacobian^T t - offset, clipped in Euclidean norm.

    Parameters
    ----------
    statistics : (m, n) array
        t(x) of every row x.
    blocks : (k,) array of int
        Which blocks of rows are summed: block i has the rows from i BOX on.
    jacobian : (m, d) array
        Derivative of the natural parameter; entries that are zero cost nothing.
    offset : (d,) array
        Gradient of the log-partition function.
    bound : float
        A row's gradient longer than this is scaled down to this length; may be infinite.

    Returns
    -------
    total : (d,) array
        Sum of the clipped gradients.
    num_clipped : int
        Rows with a norm above the bound, or without a finite norm.
    """
    num_statistics = statistics.shape[0]
    dimension = offset.shape[0]
    component = np.empty(BOX)
    squared = np.empty(BOX)  # norms of rows, squared
    factors = np.empty(BOX)
    weighted = np.empty(num_statistics)
    total = np.zeros(dimension)
    num_clipped = 0
    # Components of a single statistic are taken four at a time, and those of two at once, for
    # speed.
    single = np.empty(dimension, np.int64)
    source = np.empty(dimension, np.int64)
    double = np.empty((dimension, 3), np.int64)
    other = np.empty(dimension, np.int64)
    num_single = 0
    num_double = 0
    num_other = 0
    for k in range(dimension):
        entries = np.flatnonzero(jacobian[:, k])
        if entries.shape[0] == 1:
            single[num_single] = k
            source[num_single] = entries[0]
            num_single += 1
        elif entries.shape[0] == 2:
            double[num_double] = k, entries[0], entries[1]
            num_double += 1
        else:
            other[num_other] = k
            num_other += 1
    num_in_fours = num_single - num_single % 4
    inverse = bound**-2.0  # not 1 / bound^2, with which LLVM would divide where it is multiplied by
    entry_rows, entry_columns = np.nonzero(jacobian)
    for block in blocks:
        start = block * BOX
        stop = min(start + BOX, statistics.shape[1])
        size = stop - start
        squared[:] = 0.0
        for e in range(num_other):
            k = other[e]
            component[:] = -offset[k]
            for j in range(num_statistics):
                coefficient = jacobian[j, k]
                if coefficient != 0.0:
                    column = statistics[j, start:stop]
                    for i in range(size):
                        component[i] += coefficient * column[i]
            for i in range(size):
                squared[i] += component[i] * component[i]
        for e in range(num_double):
            k, a, b = double[e]
            j_a, j_b, o_k = jacobian[a, k], jacobian[b, k], offset[k]
            t_a, t_b = statistics[a, start:stop], statistics[b, start:stop]
            for i in range(size):
                g_k = j_a * t_a[i] + j_b * t_b[i] - o_k
                squared[i] += g_k * g_k
        for e in range(0, num_in_fours, 4):
            a, b, c, d = single[e], single[e + 1], single[e + 2], single[e + 3]
            o_a, o_b, o_c, o_d = offset[a], offset[b], offset[c], offset[d]
            j_a, j_b = jacobian[source[e], a], jacobian[source[e + 1], b]
            j_c, j_d = jacobian[source[e + 2], c], jacobian[source[e + 3], d]
            t_a, t_b = statistics[source[e], start:stop], statistics[source[e + 1], start:stop]
            t_c, t_d = statistics[source[e + 2], start:stop], statistics[source[e + 3], start:stop]
            for i in range(size):
                g_a, g_b = j_a * t_a[i] - o_a, j_b * t_b[i] - o_b
                g_c, g_d = j_c * t_c[i] - o_c, j_d * t_d[i] - o_d
                squared[i] += (g_a * g_a + g_b * g_b) + (g_c * g_c + g_d * g_d)
        for e in range(num_in_fours, num_single):
            a, t_a = single[e], statistics[source[e], start:stop]
            j_a, o_a = jacobian[source[e], a], offset[a]
            for i in range(size):
                g_a = j_a * t_a[i] - o_a
                squared[i] += g_a * g_a
        # The factor of a clipped row is q^-1/2, q being its squared norm over the squared bound: in
        # single precision, then with the first terms of (1 - e)^-1/2, e its error in square.
        num_near = 0
        num_inside = 0
        weight = 0.0
        for i in range(size):
            q = squared[i] * inverse
            rough = np.float64(np.float32(1.0) / np.sqrt(np.float32(q)))
            error = 1.0 - q * rough * rough
            factor = rough + rough * error * (0.5 + 0.375 * error)
            factor = factor if q > 1.0 else 1.0
            num_near += q < LARGEST_FLOAT32
            num_inside += q <= 1.0
            factors[i] = factor
            weight += factor
        if num_near < size:  # beyond single precision, or not finite
            num_inside = 0
            weight = 0.0
            for i in range(size):
                norm = math.sqrt(squared[i])
                num_inside += (norm <= bound) & (norm < math.inf)
                factor = bound / norm if norm > bound else 1.0
                factor = factor if norm < math.inf else 0.0
                factors[i] = factor
                weight += factor
        num_clipped += size - num_inside
        # The gradients times their factors add up to jacobian^T (sum of factor t) - weight offset.
        # A row with factor 0 may hold anything.
        for j in range(0, num_statistics - 1, 2):  # in pairs, for speed
            t_a, t_b = statistics[j, start:stop], statistics[j + 1, start:stop]
            sum_a = 0.0
            sum_b = 0.0
            for i in range(size):
                factor = factors[i]
                sum_a += factor * (t_a[i] if factor > 0.0 else 0.0)
                sum_b += factor * (t_b[i] if factor > 0.0 else 0.0)
            weighted[j] = sum_a
            weighted[j + 1] = sum_b
        if num_statistics % 2:
            j = num_statistics - 1
            t_a = statistics[j, start:stop]
            sum_a = 0.0
            for i in range(size):
                factor = factors[i]
                sum_a += factor * (t_a[i] if factor > 0.0 else 0.0)
            weighted[j] = sum_a
        for k in range(dimension):
            total[k] -= weight * offset[k]
        for e in range(entry_rows.shape[0]):
            j, k = entry_rows[e], entry_columns[e]
            total[k] += jacobian[j, k] * weighted[j]
    return total, num_clipped


@compiled("Tuple((float64[::1], int64))", matrix, indices, matrix, vector, float)
def far_gradient_block_sum(statistics, blocks, jacobian, offset, bound):
    """Same result as `clipped_gradient_block_sum`, also where rows or theta are far out; slower.

    There jacobian^T (sum of factor t) - weight offset cancels. Here each row's gradient is
    computed once, its norm taken from these very numbers, and the clipped gradients are summed:
    whatever rounding has made of a row, it adds no more than the bound.
    """
    num_statistics = statistics.shape[0]
    dimension = offset.shape[0]
    gradients = np.empty((dimension, BOX))
    squared = np.empty(BOX)
    factors = np.empty(BOX)
    total = np.zeros(dimension)
    num_clipped = 0
    for block in blocks:
        start = block * BOX
        stop = min(start + BOX, statistics.shape[1])
        size = stop - start
        squared[:] = 0.0
        for k in range(dimension):
            gradient = gradients[k]
            gradient[:] = -offset[k]
            for j in range(num_statistics):
                coefficient = jacobian[j, k]
                if coefficient != 0.0:
                    column = statistics[j, start:stop]
                    for i in range(size):
                        gradient[i] += coefficient * column[i]
            for i in range(size):
                squared[i] += gradient[i] * gradient[i]
        num_inside = 0
        for i in range(size):
            norm = math.sqrt(squared[i])
            num_inside += (norm <= bound) & (norm < math.inf)
            factor = bound / norm if norm > bound else 1.0
            factors[i] = factor if norm < math.inf else 0.0
        num_clipped += size - num_inside
        for k in range(dimension):
            block_total = 0.0
            for i in range(size):
                factor = factors[i]
                block_total += factor * (gradients[k, i] if factor > 0.0 else 0.0)
            total[k] += block_total
    return total, num_clipped


@compiled(
    "Tuple((float64[::1], int64[::1]))",
    matrix,
    matrix,
    vector,
    vector,
    matrix,
    vector,
    matrix,
    matrix,
    vector,
    float,
    float,
    float,
)
def resting_block_sum(
    middles,
    widths,
    lengths,
    reaches,
    sums,
    centre,
    factor,
    jacobian,
    offset,
    bound,
    most_terms,
    most_partial,
):
    """Sum of the gradients g = jacobian^T t - offset in blocks of rows of which none is clipped.

    In a block, t = centre + factor u with |u_j - middle_j| <= width_j for the first coordinates,
    A, and |u_B| <= r for the others. With the rows a and b of factor^T jacobian that belong to A
    and B, and s = offset - jacobian^T centre, g = (a^T u_A - s) + b^T u_B, so that

        |g|^2 <= |a^T u_A - s|^2 + |b b^T| r^2 + 2 (|b a^T| |u_A| + |b s|) r.

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
    jacobian, offset, bound
        As for `clipped_gradient_block_sum`.
    most_terms : float
        Size of terms up to which a block may be summed as a whole.
    most_partial : float
        Size up to which the partial sums may add up; if they do not keep to it, no block counts.

    Returns
    -------
    total : (d,) array
        Sum over the blocks whose right side, with a margin for rounding, is within the squared
        bound.
    active : array of int
        Indices of the other blocks.
    """
    num_coordinates, num_blocks = middles.shape
    num_statistics, dimension = jacobian.shape
    shift = offset.copy()
    slopes = np.zeros((num_statistics, dimension))  # factor^T jacobian
    for j in range(num_statistics):
        for k in range(dimension):
            entry = jacobian[j, k]
            if entry != 0.0:
                shift[k] -= centre[j] * entry
                for i in range(num_statistics):
                    slopes[i, k] += factor[j, i] * entry
    # What rounding may change in a component of a gradient, and far more than that.
    size = math.sqrt((jacobian * jacobian).sum())
    extent = math.sqrt((centre * centre).sum()) * size
    common = math.sqrt((offset * offset).sum()) + extent
    slack = ROUNDING * common
    steepness = 0.0  # at least the largest eigenvalue of b b^T
    squared_mixing = 0.0
    squared_pull = 0.0
    squared_slopes = 0.0
    for i in range(num_coordinates, num_statistics):
        slope = slopes[i]
        squared_pull += (slope * shift).sum() ** 2
        squared_slopes += (slope * slope).sum()
        for j in range(num_coordinates):
            squared_mixing += (slope * slopes[j]).sum() ** 2
        row = 0.0
        for j in range(num_coordinates, num_statistics):
            row += abs((slope * slopes[j]).sum())
        if not row <= steepness:  # also where it is not a number
            steepness = row
    mixing = math.sqrt(squared_mixing)
    pull = math.sqrt(squared_pull) + slack * math.sqrt(squared_slopes)
    farthest = np.zeros(num_blocks)  # squared length of u_A
    for j in range(num_coordinates):
        for i in range(num_blocks):
            largest = abs(middles[j, i]) + widths[j, i]
            farthest[i] += largest * largest
    squared = np.empty(num_blocks)
    for i in range(num_blocks):
        twice = 2.0 * (mixing * math.sqrt(farthest[i]) + pull)
        squared[i] = (steepness * lengths[i] + twice) * lengths[i]
        if not size * reaches[i] + common <= most_terms:
            squared[i] = math.inf
    middle = np.empty(num_blocks)
    most = np.empty(num_blocks)
    for k in range(dimension):
        middle[:] = -shift[k]
        most[:] = slack
        for j in range(num_coordinates):
            coefficient = slopes[j, k]
            if coefficient != 0.0:
                for i in range(num_blocks):
                    middle[i] += coefficient * middles[j, i]
                    most[i] += abs(coefficient) * (widths[j, i] + ROUNDING * abs(middles[j, i]))
        for i in range(num_blocks):
            largest = abs(middle[i]) + most[i]
            squared[i] += largest * largest
    resting = np.zeros(num_statistics + 1)
    active = np.empty(num_blocks, np.int64)
    num_active = 0
    partial = 0.0
    for i in range(num_blocks):
        at_most = squared[i] * (1.0 + ROUNDING)
        if at_most <= bound * bound and at_most < math.inf:
            for j in range(num_statistics + 1):
                resting[j] += sums[j, i]
            for j in range(num_statistics):
                partial += abs(resting[j])
        else:
            active[num_active] = i
            num_active += 1
    if not size * partial <= most_partial:
        return np.zeros(dimension), np.arange(num_blocks)
    total = np.zeros(dimension)
    if num_active < num_blocks:
        for k in range(dimension):
            total[k] = -resting[num_statistics] * shift[k]
            for j in range(num_statistics):
                total[k] += resting[j] * jacobian[j, k]
    return total, active[:num_active]
