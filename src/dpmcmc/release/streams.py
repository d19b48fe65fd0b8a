"""Secret random streams, and noise that is safe in floating point.

A statistic is rounded to whole cells of its sensitivity / 2^30, and whole numbers from the discrete
Gaussian are added: so what is released is a function of integers, and every accountant of the
Gaussian mechanism holds for it (docs/release.md has the theorem).
"""

import math
import os
from bisect import bisect
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.release.noise import DiscreteGaussian
from dpmcmc.samplers.batches import without_replacement
from dpmcmc.samplers.streams import Streams

CELLS = 2**30  # of a sensitivity
MOST_CELLS = 2.0**57  # of a statistic; what is larger counts as so large
LEAST_SENSITIVITY = 1e-290  # whose cells are normal numbers
KEY_BYTES = 32
ROUNDS = 20
SLACK = 1e-7  # of epsilon, for all draws of a release
# Relative, of noise over sensitivity and of the sum of squares: some twenty roundings of a sampler,
# and two of a sum that loses nothing, are below 1e-14. At epsilon 100 it is 1e-7 of epsilon.
TOLERANCE = 1e-9


def widening(num_rows, size):
    """eta: what floating point may add to a sensitivity, relative; noise is larger by as much.

    For sums of clipped rows in blocks of at most 4096, then block by block, and a few roundings
    with public numbers; with what rounding to cells adds.

    Parameters
    ----------
    num_rows : int
        n.
    size : int
        Components of the statistic.
    """
    return 2.0**-20 + math.sqrt(size) * 2.0**-25 + (4096 + num_rows / 256) * num_rows * 2.0**-53


def log_ratio_of_densities(least_noise):
    """h: how far the discrete Gaussian is from a rounded normal, as a log ratio of densities.

    At most this up to 40 standard deviations, beyond which there is less than 2 e^-800.

    Parameters
    ----------
    least_noise : float
        Least standard deviation over the sensitivity.
    """
    scale = CELLS * least_noise
    return 1600 / (24 * scale**2) + 3 * math.exp(-2 * math.pi**2 * min(scale, 10.0) ** 2)


def most_draws(least_noise):
    """Largest count of numbers for the noise of a release: 2 m h is at most `SLACK`."""
    return math.floor(SLACK / (2 * log_ratio_of_densities(least_noise)))


class Allowance(NamedTuple):
    """Limits on what one chain may release, as its sampler declared for the ledger's line.

    Releases are of two kinds. Those of all rows add up: the sum of (sensitivity / standard
    deviation of the noise)^2 is bounded, so noise may vary. Those of a batch are counted: each has
    a batch of its own, and at least the noise that is declared for it.

    Attributes
    ----------
    least_noise : float
        Least standard deviation over sensitivity, of any release.
    mu_squared : float
        Largest sum for all rows.
    batches : list of (float, int)
        Releases of a batch, in their order: least standard deviation over sensitivity, and how many
        have it.
    batch_size : int
        Most rows of a batch.
    """

    least_noise: float
    mu_squared: float = 0.0
    batches: Any = ()
    batch_size: int = 0


class SecretStreams(Streams):
    """Streams of one chain that nobody can know or repeat, and that release what is allowed.

    Generators are ChaCha with 20 rounds, each with a key of 32 bytes from the operating system, of
    which no copy is made. Noise is OpenDP's.

    Parameters
    ----------
    num_rows : int
        n.
    allowed : Allowance
        Of the chain. More is refused, before it is released.
    chains : int
        Of the release, which share what exact noise may differ from the ideal.

    Raises
    ------
    ModuleNotFoundError
        Without the extra `dpmcmc[release]`.
    """

    def __new__(cls, num_rows, allowed, chains=1):
        """Three generators with new keys."""
        self = tuple.__new__(cls, [secret_generator() for _ in cls._fields])
        self._num_rows, self._allowed = num_rows, allowed
        self._draws_left = most_draws(allowed.least_noise) // chains
        self._mu_squared, self._rest = 0.0, 0.0  # spent on all rows, and what rounding left of it
        self._batches, self._drawn = 0, 0  # released, and drawn since the last release
        self._ends = list(accumulate(count for _, count in allowed.batches))
        self._discrete = DiscreteGaussian()
        self._process = os.getpid()
        return self

    def add_noise(self, statistic, sensitivity, sd):
        """Same as `Streams.add_noise`, exactly: the value is a whole number of cells.

        NaN, whatever the rows are, where sensitivity or noise is no positive number: a step of
        length 0, which has neither, is rejected.

        Raises
        ------
        ArithmeticError
            Where this would be more than is allowed, or more numbers were drawn than were priced.
        RuntimeError
            In another process than the one that made the streams.
        """
        self._require_own_process()
        if not np.isscalar(sd):
            raise ValueError("sd: must be one number, of all components")
        x = np.asarray(statistic, dtype=float)
        is_shown = LEAST_SENSITIVITY <= sensitivity < math.inf and 0 < sd < math.inf
        noise = sd / sensitivity if is_shown else math.inf
        self._spend(noise)
        if not is_shown:
            return np.full(x.shape, math.nan) if x.shape else math.nan
        self._draws_left -= x.size
        if self._draws_left < 0:
            raise ArithmeticError("more numbers were drawn for the noise than were priced")
        cell = sensitivity / CELLS
        with np.errstate(all="ignore"):
            cells = np.rint(x / cell)
        cells = np.clip(np.where(np.isnan(cells), -MOST_CELLS, cells), -MOST_CELLS, MOST_CELLS)
        scale = noise * CELLS * (1 + widening(self._num_rows, x.size))
        total = cells.astype(np.int64).ravel() + self._discrete.draw(scale, x.size)
        released = total.astype(float).reshape(x.shape) * cell
        return released if x.shape else float(released)

    def _spend(self, noise):
        """Count a release of so much noise over its sensitivity; an ArithmeticError if it is more.

        A batch is used up by one release. In a plan with batches, any release after one is of it.
        """
        allowed, drawn, self._drawn = self._allowed, self._drawn, 0
        is_of_batch = drawn and allowed.batches
        least = allowed.least_noise
        if is_of_batch:
            least, _ = allowed.batches[min(bisect(self._ends, self._batches), len(self._ends) - 1)]
        if not noise >= least * (1 - TOLERANCE):
            raise ArithmeticError(
                f"a release has less noise than was declared: its sd is {noise:.6g} times its "
                f"sensitivity, not {least:.6g}"
            )
        if drawn > 1 and is_of_batch:
            raise ArithmeticError("a release has more than one batch")
        if is_of_batch:
            self._batches += 1
            spent, most, what = self._batches, self._ends[-1], "the number of batches"
        else:
            # The sum keeps what rounding takes from it: it is exact for any number of terms.
            parts = self._mu_squared, self._rest, noise**-2.0
            self._mu_squared = math.fsum(parts)
            self._rest = math.fsum([*parts, -self._mu_squared])
            spent, most = self._mu_squared, allowed.mu_squared
            what = "the sum of (sensitivity / sd)^2"
        if not spent <= most * (1 + TOLERANCE):
            raise ArithmeticError(
                f"more would be released than was declared: {what} is {spent:.6g}, not {most:.6g}"
            )

    def batch(self, draw, num_rows, batch_size):
        """Same as `Streams.batch`.

        Raises
        ------
        ArithmeticError
            Where the batch is not as declared, in a plan that has a price for batches.
        """
        self._require_own_process()
        most = self._allowed.batch_size
        if self._allowed.batches and not (
            draw is without_replacement and num_rows == self._num_rows and batch_size <= most
        ):
            raise ArithmeticError(
                f"a batch must be drawn by draw_batch, of all {self._num_rows} rows, and have at "
                f"most {most} of them, as was declared"
            )
        self._drawn += 1
        return super().batch(draw, num_rows, batch_size)

    def _require_own_process(self):
        if os.getpid() != self._process:  # a fork has the same keys, so the same noise
            raise RuntimeError("secret streams are of the process that made them")

    def _refuse(self, *_, **__):
        raise TypeError("secret streams cannot be copied")

    __reduce_ex__ = __copy__ = __deepcopy__ = _replace = _refuse

    def __repr__(self):
        return "SecretStreams()"


def secret_generator():
    """A NumPy generator of random numbers from ChaCha20 with a key of the operating system."""
    from randomgen import ChaCha

    key = int.from_bytes(os.urandom(KEY_BYTES), "little")  # `seed=` would keep 128 bits of it
    return np.random.Generator(ChaCha(key=key, rounds=ROUNDS))
