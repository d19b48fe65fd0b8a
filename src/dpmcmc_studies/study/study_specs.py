"""Settings of jobs of a whole study: tables, claims, the audit, searches (see `specs`)."""

from typing import Any

from dpmcmc_studies.analysis.claims import Claim
from dpmcmc_studies.study.specs import BudgetSpec, ReferenceSpec, Spec


class ModelSpec(Spec, kw_only=True):
    """A row of the table of models."""

    model: str
    d: int
    settings: dict[str, Any]
    reference: str


class StudyTablesSpec(Spec, kw_only=True):
    """What the tables of a study depend on, beside those of its models."""

    models: list[ModelSpec]
    swept: list[str]


class AnalysisTablesSpec(Spec, kw_only=True):
    """What the tables that follow depend on, beside those of the study."""

    stand_ins: dict[str, str]  # from an algorithm that stands in for another to that one's id
    swept: list[str]  # columns of what sweeps vary
    claims: list[Claim]
    chains_per_sample: int


class AuditCaseSpec(Spec, kw_only=True):
    """What the audit of a case depends on."""

    study_seed: int
    case: str
    runs: int
    delta: float
    confidence: float


class SearchSpec(Spec, kw_only=True):
    """What the search of the settings of an algorithm on a model depends on."""

    twin: ReferenceSpec  # the data set apart, and its reference sample
    budget: BudgetSpec  # with the study's own settings
    settings: dict[str, Any]  # the study's own
    factors: dict[str, float]
    mmd: dict[str, int]
    trials: int
    seeds: int
    finalists: int
    confirming_seeds: int
    largest_clip_fraction: float
    stored_draws: int | None = None
