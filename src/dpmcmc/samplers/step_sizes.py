"""Step sizes that change from iteration to iteration, whatever the data."""

from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

BLOCK = 1024  # numbers that are computed at once


class VanDerCorput(NamedTuple):
    """Place of a chain in its scrambled van der Corput sequence in base 2.

    Uniform on (0, 1), and any stretch of it more evenly so than independent numbers.
    """

    seed: int  # of the scrambling
    place: int = 0

    @property
    def number(self) -> float:
        """The number here."""
        block, i = divmod(self.place, BLOCK)
        return float(numbers(self.seed, block)[i])

    @property
    def next(self) -> Self:
        """The place of the next number."""
        return self._replace(place=self.place + 1)


@lru_cache(maxsize=16)
def numbers(seed: int, block: int) -> np.ndarray:
    """A block of the sequence, (BLOCK,)."""
    from scipy.stats import qmc  # which takes longer to import than a short chain to run

    engine = qmc.Halton(d=1, scramble=True, rng=seed)
    return engine.fast_forward(block * BLOCK).random(BLOCK)[:, 0]
