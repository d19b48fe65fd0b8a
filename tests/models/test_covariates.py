"""Columns in their own units: names, labels, centres and scales, and draws back in these units."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dpmcmc import LogisticRegression, RobustRegression, SoftmaxRegression

BOUNDS = {"num_rows": 50, "prior_variance": 1.0, "covariate_bound": 100.0}
NAMED = {"outcome": "repaid", "covariates": ["age", "income"], "intercept": True}
UNITS = {"centres": {"income": 4e4, "age": 50}, "scales": {"income": 2e4, "age": 20}}
SIZED = {"dimension": 3} | BOUNDS
LOGISTIC = LogisticRegression(**SIZED | NAMED | UNITS)
MODELS = [
    LOGISTIC,
    LogisticRegression(**SIZED, intercept=True, centres=[50, 4e4], scales=[20, 2e4]),
    RobustRegression(**SIZED | NAMED | UNITS, degrees=3, scale=2.0),
    SoftmaxRegression(**BOUNDS | NAMED | UNITS, labels=[3, 1, 2]),
]


def columns(seed=1, rows=50):
    """Rows of a file: an outcome that is 1 or 2, an age and an income."""
    rng = np.random.default_rng(seed)
    ages, incomes = 50 + 20 * rng.standard_normal(rows), 4e4 + 2e4 * rng.standard_normal(rows)
    return np.column_stack([rng.choice([1.0, 2.0], rows), ages, incomes])


@pytest.mark.parametrize("model", MODELS)
def test_draws_in_the_units_of_the_file_predict_as_those_of_theta(model):
    rows, draws = columns(), np.random.default_rng(2).standard_normal((2, 5, model.dimension))
    own = model.in_file_units(draws)
    of_model, of_file = model.prepare(rows)[:, 1:], np.insert(rows[:, 1:], 0, 1, axis=1)
    for theta, other in zip(draws.reshape(10, -1), own.reshape(10, -1), strict=True):
        predictors = (x @ t.reshape(3, -1) for x, t in ((of_model, theta), (of_file, other)))
        np.testing.assert_allclose(*predictors, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(draws, np.random.default_rng(2).standard_normal(draws.shape))


def test_without_new_settings_rows_and_draws_are_as_they_were():
    model, rows = LogisticRegression(2, 50, 1.0, 2.0), columns()
    lengths = np.linalg.norm(rows[:, 1:], axis=1)
    factors = 2.0 / np.maximum(lengths, 2.0)
    expected = np.column_stack([rows[:, 0], rows[:, 1:] * factors[:, None]])
    np.testing.assert_array_equal(model.prepare(rows), expected)
    draws = np.random.default_rng(1).standard_normal((4, 2))
    np.testing.assert_array_equal(model.in_file_units(draws), draws)
    assert model.columns == () and model.parameter_names == ()


def test_an_intercept_is_a_one_that_counts_for_the_bound():
    model = LogisticRegression(3, 2, 1.0, 3.0, intercept=True, centres=10.0, scales=2.0)
    rows = model.prepare(np.array([[1.0, 14.0, 14.0], [0.0, 30.0, 10.0]]))
    np.testing.assert_allclose(rows[0], [1, 1, 2, 2])
    np.testing.assert_allclose(rows[1], np.array([0, 1, 10, 0]) * 3 / np.sqrt(101))
    simulated = model.simulate(np.random.default_rng(1))
    assert simulated.shape == model.data_shape == (2, 4)
    lengths = np.linalg.norm(simulated[:, 1:], axis=1)
    assert ((simulated[:, 1] == 1) | np.isclose(lengths, 3)).all()


def test_names_of_columns_name_the_components():
    assert LOGISTIC.columns == ("repaid", "age", "income")
    assert LOGISTIC.parameter_names == ["intercept", "age", "income"]
    assert MODELS[1].parameter_names == ()
    assert MODELS[1].names_of(["y", "a", "b"]) == ["intercept", "a", "b"]
    names = "intercept[1] intercept[2] age[1] age[2] income[1] income[2]"
    assert MODELS[3].parameter_names == names.split()


def test_labels_are_outcomes_and_others_are_none():
    model = LogisticRegression(1, 50, 1.0, 2.0, labels=[2, 1])
    rows = model.prepare(np.array([[2.0, 0], [1.0, 0], [0.0, 0], [1.5, 0]]))
    assert rows[:2, 0].tolist() == [0, 1]
    assert model.is_outcome(rows[:, 0]).tolist() == [True, True, False, False]
    assert model.outcome_values == "2 or 1"
    model = MODELS[3]
    rows = model.prepare(np.array([[3.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0], [0.0, 0, 0]]))
    assert rows[:3, 0].tolist() == [0, 1, 2]
    assert model.is_outcome(rows[:, 0]).tolist() == [True, True, True, False]
    assert model.outcome_values == "3, 1 or 2"


@dataclass(frozen=True)
class WithSpread(RobustRegression):
    """Theta ends with a component that belongs to no covariate."""

    further_names: ClassVar = ("log_spread",)


def test_what_theta_has_beside_coefficients_stays():
    model = WithSpread(**SIZED | {"dimension": 4} | NAMED | UNITS)
    assert model.parameter_names == ["intercept", "age", "income", "log_spread"]
    own = model.in_file_units(np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(own, [1 - 5 - 6, 0.1, 1.5e-4, 4])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outcome": None}, "outcome: must be given if covariates are, and only then"),
        ({"covariates": None}, "outcome: must be given if covariates are, and only then"),
        ({"covariates": ["age", "age"]}, "covariates: must be different names"),
        ({"covariates": ["age", "repaid"]}, "covariates: must be different names"),
        ({"covariates": ["age", "intercept"]}, "covariates: must be different names"),
        ({"dimension": 2}, "dimension: must be 3, for the intercept and each covariate, not 2"),
        ({"dimension": 1}, "dimension: must be 3, for the intercept and each covariate, not 1"),
        ({"intercept": False}, "dimension: must be 2, for each covariate, not 3"),
        ({"intercept": False, "dimension": 2}, "centres: must be 0 without intercept: true"),
        ({"centres": [1.0]}, "centres: must be 2, one for each covariate, not 1"),
        ({"scales": [1.0] * 3}, "scales: must be 2, one for each covariate, not 3"),
        ({"scales": {"age": 20}}, "scales: must name age, income, not age"),
        ({"scales": {"age": 20, "incom": 1}}, "scales: must name age, income, not age, incom"),
        ({"scales": {"age": 20, "income": 0}}, "scales: Expected float > 0"),
        ({"scales": 0}, "scales: Expected float > 0"),
        ({"scales": "20"}, "scales: Expected"),
        ({"labels": [1, 1]}, "labels: must be different, not 1 or 1"),
        ({"labels": [1, 2, 3]}, "labels: "),
    ],
)
def test_settings_that_do_not_go_together_are_refused_in_one_line(changes, message):
    with pytest.raises(ValueError, match=message) as error:
        LogisticRegression(**SIZED | NAMED | UNITS | changes)
    assert "\n" not in str(error.value)


def test_names_are_needed_for_centres_by_name():
    with pytest.raises(ValueError, match="centres: must be a number or a list where covariates"):
        LogisticRegression(**SIZED, intercept=True, centres={"age": 50, "income": 4})
    with pytest.raises(ValueError, match="scales: must be a list where a column has the name cl"):
        names = {"outcome": "y", "covariates": ["class", "age"], "intercept": True}
        LogisticRegression(**SIZED | names, scales={"class": 2, "age": 3})


def test_columns_of_an_entry_must_go_with_the_settings():
    with pytest.raises(ValueError, match="columns: must be left out, because outcome and cov"):
        LOGISTIC.check_columns(["repaid", "income", "age"])
    with pytest.raises(ValueError, match="columns: must be 3, the outcome and 2 covariates, not 4"):
        MODELS[1].check_columns(["y", "one", "age", "income"])
    LOGISTIC.check_columns(LOGISTIC.columns)
    MODELS[1].check_columns(["y", "age", "income"])
