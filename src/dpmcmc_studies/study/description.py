"""A study as its pages see it: `study.json`, which the workflow writes and pages read."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from dpmcmc_studies.study.specs import DataFileSpec


class ModelDescription(Struct):
    """A model that runs."""

    label: str = ""
    dimension: int = 0
    num_rows: int = 0
    entry: dict[str, Any] = {}  # for `dpmcmc.registry.build`
    data: DataFileSpec | UnsetType = UNSET
    parameter_names: list[str] | UnsetType = UNSET


class AlgorithmDescription(Struct):
    """An algorithm that runs."""

    label: str = ""
    about: str = ""
    colour: str = ""
    sampler: str = ""  # name of its class
    accountant: str | None = None
    in_place_of: str | None = None
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
    """What pages know of a study beside its tables.

    Attributes
    ----------
    study, title : str
        Its name in paths, and on pages.
    seed, seeds : int
        From which random streams derive; chains a cell.
    delta_times_n : float
        n delta, of the bound (epsilon, delta).
    fewer_seeds : dict of str to int
        Chains of cells that have fewer, by model, algorithm and run with "/" between.
    chains_per_sample : int
        Chains that share a budget and make one sample.
    models, algorithms : dict of str to ModelDescription or AlgorithmDescription
        What runs, by id, in the order of the configuration.
    tables : list of str
        Names of the tables.
    claim_labels : dict of str to str
        What stands for the statements of some claims in the figure, by number.
    remarks : list of str
        What to bear in mind when reading the study.
    related : dict of str to RelatedStudy
        By name.
    notebooks : dict of str to PageDescription
        In the order of reading.
    """

    study: str = ""
    title: str = ""
    seed: int = 0
    seeds: int = 0
    delta_times_n: float = 0.0
    fewer_seeds: dict[str, int] = {}
    chains_per_sample: int = 1
    models: dict[str, ModelDescription] = {}
    algorithms: dict[str, AlgorithmDescription] = {}
    tables: list[str] = []
    claim_labels: dict[str, str] = {}
    remarks: list[str] = []
    related: dict[str, RelatedStudy] = {}
    notebooks: dict[str, PageDescription] = {}
