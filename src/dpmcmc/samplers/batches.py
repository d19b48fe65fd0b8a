"""Batches of a fixed size, drawn without replacement."""

import math

import numpy as np

from dpmcmc.kernels.batches import CHANCE_BITS, distinct_indices, random_mask
from dpmcmc.samplers.streams import Streams

MANY_OF_ALL = 1 / 8  # of the rows: from here on a mask is drawn and summed sooner than indices
SPARE = 64  # words beyond the expected number


def draw_batch(rng: Streams, num_rows: int, batch_size: int) -> np.ndarray:
    """A batch, uniform over all subsets of that size.

    It comes from the stream of the noise, because privacy requires that it is secret too.

    Parameters
    ----------
    rng : Streams
    num_rows, batch_size : int

    Returns
    -------
    (b,) array of int or (n,) array of bool
        Indices of the rows in no particular order or, for a large batch, a mask. NumPy takes either
        as an index.

    Raises
    ------
    ValueError
        If the batch is larger than the data set.
    """
    return rng.batch(without_replacement, num_rows, batch_size)


def without_replacement(noise: np.random.Generator, num_rows: int, batch_size: int) -> np.ndarray:
    """Same result as `draw_batch`, from a generator of 64 random bits at a time, such as PCG64."""
    random_words = noise.bit_generator.random_raw
    share = sampling_probability(batch_size, num_rows)
    if share < MANY_OF_ALL:
        # As many uniform indices as hold so many different ones, expected; two from a word.
        draw, words_needed = distinct_indices, -num_rows * math.log1p(-share) / 2
    else:
        # A row's chance has so many digits, and is off the share by less than one in the last.
        draw, words_needed = random_mask, num_rows * (CHANCE_BITS / 64 + 2**-CHANCE_BITS)
    words_needed /= 1 - 2**32 % num_rows / 2**32  # indices that are rejected lest there be a bias
    words = random_words(SPARE + math.ceil(1.02 * words_needed))
    while not len(batch := draw(words, num_rows, batch_size)):
        words = np.concatenate([words, random_words(SPARE + len(words) // 8)])
    return batch


def sampling_probability(batch_size: int, num_rows: int) -> float:
    """q = b / n.

    Raises
    ------
    ValueError
        If the batch is larger than the data set.
    """
    if batch_size > num_rows:
        raise ValueError(f"batch_size: must be at most num_rows = {num_rows}, not {batch_size}")
    return batch_size / num_rows


def batch_variance_factor(kind: str, batch_size: int, num_rows: int) -> float:
    """Factor a^2 of sigma_b^2 = a^2 (sum r^2 - (sum r)^2 / b), the variance of lambda.

    Batches are drawn without replacement, of which (1 - q) b / (b - 1) takes account: with it the
    mean over all batches is the variance exactly (docs/accounting.md). The published algorithms
    take 1, as if rows were drawn independently.

    Parameters
    ----------
    kind : str
        "exact" or "published".
    batch_size, num_rows : int
        b and n.

    Raises
    ------
    ValueError
        If one row of many is to tell the variance of all.
    """
    if kind == "published":
        return 1.0
    if batch_size == num_rows:
        return 0.0
    if batch_size < 2:
        raise ValueError(f"batch_size: must be at least 2 for an exact variance, not {batch_size}")
    return (1 - sampling_probability(batch_size, num_rows)) * batch_size / (batch_size - 1)
