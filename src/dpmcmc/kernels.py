"""Compiled passes over the rows: the only O(n) code of the samplers, and the only numba.

Every model of the chapter is an exponential family with a statistic t(x) in R^m, so a
log-likelihood ratio of one row is an affine function of t(x), and so is its gradient. One pass
clips and sums ratios, one clips and sums gradients.

Statistics are held as an array of shape (m, n): one contiguous stretch of memory a statistic.
A statistic with coefficient zero is not read, which makes a one-component move read one column.

Privacy rests on the clip holding for *every* row. A NaN therefore counts as 0, an infinite
ratio as the clip bound, and a gradient without a finite norm as the zero vector. The compiler
may reassociate, contract and ignore the sign of zero, but never assume that NaN or infinity do
not occur (`nnan`, `ninf`, hence not `fastmath=True`): that would delete the guard.
"""

import functools
import math

import numpy as np

from dpmcmc.build_kernels import library_path, load_library

BLOCK = 1024  # rows a block: a block of ratios stays in the first-level cache
BATCH_BLOCK = 256  # rows a block, all of whose statistics do
BOX = 256  # rows that lie near each other; of 30 statistics they stay in the second level
CHANCE_BITS = 8  # binary digits of the chance with which a row comes into a mask at first
EVERY_ROW = np.empty(0, np.bool_)
ROUNDING = 1e-10  # far above what rounding changes, relative to the terms it comes from
BOX_ROUNDING = 1e-8  # likewise, in coordinates whose Jacobian is nearly singular
SINGLE = 1e38  # numbers below are of single precision

OPTIONS = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
LIBRARY = load_library(library_path())
KERNELS = []  # (function, signature) of every kernel, for `dpmcmc.build_kernels`


def matrix(array):
    """Array as a kernel reads it; machine code checks nothing."""
    array = np.ascontiguousarray(array, np.float64)
    if array.ndim != 2:
        raise TypeError(f"a kernel takes a matrix here, not an array of shape {array.shape}")
    return array


def vector(array):
    """Array as a kernel reads it; machine code checks nothing."""
    array = np.ascontiguousarray(array, np.float64)
    if array.ndim != 1:
        raise TypeError(f"a kernel takes a vector here, not an array of shape {array.shape}")
    return array


def indices(array):
    """Array as a kernel reads it; machine code checks nothing, not even their range."""
    array = np.ascontiguousarray(array, np.int64)
    if array.ndim != 1:
        raise TypeError(f"a kernel takes indices here, not an array of shape {array.shape}")
    return array


def words(array):
    """Array as a kernel reads it; machine code checks nothing."""
    array = np.ascontiguousarray(array)
    if array.ndim != 1 or array.dtype != np.uint64:
        raise TypeError(f"a kernel takes words of 64 bits here, not {array.dtype} {array.shape}")
    return array


def mask(array):
    """Array as a kernel reads it; machine code checks nothing, not even its length."""
    array = np.ascontiguousarray(array)
    if array.ndim != 1 or array.dtype != np.bool_:
        raise TypeError(f"a kernel takes a mask here, not {array.dtype} {array.shape}")
    return array


def byte_matrix(array):
    """Array as a kernel reads it; machine code checks nothing."""
    array = np.ascontiguousarray(array)
    if array.ndim != 2 or array.dtype != np.int8:
        raise TypeError(f"a kernel takes a matrix of int8 here, not {array.dtype} {array.shape}")
    return array


TYPES = {
    matrix: "float64[:, ::1]",
    vector: "float64[::1]",
    indices: "int64[::1]",
    words: "uint64[::1]",
    mask: "boolean[::1]",
    byte_matrix: "int8[:, ::1]",
    float: "float64",
    int: "int64",
}


def compiled(result, *arguments):
    """Decorator of a kernel: machine code of the library or, where there is none, of numba.

    Parameters
    ----------
    result : str
        Type of the result in numba's notation.
    *arguments : function
        What makes an argument into what the machine code takes: a key of `TYPES`.
    """

    def compile_kernel(function):
        KERNELS.append((function, f"{result}({', '.join(map(TYPES.get, arguments))})"))
        if LIBRARY is None:
            from numba import njit

            machine_code = njit(cache=True, **OPTIONS)(function)
        else:
            machine_code = getattr(LIBRARY, function.__name__)

        @functools.wraps(function)
        def kernel(*values):
            if missing := len(arguments) - len(values):
                values += (function.__defaults__ or ())[-missing:]
            return machine_code(*[make(x) for make, x in zip(arguments, values, strict=True)])

        return kernel

    return compile_kernel


def clipped_ratio_sum(statistics, slope, intercept, bound, members=EVERY_ROW):
    """What `clipped_ratio_block_sum` returns for all the rows."""
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
    buffer = np.empty(BLOCK)
    total = 0.0
    squares = 0.0
    num_clipped = 0
    for block in blocks:
        start = block * length
        size = min(length, num_rows - start)
        ratios = buffer[:size]
        ratios[:] = -intercept
        for e in range(0, num_used - 1, 2):  # in pairs, for speed
            j, k = used[e], used[e + 1]
            slope_j, slope_k = slope[j], slope[k]
            column_j = statistics[j, start : start + size]
            column_k = statistics[k, start : start + size]
            for i in range(size):
                ratios[i] += slope_j * column_j[i] + slope_k * column_k[i]
        if num_used % 2:
            j = used[num_used - 1]
            slope_j = slope[j]
            column_j = statistics[j, start : start + size]
            for i in range(size):
                ratios[i] += slope_j * column_j[i]
        if members.shape[0]:
            is_in = members[start : start + size]
            for i in range(size):
                ratios[i] = ratios[i] if is_in[i] else 0.0
        # Block sums first, then a sum of blocks: the rounding error grows with n / BLOCK only.
        block_total = 0.0
        block_squares = 0.0
        block_inside = 0
        for i in range(size):
            ratio = ratios[i]
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
    """What `clipped_ratio_sum` returns for a batch of rows.

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


@compiled("int64[::1]", words, int, int)
def distinct_indices(random, num_rows, wanted):
    """The first `wanted` different indices of a sequence of uniform ones.

    Each word makes two indices, by multiplication, without bias (Lemire 2019).

    Parameters
    ----------
    random : (k,) array of uint64
        Random words.
    num_rows : int
        Indices are below this; at most 2^32.
    wanted : int

    Returns
    -------
    (wanted,) array of int
        Empty if the words do not suffice.
    """
    seen = np.zeros(num_rows // 64 + 1, np.uint64)  # one bit an index
    found = np.empty(wanted, np.int64)
    count = 0
    factor = np.uint64(num_rows)
    excess = np.uint64(2**32 % num_rows)
    low = np.uint64(2**32 - 1)
    one = np.uint64(1)
    for word in random:
        for shift in (0, 32):
            product = ((word >> np.uint64(shift)) & low) * factor
            if (product & low) < excess or count == wanted:
                continue
            index = product >> np.uint64(32)
            place, bit = index >> np.uint64(6), one << (index & np.uint64(63))
            found[count] = np.int64(index)
            count += (seen[place] & bit) == 0
            seen[place] |= bit
        if count == wanted:
            return found
    return np.empty(0, np.int64)


@compiled("boolean[::1]", words, int, int)
def random_mask(random, num_rows, wanted):
    """Mask of `wanted` rows, uniform over all masks of so many.

    At first each row is in with the same chance, near wanted / n, independently. Given how many
    are in, all sets of so many rows are equally likely, and stay so while rows drawn uniformly
    are put in, or taken out, until they are as many as wanted. So the chance need not be exact,
    and a few words make 64 rows of it: where w is a random bit and r one with chance x, w & r has
    chance x / 2 and w | r has (1 + x) / 2, digit by binary digit of the chance from its last.

    Parameters
    ----------
    random : (k,) array of uint64
        Random words.
    num_rows : int
        At most 2^32.
    wanted : int

    Returns
    -------
    (num_rows,) array of bool
        Empty if the words do not suffice.
    """
    # Rounded away from one half: then rows are put in, or taken out, among those that are more
    # numerous, where few draws miss.
    chance = wanted * 2**CHANCE_BITS // num_rows
    if 2 * wanted > num_rows:
        chance = 2**CHANCE_BITS - (num_rows - wanted) * 2**CHANCE_BITS // num_rows
    num_words = (num_rows + 63) // 64
    if num_words * CHANCE_BITS > random.shape[0]:
        return np.empty(0, np.bool_)
    one = np.uint64(1)
    members = np.empty(num_rows, np.bool_)
    count = 0
    used = 0
    for k in range(num_words):
        bits = np.uint64(0)
        for digit in range(CHANCE_BITS):
            if (chance >> digit) & 1:
                bits |= random[used]
            else:
                bits &= random[used]
            used += 1
        if chance == 2**CHANCE_BITS:
            bits = ~np.uint64(0)
        first = 64 * k
        size = min(64, num_rows - first)
        for i in range(size):
            is_in = (bits >> np.uint64(i)) & one != 0
            members[first + i] = is_in
            count += is_in
    factor = np.uint64(num_rows)
    excess = np.uint64(2**32 % num_rows)
    low = np.uint64(2**32 - 1)
    while count != wanted:
        if used == random.shape[0]:
            return np.empty(0, np.bool_)
        word = random[used]
        used += 1
        for shift in (0, 32):
            product = ((word >> np.uint64(shift)) & low) * factor
            if (product & low) < excess or count == wanted:
                continue
            index = product >> np.uint64(32)
            if members[index] and count > wanted:
                members[index] = False
                count -= 1
            elif not members[index] and count < wanted:
                members[index] = True
                count += 1
    return members


@compiled("Tuple((float64, int64))", vector, vector, float, float, float, float)
def sorted_ratio_sum(column, sums, centre, slope, intercept, bound):
    """What `clipped_ratio_sum` returns for one statistic, in O(log n).

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
    """What clipping adds to the sum of the affine function r = slope . t - intercept.

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


def clipped_gradient_sum(statistics, jacobian, offset, bound):
    """What `clipped_gradient_block_sum` returns for all the rows."""
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
            num_near += q < SINGLE
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
    """What `clipped_gradient_block_sum` returns, also where rows or theta are far out; slower.

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
