"""Public laws of rows, and what a clip to a ball does to the mean of rows of each.

A clip moves the mean of skewed rows, and no radius is small and safe for all laws. So
`dpmcmc.samplers.safe_radius` looks up which of these laws fit what was released. They are made from
public random numbers, with the same digits everywhere; no row of anyone is in them.

Rows are in public units: their components are independent, of mean 0 and variance 1, but for the
laws that say otherwise.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from dpmcmc.samplers.clipped_law import mixtures

RowLaws = Literal["wide", "narrow", "model"]  # that an answer holds for; the last is no set of laws

OFFSETS = np.array([0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16.0])
EDGES = np.array([1.0, 2.0, 4.0])  # of shells of far rows, beyond sqrt(m)
BETWEEN = 4  # laws from one of a family to the next, which are mixed
ENTRIES, LEAST_ROWS = 60_000, 6_000  # that are drawn of a law
BEFORE = 1.0  # radius beyond sqrt(m) of the ball by which the centre was found
SEED = 17
WIDEST_SHIFT = 1.6  # of a tenth of the rows, over sqrt(m): farther ones bias the exact answer

Draw = Callable[[np.random.Generator, int, int], np.ndarray]


class Laws(NamedTuple):
    """What is known of L laws, in public units about the centre that would be found."""

    skew: np.ndarray  # (L,): of a component of the mean skew vector, root mean square
    tails: np.ndarray  # (L, 3): share of the rows farther than sqrt(m) + EDGES
    biases: np.ndarray  # (L, 16): of a component of the clipped mean, with radii sqrt(m) + OFFSETS
    # Of rows that have the laws' own variance in place of the normal one, or None.
    moments: "Moments | None" = None


class Moments(NamedTuple):
    """Second moments of laws about their means, for each radius: of g = min(r, R) / slope."""

    squares: np.ndarray  # (L, 16): of g
    signed: np.ndarray  # (L, 16): of g and the skew vector
    skews: np.ndarray  # (L,): of the skew vector
    log_sds: np.ndarray  # (L,): ln of the standard deviation
    of_log_sds: np.ndarray  # (L,): variance of ln of the standard deviation of n rows, times n


class Family(NamedTuple):
    """Laws that grow from the normal one, or near each other."""

    draws: list[Draw]  # (m, k) rows
    has_unit_variance: bool = True  # its rows are scaled to it
    is_symmetric: bool = False
    has_normal: bool = True  # the normal law is its first


def normal(rng: np.random.Generator, m: int, k: int) -> np.ndarray:
    """Rows (m, k) of variance 1."""
    return rng.standard_normal((m, k))


def flags(rng: np.random.Generator, m: int, k: int, p: float) -> np.ndarray:
    """1 with probability p, else 0: (m, k)."""
    return (rng.random((m, k)) < p).astype(float)


def shifted(p: float, by: float) -> Draw:
    """A share p of the entries lies farther out."""
    return lambda rng, m, k: normal(rng, m, k) + by * flags(rng, m, k, p)


def rows_shifted(by: float) -> Draw:
    """A tenth of the rows lies farther out, along the diagonal."""
    return lambda rng, m, k: normal(rng, m, k) + by / math.sqrt(m) * flags(rng, 1, k, 0.1)


def families(size: int, breadth: RowLaws) -> list[Family]:
    """Families of laws of rows with m = `size` entries; each has its mildest law first."""

    def each(make: Callable[[float], Draw], *values: float) -> list[Draw]:
        return [make(value) for value in values]

    def gamma(shape: float) -> Draw:
        return lambda rng, m, k: rng.standard_gamma(shape, (m, k))

    def lognormal(sd: float) -> Draw:
        return lambda rng, m, k: np.exp(sd * normal(rng, m, k))

    def skew_normal(weight: float) -> Draw:
        return lambda rng, m, k: weight * np.abs(normal(rng, m, k)) + normal(rng, m, k)

    def blurred_binary(p: float) -> Draw:
        sd = 0.3 * math.sqrt(p * (1 - p))
        return lambda rng, m, k: flags(rng, m, k, p) + sd * normal(rng, m, k)

    def binary(p: float) -> Draw:
        return lambda rng, m, k: flags(rng, m, k, p)

    def scaled(sd: float) -> Draw:
        return lambda rng, m, k: sd * normal(rng, m, k)

    def student(df: float) -> Draw:
        return lambda rng, m, k: math.sqrt((df - 2) / df) * rng.standard_t(df, (m, k))

    def poisson(mean: float) -> Draw:
        return lambda rng, m, k: rng.poisson(mean, (m, k)).astype(float)

    def beta(b: float) -> Draw:
        return lambda rng, m, k: rng.beta(1, b, (m, k))

    shifts = [a for a in (0.5, 1, 1.5, 2, 2.25, 3, 4, 5) if a <= WIDEST_SHIFT * math.sqrt(size)]
    found = [
        Family(each(gamma, 64, 16, 8, 4, 2, 1, 0.5)),
        Family(each(lognormal, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1, 1.3)),
        Family([shifted(0.1, by) for by in (0.5, 1, 1.5, 2, 3, 4, 6, 8)]),
        Family(each(skew_normal, 0.7, 1, 1.5, 2, 3, 5, 10, 1000)),
        Family(each(blurred_binary, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05), has_normal=False),
        Family(each(binary, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03), has_normal=False),
        Family(each(scaled, 0.5, 0.7, 0.85, 1.15, 1.3, 1.6), False, is_symmetric=True),
        Family(each(student, 30, 10, 6, 4, 3), False, is_symmetric=True),
    ]
    if size > 1:
        found.append(Family(each(rows_shifted, *shifts), has_unit_variance=False))
    if breadth == "wide":
        found += [
            Family(each(poisson, 64, 16, 4, 2, 1, 0.5, 0.2)),
            Family([shifted(0.3, by) for by in (1, 1.5, 2, 3, 4, 6)]),
            Family([shifted(0.03, by) for by in (1, 2, 3, 4, 6, 8, 10)]),
            Family(each(beta, 1.5, 2, 3, 5, 8), has_normal=False),
        ]
    return found


@cache
def laws(size: int, breadth: RowLaws) -> Laws:
    """Laws of rows with m = `size` entries: families, with mixtures between neighbours."""
    radii, edges, switch = math.sqrt(size) + OFFSETS, math.sqrt(size) + EDGES, skew_switch(size)
    slopes = np.array([slope(size, radius) for radius in radii])
    before = math.sqrt(size) + BEFORE
    k = max(ENTRIES // size, LEAST_ROWS)
    rng = np.random.default_rng(SEED)

    def known(rows: np.ndarray, family: Family) -> tuple[Any, ...]:
        """Skew, tails and biases of a law by its rows (m, k)."""
        rows -= rows.mean()
        if family.has_unit_variance:
            rows /= rows.std()
        if family.is_symmetric:
            lengths, _ = polar(rows)
            return 0.0, shares_beyond(lengths, edges), np.zeros(len(radii))
        lengths, along = polar(rows)  # about the centre that the last ball before would find
        centre = (along * np.minimum(lengths, before)).mean() / slope(size, before)
        lengths, along = polar(rows - centre)
        skew = abs((along * np.where(lengths > switch, 1, -1)).mean())
        shell = np.searchsorted(radii, lengths)
        inside = np.cumsum(np.bincount(shell, along * lengths, len(radii) + 1))[:-1]
        outside = along.sum() - np.cumsum(np.bincount(shell, along, len(radii) + 1))[:-1]
        clipped = (inside + radii * outside) / k
        return skew, shares_beyond(lengths, edges), centre + clipped / slopes

    skew, tails, biases = grown(rng, size, k, families(size, breadth), known)
    return Laws(skew, tails, biases)


def grown(
    rng: np.random.Generator,
    size: int,
    num_rows: int,
    families: list[Family],
    known: Callable[[np.ndarray, Family], tuple[Any, ...]],
) -> Iterator[np.ndarray]:
    """What is known of all laws, by that of rows (m, k) of each; laws of a family are mixed."""
    of_normal = known(normal(rng, size, num_rows), Family([], is_symmetric=True))
    found: list[tuple[Any, ...]] = []
    for family in families:
        members = [of_normal] if family.has_normal else []
        members += [known(draw(rng, size, num_rows), family) for draw in family.draws]
        for one, other in pairwise(members):
            for w in np.arange(BETWEEN) / BETWEEN:
                found.append(tuple((1 - w) * a + w * b for a, b in zip(one, other, strict=True)))
        found.append(members[-1])
    return (np.array(values) for values in zip(*found, strict=True))


def polar(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of rows (m, k), and the mean component of each row's direction: both (k,)."""
    lengths = np.sqrt((rows * rows).sum(axis=0))
    return lengths, rows.mean(axis=0) / np.maximum(lengths, 1e-300)


def shares_beyond(lengths: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Share of the rows that are longer than each edge."""
    return np.array([(lengths > edge).mean() for edge in edges])


def slope(size: int, radius: float) -> float:
    """Slope of the clipped mean in the mean of rows N(D, I), at D = 0."""
    return float(mixtures(size, radius, np.zeros(1))[0][0])


@cache
def skew_switch(size: int) -> float:
    """r0, the median of chi with m + 1 degrees: there the skew vector has slope 0 in the centre."""
    from scipy.special import gammaincinv

    return math.sqrt(2 * gammaincinv((size + 1) / 2, 0.5))
