"""Sums that do not read every row against the pass over all rows: the same sum, the same count."""

import itertools
import math

import numpy as np
import pytest
from conftest import chosen

from dpmcmc.kernels.gradients import clipped_gradient_sum
from dpmcmc.likelihoods.affine import AffineLikelihood
from dpmcmc.likelihoods.blocks import Blocks
from dpmcmc.likelihoods.gradient_sums import BlockedGradients, SortedGradients
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.models.circle import Circle
from dpmcmc.models.gaussian import Gaussian

NUM_ROWS = 6000
MODELS = {
    "banana": Banana(
        dimension=3,
        num_rows=NUM_ROWS,
        curvature=20,
        prior_variance=1000,
        likelihood_variances=[20, 2.5, 1],
        true_position=[0, 3, 0],
    ),
    "flat banana": Banana(
        dimension=2,
        num_rows=NUM_ROWS,
        curvature=20,
        prior_variance=1000,
        likelihood_variances=[20, 2.5],
        true_position=[0, 3],
    ),
    "straight": Banana(
        dimension=12,
        num_rows=NUM_ROWS,
        curvature=0,
        prior_variance=1000,
        likelihood_variances=[20, 2.5, 1],
        true_position=[0, 3, 0],
    ),
    "gaussian": Gaussian(
        num_rows=NUM_ROWS,
        prior_variance=100,
        covariance=[[1, 0.999], [0.999, 1]],
        true_position=[0, 3],
    ),
    "circle": Circle(
        num_rows=NUM_ROWS,
        sharpness=1e-5,
        radius_mean=3,
        radius_sd=1,
        start_mean=[0, 1],
        start_sd=1,
    ),
}
BAD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e160, 1e20]


def gradient_sums(model, statistics):
    return AffineLikelihood(model, statistics)._gradient_sums


def row_by_row(statistics, jacobian, offset, bound):
    """The sum of clipped gradients, each of which is computed and clipped by itself."""
    with np.errstate(all="ignore"):
        gradients = jacobian.T @ statistics - offset[:, None]
        norms = np.sqrt((gradients**2).sum(axis=0))
        clipped = np.where(norms > bound, bound / norms, 1.0) * gradients
    return clipped[:, np.isfinite(norms)].sum(axis=1)


def num_not_read(sums, jacobian, offset, bound):
    if isinstance(sums, SortedGradients):
        return 0 if sums.on_line(jacobian, offset, bound) is None else NUM_ROWS
    _, active = sums.rest(jacobian, offset, bound)
    return NUM_ROWS - sums.blocks.sums[-1, active].sum()


def positions(rng, model):
    """Steps of all sizes about the true position, turns about the origin, and far jumps."""
    centre = model.true_theta
    for _ in range(40):
        scale = 10.0 ** rng.uniform(-6, -1)
        for _ in range(8):
            centre = centre + scale * rng.standard_normal(model.dimension)
            yield centre
        yield -centre
        yield centre[::-1].copy()
    for scale in (1.0, 1e3, 1e8, 1e150):
        yield scale * rng.standard_normal(model.dimension)
        yield model.true_theta
    yield np.full(model.dimension, math.nan)
    yield np.full(model.dimension, math.inf)
    yield model.true_theta


QUANTILES = ["zero", 0.0001, 0.3, 0.9, 1.0, "infinite"]
CASES = list(itertools.product(MODELS, ["clean", "bad"], QUANTILES))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "rows", "quantile"), chosen(CASES, *CASES[::5]))
def test_the_sum_and_the_count_are_those_of_all_rows(name, rows, quantile):
    rng = np.random.default_rng(3)
    model = MODELS[name]
    jacobian, offset = model.gradient_coefficients(model.true_theta)
    statistics = model.dataset(rng)
    norms = np.linalg.norm(jacobian.T @ statistics - offset[:, None], axis=0)
    bound = {"zero": 0.0, "infinite": math.inf}.get(quantile)
    bound = float(np.quantile(norms, quantile)) if bound is None else bound
    if rows == "bad":
        for bad in BAD:
            statistics[rng.integers(len(statistics)), rng.integers(NUM_ROWS)] = bad
        statistics[:, 17] = math.nan
    sums, num_saved = gradient_sums(model, statistics), 0
    for theta in positions(rng, model):
        jacobian, offset = model.gradient_coefficients(theta)
        _, expected_count = clipped_gradient_sum(statistics, jacobian, offset, bound)
        expected = row_by_row(statistics, jacobian, offset, bound)
        total, count = sums.at(jacobian, offset, bound)
        num_saved += num_not_read(sums, jacobian, offset, bound)
        assert count == expected_count
        # The scale of a sum's rounding: the sum of the lengths of what is added.
        usual = norms.max() if math.isinf(bound) else bound
        length = np.linalg.norm(jacobian) * np.linalg.norm(model.true_theta) + usual
        if rows == "clean" or math.isfinite(bound):
            np.testing.assert_allclose(
                total, expected, rtol=1e-11, atol=1e-12 * NUM_ROWS**0.5 * length
            )
    if quantile in (0.9, 1.0, "infinite") and (name, rows) != ("circle", "bad"):
        assert num_saved > 0


@pytest.mark.parametrize(("name", "most"), [("flat banana", 0.5), ("straight", 0.7)])
def test_rows_that_are_far_from_the_clip_are_not_read(name, most):
    model = MODELS[name]
    jacobian, offset = model.gradient_coefficients(model.true_theta)
    statistics = model.dataset(np.random.default_rng(3))
    sums = gradient_sums(model, statistics)
    norms = np.linalg.norm(jacobian.T @ statistics - offset[:, None], axis=0)
    saved = num_not_read(sums, jacobian, offset, np.quantile(norms, 0.9))
    assert saved > (1 - most) * NUM_ROWS


@pytest.mark.parametrize("coordinates", [np.zeros((3, 3)), np.ones((3, 2)), np.tri(3) * 50])
def test_any_coordinates_give_the_same_sums(coordinates):
    rng = np.random.default_rng(3)
    statistics = rng.standard_normal((3, NUM_ROWS))
    sums = BlockedGradients(Blocks(statistics, coordinates))
    for _ in range(20):
        jacobian, offset, bound = rng.standard_normal((3, 4)), rng.standard_normal(4), 4.0
        expected, expected_count = clipped_gradient_sum(statistics, jacobian, offset, bound)
        total, count = sums.at(jacobian, offset, bound)
        assert count == expected_count
        np.testing.assert_allclose(total, expected, rtol=1e-11, atol=1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["circle", "flat banana", "gaussian", "banana"])
@pytest.mark.parametrize("bad", BAD)
def test_one_row_moves_the_sum_by_no_more_than_the_clip(bad, name):
    """Substituting a row by any other, on the same path: the sensitivity is 2 b."""
    model = MODELS[name]
    statistics = model.simulate(np.random.default_rng(3))
    substituted = statistics.copy()
    substituted[:, 100] = bad
    jacobian, offset = model.gradient_coefficients(model.true_theta)
    norms = np.linalg.norm(jacobian.T @ statistics - offset[:, None], axis=0)
    bound = np.quantile(norms, 0.9)
    pair = gradient_sums(model, statistics), gradient_sums(model, substituted)
    steps = np.random.default_rng(5).standard_normal((200, model.dimension))
    for step in steps.cumsum(axis=0):
        coefficients = model.gradient_coefficients(model.true_theta + 1e-3 * step)
        totals = [sums.at(*coefficients, bound)[0] for sums in pair]
        assert np.linalg.norm(totals[0] - totals[1]) <= 2 * bound * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", [0.0, *BAD])
def test_without_a_clip_sums_are_enough_unless_a_row_is_not_finite(bad):
    model = MODELS["banana"]
    statistics = model.simulate(np.random.default_rng(3))
    statistics[1, 5] = bad
    target = Target(model, statistics, nonfinite="clip")
    for theta in np.random.default_rng(5).standard_normal((20, 3)):
        total, count = target.clipped_gradient(theta, math.inf)
        coefficients = model.gradient_coefficients(theta)
        expected, expected_count = clipped_gradient_sum(statistics, *coefficients, math.inf)
        assert count == expected_count == (not abs(bad) < 1e150)
        np.testing.assert_allclose(total, expected, rtol=1e-11, atol=1e-9)
    assert ("_gradient_sums" in target.likelihood.__dict__) == (count > 0)


@pytest.mark.parametrize("name", MODELS)
def test_arranged_data_are_the_same_rows_in_another_order(name):
    model = MODELS[name]
    statistics = model.simulate(np.random.default_rng(3))
    rows = model.dataset(np.random.default_rng(3)).T
    assert not np.array_equal(rows, statistics.T)
    np.testing.assert_array_equal(sorted(rows.tolist()), sorted(statistics.T.tolist()))


def test_a_gradient_is_remembered_where_a_trajectory_may_start_again(monkeypatch):
    model = MODELS["banana"]
    target = Target(model, model.simulate(np.random.default_rng(3)))
    first, others = np.zeros(3), np.random.default_rng(1).standard_normal((200, 3))
    total, count = target.clipped_gradient(first, 1.5)
    calls = []
    sums = target.likelihood._gradient_sums
    at = sums.at
    sums.at = lambda *arguments: calls.append(arguments) or at(*arguments)
    for theta in others[:60]:
        target.clipped_gradient(theta, 1.5)
    again, again_count = target.clipped_gradient(first.copy(), 1.5)
    assert len(calls) == 60 and again_count == count
    np.testing.assert_array_equal(again, total)
    target.clipped_gradient(first, 1.0)  # another bound is another sum
    assert len(calls) == 61
    for theta in others:
        target.clipped_gradient(theta, 1.5)
    assert len(target._gradients) <= 128
