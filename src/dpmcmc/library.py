"""What only those need who call the package from Python; the jobs of a study do without."""

import numpy as np

from dpmcmc.samplers.chain import Streams
from dpmcmc.settings import check_count
from dpmcmc.study.streams import three_streams


def streams(seed: int | None = None) -> Streams:
    """Random streams of one chain: for trying things, not for publishing.

    The generators are made for simulation and are no ciphers, and the noise that they give is in
    floating point, whose low digits can tell what it hides (Mironov 2012). So a chain of real data
    that is drawn with them is not protected, even if all three stay secret.

    Parameters
    ----------
    seed : int, optional
        For the same chain again. Left out, each stream is seeded by the operating system.

    Raises
    ------
    ValueError
        If the seed is no whole number of at least 0.
    """
    if seed is None:
        return Streams(*(np.random.default_rng() for _ in Streams._fields))
    check_count("seed", seed, 0)
    return three_streams(np.random.SeedSequence(seed))
