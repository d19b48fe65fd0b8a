"""Keys of the entries of models and algorithms in a study's file, their types and ranges.

All other keys of a model, and settings of algorithms, are the fields of their classes
(`dpmcmc.settings.schema`).
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

from dpmcmc.configuration.yaml_files import Some
from dpmcmc.settings import Seed

ID = Meta(
    pattern=r"^[a-z0-9][a-z0-9.-]{0,63}\Z",
    description="is not a valid id; an id is 1 to 64 lower-case letters, digits, dots and hyphens, "
    "and starts with a letter or digit",
)
Id = Annotated[str, ID]
Label = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1, max_length=1000)]
UNIQUE = Meta(min_length=1, extra={"unique": True})  # no entry twice


def whole(low, high):
    """Type of the whole numbers of a range."""
    return Annotated[int, Meta(ge=low, le=high)]


class Table(Struct, forbid_unknown_fields=True):
    """A map that has these keys and no others."""


class Model(Struct):
    """An entry of `models`; all other keys are settings."""

    kind: str
    label: Label = None
    data: Annotated[str, Some] = None
    columns: Annotated[list[Label], UNIQUE] = None
    held_out: Annotated[float, Meta(gt=0, lt=1)] = None
    reference: str = None
    data_sets: whole(1, 10_000) = None
    settings_of: Id = None


class Algorithm(Table):
    """An entry of `algorithms`."""

    sampler: str
    move: str = None
    start: str = None
    accountant: str = None
    in_place_of: Id = None
    label: Label = None
    about: Text = ""
    settings: dict[str, dict[str, Any]] = {}
    powers_of_n: dict[str, Annotated[float, Meta(ge=-4, le=4)]] = {}


class Entries(Struct, kw_only=True):
    """Keys of a study's file that a release reads."""

    study: Id
    seed: Seed
    models: Annotated[dict[Id, Model], Some]
    algorithms: Annotated[dict[Id, Algorithm], Some]


MODEL_KEYS = Model.__struct_fields__  # those that are no settings
