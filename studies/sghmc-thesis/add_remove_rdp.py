"""The relation of the thesis on SGHMC, one row added or removed with Poisson sampling, by Renyi DP.

The moments accountant as it is today (Mironov, Talwar and Zhang 2019; the conversion of Canonne,
Kamath and Steinke 2020), by dp_accounting: far below the bounds of its time. See `add_remove_pld`
on what it is for.
"""

from functools import lru_cache

from add_remove_pld import ALIKE, noise_multiplier
from dpmcmc.accounting.mechanisms import require
from dpmcmc.accounting.sequences import GrowingNoise, grouped


def check(mechanism):
    """Raise a TypeError, with the reason, for a mechanism that is not priced."""
    require(mechanism, "add-remove-rdp", GrowingNoise)


def delta(mechanism, iterations, epsilon):
    """Delta that the iterations cost at epsilon, if one row is added or removed.

    Parameters
    ----------
    mechanism : GrowingNoise
    iterations : int
        >= 0.
    epsilon : float
        >= 0.

    Raises
    ------
    TypeError
        If the mechanism is of another kind.
    """
    check(mechanism)
    return composition(mechanism, iterations).get_delta(epsilon) if iterations else 0.0


def epsilon(mechanism, iterations, delta):
    """Epsilon that they cost at delta. Parameters as for `delta`."""
    check(mechanism)
    return composition(mechanism, iterations).get_epsilon(delta) if iterations else 0.0


@lru_cache(maxsize=8)
def composition(mechanism, iterations):
    """Accountant of dp_accounting that has seen the iterations, at least one."""
    from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    for part, count in grouped(mechanism, iterations, ALIKE):
        noise = GaussianDpEvent(noise_multiplier(part))
        accountant.compose(PoissonSampledDpEvent(part.sampling_probability, noise), count)
    return accountant
