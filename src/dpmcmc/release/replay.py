"""Draws of a sampler of one's own, made again where no rows are, from what was released.

Such a sampler may read rows in other ways than by what it releases. So its chain runs once more, in
a process that has never seen a row, on simulated rows: with the values that were released, and the
same random numbers for proposals and acceptance tests. Only if each position is the same, to the
last bit, are there draws. They are then a function of released values and of random numbers.
"""

import dpmcmc.pinned  # noqa: F401 before NumPy, since it chooses the machine code

# isort: split
import json
import math
import os
import subprocess
import sys
import warnings

import numpy as np

from dpmcmc import registry
from dpmcmc.evaluation.recording import own
from dpmcmc.models.in_blocks import in_blocks
from dpmcmc.precomputed import with_precomputed
from dpmcmc.release.plan import with_noise
from dpmcmc.release.rows import RowByRow
from dpmcmc.release.streams import SecretStreams, secret_generator
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.streams import Streams

TWIN = 1  # seed of the simulated rows


class Noting:
    """Streams of another base that note what they release."""

    __slots__ = ()

    def __new__(cls, *arguments):
        """The same as of the other base."""
        self = super().__new__(cls, *arguments)
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


def is_function_of_releases(spec, chain, rng, start, states):
    """Whether a chain is the same where no rows are, in a process of its own.

    Parameters
    ----------
    spec : dict
        Of the release.
    chain : Chain
        As `run_chain` has returned it.
    rng : NotedSecretStreams
    start : (d,) array or None
    states : list
        Of the generators of proposals and acceptance tests, before the chain.
    """
    keys = ["model", "sampler", "noise_scale", "iterations", "draws"]
    what = {key: spec[key] for key in keys}
    what |= {"start": start, "states": states, "released": rng.released}
    reader, writer = os.pipe()
    with open(reader, "rb") as pipe:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dpmcmc.release.replay", str(writer)],
            stdin=subprocess.PIPE,
            pass_fds=[writer],
        )
        os.close(writer)
        process.stdin.write(json.dumps(what, default=as_json).encode())
        process.stdin.close()
        positions = pipe.read()
        process.wait()
    return positions == chain.positions.tobytes()


def as_json(value):
    """Numbers of NumPy as lists and numbers, which keep every digit."""
    return value.tolist()


def replayed(spec):
    """Positions of the chain, on simulated rows."""
    model = in_blocks(registry.build(spec["model"]))
    sampler = with_noise(with_precomputed(registry.build(spec["sampler"])), spec["noise_scale"])
    target = RowByRow(model, model.simulate(np.random.default_rng(TWIN)), "clip")
    generators = [secret_generator() for _ in range(3)]
    for generator, state in zip(generators, spec["states"], strict=False):
        generator.bit_generator.state = state
    released = [
        (*known, np.array(value, dtype=float) if isinstance(value, list) else value)
        for *known, value in spec["released"]
    ]
    rng = Replayed(*generators, released)
    return run_chain(
        sampler, target, rng, spec["start"], spec["iterations"], spec["draws"]
    ).positions


def main(answers):
    """Read what to do from standard input; write positions, as doubles, to a descriptor."""
    warnings.simplefilter("ignore")
    positions = replayed(json.load(sys.stdin))
    with os.fdopen(answers, "wb") as pipe:
        pipe.write(positions.tobytes())


if __name__ == "__main__":
    main(int(sys.argv[1]))
