"""Draws of a sampler of one's own, made again where no rows are, from what was released.

Such a sampler may read rows in other ways than by what it releases. So its chain runs once more, in
a process that has never seen a row, on simulated rows: with the values that were released, and the
same random numbers for proposals and acceptance tests. Only if each position is the same, to the
last bit, and what it says of its fit, are there draws. They are then a function of released values
and of random numbers.
"""

import math

import numpy as np

from dpmcmc import registry
from dpmcmc.evaluation.recording import own
from dpmcmc.models.in_blocks import in_blocks
from dpmcmc.new_processes import Raised, called
from dpmcmc.precomputed import with_precomputed
from dpmcmc.release.rows import RowByRow
from dpmcmc.release.running import start_position, with_noise
from dpmcmc.release.streams import SecretStreams, secret_generator
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.streams import Streams

TWIN = 1  # seed of the simulated rows


class Noting:
    """Streams of another base that note their first states, and what they release."""

    __slots__ = ()

    def __new__(cls, *arguments):
        """The same as of the other base."""
        self = super().__new__(cls, *arguments)
        self.states = [g.bit_generator.state for g in (self.proposal, self.acceptance)]
        self.released = []
        return self

    def add_noise(self, statistic, sensitivity, sd):
        """Same as `Streams.add_noise`."""
        value = super().add_noise(statistic, sensitivity, sd)
        self.released.append((sensitivity, sd, own(value)))
        return value


class NotedStreams(Noting, Streams):
    """`Streams` that note what they release."""


class NotedSecretStreams(Noting, SecretStreams):
    """`SecretStreams` that note what they release."""


class Replayed(Streams):
    """Streams that release what was noted, and draw other batches.

    A value is NaN where a chain releases more than was noted, or of all rows with another
    sensitivity or noise. DP Barker chooses the noise of a batch by its rows.
    """

    def __new__(cls, proposal, acceptance, batches, noted):
        """Generators, and what `Noting` streams have noted."""
        self = super().__new__(cls, proposal, acceptance, batches)
        self._noted, self._has_batch = iter(noted), False
        return self

    def batch(self, draw, num_rows, batch_size):
        """Same as `Streams.batch`."""
        self._has_batch = True
        return super().batch(draw, num_rows, batch_size)

    def add_noise(self, statistic, sensitivity, sd):
        """Same as `Streams.add_noise`, except that the value is what was noted."""
        has_batch, self._has_batch = self._has_batch, False
        *known, value = next(self._noted, (math.nan, math.nan, None))
        is_same = has_batch or np.array_equal([sensitivity, sd], known, equal_nan=True)
        if is_same and value is not None:
            return own(value)
        return np.full(np.shape(statistic), math.nan)[()]


def is_function_of_releases(spec, chain, rng):
    """Whether a chain publishes the same where no rows are, in a process of its own.

    Parameters
    ----------
    spec : dict
        Of the release.
    chain : Chain
        As `planned_chain` has returned it.
    rng : NotedSecretStreams
        Of the chain.
    """
    call = replayed, spec, rng.states, rng.released
    try:
        [[positions]] = called(registry.build(spec["model"]), [[call]])
    except Raised:
        return False
    return positions.tobytes() == published(chain).tobytes()


def replayed(model, spec, states, released):
    """What the chain publishes, on simulated rows."""
    model = in_blocks(model)
    sampler = with_noise(with_precomputed(registry.build(spec["sampler"])), spec["noise_scale"])
    target = RowByRow(model, model.simulate(np.random.default_rng(TWIN)), "clip")
    proposal, acceptance, batches = (secret_generator() for _ in range(3))
    proposal.bit_generator.state, acceptance.bit_generator.state = states
    rng = Replayed(proposal, acceptance, batches, released)
    return published(planned_chain(spec, sampler, target, rng))


def published(chain):
    """All numbers of a chain that a release has: its positions, and how its preparation fits."""
    of_start = chain.preparation
    fit = () if of_start is None else (of_start.misfit, *of_start.far)
    return np.concatenate([chain.positions.ravel(), *map(np.ravel, fit)])


def planned_chain(spec, sampler, target, rng):
    """The chain of a release, with as many positions as it publishes."""
    start = start_position(spec["start"], target.model, rng.proposal)
    return run_chain(sampler, target, rng, start, spec["iterations"], spec["draws"])
