"""Information of rows: minus the second derivatives of their log-likelihoods, clipped and summed.

The information of a row is a symmetric (d, d) matrix. It is written as a vector of length
d (d + 1) / 2: the upper triangle row by row, entries off the diagonal times sqrt(2). So the
Euclidean norm of the vector, in which rows are clipped, is the Frobenius norm of the matrix.
"""

import math
from functools import cache

import numpy as np

from dpmcmc.arrays import read_only

CHANGE = 1e-3  # of theta for a difference, in units of 1 / sqrt(scale)
BLOCK = 2**19  # numbers: as many of the information of rows are held at once


def rows_at_once(dimension):
    """Rows of a block."""
    return max(1, BLOCK // dimension**2)


def derivative(function, theta, scale):
    """Derivative of a function of theta by central differences, one component of theta first.

    Parameters
    ----------
    function : function
        theta (d,) -> array.
    theta : (d,) array
    scale : float
        Of second derivatives of a row's log-likelihood: what is far less than 1 / sqrt(scale) is a
        small change of theta.

    Returns
    -------
    (d, ...) array
    """
    change = CHANGE / math.sqrt(scale)
    differences = []
    for step in np.diag(np.full(len(theta), change)):
        before, after = theta - step, theta + step
        # Divided by what the change is after rounding.
        differences.append((function(after) - function(before)) / (after - before).sum())
    return np.array(differences)


def clipped_sum(matrices, bound):
    """Sum over rows of the symmetric parts of matrices, clipped in Frobenius norm, as vectors.

    Parameters
    ----------
    matrices : (d, d, k) array
        Of k rows.
    bound : float
        A row's vector longer than this is scaled down to this length.

    Returns
    -------
    total : (d (d + 1) / 2,) array
    num_clipped : int
        Rows with a norm above the bound, or without a finite norm: these count as 0.
    """
    i, j, weights = upper_triangle(len(matrices))
    vectors = (matrices[i, j] + matrices[j, i]) * (weights / 2)[:, None]
    norms = np.sqrt(np.einsum("ik,ik->k", vectors, vectors))
    is_finite = norms < math.inf
    factors = bound / np.maximum(norms[is_finite], bound)
    num_clipped = len(norms) - int(np.count_nonzero(norms <= bound))
    return vectors.compress(is_finite, axis=1) @ factors, num_clipped


@cache
def upper_triangle(dimension):
    """Places i, j of the entries of a vector in the matrix, and their weights 1 or sqrt(2)."""
    i, j = np.triu_indices(dimension)
    return tuple(map(read_only, (i, j, np.where(i == j, 1.0, math.sqrt(2)))))


def as_matrix(vector, dimension):
    """Symmetric matrix (d, d) of a vector."""
    i, j, weights = upper_triangle(dimension)
    matrix = np.zeros((dimension, dimension))
    matrix[i, j] = matrix[j, i] = vector / weights
    return matrix
