"""Checks in new processes see what a module or a model keeps of its rows."""

import numpy as np
import pytest
from hostile_rows import (
    DrawsAboutKept,
    KeepsAMean,
    KeepsItsData,
    KeepsTheLargest,
    Normal,
    OutcomesAboutKept,
    PowerOfKept,
    Prepares,
    PreparesCodes,
    PreparesLargeFiles,
    PreparesOnce,
    PreparesWords,
    PriorAboutKept,
    RatioAboutKept,
    ScalesByKept,
    TakesUsualOutcomes,
)

from dpmcmc.evaluation.checking.cases import Case
from dpmcmc.evaluation.checking.findings import find_all
from dpmcmc.evaluation.checking.fresh import (
    others_first_in_new_processes,
    others_stay_in_new_processes,
    rows_prepared_alone,
)
from dpmcmc.models.banana import Banana
from dpmcmc.models.regression import LogisticRegression

BANANA = Banana(
    dimension=2,
    num_rows=50,
    curvature=1.0,
    prior_variance=1.0,
    likelihood_variances=[1.0, 2.0],
    true_position=[0.0, 1.0],
)


def found(check, model):
    case = Case(model, np.random.default_rng(1))
    (finding,) = find_all([(check, case, np.random.default_rng(2))])
    return finding


@pytest.mark.parametrize("model", [Normal(), BANANA, LogisticRegression(3, 50, 1.0, 2.0)])
def test_models_that_keep_nothing_pass(model):
    assert found(others_stay_in_new_processes, model).passed
    assert found(others_first_in_new_processes, model).passed
    assert found(rows_prepared_alone, model).passed


@pytest.mark.parametrize("cls", [KeepsAMean, KeepsItsData, KeepsTheLargest])
def test_a_likelihood_that_keeps_something_of_its_rows_fails(cls):
    finding = found(others_stay_in_new_processes, cls())
    assert finding.passed is False
    assert finding.found == "100 of 100 others move"


@pytest.mark.parametrize(
    ("cls", "moved"),
    [
        (ScalesByKept, "terms"),
        (RatioAboutKept, "prior"),
        (PriorAboutKept, "prior"),
        (DrawsAboutKept, "draws of prior"),
        (PowerOfKept, "power"),
        (OutcomesAboutKept, "outcomes"),
        (KeepsAMean, "terms"),
    ],
)
def test_what_a_model_knows_of_other_rows_shows(cls, moved):
    finding = found(others_first_in_new_processes, cls())
    assert finding.passed is False
    assert finding.found == f"other {moved}"


def test_prepare_is_tried_on_simulated_columns():
    assert found(rows_prepared_alone, Prepares()).found == (
        "no row moves in 12 tables of up to 400 rows"
    )
    large = PreparesLargeFiles(num_rows=5000)
    for model in (PreparesOnce(), PreparesCodes(), large, TakesUsualOutcomes()):
        finding = found(rows_prepared_alone, model)
        assert finding.passed is False and finding.found.startswith("makes other rows")
    finding = found(rows_prepared_alone, PreparesWords())
    assert finding.passed is None
    assert finding.found.startswith("not tried: it raises ValueError (hostile_rows.py, line ")
