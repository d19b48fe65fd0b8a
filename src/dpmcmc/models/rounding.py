"""When sums that do not read every row are those of the pass over all rows, rounding included.

Substituting one row moves the sum of clipped terms by at most two bounds. A sum that is put
together in another way keeps to that only as far as it is the same number, whatever the data are:
prefix sums of rows that lie far from each other have lost the digits of a term, and so has a sum
over all rows from which what they have in common is subtracted n times.
"""

import numpy as np

UNIT = np.finfo(float).eps / 2  # largest relative error of one operation
CLOSE = 1e-6  # of the bound: most that a sum over all rows may be off by
OPERATIONS = 64  # beside one a statistic, at most so many roundings of a row's term or its sums
HAS_LONG_DOUBLES = np.finfo(np.longdouble).eps < np.finfo(float).eps  # not on every platform


def largest_terms(num_rows, num_statistics, bound):
    """Size of a row's terms up to which every way of summing is within CLOSE of the bound.

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
        the sum over n rows has an error of at most n (m + OPERATIONS) u times it, u the unit of
        rounding, hence of CLOSE times the bound.
    """
    terms = CLOSE * bound / (UNIT * num_rows * (num_statistics + OPERATIONS))
    return min(terms, np.finfo(float).max)  # none that is infinite, where there is no bound
