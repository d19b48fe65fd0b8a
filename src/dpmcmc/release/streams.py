"""Secret random streams, and noise that is safe in floating point.

A statistic is rounded to whole cells of its sensitivity / 2^30, and whole numbers from the discrete
Gaussian are added: so what is released is a function of integers, and every accountant of the
Gaussian mechanism holds for it (docs/release.md has the theorem).
"""

import math
import os

import numpy as np

from dpmcmc.release.noise import DiscreteGaussian
from dpmcmc.samplers.chain import Streams

CELLS = 2**30  # of a sensitivity
MOST_CELLS = 2.0**57  # of a statistic; what is larger counts as so large
LEAST_SENSITIVITY = 1e-290  # whose cells are normal numbers
KEY_BYTES = 32
ROUNDS = 20
SLACK = 1e-7  # of epsilon, for all draws of a release
TOLERANCE = 1e-6  # of the noise over the sensitivity that is declared


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
    """How many numbers may be drawn for the noise of a release: 2 m h is at most `SLACK`."""
    return math.floor(SLACK / (2 * log_ratio_of_densities(least_noise)))


class SecretStreams(Streams):
    """Streams of one chain that nobody can know or repeat.

    Generators are ChaCha with 20 rounds, each with a key of 32 bytes from the operating system, of
    which no copy is made. Noise is OpenDP's.

    Parameters
    ----------
    num_rows : int
        n.
    least_noise : float
        Least standard deviation over sensitivity that the sampler declares. Less is refused.
    chains : int
        Of the release, which share what exact noise may differ from the ideal.

    Raises
    ------
    ModuleNotFoundError
        Without the extra `dpmcmc[release]`.
    """

    def __new__(cls, num_rows, least_noise, chains=1):
        """Three generators with new keys."""
        self = tuple.__new__(cls, [secret_generator() for _ in cls._fields])
        self._num_rows, self._least_noise = num_rows, least_noise
        self._draws_left = most_draws(least_noise) // chains
        self._discrete = DiscreteGaussian()
        self._process = os.getpid()
        return self

    def add_noise(self, statistic, sensitivity, sd):
        """As `Streams.add_noise`, exactly: the value is a whole number of cells.

        NaN, whatever the rows are, where sensitivity or noise is no positive number: a step of
        length 0, which has neither, is rejected.

        Raises
        ------
        ArithmeticError
            Where the noise is less than is declared, or more numbers were drawn than were priced.
        RuntimeError
            In another process than the one that made the streams.
        """
        self._require_own_process()
        if not np.isscalar(sd):
            raise ValueError("sd: must be one number, of all components")
        x = np.asarray(statistic, dtype=float)
        if not (LEAST_SENSITIVITY <= sensitivity < math.inf and 0 < sd < math.inf):
            return np.full(x.shape, math.nan) if x.shape else math.nan
        noise = sd / sensitivity
        if not noise >= self._least_noise * (1 - TOLERANCE):
            raise ArithmeticError("a release has less noise than the sampler declares")
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

    def batch(self, draw, num_rows, batch_size):
        """As `Streams.batch`."""
        self._require_own_process()
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
