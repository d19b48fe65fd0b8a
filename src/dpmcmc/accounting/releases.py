"""Lists of what is released: (mechanism, count), in the order of the releases."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from dpmcmc.accounting.mechanisms import Releases, SubsampledGaussianMechanism

EACH = 2**13  # iterations whose noise is listed by itself, where it grows; of later ones those
ALIKE = 1.004  # whose noise variances differ by no larger ratio are one kind


def growing_noise(
    first: SubsampledGaussianMechanism, exponent: float, count: int, iterations: int
) -> list:
    """Gaussian mechanisms on batches whose noise grows from one iteration to the next.

    The noise variance of iteration t = 1, 2, ... is t^exponent times that of the first. Far along,
    mechanisms of nearly the same noise are listed as one kind, that of the least noise. So the list
    is short, however many iterations there are.

    Parameters
    ----------
    first : SubsampledGaussianMechanism
        One of the first iteration.
    exponent : float
        >= 0.
    count : int
        Releases of an iteration, each on a batch of its own; >= 1.
    iterations : int
        >= 0.

    Returns
    -------
    list of (SubsampledGaussianMechanism, int)

    Raises
    ------
    ValueError
        If noise shrinks, or an iteration releases nothing.
    """
    if not exponent >= 0:
        raise ValueError(f"exponent: must be at least 0, not {exponent}")
    if not count >= 1:
        raise ValueError(f"count: must be at least 1, not {count}")
    if exponent == 0:
        return [(first, count * iterations)]
    each = min(iterations, EACH)
    kinds = _kinds(first, exponent, 2 ** each.bit_length())[:each]
    releases, t = [(kind, count) for kind in kinds], each + 1
    longer = math.exp(min(math.log(ALIKE) / exponent, 50.0))  # (t' / t)^exponent = ALIKE
    while t <= iterations:
        last = min(iterations, int(t * longer))
        releases.append((_kind(first, exponent, t), count * (last - t + 1)))
        t = last + 1
    return releases


def _kind(
    first: SubsampledGaussianMechanism, exponent: float, t: int
) -> SubsampledGaussianMechanism:
    return replace(first, noise_variance=first.noise_variance * t**exponent)


@lru_cache(maxsize=64)
def _kinds(
    first: SubsampledGaussianMechanism, exponent: float, number: int
) -> list[SubsampledGaussianMechanism]:
    return [_kind(first, exponent, t) for t in range(1, number + 1)]


def grouped(releases: Releases, alike: float) -> Releases:
    """A list in which successive mechanisms on batches of nearly the same noise are one kind.

    An accountant that prices each kind by itself is quicker then, and no less sound: the kind is
    that of the least noise.

    Parameters
    ----------
    releases : list of (mechanism, int)
    alike : float
        Largest ratio of noise variances in a kind. Of what it is above 1, epsilon is larger by
        about half, relatively, and where noise is little by one and a half times that.
    """
    kinds: Releases = []
    for mechanism, count in releases:
        if kinds and _is_alike(kinds[-1][0], mechanism, alike):
            kinds[-1] = kinds[-1][0], kinds[-1][1] + count
        else:
            kinds.append((mechanism, count))
    return kinds


def _is_alike(least: Any, other: Any, alike: float) -> bool:
    return least is other or (
        isinstance(least, SubsampledGaussianMechanism)
        and isinstance(other, SubsampledGaussianMechanism)
        and least.sampling_probability == other.sampling_probability
        and least.noise_variance <= other.noise_variance <= alike * least.noise_variance
    )


def together(*lists: Releases) -> Releases:
    """Lists as one, in which each mechanism is there once, with all its counts.

    Parameters
    ----------
    *lists : list of (mechanism, int)
    """
    counts: dict[Any, int] = {}
    for mechanism, count in (entry for releases in lists for entry in releases):
        counts[mechanism] = counts.get(mechanism, 0) + count
    return [(mechanism, count) for mechanism, count in counts.items() if count]


def of_chains(releases_of: Callable[[int], Releases], total: int, chains: int) -> Releases:
    """All that chains of the same data release, of so many iterations together.

    The iterations are spread evenly: no chain has more than one above another.

    Parameters
    ----------
    releases_of : function
        List of one chain, by the number of its iterations.
    total : int
        Iterations of all chains.
    chains : int
        >= 1.
    """
    if chains == 1:
        return [entry for entry in releases_of(total) if entry[1]]
    each, longer = divmod(total, chains)
    numbers = {each: chains - longer, each + 1: longer}
    return together(
        *(
            [(mechanism, number * count) for mechanism, count in releases_of(iterations)]
            for iterations, number in numbers.items()
            if number
        )
    )
