"""Watching a sampler: what it releases of its rows, and what it would have released of others."""

from typing import Any, NamedTuple

import numpy as np

from dpmcmc.samplers.sampler import State
from dpmcmc.samplers.streams import Streams


class Released(NamedTuple):
    """One call of `Streams.add_noise`."""

    statistic: Any  # float or (d,) array
    sensitivity: float  # as the sampler declares it
    sd: float
    value: Any  # the statistic with its noise
    batches: int  # that the iteration had drawn before


class Step(NamedTuple):
    """One iteration."""

    state: State | None  # None of a repetition that was stopped
    is_accepted: bool
    released: list  # of Released
    batches: list  # that it drew: indices of rows, or masks

    @property
    def batch_sizes(self):
        """Rows of each batch."""
        return [int(b.sum()) if b.dtype == bool else len(b) for b in self.batches]

    @property
    def has_batch_each(self):
        """True if it drew one batch for each release, before it and after the one before."""
        return [r.batches for r in self.released] == [*range(1, len(self.batches) + 1)]


class Stopped(BaseException):
    """Ends a repetition; no sampler catches it."""


class RecordedStreams(Streams):
    """Random streams that note what is released, or repeat what was released before.

    Attributes
    ----------
    has_decided : bool
        Whether the generator of acceptance tests was used in any iteration or repetition.
    """

    def __new__(cls, *generators):
        """Three generators, as for `Streams`."""
        streams = super().__new__(cls, *generators)
        streams._forget()
        streams.has_decided = False
        return streams

    def _forget(self, values=None, batches=(), stop_after=None):
        self.released, self.batches = [], []
        self._stop_after = stop_after
        self._values = None if values is None else iter(values)
        self._given = batches

    def add_noise(self, statistic, sensitivity, sd):
        """Same as `Streams.add_noise`; in a repetition, the value that was released then."""
        value = super().add_noise(statistic, sensitivity, sd)  # its random numbers are used up
        if self._values is not None:
            value = own(next(self._values, np.nan))
        drawn = len(self.batches)
        self.released.append(Released(own(statistic), sensitivity, sd, own(value), drawn))
        if len(self.released) == self._stop_after:
            raise Stopped
        return value

    def batch(self, draw, num_rows, batch_size):
        """Same as `Streams.batch`; in a repetition, the batch that is given."""
        number = len(self.batches)
        batch = super().batch(draw, num_rows, batch_size)
        if number < len(self._given) and self._given[number] is not None:
            batch = self._given[number]
        self.batches.append(batch)
        return batch

    def step(self, sampler, state, target):
        """One iteration, noted; `repeat` starts from the same random numbers.

        The state None stands for that before the preparation, which is then what is noted.
        """
        self._start = [generator.bit_generator.state for generator in self]
        self._forget()
        return self._step(sampler, state, target)

    def repeat(self, sampler, state, target, step, batches=(), to_end=True):
        """The last iteration again, on other rows, as if the same had been released.

        Since all that a private sampler knows of its rows is what it has released, the same state
        must come out, whatever the rows; what it would have released may differ.

        Parameters
        ----------
        sampler, state, target
            As for `step`; the state is that before the iteration.
        step : Step
        batches : list of (b,) array of int or None, optional
            Rows of the batches, in their order; None for one as it was drawn.
        to_end : bool
            False to stop after as many releases as the step has.
        """
        after = [generator.bit_generator.state for generator in self]
        values = [released.value for released in step.released]
        self._forget(values, batches, None if to_end else len(values))
        self._set(self._start)
        try:
            return self._step(sampler, state, target)
        finally:
            self._set(after)

    def _step(self, sampler, state, target):
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # as in `run_chain`
                if state is None:
                    state, info = sampler.prepare(self, target)
                else:
                    state, info = sampler.step(self, state, target)
        except Stopped:
            return Step(None, False, self.released, self.batches)
        finally:
            self.has_decided |= self.acceptance.bit_generator.state != self._start[1]
        return Step(state, bool(info.is_accepted), self.released, self.batches)

    def _set(self, states):
        for generator, state in zip(self, states, strict=True):
            generator.bit_generator.state = state


def own(value):
    """A copy of an array, since a sampler may go on computing in place; a number as it is."""
    return value.copy() if isinstance(value, np.ndarray) else value


def log_densities(released, values):
    """ln of the density of each release, up to a constant, at what others have released: a list."""
    with np.errstate(all="ignore"):
        return [
            float(-0.5 * np.sum(((v.value - r.statistic) / r.sd) ** 2))
            - np.size(r.statistic) * float(np.log(r.sd))
            for r, v in zip(released, values, strict=True)
        ]
