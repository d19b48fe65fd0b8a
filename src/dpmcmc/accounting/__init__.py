"""Iterations against (epsilon, delta), under substitution of one row.

An accountant is one pure function `delta(release, iterations, epsilon)`: the delta that so many
iterations of a release (`dpmcmc.accounting.releases`) cost at epsilon. It knows no sampler and no
data, and raises a TypeError, with the reason, for a release that it cannot price.
"""

from importlib import import_module

ACCOUNTANTS = {
    "zcdp": "dpmcmc.accounting.zcdp",
    "gaussian": "dpmcmc.accounting.gaussian",
    "rdp": "dpmcmc.accounting.rdp",
    "published-pld": "dpmcmc.accounting.published_pld",
    "barker-rdp": "dpmcmc.accounting.barker_rdp",
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
    fits = guess if delta(release, guess, epsilon) <= target_delta else 0
    stride = 1
    while delta(release, fits + stride, epsilon) <= target_delta:
        fits, stride = fits + stride, 2 * stride
    too_many = fits + stride
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if delta(release, middle, epsilon) <= target_delta:
            fits = middle
        else:
            too_many = middle
    return fits
