"""The relation of the thesis on SGHMC, one row added or removed with Poisson sampling, by Renyi DP.

The moments accountant as it is today (Mironov, Talwar and Zhang 2019; the conversion of Canonne,
Kamath and Steinke 2020), by dp_accounting: far below the bounds of its time. See `add_remove_pld`
on what it is for.
"""

from functools import lru_cache

from add_remove_pld import ALIKE, noise_multiplier
from dpmcmc.accounting.mechanisms import SubsampledGaussianMechanism, require
from dpmcmc.accounting.releases import grouped


def check(releases):
    """Raise a TypeError, with the reason, for a mechanism that is not priced."""
    require(releases, "add-remove-rdp", SubsampledGaussianMechanism)


def delta(releases, epsilon):
    """Delta that they cost at epsilon, if one row is added or removed.

    Parameters
    ----------
    releases : list of (SubsampledGaussianMechanism, int)
    epsilon : float
        >= 0.

    Raises
    ------
    TypeError
        If a mechanism is of another kind.
    """
    check(releases)
    return composition(tuple(releases)).get_delta(epsilon) if releases else 0.0


def epsilon(releases, delta):
    """Epsilon that they cost at delta. Parameters as for `delta`."""
    check(releases)
    return composition(tuple(releases)).get_epsilon(delta) if releases else 0.0


@lru_cache(maxsize=8)
def composition(releases):
    """Accountant of dp_accounting that has seen all releases, at least one."""
    from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    for part, count in grouped(releases, ALIKE):
        noise = GaussianDpEvent(noise_multiplier(part))
        accountant.compose(PoissonSampledDpEvent(part.sampling_probability, noise), count)
    return accountant
