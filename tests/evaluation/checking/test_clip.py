"""The owner's check of noisy statistics: rows are found that it has no law for."""

import numpy as np
import pytest

from dpmcmc.evaluation.checking.clip import check_clip
from dpmcmc.models.circle import Circle
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.normal_columns import NormalColumns

N = 10_000


def rows(kind, rng, d):
    z = rng.standard_normal((d, N))
    if kind == "skewed":
        return rng.exponential(size=(d, N))
    if kind == "heavy":
        return rng.standard_t(5, size=(d, N)) * np.sqrt(3 / 5)
    if kind == "outliers":
        return np.where(rng.random(N) < 0.1, 5 * z, z)
    if kind == "rare":
        return (z + 20 * (rng.random((d, N)) < 0.01)) / 2.2
    return {"normal": 1.0, "spread": 2.0, "near": 1.2}[kind] * z


@pytest.mark.parametrize(
    ("kind", "passed"),
    [
        ("normal", [True, True, True]),
        ("heavy", [True, True, True]),
        ("near", [True, True, True]),
        ("skewed", [True, True, True]),
        ("outliers", [False, False, False]),
        ("rare", [False, False, True]),
        ("spread", [False, False, False]),
    ],
)
def test_rows_of_no_known_law_are_found(kind, passed):
    d = 10
    model = Gaussian(N, 1.0, np.eye(d).tolist())
    data = rows(kind, np.random.default_rng([1, d]), d) + 3.0
    assert [finding.passed for finding in check_clip(model, data)] == passed


def test_rows_too_few_to_find_the_radius_have_their_spread_looked_at_alone():
    model = Gaussian(30, 1.0, np.eye(4).tolist())
    data = np.random.default_rng(1).standard_normal((4, 30))
    assert [finding.passed for finding in check_clip(model, data)] == [True]


def test_columns_without_a_range_are_looked_at_one_by_one():
    z = np.random.default_rng(1).standard_normal((N, 3))
    far = np.where(np.random.default_rng(2).random(N) < 0.01, 20.0, z[:, 1])
    rows = np.column_stack([z[:, 0], far, z[:, 2]])
    model = NormalColumns(["a", "far", "in_range"], N, 1.0, ranges={"in_range": [-9, 9]})
    findings = {one.tried: one.passed for one in check_clip(model, model.statistics(rows))}
    mean, rest = "noisy mean at epsilon 1, without noise: off from the mean", "far rows, from those"
    assert findings == {
        f"Column a: {mean}": True,
        f"Column a: {rest} of the nearest law": True,
        f"Column far: {mean}": False,
        f"Column far: {rest} of the nearest law": True,  # with a third of the budget
    }
    few = NormalColumns(["a"], 30, 1.0)
    assert [one.passed for one in check_clip(few, few.statistics(z[:30, :1]))] == [None]


def test_nothing_is_said_of_models_whose_clip_is_not_accounted_for():
    circle = Circle(10, 1e-5, 3.0, 1.0, [0.0, 1.0], 1.0)
    assert not [*check_clip(circle, np.ones((1, 10)))]
