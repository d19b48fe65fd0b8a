"""Renyi DP of DP Barker (thesis, Theorem 3.3; Heikkila et al. 2019), classic conversion."""

from functools import cache

import numpy as np

from dpmcmc.accounting.amplification import amplified_epsilon, delta_of_renyi_curve
from dpmcmc.accounting.mechanisms import BarkerMechanism, require


def check(releases):
    """Raise a TypeError or ValueError, with the reason, for a mechanism that is not priced."""
    require(releases, "barker-rdp", BarkerMechanism)
    for mechanism, _ in releases:
        b = mechanism.batch_size
        if b <= 15:
            raise ValueError(f"batch_size: accountant barker-rdp needs more than 15 rows, not {b}")
        if mechanism.batch_variance > 1:
            raise ValueError(
                "batch_size: accountant barker-rdp prices a batch variance of at most 1, not "
                f"{mechanism.batch_variance:.6g}: a batch of at least sqrt(n) rows is needed, "
                f"not of {b}"
            )


def delta(releases, epsilon):
    """Delta that tests of DP Barker cost at epsilon; a loose upper bound.

    Parameters
    ----------
    releases : list of (BarkerMechanism, int)
        With batches of more than 15 rows: orders 3 <= alpha < b / 5 are used. The theorem is
        proved for a batch variance of at most 1.
    epsilon : float
        > 0.

    Raises
    ------
    TypeError
        If a mechanism is of another kind.
    ValueError
        If a batch is too small for any order, or its variance may be above 1.
    """
    check(releases)
    found = [(*renyi_curve(mechanism), count) for mechanism, count in releases if count]
    if not found:
        return 0.0
    orders = min((orders for orders, _, _ in found), key=len)  # those of the smallest batch
    total = sum(count * epsilons[: len(orders)] for _, epsilons, count in found)
    return delta_of_renyi_curve(orders, total, epsilon)


@cache
def renyi_curve(mechanism):
    """Orders 3 <= alpha < b / 5 and the Renyi epsilon of one iteration at each of them."""
    b = mechanism.batch_size
    highest = -(-b // 5) - 1  # the largest integer below b / 5
    alpha = np.arange(highest + 1)
    with np.errstate(divide="ignore"):
        base = (
            5 / (2 * b)
            + np.log(2 * b / (b - 5 * alpha)) / (2 * (alpha - 1))
            + 2 * alpha / (b - 5 * alpha)
        )
    orders = alpha[3:]
    q = mechanism.sampling_probability
    curve = np.array([amplified_epsilon(a, q, base[: a + 1]) for a in orders])
    for array in (orders, curve):
        array.setflags(write=False)
    return orders, curve
