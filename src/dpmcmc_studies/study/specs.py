"""Settings of jobs: a type for each kind of job, for the workflow that makes them and for the job.

They are JSON between the two. What has its default is left out, so a setting that few studies have
changes no job of the others. Every job imports this module, so the types of jobs of a whole study,
which change no chain, are in `dpmcmc_studies.study.study_specs`.
"""

from typing import Any, NamedTuple

import msgspec

CELL_COLUMNS = ["model", "algorithm", "run"]  # of tables: they say the cell of a row


class Spec(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Settings of a job, and nothing else: a change of the study reruns what it changes alone."""


class DataFile(Spec, kw_only=True):
    """The file of a model's data."""

    file: str
    columns: list[str]
    digest: str | None = None  # of its bytes; None in what is published
    held_out: float | None = None  # share of the rows


class Dataset(Spec, kw_only=True):
    """Settings that the data set of a model depends on."""

    study_seed: int
    model: str
    model_entry: dict[str, Any]  # for `dpmcmc.registry.build`
    data: DataFile | None = None  # None: simulated
    data_sets: int | None = None  # where there are several
    theta: str | None = None  # "prior": drawn from the prior, whatever the model says


class Reference(Dataset, kw_only=True):
    """Settings that the reference sample of a model depends on."""

    draws: int
    reference: str | None = None  # its kind, if it is not exact


class Baselines(Reference, kw_only=True):
    """Settings that the baseline samples of a model depend on."""

    samples: int


class Mechanism(Spec, kw_only=True):
    """Settings that the privacy of an iteration depends on, and the delta to be kept; no data."""

    model: str
    algorithm: str
    sampler: dict[str, Any]  # for `dpmcmc.registry.build`
    num_rows: int
    likelihood_power: int | float
    delta: float
    accountant: str | None
    chains_per_sample: int


class Budget(Mechanism, kw_only=True):
    """Settings that the number of iterations of a cell, or their cost, depends on."""

    varied: dict[str, Any]
    iterations: int | None = None
    epsilon: float | None = None
    max_iterations: int | None = None


class Certification(Mechanism, kw_only=True):
    """Settings that the cost of a cell by another accountant depends on, beside its budget."""

    epsilon: float


class AccountingCurve(Mechanism, kw_only=True):
    """Settings that a curve of iterations against epsilon depends on."""

    epsilons: list[float]


class Chain(Dataset, kw_only=True):
    """Settings that one chain depends on, beside the files that it reads."""

    algorithm: str
    sampler: dict[str, Any]
    run: str  # label in random streams
    varied: dict[str, Any]
    seed: int
    start_sd: int | float | None = None
    stored_draws: int | None = None


class BaselineTable(Dataset, kw_only=True):
    """Settings that the metrics of a model's samples depend on, beside the samples."""

    mmd: dict[str, int]
    seeds: int
    chains_per_sample: int


class Cell(NamedTuple):
    """A cell of a table of chains."""

    algorithm: str
    run: str  # in paths
    stream: str  # label in random streams
    seeds: int


class ChainTable(Dataset, kw_only=True):
    """Settings that the table of a model's chains depends on, beside the chains."""

    mmd: dict[str, int]
    chains_per_sample: int
    cells: list[Cell]


class ScoreTable(Dataset, kw_only=True):
    """Settings that the scores of a model's chains depend on, beside the chains."""

    chains_per_sample: int
    cells: list[Cell]


class Intervals(Spec, kw_only=True):
    """Settings that the intervals of a model depend on."""

    study_seed: int
    model: str
    model_entry: dict[str, Any]
    draws: int
    data_sets: int
    cells: list[Budget]


class Rows(Spec):
    """Which rows of a table are taken from committed tables."""

    tables: str  # their directory; empty where none is taken
    parts: dict[str, str | None]  # fingerprint of what is taken; None: the rows are computed


class Precompute(Spec, kw_only=True):
    """Parts that are computed once a study for samplers."""

    cls: str = msgspec.field(name="class")
