"""What only those need who call the package from Python; the jobs of a study do without."""

import numpy as np

from dpmcmc.samplers.chain import Streams
from dpmcmc.study.streams import three_streams


def streams(seed: int | None = None) -> Streams:
    """Random streams of one chain.

    Parameters
    ----------
    seed : int, optional
        For the same chain again. Left out, as it must be for a chain of real data that is to be
        private: then the operating system's randomness, which nobody can repeat.
    """
    return three_streams(np.random.SeedSequence(seed))
