"""Batches of a fixed size, drawn without replacement."""


def draw_batch(rng, num_rows, batch_size):
    """Indices of a batch, uniform over all subsets of that size, (b,).

    They come from the noise's stream, since privacy rests on their secrecy too.
    """
    return rng.noise.choice(num_rows, batch_size, replace=False, shuffle=False)


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
