"""How many outcomes are farther out than a model lets one expect: released at a small cost.

A bounded score counts an outcome that is far out as if it were near. Where a model expects few of
them and there are many, that moves the answer, and nothing else that was released shows it. So a
small share of mu^2 buys two noisy counts: of rows whose outcome is among the farthest tenth and
hundredth, by what the model says at a released theta. A row that is exchanged changes each of the
two by one at most.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dpmcmc.models.model import Model
from dpmcmc.samplers.streams import Streams

LEVELS = (0.1, 0.01)  # probabilities, under the model, of an outcome as far out or farther
SENSITIVITY = math.sqrt(len(LEVELS))
MOST_RATIO = 1.5  # of the share of far outcomes to what is expected
SURE = 3.0  # standard deviations by which it must be more than that
ROWS_AT_ONCE = 2**14


class Far(NamedTuple):
    """Share of the rows with outcomes that are far out."""

    level: float  # one of `LEVELS`
    expected: float  # by the model
    found: float  # with noise
    sd: float  # of what was found, by noise and by the sampling of the rows

    @property
    def is_too_much(self) -> bool:
        """Whether it is surely more than the model's, by half and more."""
        return self.found - SURE * self.sd > MOST_RATIO * self.expected


def are_too_many(far: Iterable[Far]) -> bool:
    """Whether outcomes are too often far out, at any level."""
    return any(one.is_too_much for one in far)


def has_tails(model: Model) -> bool:
    """True if the class of a model defines `tail_probabilities`."""
    return type(model).tail_probabilities is not Model.tail_probabilities


def measured(
    rng: Streams, model: Model, theta: np.ndarray, rows: np.ndarray, noise: float
) -> np.ndarray:
    """Shares of the rows (n, p) that are far out at theta, with noise, one for each of `LEVELS`.

    Noise is its standard deviation over the sensitivity.
    """
    sd = SENSITIVITY * noise
    return rng.add_noise(counts(model, theta, rows), SENSITIVITY, sd) / len(rows)


def counts(model: Model, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Numbers of rows that are far out at theta, one for each of `LEVELS`.

    Raises
    ------
    ValueError
        If the model returns an array of another shape.
    """
    found = np.zeros(len(LEVELS))
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        with np.errstate(all="ignore"):
            tails = np.asarray(model.tail_probabilities(theta, some))
        if tails.shape != (len(some),):
            raise ValueError(
                f"{type(model).__name__}.tail_probabilities: must return an array of shape "
                f"({len(some)},), not {tails.shape}"
            )
        found += [np.count_nonzero(tails <= level) for level in LEVELS]
    return found


def compared(
    expected: np.ndarray, found: np.ndarray, num_rows: int, noise: float
) -> tuple[Far, ...]:
    """`Far` for each of `LEVELS`; the parameters are those of its fields, and of `measured`."""
    sampling = expected * (1 - expected) / num_rows
    sds = np.sqrt((SENSITIVITY * noise / num_rows) ** 2 + sampling)
    columns = expected.tolist(), found.tolist(), sds.tolist()
    return tuple(Far(*one) for one in zip(LEVELS, *columns, strict=True))
