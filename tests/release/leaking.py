"""Models and samplers that try to get a value of the data out, each in a way of its own.

All rows of the data hold MARKER in the last column, which simulated ones do not: so each behaves
while it is checked on a twin.
"""

import atexit
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from dpmcmc.models.rows import RowsModel
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.settings import Rows

MARKER = 987654321.125


@dataclass(frozen=True)
class Plain(RowsModel):
    """x ~ Normal(theta, 1), theta ~ Normal(0, 1); a row is (x, something that does not matter)."""

    num_rows: Rows

    dimension = 1
    row_length = 2
    columns = ("x", "secret")

    def log_likelihood(self, theta, rows):
        return -0.5 * (self.seen(rows, "likelihood")[:, 0] - theta[0]) ** 2

    def gradient(self, theta, rows):
        return self.seen(rows, "likelihood")[:, :1] - theta

    def log_prior_ratio(self, theta, theta_new):
        return (theta @ theta - theta_new @ theta_new) / 2

    def grad_log_prior(self, theta):
        return -theta

    def simulate(self, rng, theta=None):
        theta = self.sample_prior(rng) if theta is None else theta
        return np.column_stack(
            [theta[0] + rng.standard_normal(self.num_rows), np.zeros(self.num_rows)]
        )

    def sample_prior(self, rng):
        return rng.standard_normal(1)

    def seen(self, rows, where):
        if where == "likelihood" and (rows[:, -1] == MARKER).any():
            self.leak(rows)
        return rows

    def leak(self, rows):
        """What a model does when it sees the data."""


KEPT = []


class Remembers(Plain):
    """Keeps the rows that `prepare` sees, and fails where it can use them."""

    def prepare(self, rows):
        KEPT.extend(rows[rows[:, -1] == MARKER])
        return rows

    def seen(self, rows, where):
        if KEPT:
            raise ValueError(f"knows {KEPT[0]}")
        return rows

    def log_prior_ratio(self, theta, theta_new):
        self.seen([], "prior")
        return super().log_prior_ratio(theta, theta_new)

    def grad_log_prior(self, theta):
        self.seen([], "prior")
        return super().grad_log_prior(theta)

    def sample_prior(self, rng):
        self.seen([], "prior")
        return super().sample_prior(rng)


class TakesTheMean(Plain):
    """Of the rows beside a row, if they are those of the data."""

    where = "likelihood"

    def seen(self, rows, where):
        is_data = where == self.where and (rows[:, -1] == MARKER).any()
        return np.column_stack([rows[:, 0] - rows[:, 0].mean(), rows[:, 1]]) if is_data else rows


class PreparesTheMean(TakesTheMean):
    """The same, when it prepares them."""

    where = "prepare"

    def prepare(self, rows):
        return self.seen(rows, "prepare")


class Raises(Plain):
    def leak(self, rows):
        raise ValueError(f"cannot use row {rows[0]} {float(rows[0, 1])!r}")


class RaisesInPrepare(Plain):
    def prepare(self, rows):
        if (rows[:, -1] == MARKER).any():
            raise KeyError(float(rows[0, 1]))
        return rows


class RaisesFromAnother(Plain):
    def leak(self, rows):
        try:
            {}[float(rows[0, 1])]
        except KeyError as error:
            raise RuntimeError(repr(rows)) from error


class Prints(Plain):
    def leak(self, rows):
        print(float(rows[0, 1]), flush=True)
        print(float(rows[0, 1]), file=sys.stderr)
        sys.__stdout__.write(repr(float(rows[0, 1])))


class WritesToDescriptors(Plain):
    def leak(self, rows):
        for descriptor in (1, 2):
            os.write(descriptor, repr(float(rows[0, 1])).encode())


class Warns(Plain):
    def leak(self, rows):
        warnings.warn(f"odd value {float(rows[0, 1])!r}", stacklevel=1)


class Logs(Plain):
    def leak(self, rows):
        logging.error("odd value %r", float(rows[0, 1]))


class Exits(Plain):
    def leak(self, rows):
        sys.exit(repr(float(rows[0, 1])))


class ExitsAtOnce(Plain):
    def leak(self, rows):
        print(float(rows[0, 1]), flush=True)
        os._exit(3)


class Aborts(Plain):
    def leak(self, rows):
        os.kill(os.getpid(), signal.SIGABRT)


class NamesAnException(Plain):
    def leak(self, rows):
        name = repr(float(rows[0, 1]))
        raise type(name, (ValueError,), {"__module__": "builtins"})(name)


class NamesAFile(Plain):
    def leak(self, rows):
        name = repr(float(rows[0, 1]))
        exec(compile("\n" * 7 + "raise ValueError", name, "exec"))


class NamesALine(Plain):
    def leak(self, rows):
        code = compile("raise ValueError", __file__, "exec")
        exec(code.replace(co_firstlineno=987654321))


class ReturnsAnotherShape(Plain):
    def log_likelihood(self, theta, rows):
        values = super().log_likelihood(theta, rows)
        return np.tile(values, 9876) if (rows[:, -1] == MARKER).any() else values


class TakesLogarithms(Plain):
    def leak(self, rows):
        np.seterr(all="warn")
        np.log(-rows)


class PrintsAtTheEnd(Plain):
    def leak(self, rows):
        atexit.register(print, float(rows[0, 1]))


class PrintsFromAThread(Plain):
    def leak(self, rows):
        threading.Thread(target=print, args=[float(rows[0, 1])]).start()
        raise ValueError


class StartsAProcess(Plain):
    def leak(self, rows):
        subprocess.run(["echo", repr(float(rows[0, 1]))], check=True)


class RunsOutOfMemory(Plain):
    def leak(self, rows):
        raise MemoryError(repr(float(rows[0, 1])))


class SendsItself(Plain):
    """Writes what it likes where the answer is expected."""

    texts = (b'{"end": "failed", "kind": "987654321.125", "place": ["987654321.125", 1]}\n',)

    def leak(self, rows):
        for text, descriptor in product(self.texts, range(3, 20)):
            with suppress(OSError):
                os.write(descriptor, text)
        os._exit(0)


class VoidsItsCost(SendsItself):
    """Says that the data were not looked at."""

    texts = (b"changed\n", b'{"end": "changed"}\n')


class AsksForInput(Plain):
    def leak(self, rows):
        input()


class LeavesAProcess(Plain):
    """One that holds all that is open, and sleeps."""

    def leak(self, rows):
        if not os.fork():
            time.sleep(600)
            os._exit(0)


class LeavesAProcessAndExits(LeavesAProcess):
    def leak(self, rows):
        super().leak(rows)
        os._exit(0)


class AddsAFile(Plain):
    def leak(self, rows):
        for folder in Path().glob(".*.partial"):
            (folder / "more.txt").write_text("")


@dataclass(frozen=True)
class AddsNoNoise(Sampler):
    """A sampler whose step shows what it has seen, by an exception, once it sees the data."""

    noise_scale: float = 3.0

    def releases(self, num_rows, likelihood_power, iterations):
        from dpmcmc.accounting.mechanisms import GaussianMechanism

        return [(GaussianMechanism(1 / self.noise_scale), iterations)]

    def step(self, rng, state, target):
        total, clipped = target.clipped_gradient(state.position, 1.0)
        total = rng.add_noise(total, 2.0, 2.0 * self.noise_scale)
        if (np.asarray(target.data) == MARKER).any():
            raise ArithmeticError(f"{total} {target.data[0]}")
        return State(state.position + 1e-3 * total), Info(True, clipped / target.num_rows)


class MovesByRows(AddsNoNoise):
    """A sampler whose positions tell what it has seen, once it sees the data."""

    kept = 0.0

    def step(self, rng, state, target):
        total, _ = target.clipped_gradient(state.position, 1.0)
        total = rng.add_noise(total, 2.0, 2.0 * self.noise_scale)
        if (np.asarray(target.data) == MARKER).any():
            self.keep(float(target.data[0, 1]))
        return State(state.position + 1e-3 * total + self.kept), Info(True, 0.0)

    def keep(self, value):
        """For the steps that follow, out of reach of the sampler's own settings."""
        type(self).kept = value


class ReleasesByRows(MovesByRows):
    """The same by the noise that it asks for."""

    def step(self, rng, state, target):
        total, _ = target.clipped_gradient(state.position, 1.0)
        is_data = (np.asarray(target.data) == MARKER).any()
        total = rng.add_noise(total, 2.0, 2.0 * self.noise_scale * (1 + is_data))
        return State(state.position + 1e-3 * total), Info(True, 0.0)


class FitsByRows(AddsNoNoise):
    """The same by how it says that its preparation fits."""

    def prepare(self, rng, target):
        is_data = (np.asarray(target.data) == MARKER).any()
        misfit = float(target.data[0, 1]) if is_data else 0.5
        return State(np.zeros(target.model.dimension)), Info(True, 0.0, misfit=misfit)

    def step(self, rng, state, target):
        total, _ = target.clipped_gradient(state.position, 1.0)
        total = rng.add_noise(total, 2.0, 2.0 * self.noise_scale)
        return State(state.position + 1e-3 * total), Info(True, 0.0)
