"""What only those need who call the package from Python; the jobs of a study do without."""

import numpy as np

from dpmcmc.samplers.chain import Streams
from dpmcmc.settings import check_count
from dpmcmc.study.streams import three_streams


def streams(seed: int | None = None) -> Streams:
    """Random streams of one chain: for trying things, not for publishing.

    The generators are made for simulation and are no ciphers. Their noise is in floating point, and
    its low digits can reveal what it hides (Mironov 2012). So a chain of real data that is drawn
    with them is not protected, even if all three stay secret.

    Parameters
    ----------
    seed : int, optional
        Give one to draw the same chain again. By default the operating system seeds each stream.

    Raises
    ------
    ValueError
        If the seed is not a whole number of at least 0.
    """
    if seed is None:
        return Streams(*(np.random.default_rng() for _ in Streams._fields))
    check_count("seed", seed, 0)
    return three_streams(np.random.SeedSequence(seed))
