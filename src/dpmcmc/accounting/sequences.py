"""Chains whose releases differ: noise that grows, or a preparation before the first iteration."""

import math
from dataclasses import dataclass, replace

from dpmcmc.accounting.mechanisms import (
    BarkerMechanism,
    GaussianMechanism,
    SubsampledGaussianMechanism,
    check,
)


@dataclass(frozen=True)
class GrowingNoise:
    """Gaussian mechanisms on batches whose noise grows from one iteration to the next.

    Each releases a *sum* over the rows of a batch of its own. No term is longer than a bound, so a
    row that is added or removed moves the sum by half as much as a row that is replaced. (This
    holds for plain sums. If sums are scaled up by n / b, one row more changes the scale too, and so
    the terms of the rest of the batch: accountants of that relation are for n T = b.)

    Attributes
    ----------
    first : SubsampledGaussianMechanism
        One of the first iteration.
    exponent : float
        The noise variance of iteration t = 1, 2, ... is t^exponent times that of the first; >= 0.
    count : int
        Releases of an iteration.
    """

    first: SubsampledGaussianMechanism
    exponent: float
    count: int

    def __post_init__(self):
        check(self, "exponent", self.exponent >= 0)
        check(self, "count", self.count >= 1)

    def of(self, iteration):
        """A mechanism of iteration t."""
        noise_variance = self.first.noise_variance * iteration**self.exponent
        return replace(self.first, noise_variance=noise_variance)


@dataclass(frozen=True)
class Prepared:
    """Iterations after a preparation: a release on all rows, once a chain, before its first one.

    Attributes
    ----------
    preparation : GaussianMechanism
    iteration : mechanism or None
        Of the iterations that follow; None where they are free, as they release nothing.
    count : int
        Preparations: one for each chain of the same data.
    """

    preparation: GaussianMechanism
    iteration: (
        GaussianMechanism | SubsampledGaussianMechanism | BarkerMechanism | GrowingNoise | None
    )
    count: int = 1

    def __post_init__(self):
        check(self, "count", self.count >= 1)

    @property
    def preparations(self):
        """All preparations, as one Gaussian mechanism."""
        return GaussianMechanism(self.preparation.mu * math.sqrt(self.count))


def counted(mechanism, iterations):
    """What so many iterations release, as a list of (mechanism, count) in their order.

    Parameters
    ----------
    mechanism
        What one iteration releases; a `GrowingNoise` stands for another in each, and a `Prepared`
        for a release before the first.
    iterations : int
    """
    if isinstance(mechanism, Prepared):
        return [(mechanism.preparations, 1), *counted(mechanism.iteration, iterations)]
    if mechanism is None:
        return []
    if not isinstance(mechanism, GrowingNoise):
        return [(mechanism, iterations)]
    if mechanism.exponent == 0:
        return [(mechanism.first, mechanism.count * iterations)]
    return [(mechanism.of(t), mechanism.count) for t in range(1, iterations + 1)]


def grouped(mechanism, iterations, alike):
    """As `counted`, with those of nearly the same noise as one kind, that of the least noise.

    Parameters
    ----------
    mechanism, iterations
        As for `counted`.
    alike : float
        Largest ratio of noise variances in a group. Of what it is above 1, epsilon is larger by
        about half, relatively, and where noise is little by one and a half times that.
    """
    if isinstance(mechanism, Prepared):
        return [(mechanism.preparations, 1), *grouped(mechanism.iteration, iterations, alike)]
    if not isinstance(mechanism, GrowingNoise) or mechanism.exponent == 0:
        return counted(mechanism, iterations)
    longer = math.exp(min(math.log(alike) / mechanism.exponent, 50.0))  # (t' / t)^exponent = alike
    groups, t = [], 1
    while t <= iterations:
        last = min(iterations, int(t * longer))
        groups.append((mechanism.of(t), mechanism.count * (last - t + 1)))
        t = last + 1
    return groups


def main_part(mechanism):
    """A mechanism without its preparation; that alone where iterations are free."""
    if isinstance(mechanism, Prepared):
        return mechanism.iteration or mechanism.preparation
    return mechanism


def first_of(mechanism):
    """One mechanism of the first iteration, by whose kind accountants know what they price."""
    mechanism = main_part(mechanism)
    return mechanism.first if isinstance(mechanism, GrowingNoise) else mechanism
