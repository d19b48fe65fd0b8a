"""Likelihoods of models that compute with rows themselves, in NumPy."""

import math

import numpy as np

from dpmcmc.kernels.gradients import clipped_gradient_sum
from dpmcmc.kernels.ratios import clipped_ratio_sum
from dpmcmc.likelihoods.information import clipped_sum, derivative, rows_at_once

BLOCK = 2**16  # numbers: so many, and as many of their gradients, stay near the second-level cache
LEAST = 256  # rows of a block, however long they are
ITSELF = np.ones(1)  # the slope of a ratio as a function of itself


class RowsLikelihood:
    """Sums over rows that `Target` needs, from the model's own functions of rows.

    They are called on one block of rows after another, so that memory stays flat.

    Parameters
    ----------
    model : RowsModel
    rows : (n, p) array

    Attributes
    ----------
    num_rows : int
        n.

    Raises
    ------
    ValueError
        By the methods, if the model returns another shape than it should: the clip must see each
        row by itself.
    """

    def __init__(self, model, rows):
        self.model = model
        self.rows = rows
        self.num_rows = len(rows)
        self.block = max(LEAST, BLOCK // rows.shape[1])
        self.gradient_itself = np.eye(model.dimension), np.zeros(model.dimension)

    def ratio_sum(self, theta, theta_new, bound):
        """Same result as `Target.clipped_log_likelihood_ratio`."""
        total, _, num_clipped = self.batch_ratio_sum(theta, theta_new, bound)
        return total, num_clipped

    def batch_ratio_sum(self, theta, theta_new, bound, batch=None):
        """Same result as `Target.clipped_batch_ratio`; without a batch, for all rows."""
        if not is_finite(theta, theta_new):
            return -math.inf, 0.0, 0
        total, squares, num_clipped = 0.0, 0.0, 0
        for ratios in self._ratios(theta, theta_new, batch):
            sums = clipped_ratio_sum(ratios[None], ITSELF, 0.0, bound)
            total, squares, num_clipped = total + sums[0], squares + sums[1], num_clipped + sums[2]
        return total, squares, num_clipped

    def gradient_sum(self, theta, bound, batch=None):
        """Same result as `Target.clipped_gradient`; with a batch, for its rows."""
        dimension = len(theta)
        total, num_clipped = np.zeros(dimension), 0
        for rows in blocks(self.rows, self.block, batch):
            with np.errstate(all="ignore"):
                gradients = np.asarray(self.model.gradient(theta, rows))
            self._check("gradient", gradients, (len(rows), dimension))
            sums = clipped_gradient_sum(gradients.T, *self.gradient_itself, bound)
            total, num_clipped = total + sums[0], num_clipped + sums[1]
        return total, num_clipped

    def batch_gradient_sum(self, theta, bound, batch):
        """Same result as `Target.clipped_batch_gradient`."""
        return self.gradient_sum(theta, bound, batch)

    def information_sum(self, theta, bound):
        """Same result as `Target.clipped_information`, by differences of the gradients."""
        total, num_clipped = 0.0, 0
        for rows in blocks(self.rows, rows_at_once(len(theta))):

            def score(theta, rows=rows):
                gradients = np.asarray(self.model.gradient(theta, rows))
                self._check("gradient", gradients, (len(rows), len(theta)))
                return -gradients.T

            with np.errstate(all="ignore"):
                sums = clipped_sum(derivative(score, theta, bound), bound)
            total, num_clipped = total + sums[0], num_clipped + sums[1]
        return total, num_clipped

    def log_ratio(self, theta, theta_new):
        """Sum of the log-likelihood ratios, not clipped."""
        with np.errstate(all="ignore"):
            return float(sum(ratios.sum() for ratios in self._ratios(theta, theta_new)))

    def _ratios(self, theta, theta_new, batch=None):
        """Ratios of the rows, block by block."""
        for rows in blocks(self.rows, self.block, batch):
            with np.errstate(all="ignore"):  # the clip deals with what is not finite
                ratios = np.asarray(self.model.log_likelihood_ratio(theta, theta_new, rows))
            self._check("log_likelihood", ratios, (len(rows),))
            yield ratios

    def _check(self, method, array, shape):
        if array.shape != shape:
            raise ValueError(
                f"{type(self.model).__name__}.{method}: must return an array of shape {shape} for "
                f"{shape[0]} rows, not {array.shape}"
            )


def blocks(rows, size, batch=None):
    """Rows, all or those of a batch, up to `size` at a time; one block if there are none.

    Parameters
    ----------
    rows : (n, p) array
    size : int
    batch : (b,) array of int or (n,) array of bool, optional
    """
    of_indices = batch is not None and batch.dtype != bool
    for start in range(0, max(len(batch if of_indices else rows), 1), size):
        part = slice(start, start + size)
        if batch is None:
            yield rows[part]
        elif of_indices:
            yield rows.take(batch[part], axis=0)
        else:
            yield rows[part][batch[part]]


def is_finite(theta, theta_new):
    """True if a proposal can be computed with."""
    return math.isfinite(sum(theta.tolist()) + sum(theta_new.tolist()))
