"""Schema of a study's file: its keys, their types and ranges.

Entries of models and algorithms are in `dpmcmc.configuration.keys`. What spans several keys is
checked in `dpmcmc_studies.study.checks` and `runs`.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dpmcmc.configuration.keys import (
    Entries,
    Id,
    Ids,
    Label,
    Names,
    Table,
    Text,
    whole,
)
from dpmcmc.configuration.yaml_files import Some
from dpmcmc.settings import Positive
from dpmcmc_studies.analysis.claims import Claim

Colour = Annotated[
    str,
    Meta(
        pattern=r"^(#[0-9A-Fa-f]{6}|[a-z0-9][a-z0-9.-]{0,63})\Z",
        description="is not a colour; a colour is #rrggbb or the id of an algorithm that has it",
    ),
]
Epsilon = Annotated[float, Meta(ge=1e-6, le=100)]
Share = Annotated[float, Meta(ge=0, le=1)]


Seeds = whole(1, 100_000)
Iterations = whole(1, 10_000_000)


class Mmd(Table):
    """Settings of the estimate of the MMD."""

    bandwidth_pairs: whole(1, 1_000_000)
    max_draws: whole(2, 1_000_000)


class Run(Table):
    """An entry of `runs`."""

    models: Ids
    algorithms: Ids
    epsilons: Annotated[list[Epsilon], Some] = ()
    iterations: Annotated[list[whole(1, 100_000_000)], Some] = ()
    vary: Annotated[dict[str, Annotated[list[Id | int | float], Some]], Some] = msgspec.field(
        default_factory=dict
    )
    start_sd: Positive = None
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
    curves: dict[Id, Names]


class Audit(Table):
    """Settings of the audit of the samplers' own code."""

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
    """Settings of the search by `snakemake tune`."""

    epsilons: Annotated[list[Epsilon], Some]
    trials: whole(1, 10_000)
    seeds: whole(1, 1000)
    finalists: whole(1, 100)
    confirming_seeds: whole(2, 1000)
    largest_clip_fraction: Share
    max_iterations: whole(2, 10_000_000)
    factors: Annotated[dict[str, Annotated[float, Meta(gt=1, le=1_000_000)]], Some]
    fixed: dict[Id, Names] = msgspec.field(default_factory=dict)
    theta: Literal["prior"] = None
    models: Ids = ()
    algorithms: Ids = ()


class Config(Entries, kw_only=True, forbid_unknown_fields=True):
    """A study, with what it takes from the library."""

    seeds: Seeds
    delta_times_n: Annotated[float, Meta(gt=0, le=1)]
    reference_draws: whole(2, 1_000_000)
    baseline_samples: whole(1, 1000)
    mmd: Mmd
    runs: Annotated[list[Run], Some]
    colours: dict[Id, Colour] = msgspec.field(default_factory=dict)
    data_sets: whole(1, 10_000) = None
    chains_per_sample: whole(1, 1000) = 1
    max_iterations: Iterations = None
    stored_draws: whole(2, 10_000_000) = None
    accounting_curves: Curves = None
    notebooks: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    remarks: list[Text] = ()
    related: dict[Id, Text] = msgspec.field(default_factory=dict)
    title: Label = None
    claims: list[Claim] = ()
    audit: Audit = None
    intervals: Intervals = None
    unscored: Ids = ()  # models whose chains have no scores
    tuning: Tuning = None
