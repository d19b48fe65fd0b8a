"""Random streams: one for each purpose, model, algorithm, epsilon and seed index.

Every stream comes from a stable hash of what it is for, so no two jobs share one, and a result
never depends on the order of jobs, on cores, or on what else ran. Only the chains of a sweep share
theirs, on purpose, and so do the trials of one search of settings: with the same random numbers,
what sets two chains apart is what was varied, and not chance (common random numbers, a standard way
to lessen the variance of a difference).
"""

import hashlib
import json

import numpy as np

from dpmcmc.models.model import Model
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import check_count


def seed_sequence(study_seed: int, purpose: str, *labels: str | int) -> np.random.SeedSequence:
    """Seed of a stream.

    Parameters
    ----------
    study_seed : int
        `seed` of the configuration.
    purpose : str
        What the stream is for, e.g. "data".
    *labels : str or int
        What sets it apart from others of that purpose, e.g. model id and seed index.
    """
    text = json.dumps([study_seed, purpose, *labels])
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(text.encode()).digest()))


def generator(study_seed: int, purpose: str, *labels: str | int) -> np.random.Generator:
    """Random generator of a stream; parameters as for `seed_sequence`."""
    return np.random.default_rng(seed_sequence(study_seed, purpose, *labels))


def chain_streams(
    study_seed: int, model_id: str, algorithm_id: str, stop: str, seed: int
) -> Streams:
    """The three streams of a chain: proposals, acceptance, privacy noise.

    Parameters
    ----------
    study_seed : int
    model_id, algorithm_id : str
    stop : str
        What ends the chain: epsilon as it stands in paths, or "iterations-3000". What a sweep
        varies is left out.
    seed : int
        Index of the chain.
    """
    return three_streams(seed_sequence(study_seed, "chain", model_id, algorithm_id, stop, seed))


def three_streams(sequence: np.random.SeedSequence) -> Streams:
    """Streams from the children of one seed."""
    return Streams(*map(np.random.default_rng, sequence.spawn(3)))


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


def start_point(
    study_seed: int,
    model_id: str,
    model: Model,
    reference: np.ndarray,
    seed: int,
    start_sd: float | None = None,
) -> np.ndarray:
    """Start point of the chains with this seed index, (d,): the same for all algorithms and runs.

    Parameters
    ----------
    study_seed : int
    model_id : str
    model : Model
    reference : (size, d) array
        Reference sample of the posterior.
    seed : int
        Index of the chain.
    start_sd : float, optional
        Start points are Normal(start centre, start_sd^2 I), as in section 6.2; by default what the
        model says.
    """
    rng = generator(study_seed, "start", model_id, seed)
    if start_sd is None:
        return model.start_point(rng, reference)
    return model.start_centre(reference) + start_sd * rng.standard_normal(model.dimension)
