"""What a study's file may hold: its keys, their types and ranges.

Settings of models and algorithms are not here: they are the fields of their classes
(`dpmcmc.settings.schema`). What spans several keys is checked in `dpmcmc.study.checks` and `runs`.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from dpmcmc.settings import Seed
from dpmcmc.study.config import Some

ID = Meta(
    pattern=r"^[a-z0-9][a-z0-9.-]{0,63}\Z",
    description="is not a valid id; an id is 1 to 64 lower-case letters, digits, dots and hyphens, "
    "and starts with a letter or digit",
)
Id = Annotated[str, ID]
Label = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1, max_length=1000)]
UNIQUE = Meta(min_length=1, extra={"unique": True})  # no entry twice
Ids = Annotated[list[Id], UNIQUE]
Colour = Annotated[
    str,
    Meta(
        pattern=r"^(#[0-9A-Fa-f]{6}|[a-z0-9][a-z0-9.-]{0,63})\Z",
        description="is no colour; a colour is #rrggbb or the id of an algorithm that has it too",
    ),
]
Epsilon = Annotated[float, Meta(ge=1e-6, le=100)]
Share = Annotated[float, Meta(ge=0, le=1)]


def whole(low, high):
    """Type of the whole numbers of a range."""
    return Annotated[int, Meta(ge=low, le=high)]


Seeds = whole(1, 100_000)
Iterations = whole(1, 10_000_000)


class Table(Struct, forbid_unknown_fields=True):
    """A map that has these keys and no others."""


class Mmd(Table):
    """How the MMD is estimated."""

    bandwidth_pairs: whole(1, 1_000_000)
    max_draws: whole(2, 1_000_000)


class Run(Table):
    """An entry of `runs`."""

    models: Ids
    algorithms: Ids
    epsilons: Annotated[list[Epsilon], Some] = None
    iterations: Annotated[list[whole(1, 100_000_000)], Some] = None
    vary: Annotated[dict[str, Annotated[list[Id | float], Some]], Some] = None
    start_sd: Annotated[float, Meta(gt=0)] = None
    max_iterations: Iterations = None
    max_seeds: Seeds = None


class Range(Table):
    """Epsilons of curves."""

    low: Epsilon = msgspec.field(name="from")
    high: Epsilon = msgspec.field(name="to")
    count: whole(2, 1000)


class Curves(Table):
    """Curves of iterations against epsilon."""

    model: Id
    epsilons: Range
    curves: dict[Id, Annotated[list[str], UNIQUE]]


class Claim(Table):
    """A claim that is held against the tables."""

    section: Label
    statement: Text
    rule: str
    of: Annotated[list[Annotated[dict[str, Any], Some]], Some]
    label: Text = None  # in the figure, where the statement needs the one before it


class Audit(Table):
    """What the audit of the samplers' own code runs."""

    runs: whole(100, 1_000_000)
    delta: Annotated[float, Meta(ge=1e-3, le=1e-2)]
    confidence: Annotated[float, Meta(ge=0.5, le=0.999999)]
    cases: Ids


class Intervals(Table):
    """Whose intervals are tried on data sets that are drawn at a theta from the prior."""

    data_sets: whole(2, 1_000_000)
    models: Ids
    algorithms: Ids


class Tuning(Table):
    """What `snakemake tune` searches."""

    epsilon: Epsilon
    trials: whole(1, 10_000)
    seeds: whole(1, 1000)
    finalists: whole(1, 100)
    confirming_seeds: whole(2, 1000)
    largest_clip_fraction: Share
    max_iterations: whole(2, 10_000_000)
    factors: Annotated[dict[str, Annotated[float, Meta(gt=1, le=1_000_000)]], Some]
    fixed: dict[Id, Annotated[list[str], UNIQUE]] = {}
    theta: Literal["prior"] = None
    models: Ids = None
    algorithms: Ids = None


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


class Config(Table):
    """A study, with what it takes from the library."""

    study: Id
    seed: Seed
    seeds: Seeds
    delta_times_n: Annotated[float, Meta(gt=0, le=1)]
    reference_draws: whole(2, 1_000_000)
    baseline_samples: whole(1, 1000)
    mmd: Mmd
    runs: Annotated[list[Run], Some]
    models: Annotated[dict[Id, Model], Some]
    algorithms: Annotated[dict[Id, Algorithm], Some]
    colours: dict[Id, Colour] = {}
    data_sets: whole(1, 10_000) = None
    chains_per_sample: whole(1, 1000) = None
    max_iterations: Iterations = None
    stored_draws: whole(2, 10_000_000) = None
    accounting_curves: Curves = None
    notebooks: dict[str, dict[str, Any]] = None
    remarks: list[Text] = None
    related: dict[Id, Text] = None
    title: Label = None
    claims: list[Claim] = None
    audit: Audit = None
    intervals: Intervals = None
    tuning: Tuning = None


MODEL_KEYS = Model.__struct_fields__  # those that are no settings
