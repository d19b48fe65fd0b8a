"""What a sampler releases of its rows, compared with what it would have released of others."""

import math
from copy import deepcopy
from typing import NamedTuple

import numpy as np

from dpmcmc.accounting.growing_noise import GrowingNoise
from dpmcmc.accounting.mechanisms import (
    BarkerMechanism,
    GaussianMechanism,
    SubsampledGaussianMechanism,
)
from dpmcmc.evaluation.audit import OUTLIER

REPLACED = 5  # rows that are replaced, one at a time


class Comparison(NamedTuple):
    """The most that one replaced row changed."""

    moved: float = 0.0  # a statistic, over its declared sensitivity
    spread: float = 0.0  # a declared sensitivity or noise, relatively
    is_same: bool = True  # whether the same state came out
    is_of_own: bool = True  # whether other batches, exchanged, changed no mechanism but their own


def neighbouring(rng, rows, ordinary):
    """Data sets (m, n) that differ from one in a row: by another, by far ones, by no numbers."""
    m, n = rows.shape
    signs = np.where(np.arange(m) % 2, -1.0, 1.0)
    others = [
        ordinary[:, 0],
        np.zeros(m),
        *(x * signs for x in (OUTLIER, -OUTLIER)),
        np.full(m, OUTLIER),
    ]
    others += [np.full(m, -OUTLIER), np.full(m, 1e300), np.full(m, np.nan), np.full(m, np.inf)]
    for i in rng.choice(n, REPLACED, replace=False):
        for other in others:
            changed = rows.copy()
            changed[:, i] = other
            yield changed


def worse(found, step, other):
    """A comparison, with that of two iterations that differ by a row."""
    is_same = len(step.released) == len(other.released) and same(step.state, other.state)
    moved, spread = found.moved, found.spread
    for a, b in zip(step.released, other.released, strict=False):
        change = np.linalg.norm(np.subtract(a.statistic, b.statistic))
        moved = max(moved, ratio(change, a.sensitivity))
        for x, y in ((a.sensitivity, b.sensitivity), (a.sd, b.sd)):
            spread = max(spread, ratio(abs(x - y), x))
    return found._replace(moved=moved, spread=spread, is_same=found.is_same and is_same)


def of_own_batches(watching, sampler, state, target, step):
    """Whether each mechanism of an iteration stays if all batches but its own are exchanged."""
    for j, released in enumerate(step.released):
        batches = [np.arange(size) for size in step.batch_sizes]
        batches[j : j + 1] = [None]
        repeated = watching.repeat(*deepcopy((sampler, state)), target, step, batches).released
        statistic = repeated[j].statistic if j < len(repeated) else np.nan
        if not np.allclose(statistic, released.statistic, rtol=1e-9):
            return False
    return True


def ratio(x, y):
    """x / y; 0 for 0 / 0, infinite for what is no number."""
    if x == 0:
        return 0.0
    return float(x / y) if y > 0 and not math.isnan(x) else math.inf


def same(state, other):
    """Whether two states are the same, to rounding."""
    pairs = zip(leaves(state), leaves(other), strict=True)
    return all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, equal_nan=True)
        for a, b in pairs
    )


def leaves(part):
    """Numbers and arrays of a state, whose memory may be of tuples, lists, dicts and these."""
    if isinstance(part, dict):
        part = [part[key] for key in sorted(part)]
    if isinstance(part, tuple | list):
        for entry in part:
            yield from leaves(entry)
    elif part is not None:
        yield np.asarray(part, float)


def mechanism_at(mechanism, iteration):
    """Release and how many of it `mechanism()` says of iteration t = 1, 2, ..."""
    if isinstance(mechanism, GrowingNoise):
        return mechanism.of(iteration), mechanism.count
    return mechanism, 1


def price(mechanism):
    """The most that (sensitivity / sd)^2 of a mechanism may be for what an accountant is told."""
    match mechanism:
        case GaussianMechanism(mu):
            return mu**2
        case SubsampledGaussianMechanism(noise_variance):
            return 1 / noise_variance
        case BarkerMechanism(batch_size, _, batch_variance):
            return 4 / batch_size / (2 - batch_variance)
    raise TypeError(f"mechanism() returns a {type(mechanism).__name__}, which no accountant prices")
