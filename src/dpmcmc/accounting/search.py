"""Searches over iterations and over epsilon, by any accountant's `delta`."""

import math
from decimal import ROUND_CEILING, Decimal

LARGEST_EPSILON = 1e6


def max_iterations(cost, target_delta, guess=0, spread=0.5, limit=10**9):
    """Most iterations whose cost is at most target_delta (Algorithm 2's purpose).

    Parameters
    ----------
    cost : function
        Delta that a number of iterations costs; it must not decrease with the number.
    target_delta : float
    guess : int
        About how many they are: the search starts there.
    spread : float
        How far they may be from the guess, relative; a matter of speed alone.
    limit : int
        Returned if so many cost at most target_delta; the search goes no further.

    Returns
    -------
    int
        k with cost(k) <= target_delta < cost(k + 1); 0 if not even one iteration fits.
    """
    costs = {}

    def is_within(iterations):
        costs[iterations] = cost(iterations)
        return costs[iterations] <= target_delta

    guess = min(guess, limit)
    stride = max(1, int(guess * spread))
    fits = guess if guess and is_within(guess) else 0
    too_many = guess if guess and not fits else 0
    while not too_many:
        if fits == limit:
            return limit
        more = min(fits + stride, limit)
        if is_within(more):
            fits, stride = more, 2 * stride
        else:
            too_many = more
    while not fits and too_many > stride:
        fewer = too_many - stride
        if is_within(fewer):
            fits = fewer
        else:
            too_many, stride = fewer, 2 * stride
    does_fit = []
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        # The logarithm of the cost is nearly linear in that of the iterations. Where two steps
        # have moved the same end, the next one halves.
        if does_fit[-2:] not in ([True, True], [False, False]) and costs.get(fits, 0) > 0:
            low, wanted, high = map(math.log, (costs[fits], target_delta, costs[too_many]))
            if high > low:
                share = (wanted - low) / (high - low)
                middle = round(fits * (too_many / fits) ** share)
                middle = min(max(middle, fits + 1), too_many - 1)
        does_fit.append(is_within(middle))
        if does_fit[-1]:
            fits = middle
        else:
            too_many = middle
    return fits


def spent_epsilon(cost, target_delta, at_most):
    """Epsilon at which something costs target_delta.

    Parameters
    ----------
    cost : function
        Its delta at an epsilon.
    target_delta : float
    at_most : float
        An epsilon at which the cost is no larger than that.

    Returns
    -------
    float
        Larger than the least such epsilon by a part of 1e-6 at most, never smaller.
    """
    if cost(0.0) <= target_delta:
        return 0.0
    low, high = 0.0, at_most
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if cost(middle) <= target_delta:
            high = middle
        else:
            low = middle
    return high


def cost_epsilon(cost, target_delta):
    """Epsilon as of `spent_epsilon`, without a bound that is known; infinite above 1e6."""
    high = 1.0
    while not cost(high) <= target_delta:
        high *= 2
        if high > LARGEST_EPSILON:
            return math.inf
    return spent_epsilon(cost, target_delta, high)


def rounded_up(epsilon, digits=6):
    """Epsilon to so many decimals, never below it: to nearest, it would often cost too much."""
    if not epsilon < 1e15:  # whole, or infinite
        return epsilon
    return float(Decimal(repr(float(epsilon))).quantize(Decimal(1).scaleb(-digits), ROUND_CEILING))
