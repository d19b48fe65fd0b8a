"""Public numbers that columns are standardised by: one for all, one for each, or by name."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from dpmcmc.settings import Number, Numbers, Positive, Positives

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Names = Annotated[list[Name], Meta(min_length=1)]
Centres = Number | Numbers | dict[str, Number]  # of all columns, of each, or by name
Scales = Positive | Positives | dict[str, Positive]
Range = Annotated[list[Number], Meta(min_length=2, max_length=2)]  # least and greatest value
Ranges = dict[str, Range]


def check_numbers(
    setting: str, given: Centres, count: int, names: Sequence[str] | None, of_each: str
) -> None:
    """Refuse a list of another length, and a map of other names.

    Parameters
    ----------
    setting : str
        Its name.
    given : float, list of float or dict of str to float
    count : int
        Columns.
    names : sequence of str or None
        Of the columns, if they have names.
    of_each : str
        What a column is: "covariate". The setting that names them has an s more.
    """
    if isinstance(given, list) and len(given) != count:
        raise ValueError(f"{setting}: must be {count}, one for each {of_each}, not {len(given)}")
    if not isinstance(given, dict):
        return
    if names is None:
        raise ValueError(f"{setting}: must be a number or a list where {of_each}s has no names")
    if given.keys() != set(names):
        raise ValueError(f"{setting}: must name {', '.join(names)}, not {', '.join(given)}")
    if "class" in given:
        raise ValueError(f"{setting}: must be a list where a column has the name class")


def check_ranges(ranges: Ranges, names: Sequence[str]) -> None:
    """Refuse ranges of columns that are not there, and ranges that do not hold two values."""
    for name, (least, greatest) in ranges.items():
        if name not in names:
            raise ValueError(f"ranges: must name some of {', '.join(names)}, not {name}")
        if not least < greatest:
            raise ValueError(f"ranges: {name} must go from a number to a greater one")
    if "class" in ranges:
        raise ValueError("ranges: a column that has one cannot have the name class")


def numbers_of(given: Centres, count: int, names: Sequence[str] | None) -> np.ndarray:
    """A number for each column, (count,)."""
    if isinstance(given, dict):
        given = [given[name] for name in names or ()]
    return np.broadcast_to(np.asarray(given, dtype=float), count)
