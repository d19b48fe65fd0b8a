"""Batches of a fixed size, drawn without replacement."""

import math

import numpy as np

from dpmcmc.kernels import distinct_indices

SPARE = 16  # words beyond the expected number


def draw_batch(rng, num_rows, batch_size):
    """Indices of a batch, uniform over all subsets of that size, (b,), in no certain order.

    They come from the noise's stream, since privacy rests on their secrecy too. Its bit generator
    must give 64 random bits at a time, as PCG64 does, NumPy's own choice.
    """
    random_words = rng.noise.bit_generator.random_raw
    # As many uniform indices as hold so many different ones, expected; two from a word, less those
    # that are rejected lest there be a bias. Of more than half of the rows, the others are drawn.
    share = min(batch_size, num_rows - batch_size) / num_rows
    words_needed = -num_rows * math.log1p(-share) / 2 / (1 - 2**32 % num_rows / 2**32)
    words = random_words(SPARE + math.ceil(1.02 * words_needed))
    while len(batch := distinct_indices(words, num_rows, batch_size)) < batch_size:
        words = np.concatenate([words, random_words(SPARE + len(words) // 8)])
    return batch


def sampling_probability(batch_size, num_rows):
    """q = b / n.

    Raises
    ------
    ValueError
        If the batch is larger than the data set.
    """
    if batch_size > num_rows:
        raise ValueError(f"batch_size must be at most the number of rows {num_rows}: {batch_size}")
    return batch_size / num_rows
