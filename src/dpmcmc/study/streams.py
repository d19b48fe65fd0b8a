"""Random streams: one for each purpose, model, algorithm, epsilon and seed index.

Every stream comes from a stable hash of what it is for, so no two jobs share one (but for
`clipping_streams`, on purpose; the trials of one search of settings share theirs too), and a result
never depends on the order of jobs, on cores, or on what else ran.
"""

import hashlib
import json

import numpy as np

from dpmcmc.samplers.chain import Streams


def seed_sequence(study_seed, purpose, *labels):
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


def generator(study_seed, purpose, *labels):
    """Random generator of a stream; parameters as for `seed_sequence`."""
    return np.random.default_rng(seed_sequence(study_seed, purpose, *labels))


def chain_streams(study_seed, model_id, algorithm_id, epsilon, seed):
    """The three streams of a chain: proposals, acceptance, privacy noise.

    Parameters
    ----------
    study_seed : int
    model_id, algorithm_id, epsilon : str
        Epsilon as it stands in paths.
    seed : int
        Index of the chain.
    """
    return three_streams(seed_sequence(study_seed, "chain", model_id, algorithm_id, epsilon, seed))


def clipping_streams(study_seed, model_id, algorithm_id, seed):
    """The streams of a chain of the clipping study: the same at every bound.

    Chains are compared in pairs, one bound with another. With the same random numbers, what sets
    the two apart is what clipping has changed, and not chance: common random numbers, a standard
    way to lessen the variance of a difference. No other two jobs share a stream.
    """
    return three_streams(seed_sequence(study_seed, "clipping", model_id, algorithm_id, seed))


def three_streams(sequence):
    """Streams from the children of one seed."""
    return Streams(*map(np.random.default_rng, sequence.spawn(3)))


def start_point(study_seed, model_id, model, reference, seed):
    """Where the chains with this seed index start, (d,): the same for all algorithms and epsilons.

    Parameters
    ----------
    study_seed : int
    model_id : str
    model : Model
    reference : (size, d) array
        Reference sample of the posterior.
    seed : int
        Index of the chain.
    """
    return model.start_point(generator(study_seed, "start", model_id, seed), reference)


def clipping_start_point(study_seed, model_id, model, spread, seed):
    """Where chains of the clipping study start (section 6.2): Normal(true theta, spread^2 I).

    The same for both algorithms and all bounds.
    """
    rng = generator(study_seed, "clipping-start", model_id, seed)
    return model.true_theta + spread * rng.standard_normal(model.dimension)
