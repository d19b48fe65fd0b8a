"""What a run needs of its plan: the noise, the start, and words for what is raised.

The process that reads the data is started for every release and imports no accountant for this.
"""

from dpmcmc.models.model import Model

MOST_LETTERS = 200  # of what an exception says


def with_noise(sampler, scale):
    """The sampler with the noise of its preparation, if the budget decides it."""
    return sampler if scale is None else sampler.with_preparation_noise(scale)


def start_position(start, model, rng):
    """Position at which a chain of a plan starts, (d,); None where it is prepared.

    Parameters
    ----------
    start : str or list of float
        "prior" for a draw by the generator, "preparation", or a position.
    model : Model
    rng : numpy.random.Generator
    """
    if start == "preparation":
        return None
    return model.sample_prior(rng) if start == "prior" else start


def message_of(error):
    """Text of an exception, in a line; not where rows may be in it."""
    if isinstance(error, AttributeError) and isinstance(error.obj, Model):
        name = type(error.obj).__name__
        return f"needs a model with {error.name}, which {name} does not have"
    try:
        text = " ".join(str(error).split())
    except Exception:  # of a class of one's own
        text = ""
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}..."
