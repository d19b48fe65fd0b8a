"""Checks in new processes see what a module or a model keeps of its rows."""

import numpy as np
import pytest
from conftest import chosen
from hostile_rows import (
    DataAboutKept,
    DrawsAboutKept,
    KeepsAMean,
    KeepsItsData,
    KeepsTheLargest,
    LargeBlocks,
    Missing,
    Normal,
    OutcomesAboutKept,
    PowerOfKept,
    Prepares,
    PreparesCodes,
    PreparesLargeFiles,
    PreparesLogs,
    PreparesMissing,
    PreparesOnce,
    PreparesOutliers,
    PreparesTables,
    PreparesWords,
    PriorAboutKept,
    RatioAboutKept,
    ScalesByKept,
    ScoresOfAll,
    TakesUsualOutcomes,
    ThisBlock,
)

from dpmcmc.evaluation.checking.cases import Case
from dpmcmc.evaluation.checking.findings import find_all
from dpmcmc.evaluation.checking.fresh import (
    others_first_in_new_processes,
    others_stay_in_new_processes,
    rows_prepared_alone,
)
from dpmcmc.evaluation.checking.row_independence import other_rows_stay
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
        (DataAboutKept, "simulated rows"),
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
    finding = found(rows_prepared_alone, PreparesTables())
    assert finding.found == "raises an exception on a row alone"
    finding = found(rows_prepared_alone, PreparesWords())
    assert finding.passed is None
    assert finding.found.startswith("not tried: it raises ValueError (hostile_rows.py, line ")


@pytest.mark.parametrize(
    "cls", chosen([PreparesMissing, PreparesOutliers, PreparesLogs], PreparesMissing)
)
def test_prepare_of_a_row_with_others_is_compared_with_that_of_the_row_alone(cls):
    finding = found(rows_prepared_alone, cls())
    assert finding.found == "makes other rows of some beside others than alone"


@pytest.mark.parametrize(
    ("model", "moved"),
    [
        (LargeBlocks(num_rows=6000), "5999 others move"),  # of more rows than are simulated
        (LargeBlocks(num_rows=5000), "0 others move"),  # which it never sees
        (ThisBlock(), "255 others move"),
        (Missing(), "1 others move"),  # itself, as the others are exchanged
        (ScoresOfAll(), "399 others move"),
        (Normal(), "0 others move"),
    ],
)
def test_rows_are_as_many_as_are_seen_at_once(model, moved):
    finding = found(other_rows_stay, model)
    assert finding.found == moved
    assert finding.passed is moved.startswith("0")
