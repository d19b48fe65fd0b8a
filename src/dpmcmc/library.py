"""What only those need who call the package from Python; the jobs of a study do without."""

import numpy as np

from dpmcmc.samplers.chain import Streams
from dpmcmc.settings import check_count
from dpmcmc.study.streams import three_streams


def streams(seed: int | None = None) -> Streams:
    """Random streams of one chain.

    On real data all three must stay secret: whoever knows the numbers of one may undo the noise, or
    find the seed that they share.

    Parameters
    ----------
    seed : int, optional
        For the same chain again. Left out, as it must be for a chain of real data that is to be
        private: then each stream has the operating system's randomness, which nobody can repeat.

    Raises
    ------
    ValueError
        If the seed is no whole number of at least 0.
    """
    if seed is None:
        return Streams(*(np.random.default_rng() for _ in Streams._fields))
    check_count("seed", seed, 0)
    return three_streams(np.random.SeedSequence(seed))
