"""Checks of data against the bound of a regression, for their owner."""

import numpy as np
import pytest

from dpmcmc.evaluation.checking.data import check_data
from dpmcmc.models.normal_columns import NormalColumns
from dpmcmc.models.poisson_regression import PoissonRegression
from dpmcmc.models.regression import LogisticRegression, RobustRegression

SHARE = "Rows longer than covariate_bound, which are scaled back to it"
CONSTANT = "Covariates that are constant"
APART = "Covariates that are no combination of others"
CODES = "Columns in which more than 1% have one value, far from all others"
DECIDED = "Flags that decide the outcome of more than 1% of the rows"


def found(covariates, bound=2.0, cls=LogisticRegression):
    covariates = np.column_stack(covariates)
    model = cls(covariates.shape[1], len(covariates), 1.0, bound)
    columns = ["y", *(f"x{i}" for i in range(covariates.shape[1]))]
    rows = np.column_stack([np.resize([0.0, 1.0], len(covariates)), covariates])
    return {finding.tried: finding for finding in check_data(model, rows, columns)}


@pytest.fixture
def normal():
    return np.random.default_rng(3).standard_normal((1000, 3)).T


def failed(findings):
    return {tried for tried, finding in findings.items() if finding.passed is False}


@pytest.mark.parametrize("cls", [LogisticRegression, RobustRegression])
def test_ages_and_incomes_in_their_own_units_fail_and_say_what_to_do(normal, cls):
    findings = found([50 + 15 * normal[0], np.exp(10 + normal[1])], cls=cls)
    assert failed(findings) == {
        SHARE,
        "Covariate x0: its usual size",
        "Covariate x1: its usual size",
    }
    assert findings[SHARE].found.startswith("100% of the rows; subtract public centres, divide by")
    assert findings["Covariate x0: its usual size"].found == "about 10^1 times the bound"
    assert findings["Covariate x1: its usual size"].found == "about 10^4 times the bound"
    assert findings[CONSTANT].found == "none: there is no intercept"


def test_public_units_and_an_intercept_pass(normal):
    findings = found([np.ones(1000), *normal[:2]], 3.0)
    assert not failed(findings)
    lengths = np.sqrt(1 + (normal[:2] ** 2).sum(axis=0))
    assert findings[SHARE].found == f"{(lengths > 3).mean():.0%} of the rows"
    assert findings[CONSTANT].found == "x0"


def test_rows_that_are_as_long_as_the_bound_are_not_scaled_back():
    pairs, halves = np.resize([1, 1, -1, -1], 8), np.repeat([1, -1], 4)
    signs = [pairs * halves, pairs, np.ones(8), halves]
    findings = found(signs, 2.0)
    assert findings[SHARE].found == "0% of the rows" and not failed(findings)


def test_two_constants_and_combinations_of_covariates_fail(normal):
    assert failed(found([np.ones(1000), np.full(1000, 0.5), normal[0]])) == {CONSTANT, APART}
    findings = found([*normal[:2], normal[0] - 0.1 * normal[1]], 9.0)
    assert failed(findings) == {APART} and findings[APART].found == "2 of 3"


def test_values_beyond_a_range_are_counted():
    rows = np.column_stack([np.resize([20.0, 30.0, -99.0, 120.0], 1000), np.ones(1000)])
    model = NormalColumns(["age", "flag"], 1000, 1.0, ranges={"flag": [0, 1], "age": [0, 120]})
    codes, flag, age = check_data(model, rows, ["age", "flag"])
    assert codes.tried == CODES
    assert flag.passed and flag.found == "0.00%"
    assert not age.passed and age.found.startswith("25.00%; say a wider range, or leave out codes")


class All:
    """A model that keeps all rows."""

    def prepare(self, rows):
        return rows


class NoCodes:
    """A model that leaves out rows with a code."""

    def prepare(self, rows):
        return rows[rows[:, 1] > 0]


def test_other_models_are_asked_for_codes_alone():
    (codes,) = check_data(All(), np.ones((3, 2)), ["y", "x"])
    assert codes.passed and codes.tried == CODES and codes.found == "none"


@pytest.mark.parametrize("code", [-999999.0, 99.0])
@pytest.mark.parametrize("share", [0.005, 0.02])
def test_a_code_of_missing_values_is_found_where_many_rows_have_it(normal, code, share):
    ages = 50 + 5 * normal[0]
    ages[: int(1000 * share)] = code
    rows = np.column_stack([normal[1], ages, normal[2] > 1])
    (codes,) = check_data(All(), rows, ["income", "age", "flag"])
    assert code > 0 or check_data(NoCodes(), rows, ["income", "age", "flag"]) == []
    assert codes.passed == (share < 0.01)
    assert codes.found == (
        "none" if codes.passed else "age; if it stands for a missing value, leave out these rows"
    )


@pytest.mark.parametrize(
    ("codes", "is_found"),
    [
        ([-999.0] * 60 + [-998.0] * 60, True),
        ([999.0] * 60 + [99999.0], True),
        ([999.0], False),
        ([80.0] * 20, False),  # three standard deviations beyond the others
    ],
)
def test_codes_may_be_several_and_neither_alone_nor_near(normal, codes, is_found):
    values = 50 + 5 * np.clip(normal[0], -3, 3)
    values[: len(codes)] = codes
    (found,) = check_data(All(), values[:, None], ["age"])
    assert found.passed is not is_found


def test_one_far_value_of_few_rows_is_not_a_code(normal):
    (found,) = check_data(All(), np.append(999.0, normal[0][:49])[:, None], ["age"])
    assert found.passed


def test_zeros_of_many_rows_and_flags_are_not_codes(normal):
    spent = np.maximum(normal[0], 0.0)
    rare = np.resize([0.0] * 60 + [1.0], 1000)
    rows = np.column_stack([spent, rare, np.resize([0.0, 0.0, 0.0, 1.0, 30.0], 1000)])
    (codes,) = check_data(All(), rows, ["spent", "rare", "visits"])
    assert codes.passed


def test_a_flag_that_decides_the_outcome_is_found(normal):
    flag = np.resize([0.0, 1.0, 1.0], 1000)
    few = np.zeros(1000)
    few[[1, 3, 5]] = 1.0
    for decides in (flag == 1, flag == 0):
        outcomes = np.where(decides, np.resize([0.0, 1.0], 1000), 0.0)
        rows = np.column_stack([outcomes, np.ones(1000), flag, few, normal[0]])
        model = LogisticRegression(4, 1000, 1.0)
        findings = check_data(model, rows, ["y", "one", "eligible", "few", "age"])
        (found,) = [finding for finding in findings if finding.tried == DECIDED]
        assert not found.passed
        assert found.found == "eligible; leave out the rows that it decides, and then the flag"
    model = LogisticRegression(3, 1000, 1.0)
    without = check_data(model, rows[:, [0, 1, 3, 4]], ["y", "one", "few", "age"])
    (found,) = [finding for finding in without if finding.tried == DECIDED]
    assert found.passed and found.found == "none"


@pytest.mark.parametrize(
    ("cls", "outcome", "decides"),
    [
        (PoissonRegression, 0.0, True),
        (PoissonRegression, 1.0, False),
        (RobustRegression, 0.0, False),
    ],
)
def test_a_flag_decides_labels_and_counts_of_zero_alone(cls, outcome, decides):
    flag = np.resize([0.0, 1.0, 1.0], 1000)
    outcomes = np.where(flag == 0, outcome, np.resize([0.0, 2.0, 1.0, 0.0], 1000))
    rows = np.column_stack([outcomes, np.ones(1000), flag])
    findings = check_data(cls(2, 1000, 1.0), rows, ["y", "one", "flag"])
    assert [one.tried for one in findings if not one.passed] == [DECIDED] * decides
