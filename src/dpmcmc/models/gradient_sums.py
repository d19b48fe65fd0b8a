"""Sums of clipped gradients at positions near each other, without reading every row each time."""

import math

import numpy as np

from dpmcmc.kernels import clipped_gradient_sum, gradient_norms, selected_sum

ANCHOR_COST = 4  # of setting an anchor, in passes over all rows
SCALES = 2.0 ** np.arange(-1, 7)  # of a new region, in units of how far positions went
PAUSE = 500  # positions that are passed over all rows after no region has promised less work
SAMPLE = 16  # every so many rows stand for all when a scale is chosen
ROUNDING = 1e-10  # far above what rounding changes in a norm, relative to the terms it comes from
FINITE = 1e150  # a norm up to this has a finite square


class GradientSums:
    """What `clipped_gradient_sum` returns, for one data set and one position after another.

    With g_i = J^T t_i - o the gradient of row i at the present position and g0_i, J0, o0 those at
    an earlier one, the anchor, for any fixed centre c

        g_i - g0_i = (J - J0)^T (t_i - c) + s  with  s = (J - J0)^T c - (o - o0).

    So wherever |J_j - J0_j| <= r_j in each row j of J, and |s| <= r_s (the region),

        |g_i| <= |g0_i| + sum_j r_j |t_ij - c_j| + r_s.

    Where the right-hand side is at most the bound, row i is not clipped anywhere in the region.
    Such rows are *at rest*: their gradients add up to J^T (sum of t_i) - (number of rows) o. The
    others are *active*: clipped and summed one by one. A row without a finite norm is active, as
    it fails the comparison. Outside the region, the present position becomes the anchor.

    Where the anchor is and how far its region reaches decide about speed alone: sum and count are
    those of the pass over all rows, a function of the data and the position, up to the order of
    summation. Comparisons leave a margin for rounding. So the clip holds for every row, and
    neither it nor the privacy that rests on it depends on the anchor or on the chain's past.

    Parameters
    ----------
    statistics : (m, n) array
        t(x) of every row.
    """

    def __init__(self, statistics):
        num_statistics, num_rows = statistics.shape
        centre = selected_sum(statistics, np.zeros(num_statistics), np.ones(num_rows)) / num_rows
        self.statistics = statistics
        self.centre = np.where(np.isfinite(centre), centre, 0.0)
        self.distances = gradient_norms(statistics, np.eye(num_statistics), self.centre)
        self.anchor = (None, None, None)
        self.unit = np.zeros(num_statistics + 1)
        self.num_uses = 1
        self.pause = 0

    def at(self, jacobian, offset, bound):
        """Sum of the clipped gradients, (d,), and how many were clipped.

        Parameters
        ----------
        jacobian : (m, d) array
        offset : (d,) array
        bound : float
        """
        is_finite = math.isfinite(jacobian.sum() + offset.sum())
        if is_finite and not self.pause and not self._is_covered(jacobian, offset, bound):
            self._set_anchor(jacobian, offset, bound)
        if self.pause or not is_finite:
            self.pause = max(0, self.pause - 1)
            return clipped_gradient_sum(self.statistics, jacobian, offset, bound)
        total, num_clipped = clipped_gradient_sum(self.active, jacobian, offset, bound)
        if self.num_rest:
            rest = self.rest_sum @ jacobian - self.num_rest * offset.astype(np.longdouble)
            total += rest.astype(float)
        return total, num_clipped

    def _is_covered(self, jacobian, offset, bound):
        """Whether the position is in the region; if so, remember how far it went."""
        anchor_jacobian, anchor_offset, anchor_bound = self.anchor
        if bound != anchor_bound:
            return False
        jacobian, offset = up_to_rotation(jacobian, offset)
        change = jacobian - anchor_jacobian
        shift = self.centre @ change - (offset - anchor_offset)
        went = np.sqrt([*np.einsum("jk,jk->j", change, change), shift @ shift])
        if (went <= self.region).all():
            self.farthest = np.maximum(self.farthest, went)
            self.num_uses += 1
            return True
        self.unit = np.where(self.farthest > 0, self.farthest, went)
        return False

    def _set_anchor(self, jacobian, offset, bound):
        """Make the position the anchor of a region whose size promises the least work."""
        limit = min(bound, FINITE)
        norms = gradient_norms(self.statistics, jacobian, offset)
        jacobian, offset = up_to_rotation(jacobian, offset)
        size = np.linalg.norm(jacobian) + SCALES[-1] * np.linalg.norm(self.unit)
        size_of_rest = size * np.linalg.norm(self.centre) + np.linalg.norm(offset)
        norms += ROUNDING * (size * self.distances + size_of_rest)

        spread = np.full_like(norms, self.unit[-1])
        for j in np.flatnonzero(self.unit[:-1]):
            spread += self.unit[j] * np.abs(self.statistics[j] - self.centre[j])
        some = norms[::SAMPLE] + SCALES[:, None] * spread[::SAMPLE] <= limit
        work = ANCHOR_COST / (SCALES * self.num_uses) + 1 - some.mean(axis=1)
        best = work.argmin()
        self.farthest = np.zeros_like(self.unit)
        self.num_uses = 1
        if work[best] > 0.9 and self.unit.any():
            self.pause = PAUSE
            self.anchor = (None, None, None)
            self.unit = np.zeros_like(self.unit)
            return

        at_rest = norms + SCALES[best] * spread <= limit
        self.num_rest = np.count_nonzero(at_rest)
        # More digits where there are any: the sum is far larger than what is left of it below.
        self.rest_sum = selected_sum(self.statistics, self.centre, at_rest).astype(np.longdouble)
        self.rest_sum += self.num_rest * self.centre.astype(np.longdouble)
        self.active = self.statistics.take(np.flatnonzero(~at_rest), axis=1)
        self.anchor = jacobian, offset, bound
        self.region = SCALES[best] * self.unit


def up_to_rotation(jacobian, offset):
    """J and o after a rotation of all gradients, which changes no norm.

    With a single statistic the rotation takes J onto the first axis, so that a position that
    turns around the origin, as on the circle, stays where it is. With more, it is the identity.
    """
    if len(jacobian) > 1:
        return jacobian, offset
    length = math.sqrt(jacobian[0] @ jacobian[0])
    if length == 0:
        return jacobian, offset
    along = (jacobian[0] @ offset) / length
    across = offset - along / length * jacobian[0]
    return np.array([[length, 0.0]]), np.array([along, math.sqrt(across @ across)])
