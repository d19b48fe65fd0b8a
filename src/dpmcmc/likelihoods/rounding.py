"""When sums that do not read every row are those of the pass over all rows, rounding included.

Substituting one row moves the sum of clipped terms by at most two bounds. A sum that is put
together in another way keeps to that only as far as it is the same number, whatever the data are:
prefix sums of rows that lie far from each other have lost the digits of a term, and so has a sum
over all rows from which what they have in common is subtracted n times.
"""

import numpy as np

UNIT = np.finfo(float).eps / 2  # largest relative error of one operation
LARGEST = np.finfo(float).max
CLOSE = 1e-6  # of the bound: most that rows may make such a sum be off by, or sums of blocks
OPERATIONS = 24  # roundings, at most, of a row in a block or in a sorted column, its sum included
HAS_LONG_DOUBLES = np.finfo(np.longdouble).eps < np.finfo(float).eps  # not on every platform


def largest_terms(num_rows, num_statistics, bound):
    """Size of a row's terms up to which a sum may be put together in another way.

    Parameters
    ----------
    num_rows, num_statistics : int
        n and m. A row's value is a sum of m products and a constant.
    bound : float
        At which the values are clipped.

    Returns
    -------
    float
        If the absolute values of products and constant add up to at most this for each row, then
        the rounding of n rows, all the same way, makes at most n (m + OPERATIONS) u times it, u
        the unit of rounding: CLOSE times the bound.
    """
    return largest_partial_sums(bound) / (num_rows * (num_statistics + OPERATIONS))


def largest_partial_sums(bound):
    """Size up to which the partial sums of a sum of blocks may add up, in absolute value.

    Each is off by at most u times itself, and so all that follow (Wilkinson's running error).
    """
    # None that is infinite, where there is no bound.
    return min(CLOSE * bound / UNIT, LARGEST)
