"""Models of one's own whose code sees as many rows in a release as it saw in its checks.

Privacy rests on it that what a model says of a row depends on no other row. A check shows that for
some number of rows, and a function may look at others where there are more. So all that reads rows
in a class of one's own is called on a fixed number of them: what a release calls once on a single
row, and what a chain calls again and again on `BLOCK`, never fewer. They are copies, from which the
other rows cannot be reached. The package's own functions read as many as is fastest.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.models.model import Model

BLOCK = 256  # rows


class Reads(NamedTuple):
    """How a function of a model gets rows."""

    place: int  # of the rows among its arguments
    size: int  # how many at once
    axis: int = 0  # of what it returns, along which rows are


READS = {
    "prepare": Reads(0, 1),
    "is_outcome": Reads(0, 1),
    "statistics": Reads(0, 1, axis=1),
    "log_likelihood": Reads(1, BLOCK),
    "log_likelihood_ratio": Reads(2, BLOCK),
    "gradient": Reads(1, BLOCK),
    "bounded_scores": Reads(1, BLOCK),
    "tail_probabilities": Reads(1, BLOCK),
}


def own_functions(cls: type) -> tuple[str, ...]:
    """Functions of rows that a class of models has from outside of this package."""
    definers = {
        name: next((one for one in cls.__mro__ if name in vars(one)), Model) for name in READS
    }
    return tuple(name for name, one in definers.items() if not is_of_package(one))


def is_of_package(cls: type) -> bool:
    """True if a class is of this package."""
    return cls.__module__.startswith("dpmcmc.")


def in_blocks(model: Any) -> Any:
    """The model; one of one's own with functions that see a fixed number of rows at once."""
    cls: type = type(model)
    own = own_functions(cls)
    if not own or isinstance(model, Blocked):
        return model
    blocked: Any = object.__new__(blocked_class(cls, own))
    vars(blocked).update(vars(model))
    return blocked


class Blocked:
    """Marks the classes that `in_blocks` makes."""


@cache
def blocked_class(cls: type, own: tuple[str, ...]) -> type:
    """A class that is as another, but for its own functions of rows."""

    def of_blocks(name: str) -> Any:
        place, size, axis = READS[name]

        def function(self: Any, *arguments: Any) -> Any:
            of_rows = getattr(super(blocked, self), name)
            before, rows, after = arguments[:place], arguments[place], arguments[place + 1 :]
            parts = [
                cut(of_rows(*before, some, *after), size, count, axis, f"{cls.__name__}.{name}")
                for some, count in blocks(np.asarray(rows), size)
            ]
            return joined(parts, axis) if parts else of_rows(*arguments)

        return function

    same = {key: getattr(cls, key) for key in ("__module__", "__qualname__", "__doc__")}
    members = same | {name: of_blocks(name) for name in own}
    blocked = type(cls)(cls.__name__, (cls, Blocked), members)
    return blocked


def blocks(rows: np.ndarray, size: int) -> Iterator[tuple[np.ndarray, int]]:
    """Copies of rows, always `size` of them, and how many count: the last one fills up the rest."""
    num_rows = len(rows)
    for start in range(0, num_rows, size):
        places = np.arange(start, start + size).clip(max=num_rows - 1)
        yield rows.take(places, axis=0), min(size, num_rows - start)


def cut(found: Any, size: int, count: int, axis: int, name: str) -> Any:
    """Terms of the rows that count; a ValueError unless there is one for each row of a block.

    A single row may be left out.
    """
    if isinstance(found, tuple):  # `Scores`
        return type(found)(*(cut(part, size, count, axis, name) for part in found))
    found = np.asarray(found)
    length = found.shape[axis] if found.ndim > axis else -1
    if length != size and not (size == 1 and length == 0):
        raise ValueError(f"{name}: must return terms of {size} rows, not of shape {found.shape}")
    return found if count == size else found[:count]


def joined(parts: list[Any], axis: int) -> Any:
    """Terms of all blocks."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], tuple):
        return type(parts[0])(*map(np.concatenate, zip(*parts, strict=True)))
    return np.concatenate(parts, axis=axis)
