"""Iterations against (epsilon, delta), under substitution of one row.

An accountant is one pure function `delta(release, iterations, epsilon)`: the delta that so many
iterations of a release (`dpmcmc.accounting.releases`) cost at epsilon. It knows no sampler and no
data, and raises a TypeError, with the reason, for a release that it cannot price.
"""

import math
from importlib import import_module

ACCOUNTANTS = {
    "zcdp": "dpmcmc.accounting.zcdp",
    "gaussian": "dpmcmc.accounting.gaussian",
    "rdp": "dpmcmc.accounting.rdp",
    "published-pld": "dpmcmc.accounting.published_pld",
    "barker-rdp": "dpmcmc.accounting.barker_rdp",
    "certified": "dpmcmc.accounting.certified",
}


def accountant(name):
    """The accountant of that name; its module is imported when asked for, as it brings SciPy."""
    return import_module(ACCOUNTANTS[name]).delta


def max_iterations(delta, release, epsilon, target_delta, guess=0):
    """Most iterations whose cost at epsilon is at most target_delta (Algorithm 2's purpose).

    Parameters
    ----------
    delta : function
        An accountant; its cost must not decrease with the iterations.
    release
        What one iteration releases.
    epsilon, target_delta : float
    guess : int
        Iterations that probably cost at most target_delta: the search starts there.

    Returns
    -------
    int
        k with delta(k) <= target_delta < delta(k + 1); 0 if not even one iteration fits.
    """
    costs = {}

    def is_within(iterations):
        costs[iterations] = delta(release, iterations, epsilon)
        return costs[iterations] <= target_delta

    fits = guess if guess and is_within(guess) else 0
    stride = max(1, fits // 2)
    while is_within(fits + stride):
        fits, stride = fits + stride, 2 * stride
    too_many = fits + stride
    does_fit = []
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        # The logarithm of the cost is nearly linear in that of the iterations. Where two steps
        # have moved the same end, the next one halves.
        if does_fit[-2:] not in ([True, True], [False, False]) and costs.get(fits, 0) > 0:
            share = math.log(target_delta / costs[fits]) / math.log(costs[too_many] / costs[fits])
            middle = round(fits * (too_many / fits) ** share)
            middle = min(max(middle, fits + 1), too_many - 1)
        does_fit.append(is_within(middle))
        if does_fit[-1]:
            fits = middle
        else:
            too_many = middle
    return fits


def guess_iterations(name, release, epsilon, target_delta):
    """Where the search of a slow accountant may start: what a fast one allows; else 0."""
    if name != "published-pld":
        return 0
    return max_iterations(accountant("rdp"), release, epsilon, target_delta)
