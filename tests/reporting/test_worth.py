"""Worth in words and tables: brackets where a method is not honest, and what to use."""

import math

import pandas as pd
import pytest

from dpmcmc_studies.reporting import recommendation, worth
from dpmcmc_studies.reporting.figures import strips
from dpmcmc_studies.reporting.study import StudyResults
from dpmcmc_studies.study.description import AlgorithmDescription, ModelDescription

STUDY = StudyResults(
    results="",
    models={"m": ModelDescription("Normal mean, n = 1,000", 2, 1000), "k": ModelDescription("K")},
    algorithms={"a": AlgorithmDescription("A"), "b": AlgorithmDescription("B")},
)


def row(model, algorithm, epsilon, rank, honest="honest", share=0.66):
    errors = {f"{name}_se": 0.012 for name in ("worth", "coverage")}
    values = {"worth": share, "coverage": 0.9, "width": 1.2, "spent": 1.0, "iterations": 5000}
    keys = {"model": model, "algorithm": algorithm, "epsilon": epsilon}
    return keys | values | errors | {"rank": rank, "honest": honest}


TABLE = pd.DataFrame(
    [
        row("m", "a", 1.0, 1),
        row("m", "b", 1.0, 2, "not honest", 0.9),
        row("m", "b", 4.0, 1, "undecided"),
        row("k", "a", 1.0, math.nan, "no intervals", 0.0),
    ]
)


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (0.66, 0.012, "66 ± 1 %"),
        (0.041, 0.004, "4.1 ± 0.4 %"),
        (0.5, math.inf, "50%"),
        (math.nan, 0.1, "–"),
    ],
)
def test_a_share_has_as_many_digits_as_its_error(value, error, said):
    assert worth.with_error(value, error) == said


def test_worth_stands_in_brackets_where_a_method_is_not_honest():
    said = [worth.sure(of, "worth") for of in TABLE.to_dict("records")[:2]]
    assert said == ["66 ± 1 %", "(90 ± 1 %)"]


def test_a_cell_without_intervals_says_how_many_samples_have_none():
    cell = {"honest": "no intervals", "not_scored": 1, "samples": 20}
    assert worth.verdict(cell) == "no intervals (1 of 20)"
    assert worth.verdict(cell | {"honest": "undecided"}) == "undecided"


def test_the_answer_names_the_honest_method_or_says_that_there_is_none():
    answer = recommendation.what_to_use(STUDY, {"worth": TABLE}.get, ["worth", "ranking"])
    assert answer.headline.startswith("**1 of the 3 combinations of posterior and ε have a surely")
    assert "Of 4 cells" in answer.headline and "1 honest, 1 not honest" in answer.headline
    assert answer.items[0] == (
        "- **Normal mean, n = 1,000**: at ε = 1 A, worth 66%; at ε = 4 no method is surely honest "
        "(the closest: B, covers 90%)."
    )
    assert "no method runs to its end with intervals" in answer.items[1]
    assert "| Normal mean, n = 1,000 | 1 | A | honest | 66 ± 1 % |" in answer.table


def test_a_map_has_worth_in_percent_and_none_of_a_cell_without_a_rank():
    figure, _ = strips.worth_map(STUDY, TABLE), None
    texts = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert texts == ["66", "90", "66"]
    weights = [text.get_weight() for axis in figure.axes for text in axis.texts]
    assert weights == ["bold", "normal", "normal"]
