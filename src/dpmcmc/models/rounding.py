"""When sums that do not read every row are those of the pass over all rows, rounding included.

Substituting one row moves the sum of clipped terms by at most two bounds. A sum that is put
together in another way keeps to that only as far as it is the same number, whatever the data are:
prefix sums of rows that lie far from each other have lost the digits of a term, and so has a sum
over all rows from which what they have in common is subtracted n times.
"""

import numpy as np

UNIT = np.finfo(float).eps / 2  # largest relative error of one operation
CLOSE = 1e-6  # of the bound: about the most that such a sum may be off by
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
        the rounding of n rows' values, all the same way, makes at most n (m + 4) u times it, u the
        unit of rounding: CLOSE times the bound. The rounding of their sums makes about as much.
    """
    terms = CLOSE * bound / (UNIT * num_rows * (num_statistics + 4))
    return min(terms, np.finfo(float).max)  # none that is infinite, where there is no bound
