"""Settings of jobs of a whole study: tables, claims, the audit, searches (see `specs`)."""

from typing import Any

from dpmcmc_studies.analysis.claims import Claim
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.schema import Tuning


class Model(specs.Spec, kw_only=True):
    """A row of the table of models."""

    model: str
    d: int
    settings: dict[str, Any]
    reference: str


class StudyTables(specs.Spec, kw_only=True):
    """Settings that the tables of a study depend on, beside those of its models."""

    models: list[Model]
    swept: list[str]


class AnalysisTables(specs.Spec, kw_only=True):
    """Settings that the tables that follow depend on, beside those of the study."""

    stand_ins: dict[str, str]  # from an algorithm that stands in for another to that one's id
    swept: list[str]  # columns of what sweeps vary
    claims: list[Claim]
    chains_per_sample: int


class AuditCase(specs.Spec, kw_only=True):
    """Settings that the audit of a case depends on."""

    study_seed: int
    case: str
    runs: int
    delta: float
    confidence: float


class Search(specs.Spec, kw_only=True):
    """Settings that the search of the settings of an algorithm on a model depends on."""

    twins: specs.Reference  # data sets apart, and their reference samples
    budget: specs.Budget  # with the study's own settings
    settings: dict[str, Any]  # the study's own
    tuning: Tuning  # as far as it concerns this search
    stored_draws: int | None = None
