"""Clipped information of rows: the three kinds agree, and one row moves a sum by two bounds."""

import math

import numpy as np
import pytest
from jax_models import BananaJax, LogisticJax
from row_models import PlainBananaRows, PlainLogisticRows

from dpmcmc.likelihoods import information
from dpmcmc.likelihoods.information import as_matrix, clipped_sum
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.models.softmax import Softmax

BANANA = Banana(3, 300, 1.5, 1000, [20, 2.5], [0, 3])
HOSTILE = [1e3, -1e9, 1e160, math.nan, math.inf]


def targets_of_banana(data):
    """Of one data set (m, n), of the three kinds."""
    rows = np.ascontiguousarray(data.T)
    yield Target(BANANA, data, "clip")
    yield Target(PlainBananaRows(BANANA), rows, "clip")
    yield Target(BananaJax(BANANA), rows, "clip")


def test_information_of_a_logistic_regression_is_that_of_its_formula():
    rng = np.random.default_rng(1)
    model, theta = PlainLogisticRows(4, 500), rng.standard_normal(4)
    rows = model.simulate(rng)
    x = rows[:, :-1]
    p = 1 / (1 + np.exp(-x @ theta))
    each = np.einsum("k,ki,kj->kij", p * (1 - p), x, x)
    norms = np.linalg.norm(each, axis=(1, 2))
    for bound in (np.median(norms), 2 * norms.max()):
        expected = (np.minimum(1, bound / norms)[:, None, None] * each).sum(axis=0)
        for kind in (PlainLogisticRows, LogisticJax):
            total, num_clipped = Target(kind(4, 500), rows).clipped_information(theta, bound)
            np.testing.assert_allclose(as_matrix(total, 4), expected, atol=3e-6 * len(x) * bound)
            assert num_clipped == (norms > bound).sum()


def test_kinds_agree_block_by_block(monkeypatch):
    rng = np.random.default_rng(2)
    data, theta = BANANA.simulate(rng), rng.standard_normal(3)
    monkeypatch.setattr(information, "BLOCK", 9 * 64)
    for bound in (3.0, 1e3):
        found = [target.clipped_information(theta, bound) for target in targets_of_banana(data)]
        for total, num_clipped in found[:2]:
            np.testing.assert_allclose(total, found[2][0], rtol=0, atol=1e-5 * 300)
            assert num_clipped == found[2][1]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_row_moves_the_sum_by_two_bounds_at_most(value):
    rng = np.random.default_rng(3)
    data, theta, bound = BANANA.simulate(rng), rng.standard_normal(3), 3.0
    other = data.copy()
    other[:, 7] = value
    for one, two in zip(targets_of_banana(data), targets_of_banana(other), strict=True):
        moved = one.clipped_information(theta, bound)[0] - two.clipped_information(theta, bound)[0]
        assert np.linalg.norm(moved) <= 2 * bound * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_row_counts_in_its_symmetric_part_and_not_at_all_without_a_norm():
    matrices = np.zeros((2, 2, 3))
    matrices[..., 0] = [[3, 8], [0, 1]]
    matrices[..., 1] = math.nan
    matrices[..., 2] = [[1e200, 0], [0, 0]]
    total, num_clipped = clipped_sum(matrices, 10.0)
    np.testing.assert_allclose(as_matrix(total, 2), [[3, 4], [4, 1]])
    assert num_clipped == 2
    total, num_clipped = clipped_sum(matrices, 1.0)
    assert np.linalg.norm(total) == pytest.approx(1) and num_clipped == 3


def test_a_bound_that_no_change_of_theta_follows_from_is_refused():
    target = Target(BANANA, BANANA.simulate(np.random.default_rng(4)))
    for bound in (0.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="clip_bound: must be"):
            target.clipped_information(np.zeros(3), bound)


def test_information_of_a_row_of_softmax_is_at_most_a_quarter_of_its_squared_gradient_bound():
    """Two classes of one half reach it."""
    settings = {"means": [0, 0], "sds": [1, 1], "classes": [0, 1, 2], "prior_variance": 1}
    model = Softmax(num_rows=2, **settings)
    rows, theta = np.array([[0, 0.7, -0.3]] * 2), np.array([0, 0, -50.0, 0, 0, 0, 0, 0, 0])
    total, _ = Target(model, rows).clipped_information(theta, 1e3)
    gradient_bound = math.sqrt(2 * (1 + 0.7**2 + 0.3**2))
    assert np.linalg.norm(total) / 2 == pytest.approx(gradient_bound**2 / 4, rel=1e-4)
