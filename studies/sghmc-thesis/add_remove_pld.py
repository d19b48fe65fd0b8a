"""The relation of the thesis on SGHMC: one row added or removed, batches by Poisson sampling.

Privacy loss distributions by dp_accounting (Koskela et al. 2020, Doroshenko et al. 2022), rounded
to the safe side on a grid of losses. The samplers here draw batches of a fixed size, to which this
does not apply: `certified` prices what they do. It is for beside what others have published.
"""

from functools import lru_cache
from itertools import zip_longest

from dpmcmc.accounting.mechanisms import SubsampledGaussianMechanism, require
from dpmcmc.accounting.releases import grouped

GRID = 1e-3  # of losses
ALIKE = 1.004  # ratio of the noise variances of mechanisms that are priced as one kind


def check(releases):
    """Raise a TypeError, with the reason, for a mechanism that is not priced.

    Of a sum it is known that a row added moves it by half of what a row replaced does; of other
    statistics not. A list does not say of what it is: this is for DPSGHMC, which releases sums.
    """
    require(releases, "add-remove-pld", SubsampledGaussianMechanism)


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
    return composition(tuple(releases)).get_delta_for_epsilon(epsilon) if releases else 0.0


def epsilon(releases, delta):
    """Epsilon that they cost at delta. Parameters as for `delta`."""
    check(releases)
    return composition(tuple(releases)).get_epsilon_for_delta(delta) if releases else 0.0


@lru_cache(maxsize=8)
def composition(releases, is_replaced=False):
    """Privacy loss distribution of all releases, of dp_accounting.

    Parameters
    ----------
    releases : tuple of (SubsampledGaussianMechanism, int)
        At least one.
    is_replaced : bool
        Price the substitution of a row by another, on batches by Poisson sampling as well: to tell
        what the relation changes from what the batches do.
    """
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution

    relations = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
    losses = [
        privacy_loss_distribution.from_gaussian_mechanism(
            standard_deviation=noise_multiplier(part),
            value_discretization_interval=GRID,
            sampling_prob=part.sampling_probability,
            neighboring_relation=relations[is_replaced],
        ).self_compose(count)
        for part, count in grouped(releases, ALIKE)
    ]
    while len(losses) > 1:  # pairs, as the shorter ones compose sooner
        pairs = zip_longest(losses[::2], losses[1::2])
        losses = [one.compose(other) if other else one for one, other in pairs]
    return losses[0]


def noise_multiplier(mechanism):
    """Standard deviation of the noise over what a row added moves a sum by."""
    return 2 * mechanism.noise_variance**0.5
