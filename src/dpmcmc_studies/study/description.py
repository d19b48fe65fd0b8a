"""A study as its pages see it: `study.json`, which the workflow writes and pages read."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from dpmcmc_studies.study import specs


class ModelDescription(Struct):
    """A model that runs."""

    label: str = ""
    dimension: int = 0
    num_rows: int = 0
    entry: dict[str, Any] = {}  # for `dpmcmc.registry.build`
    data: specs.DataFile | UnsetType = UNSET
    parameter_names: list[str] | UnsetType = UNSET


class AlgorithmDescription(Struct):
    """An algorithm that runs."""

    label: str = ""
    about: str = ""
    colour: str = ""
    sampler: str = ""  # name of its class
    accountant: str | None = None
    variant_of: str | None = None
    has_free_steps: bool = False
    settings: dict[str, dict[str, Any]] = {}  # by model
    entries: dict[str, dict[str, Any]] = {}  # by model, for `dpmcmc.registry.build`


class RelatedStudy(Struct):
    """Another study, and what differs there."""

    title: str
    difference: str


class PageDescription(Struct):
    """A page."""

    title: str = ""
    question: str = ""
    figures: dict[str, str] = {}  # captions by name
    kept: list[str] = []  # what it keeps of chains


class StudyDescription(Struct, kw_only=True):
    """A study beside its tables; models and algorithms that run are in the order of its file."""

    study: str = ""  # its name in paths
    title: str = ""
    seed: int = 0  # from which random streams derive
    seeds: int = 0  # chains a cell
    delta_times_n: float = 0.0  # n delta, of the bound (epsilon, delta)
    fewer_seeds: dict[str, int] = {}  # of cells that have fewer, by model/algorithm/run
    chains_per_sample: int = 1  # chains that share a budget and make one sample
    models: dict[str, ModelDescription] = {}
    algorithms: dict[str, AlgorithmDescription] = {}
    tables: list[str] = []  # names
    claim_labels: dict[str, str] = {}  # for the statements of some claims in the figure, by number
    remarks: list[str] = []
    related: dict[str, RelatedStudy] = {}  # by name
    notebooks: dict[str, PageDescription] = {}  # in the order of reading
