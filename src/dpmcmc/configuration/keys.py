"""Keys of the entries of models and algorithms in a study's file, their types and ranges.

All other keys of a model, and settings of algorithms, are the fields of their classes
(`dpmcmc.settings.schema`).
"""

from typing import Annotated, Any

from msgspec import Meta, Struct

from dpmcmc.configuration.yaml_files import Some, short
from dpmcmc.settings import Seed

ID = Meta(
    pattern=r"^[a-z0-9][a-z0-9.-]{0,63}\Z",
    description="is not a valid id; an id is 1 to 64 lower-case letters, digits, dots and hyphens, "
    "and starts with a letter or digit",
)
Id = Annotated[str, ID]
Label = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1, max_length=1000)]
Names = Annotated[list[str], Some]
Ids = Annotated[list[Id], Some]
ABSENT: Any = None  # stands for a key that is not there; a file cannot say it


def whole(low, high):
    """Type of the whole numbers of a range."""
    return Annotated[int, Meta(ge=low, le=high)]


DataSets = Annotated[int, Meta(ge=1, le=10_000)]


class Keys(Struct, omit_defaults=True):
    """Keys of a map; no list of texts in it has one of them twice."""

    def __post_init__(self):
        for key in self.__struct_fields__:
            value = getattr(self, key)
            for names in value.values() if isinstance(value, dict) else [value]:
                is_texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
                if is_texts and len(set(names)) < len(names):
                    raise ValueError(f"{key} lists an entry twice: {short(names)}")


class Table(Keys, forbid_unknown_fields=True):
    """A map that has these keys and no others."""


class ModelKeys(Keys):
    """Keys of an entry of `models`; all others are settings."""

    kind: str
    label: Label = ABSENT
    data: Annotated[str, Some] = ABSENT
    columns: Annotated[list[Label], Some] = ABSENT
    held_out: Annotated[float, Meta(gt=0, lt=1)] = ABSENT
    reference: str = ABSENT
    data_sets: DataSets = ABSENT
    same_settings_as: Id = ABSENT


class Algorithm(Table):
    """An entry of `algorithms`."""

    sampler: str
    move: str = ABSENT
    start: str = ABSENT
    accountant: str = ABSENT
    variant_of: Id = ABSENT
    label: Label = ABSENT
    about: Text = ""
    settings: dict[str, dict[str, Any]] = {}
    settings_at: dict[str, dict[float, dict[str, Any]]] = {}  # by model and epsilon
    powers_of_n: dict[str, Annotated[float, Meta(ge=-4, le=4)]] = {}


class Entries(Struct, kw_only=True, omit_defaults=True):
    """Keys of a study's file that a release reads.

    Settings of a model stand beside its keys, so `dpmcmc.configuration.entries.read_model` reads
    these.
    """

    study: Id
    seed: Seed
    models: Annotated[dict[Id, dict[str, Any]], Some]
    algorithms: Annotated[dict[Id, Algorithm], Some]


MODEL_KEYS = ModelKeys.__struct_fields__  # those that are no settings


def settings_in(entry):
    """Settings in an entry of `models`: all keys that are not of `ModelKeys`."""
    return {key: value for key, value in entry.items() if key not in MODEL_KEYS}
