"""Traces: releases of a sampler compared with those for other rows.

A trace is a chain whose iterations are each run again: on data that differ in one row, and with
other batches. What is released may then be another, by no more than the sensitivity; where the same
is released, the same state must come out.
"""

import math
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.accounting.certified import on_all_rows, on_batches
from dpmcmc.accounting.mechanisms import (
    BarkerMechanism,
    GaussianMechanism,
    SubsampledGaussianMechanism,
)
from dpmcmc.evaluation.audit import OUTLIER
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.samplers.batches import without_replacement

DIMENSION = 3
ROWS = 20  # of a batch, for those that draw none
LEAST_ROWS = 6  # where batches are smaller
# Rows over those of a batch, and T: their product, by which a sum over a batch is multiplied, is
# far from 1, and neither is a power of 2.
SIZES = [(2, 0.7), (3, 0.3), (5, 1.0)]
REPLACED = 5  # rows that are replaced, one at a time
KINDS = 9  # of rows that they are replaced by
NEIGHBOURS = 9  # of an iteration: data sets that differ from its own in a row
ITERATIONS = 200  # of a chain, whose price and batches are looked at
COMPARED = 30  # of them on other rows
UNLIKELY = 690.0  # minus the logarithm of a chance that is as good as 0


class Decided(np.random.Generator):
    """A generator by which an acceptance test accepts whatever it can, or rejects whatever it can.

    Parameters
    ----------
    bits : numpy.random.BitGenerator
    is_accepted : bool
    """

    def __init__(self, bits, is_accepted):
        super().__init__(bits)
        self._exponential = UNLIKELY if is_accepted else -UNLIKELY
        self._uniform = math.exp(-UNLIKELY) if is_accepted else np.nextafter(1.0, 0.0)

    def standard_exponential(self, size=None, **options):
        """Threshold that -ln u is compared with."""
        return self._exponential if size is None else np.full(size, self._exponential)

    def random(self, size=None, **options):
        """u, that of a test without logarithms."""
        return self._uniform if size is None else np.full(size, self._uniform)

    def exponential(self, scale=1.0, size=None):
        """Same as `standard_exponential`, times the scale."""
        return scale * self.standard_exponential(size)

    def uniform(self, low=0.0, high=1.0, size=None):
        """Same as `random`, between low and high."""
        return low + (high - low) * self.random(size)


class WatchedTarget(Target):
    """A target that notes which rows are asked for."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.is_read = np.zeros(self.num_rows, dtype=bool)

    def _check(self, batch):
        super()._check(batch)
        self.is_read[batch] = True

    def clipped_log_likelihood_ratio(self, theta, theta_new, bound):
        """Same as in `Target`."""
        self.is_read[:] = True
        return super().clipped_log_likelihood_ratio(theta, theta_new, bound)

    def clipped_gradient(self, theta, bound):
        """Same as in `Target`."""
        self.is_read[:] = True
        return super().clipped_gradient(theta, bound)

    def clipped_information(self, theta, bound):
        """Same as in `Target`."""
        self.is_read[:] = True
        return super().clipped_information(theta, bound)

    def clipped_statistics(self, centre, whiten, radius):
        """Same as in `Target`."""
        self.is_read[:] = True
        return super().clipped_statistics(centre, whiten, radius)

    def log_density_ratio(self, theta, theta_new):
        """Same as in `Target`."""
        self.is_read[:] = True
        return super().log_density_ratio(theta, theta_new)

    def in_units(self, centre, factor):
        """Same as in `Target`; each request goes to both targets."""
        target = super().in_units(centre, factor)
        target.is_read = self.is_read
        return target


class Comparison(NamedTuple):
    """The most that another row or another batch changed."""

    moved: float = 0.0  # a statistic, over its declared sensitivity
    spread: float = 0.0  # a declared sensitivity or noise, relatively
    is_same: bool = True  # whether another row led to the same state
    is_secret: bool = True  # whether another batch led to the same state
    is_of_own: bool = True  # whether other batches, exchanged, changed no release but their own
    strays: int = 0  # rows that were read in an iteration, and are in no batch of it


class Trace(NamedTuple):
    """A chain of n rows at a power T."""

    num_rows: int
    likelihood_power: float
    preparation: Any  # Step, or None of a sampler that does not prepare
    steps: list
    found: Comparison


def banana(num_rows, power, dimension=DIMENSION):
    """The posterior of the checks: standard deviations of some 0.2, T about `power`."""
    tempered_rows = max(1, round(power * num_rows))
    return Banana(
        dimension=dimension,
        num_rows=num_rows,
        curvature=1.0,
        prior_variance=0.1,
        likelihood_variances=[tempered_rows / 25, tempered_rows / 20],
        true_position=[1.0, 0.5],
        tempered_rows=tempered_rows,
    )


def streams(kind, *seed):
    """Three generators of a seed."""
    return kind(*(np.random.default_rng([*seed, i]) for i in range(3)))


def traces(sampler, batch_size, seed):
    """A `Trace` for each of several n, T and data sets, a list.

    On the first of the sizes there are three of each data set: also with all proposals accepted
    that can be, and with all rejected, if any are.
    """
    found = []
    for i, (factor, power) in enumerate(SIZES):
        num_rows = factor * max(batch_size or ROWS, LEAST_ROWS)
        model = sampler.model_of_checks(banana(num_rows, power))
        rng = np.random.default_rng([seed, 2, i])
        data = model.simulate(rng)
        for j, rows in enumerate(worst_rows(data)):
            decides = True
            for k, decided in enumerate((None, True, False) if i == 0 else (None,)):
                if not decides:
                    break
                watching = streams(RecordedStreams, seed, 3, i, j, k)
                if decided is not None:
                    bits = watching.acceptance.bit_generator
                    watching = RecordedStreams(
                        watching.proposal, Decided(bits, decided), watching.noise
                    )
                start = model.sample_posterior(rng, data, 1)[0]
                steps = ITERATIONS if decided is None else COMPARED
                ends = [k + KINDS * (k % REPLACED) for k in range(i, KINDS, len(SIZES))]
                chain = trace(sampler, model, data, rows, start, watching, rng, steps, ends)
                decides = watching.has_decided or k > 0
                found.append(Trace(num_rows, model.likelihood_power, *chain))
    return found


def worst_rows(data):
    """Data sets (m, n): ordinary ones, far ones on both sides, both mixed, and all at one clip."""
    place = np.arange(data.shape[1])
    far = np.where(place % 2, OUTLIER, -OUTLIER) * np.ones(data.shape)
    return data, far, np.where(place % 4 < 2, data, far), np.full(data.shape, OUTLIER)


def trace(sampler, model, data, rows, start, watching, rng, iterations, ends):
    """Iterations on some rows, and what another row or batch would have changed.

    Each is of a copy of sampler and state, so that nothing is kept but in the next state. A
    preparation may compute long after its last release: that is done for neighbours `ends` alone.

    Returns
    -------
    preparation : Step or None
        Compared as iterations are, with all neighbouring data.
    steps : list of Step
    found : Comparison
    """
    target, found, steps = WatchedTarget(model, rows), Comparison(), []
    neighbours = [Target(model, x, "clip") for x in neighbouring(rng, rows, data)]

    def with_other_rows(found, state, step, places):
        for i in places:
            to_end = state is not None or i in ends
            one = *deepcopy((sampler, state)), neighbours[i], step
            found = with_another_row(found, step, watching.repeat(*one, to_end=to_end))
        return found

    preparation = None
    if sampler.prepares:
        preparation = watching.step(deepcopy(sampler), None, target)
        found = with_other_rows(found, None, preparation, range(len(neighbours)))
        state = preparation.state
    else:
        state = sampler.init(watching, start)
    for t in range(iterations):
        target.is_read[:] = False
        step = watching.step(*deepcopy((sampler, state)), target)
        found = found._replace(strays=max(found.strays, num_strays(target.is_read, step.batches)))
        if t < COMPARED:
            places = rng.choice(len(neighbours), NEIGHBOURS, replace=False)
            found = with_other_rows(found, state, step, places)
            if step.batches:
                other = other_batches(watching, rng, sampler, state, target, step)
                found = found._replace(is_secret=found.is_secret and same_end(step, other))
        if t == 0 and len(step.released) > 1:
            is_of_own = of_own_batches(watching, sampler, state, target, step)
            found = found._replace(is_of_own=is_of_own)
        steps.append(step)
        state = step.state
    return preparation, steps, found


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


def num_strays(is_read, batches):
    """Number of rows that were read but are in no batch; 0 if no batch was drawn."""
    if not batches:
        return 0
    is_stray = is_read.copy()
    for batch in batches:
        is_stray[batch] = False
    return int(is_stray.sum())


def with_another_row(found, step, other):
    """A comparison, with that of two iterations that differ by a row."""
    moved, spread = found.moved, found.spread
    for a, b in zip(step.released, other.released, strict=False):
        change = np.linalg.norm(np.subtract(a.statistic, b.statistic))
        moved = max(moved, ratio(change, a.sensitivity))
        for x, y in ((a.sensitivity, b.sensitivity), (a.sd, b.sd)):
            spread = max(spread, ratio(abs(x - y), x))
    is_same = found.is_same and (other.state is None or same_end(step, other))
    return found._replace(moved=moved, spread=spread, is_same=is_same)


def same_end(step, other):
    """True if two iterations released as often, decided alike and led to the same state."""
    return (
        len(step.released) == len(other.released)
        and step.is_accepted == other.is_accepted
        and same(step.state, other.state)
    )


def other_batches(watching, rng, sampler, state, target, step):
    """An iteration again, with other batches and as if the same had been released."""
    others = [without_replacement(rng, target.num_rows, size) for size in step.batch_sizes]
    return watching.repeat(*deepcopy((sampler, state)), target, step, others)


def of_own_batches(watching, sampler, state, target, step):
    """True if each release of an iteration stays if all batches but its own are exchanged."""
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
    """True if two states are the same, to the last bit: what follows from the same is the same."""
    state, other = list(leaves(state)), list(leaves(other))
    pairs = zip(state, other, strict=False)
    return len(state) == len(other) and all(np.array_equal(*pair, equal_nan=True) for pair in pairs)


def leaves(part):
    """Numbers and arrays of a state, whose memory may be of tuples, lists, dicts and these."""
    if isinstance(part, dict):
        part = [part[key] for key in sorted(part)]
    if isinstance(part, tuple | list):
        for entry in part:
            yield from leaves(entry)
    elif part is not None:
        yield np.asarray(part, float)


def declared(sampler, num_rows, power, iteration):
    """Price of iteration t = 1, 2, ...: what its list of releases has above that of t - 1.

    Returns
    -------
    mu_squared : float
        The sum for Gaussian mechanisms on all rows.
    batches : list
        Mechanisms on batches, in the order of their releases.
    """
    longer, shorter = (sampler.releases(num_rows, power, t) for t in (iteration, iteration - 1))
    squares = [count * mechanism.mu**2 for mechanism, count in on_all_rows(longer)]
    squares += [-count * mechanism.mu**2 for mechanism, count in on_all_rows(shorter)]
    batches, before = (
        [mechanism for mechanism, count in on_batches(releases) for _ in range(count)]
        for releases in (longer, shorter)
    )
    return math.fsum(squares), batches[len(before) :]


def price(mechanism):
    """The most that (sensitivity / sd)^2 of a mechanism may be, by what an accountant prices."""
    match mechanism:
        case GaussianMechanism(mu):
            return mu**2
        case SubsampledGaussianMechanism(noise_variance):
            return 1 / noise_variance
        case BarkerMechanism(batch_size, _, batch_variance):
            return 4 / batch_size / (2 - batch_variance)
    raise TypeError(f"releases() has a {type(mechanism).__name__}, which no accountant prices")
