"""Likelihoods of models that are written for one row in JAX.

To import this module makes JAX compute on the CPU, whatever else there is, and with 64 bits: an
accelerator adds up in an order of its own, so that digits would differ, and sums of 32 bits would
differ from those of the other likelihoods, and rounding could pass the clip. Where JAX has already
started on an accelerator, the import fails.
"""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.extras import missing
from dpmcmc.likelihoods.information import upper_triangle
from dpmcmc.likelihoods.rows import blocks, is_finite

try:
    import jax
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(missing(error.name, "jax")) from None
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
if jax.default_backend() != "cpu":  # started before
    raise ImportError(
        f"models written in JAX run on the CPU only, and JAX has started on {jax.default_backend()}"
        " in this process: import the model first, or set JAX_PLATFORMS=cpu"
    )

BLOCK = 4096  # rows, whose terms are in memory at once


class Pass(NamedTuple):
    """A compiled sum over rows that is made block by block; either takes theta and so on last."""

    block: Any  # (rows, how many count, ...) -> array: of so many rows whatever the batch
    whole: Any  # (rows, ...) -> array: of all rows of a data set, the sum of its blocks


class Passes(NamedTuple):
    """Compiled sums over rows, by what they take beside these, and what their arrays have."""

    ratios: Pass  # (theta, theta_new, bound) -> clipped sum, sum of squares, clipped rows: (3,)
    log_ratios: Pass  # (theta, theta_new) -> sum, not clipped: ()
    gradients: Pass  # (theta, bound) -> clipped sum, clipped rows: (d + 1,)
    information: Pass  # (theta, bound) -> clipped sum, clipped rows: (d (d + 1) / 2 + 1,)


def row_gradients(log_likelihood_row, theta, rows):
    """Gradients of the log-likelihood of single rows, (k, d)."""
    return np.asarray(jax.vmap(jax.grad(log_likelihood_row), (None, 0))(theta, rows))


def compiled_passes(log_likelihood_row):
    """The `Passes` of a log-likelihood of one row, (theta, row) -> scalar."""
    log_likelihoods = jax.vmap(log_likelihood_row, (None, 0))
    gradients_of = jax.vmap(jax.grad(log_likelihood_row), (None, 0))
    hessians_of = jax.vmap(jax.hessian(log_likelihood_row), (None, 0))

    def ratios_of(rows, count, theta, theta_new):
        ratios = log_likelihoods(theta_new, rows) - log_likelihoods(theta, rows)
        if ratios.shape != (len(rows),):
            raise ValueError(
                f"log_likelihood_row: must return a scalar, not shape {ratios.shape[1:]}"
            )
        if ratios.dtype != jnp.float64:  # sums would be of its precision, and pass the clip
            raise ValueError(f"log_likelihood_row: must return float64, not {ratios.dtype}")
        return jnp.where(jnp.arange(len(rows)) < count, ratios, 0.0)

    def ratios(rows, count, theta, theta_new, bound):
        ratios = ratios_of(rows, count, theta, theta_new)
        is_inside = (-bound <= ratios) & (ratios <= bound)
        clipped = jnp.where(jnp.isnan(ratios), 0.0, jnp.clip(ratios, -bound, bound))
        return jnp.stack([clipped.sum(), (clipped * clipped).sum(), (~is_inside).sum()])

    def log_ratios(rows, count, theta, theta_new):
        return ratios_of(rows, count, theta, theta_new).sum()

    def clipped_sum(vectors, count, bound):
        is_in = jnp.arange(len(vectors)) < count
        norms = jnp.sqrt((vectors * vectors).sum(axis=1))
        is_finite = norms < math.inf
        is_inside = is_finite & (norms <= bound)
        factors = jnp.where(norms > bound, bound / norms, 1.0)
        clipped = jnp.where((is_in & is_finite)[:, None], factors[:, None] * vectors, 0.0)
        return jnp.append(clipped.sum(axis=0), (is_in & ~is_inside).sum())

    def gradients(rows, count, theta, bound):
        return clipped_sum(gradients_of(theta, rows), count, bound)

    def information(rows, count, theta, bound):
        i, j, weights = upper_triangle(len(theta))
        matrices = -hessians_of(theta, rows)
        vectors = (matrices[:, i, j] + matrices[:, j, i]) * (weights / 2)
        return clipped_sum(vectors, count, bound)

    functions = ratios, log_ratios, gradients, information
    return Passes(*(Pass(jax.jit(f), of_all_rows(f)) for f in functions))


def of_all_rows(function):
    """The sum over all rows, in one compiled call, of a function of a block of them.

    Its digits are those of a call for each block. The last one is filled up with rows that do not
    count.
    """

    def whole(rows, *arguments):
        full, rest = divmod(len(rows), BLOCK)
        last = jnp.pad(rows[full * BLOCK :], ((0, BLOCK - rest), (0, 0)))

        def add(i, total):
            block = jax.lax.dynamic_slice_in_dim(rows, i * BLOCK, BLOCK)
            return total + function(block, BLOCK, *arguments)

        empty = jax.eval_shape(function, last, rest, *arguments)
        total = jax.lax.fori_loop(0, full, add, jnp.zeros(empty.shape)) if full else 0.0
        return total + function(last, rest, *arguments) if rest or not full else total

    return jax.jit(whole)


class JaxLikelihood:
    """Sums over rows that `Target` needs, by `vmap`, `grad` and `jit` of one row's log-likelihood.

    Parameters
    ----------
    model : JaxModel
    rows : (n, p) array

    Attributes
    ----------
    num_rows : int
        n.
    device_rows : (n, p) array
        The rows in JAX, a copy, for sums over all of them.
    """

    def __init__(self, model, rows):
        self.model = model  # not its passes, which cannot be pickled
        self.rows = rows
        self.num_rows = len(rows)

    def __getstate__(self):
        """All but the rows in JAX, which are put there anew where it is unpickled."""
        return {name: value for name, value in vars(self).items() if name != "device_rows"}

    @cached_property
    def device_rows(self):
        """The rows in JAX: put there by the first sum over all of them."""
        return jnp.asarray(self.rows)

    @property
    def passes(self):
        """Compiled passes of the model."""
        return self.model.passes

    def ratio_sum(self, theta, theta_new, bound):
        """Same result as `Target.clipped_log_likelihood_ratio`."""
        total, _, num_clipped = self.batch_ratio_sum(theta, theta_new, bound)
        return total, num_clipped

    def batch_ratio_sum(self, theta, theta_new, bound, batch=None):
        """Same result as `Target.clipped_batch_ratio`; without a batch, for all rows."""
        if not is_finite(theta, theta_new):
            return -math.inf, 0.0, 0
        sums = self._sum(self.passes.ratios, batch, theta, theta_new, bound)
        total, squares, num_clipped = sums.tolist()
        return total, squares, int(num_clipped)

    def gradient_sum(self, theta, bound, batch=None):
        """Same result as `Target.clipped_gradient`; with a batch, for its rows."""
        sums = self._sum(self.passes.gradients, batch, theta, bound)
        return sums[:-1], int(sums[-1])

    def batch_gradient_sum(self, theta, bound, batch):
        """Same result as `Target.clipped_batch_gradient`."""
        return self.gradient_sum(theta, bound, batch)

    def information_sum(self, theta, bound):
        """Same result as `Target.clipped_information`."""
        sums = self._sum(self.passes.information, None, theta, bound)
        return sums[:-1], int(sums[-1])

    def log_ratio(self, theta, theta_new):
        """Sum of the log-likelihood ratios, not clipped."""
        return float(self._sum(self.passes.log_ratios, None, theta, theta_new))

    def _sum(self, function, batch, *arguments):
        """Sum of a pass over all rows, or over those of a batch block by block."""
        if batch is None:
            return np.asarray(function.whole(self.device_rows, *arguments))
        total = 0.0
        for rows in blocks(self.rows, BLOCK, batch):
            count = len(rows)
            if count < BLOCK:
                rows = np.concatenate([rows, np.zeros((BLOCK - count, rows.shape[1]))])
            total = total + np.asarray(function.block(rows, count, *arguments))
        return total
