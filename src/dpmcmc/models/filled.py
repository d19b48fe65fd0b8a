"""Lists of settings that are continued with their last value, one number a component."""

import numpy as np

from dpmcmc.models.model import Model


def fill(values: list[float], length: int) -> np.ndarray:
    """Array of `length`: a shorter list is continued with its last value."""
    return np.array([*values, *[values[-1]] * (length - len(values))], dtype=float)


def check_lengths(model: Model, *names: str) -> None:
    """Raise a ValueError for lists of a model that are longer than d."""
    for name in names:
        if (length := len(getattr(model, name))) > model.dimension:
            raise ValueError(
                f"{name}: must have at most dimension = {model.dimension} entries, not {length}"
            )
