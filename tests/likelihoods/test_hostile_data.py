"""One row moves a clipped sum by two bounds at most, whatever finite numbers the data are."""

import math

import numpy as np
import pytest

from dpmcmc.kernels.blocks import BOX
from dpmcmc.kernels.gradients import clipped_gradient_sum, resting_block_sum
from dpmcmc.kernels.ratios import clipped_ratio_sum, settled_block_sum
from dpmcmc.likelihoods import gradient_sums, ratio_sums
from dpmcmc.likelihoods.blocks import Blocks, arranged
from dpmcmc.likelihoods.gradient_sums import GradientSums, SortedGradients
from dpmcmc.likelihoods.ratio_sums import BlockedRatios, RatioSums, SortedColumn
from dpmcmc.likelihoods.rounding import largest_partial_sums
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.models.circle import Circle
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.samplers.barker_correction import fit_correction

MOST = 2 * (1 + 1e-5)  # bounds


def hostile(rng, n, d):
    """Data and a point near some of them: clusters, offsets, far rows, ties, in all sizes."""
    x = rng.standard_normal((d, n)) * 10.0 ** rng.uniform(-2, 1)
    if rng.random() < 0.3:
        x = np.rint(4 * x) / 4
    far = 10.0 ** rng.uniform(-1, rng.choice([1, 14])) * rng.choice([-1, 1], (d, 1))
    kind = rng.integers(7)  # of the last two nothing is far
    if kind == 0:
        x[:, rng.permutation(n)[: n // 2]] += far
    elif kind == 1:
        x += far
    elif kind == 2:
        x[:, rng.integers(n)] = far[:, 0]
    elif kind == 3:
        x += far * rng.choice([-1, 1], n)
    elif kind == 4:
        x[:, rng.integers(n, size=n // 20)] *= 10.0 ** rng.uniform(0, 9, n // 20)
    return x, x[:, rng.integers(n)]


def model_of(rng, n, d):
    if d == 2 and rng.random() < 0.3:
        settings = dict(prior_variance=1e3, likelihood_variances=[2, 0.5], true_position=[0, 1])
        return Banana(dimension=2, num_rows=n, curvature=3.0, **settings)
    factor = rng.standard_normal((d, d)) if rng.random() < 0.5 else np.zeros((d, d))
    covariance = factor @ factor.T + np.eye(d) * 10.0 ** rng.uniform(-4, 1)
    return Gaussian(n, 1e9, covariance.tolist(), [0.0] * d)


def reads_less(sums, slope, intercept, bound):
    """Whether not every row is read for a sum of clipped ratios."""
    if isinstance(sums, BlockedRatios):
        return len(sums.settled(slope, intercept, bound)[1]) < len(sums.blocks.lengths)
    return sums.at(slope, intercept, bound) is not None


@pytest.fixture
def prepared_at_once(monkeypatch):
    monkeypatch.setattr(ratio_sums, "PASSES_BEFORE_SORTING", 0)
    monkeypatch.setattr(ratio_sums, "PASSES_BEFORE_CODING", 0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_no_substitution_moves_a_sum_by_more_than_two_bounds(d, prepared_at_once):
    rng, shortcuts = np.random.default_rng(d), 0
    for _ in range(80):
        n = int(rng.integers(4097, 6000))
        model, (data, centre) = model_of(rng, n, d), hostile(rng, n, d)
        data = arranged(data, model.gradient_coefficients(model.true_theta)[0])
        theta = centre + rng.standard_normal(d) * 10.0 ** rng.uniform(-3, 1)
        step = rng.standard_normal(d) * 10.0 ** rng.uniform(-3, 1)
        if rng.random() < 0.3:
            step[1:] = 0
        slope, intercept = model.ratio_coefficients(theta, theta + step)
        jacobian, offset = model.gradient_coefficients(theta)
        ratios = abs(slope @ data - intercept)
        norms = np.linalg.norm(jacobian.T @ data - offset[:, None], axis=0)
        share = rng.uniform(0.01, 1) ** 0.3
        bounds = [max(np.quantile(x, share), 1e-9) for x in (ratios, norms)]
        if not np.isfinite(bounds).all():
            continue
        i, sums = rng.integers(n), []
        for side in (-1, 1):  # the row at one clip, then at the other, or anywhere
            some = data.copy()
            if rng.random() < 0.7:
                some[:, i] = theta + side * (bounds[0] + bounds[1]) * np.sign(step)
            else:
                some[:, i] = side * 10.0 ** rng.uniform(-2, 15) * rng.standard_normal(d)
            target = Target(model, some)
            ratio, num_clipped = target.clipped_log_likelihood_ratio(theta, theta + step, bounds[0])
            gradient, num_gradients = target.clipped_gradient(theta, bounds[1])
            expected = clipped_ratio_sum(some, slope, intercept, bounds[0])
            assert num_clipped == expected[2]
            row_by_row = GradientSums(some).at(jacobian, offset, bounds[1])
            assert num_gradients == row_by_row[1]
            assert np.linalg.norm(gradient - row_by_row[0]) <= 1e-5 * bounds[1]
            assert abs(ratio - expected[0]) <= 1e-5 * bounds[0]
            shortcuts += any(
                reads_less(made, slope, intercept, bounds[0])
                for made in target.likelihood._ratio_sums.prepared.values()
            )
            batches = [
                target.clipped_batch_ratio(theta, theta + step, bounds[0], batch)[0]
                for batch in (np.arange(i % 3, n, 3), np.arange(n) % 3 == i % 3)
            ]
            sums.append((ratio, gradient, batches))
        assert abs(sums[0][0] - sums[1][0]) <= MOST * bounds[0]
        assert np.linalg.norm(sums[0][1] - sums[1][1]) <= MOST * bounds[1]
        assert np.abs(np.subtract(sums[0][2], sums[1][2])).max() <= MOST * bounds[0]
    assert shortcuts > 20  # in many cases no pass over all rows was made


@pytest.mark.parametrize("n", [200_000, 2_000_000])
def test_a_far_half_does_not_take_the_digits_of_a_sorted_column(n):
    """Half of the rows at -9e9, bound 1: the sum moved by 2.07 and more."""
    rng = np.random.default_rng(0)
    column = np.append(np.full(n // 2 - 1, -9e9), rng.uniform(-0.9, 0.9, n - n // 2 + 1))
    sums = []
    for value in (-0.999, 0.999):
        column[-1] = value
        rows = RatioSums(column[None], None)
        rows.passes_left[0] = 0
        sums.append(rows.at(np.ones(1), 0.0, 1.0)[0])
    assert abs(sums[1] - sums[0]) <= MOST
    near = SortedColumn(column[None][:, n // 2 :], 0)
    assert near.at(np.ones(1), 0.0, 1.0) is not None  # by themselves they are summed at once


@pytest.mark.parametrize("offset", [1e9, 3e9, 9e9])
def test_far_clusters_do_not_take_the_digits_of_blocks(offset):
    """Half of the rows at +-offset, theta in one half: the gradients moved by 2.04 bounds."""
    n, theta = 20_000, np.array([offset, offset])
    model = Gaussian(n, 1e40, [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    x = np.random.default_rng(0).normal(0, 0.2, (2, n)) + offset * np.where(np.arange(n) % 2, 1, -1)
    sums = []
    for side in (-3.0, 3.0):
        x[:, 1] = offset + side * np.array([1.0, 0.0])
        sums.append(Target(model, x.copy()).clipped_gradient(theta, 3.0)[0])
    assert np.linalg.norm(sums[0] - sums[1]) <= 3.0 * MOST


@pytest.mark.parametrize("n", [1000, 20_000])
@pytest.mark.parametrize("offset", [1e6, 1e11, 1e14])
def test_gradients_far_from_the_origin_are_clipped_one_by_one(n, offset):
    """The pass itself cancelled: 8 bounds at 1e14."""
    model = Gaussian(n, 1e40, [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    x = offset + np.random.default_rng(0).normal(0, 0.3, (2, n))
    theta, sums = np.array([offset, offset]), []
    for side in (-5.0, 5.0):
        x[:, 7] = offset + side * np.array([1.0, 0.0])
        total, _ = Target(model, x.copy()).clipped_gradient(theta, 1.0)
        deviations = x - theta[:, None]
        norms = np.maximum(np.linalg.norm(deviations, axis=0), 1.0)
        np.testing.assert_allclose(total, (deviations / norms).sum(axis=1), atol=1e-6)
        sums.append(total)
    assert np.linalg.norm(sums[0] - sums[1]) <= MOST


def constant_blocks(k, value):
    """Blocks of equal rows, half of them far to one side and half to the other."""
    values = np.where(np.arange(k) < k // 2, value, -value * (k // 2) / (k - k // 2))
    sums = np.vstack([BOX * values, np.zeros(k), np.full(k, float(BOX))])
    middles = np.vstack([values, np.zeros(k)])
    return middles, np.zeros((2, k)), np.zeros(k), abs(values), sums, np.zeros(2), np.eye(2)


@pytest.mark.parametrize("value", [0.3, 3.3, 33.3])
def test_sums_of_blocks_are_close_or_not_taken(value):
    """Rounding that always goes the same way adds up over many blocks."""
    k, bound = 30_001, 40.0
    blocks = constant_blocks(k, value)
    limits = math.inf, largest_partial_sums(bound)
    total, active = settled_block_sum(*blocks, np.array([1.0, 0.0]), 0.0, bound, *limits)
    gradient, awake = resting_block_sum(*blocks, np.eye(2), np.zeros(2), bound, *limits)
    exact = math.fsum(blocks[4][0])
    for found, left in ((total, active), (gradient, awake)):
        assert len(left) == k or abs(found[0] - exact) <= 1e-6 * bound
    assert (len(active) == k) == (len(awake) == k) == (value > 30)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_prefix_sums_that_overflow_are_not_used():
    column = np.random.default_rng(1).standard_normal((1, 5000)) * 1e306
    assert SortedColumn(column, 0).at(np.array([1e-307]), 0.0, 1.0) is None


def test_rows_at_the_bound_count_alike_on_every_path():
    """Whether a row exactly at the bound is clipped is for its norm to say, as in the full pass."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        j, rows = rng.standard_normal((1, 2)), rng.integers(-5, 6, 5000).astype(float)[None]
        offset = float(rng.integers(-3, 4)) * j[0]
        bound = math.hypot(*j[0]) * float(rng.integers(1, 6))
        total, count = SortedGradients(rows).at(j, offset, bound)
        expected, expected_count = clipped_gradient_sum(rows, j, offset, bound)
        assert count == expected_count
        np.testing.assert_allclose(total, expected, atol=1e-9 * bound)
    model = Circle(5000, 1e-5, 3.0, 1.0, [0.0, 1.0], 1.0)
    target = Target(model, model.simulate(rng))
    for _ in range(100):
        theta = 3 * rng.standard_normal(2)
        jacobian, offset = model.gradient_coefficients(theta)
        bound = float(np.linalg.norm(jacobian[0] * target.data[0, 7] - offset))
        expected = clipped_gradient_sum(target.data, jacobian, offset, bound)
        assert target.clipped_gradient(theta, bound)[1] == expected[1]


def test_where_long_doubles_have_no_more_digits_every_row_is_read(prepared_at_once, monkeypatch):
    rows = np.random.default_rng(1).standard_normal((7, 5000))
    slope = np.ones(7)
    fast = RatioSums(rows, lambda: Blocks(rows, np.eye(7)))
    usual = fast.at(slope, 0.1, 9.0)
    assert fast.prepared
    monkeypatch.setattr(ratio_sums, "HAS_LONG_DOUBLES", False)
    slow = RatioSums(rows, lambda: Blocks(rows, np.eye(7)))
    assert slow.at(slope, 0.1, 9.0) == pytest.approx(usual, rel=1e-12) and not slow.prepared
    on_line = SortedGradients(rows[:1]).on_line
    coefficients = np.array([[1.0, 2.0]]), np.array([0.5, 1.0]), 3.0
    assert on_line(*coefficients) is not None
    monkeypatch.setattr(gradient_sums, "HAS_LONG_DOUBLES", False)
    assert on_line(*coefficients) is None


def test_what_is_remembered_cannot_be_changed():
    model = Gaussian(10, 1.0, [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])
    target = Target(model, np.random.default_rng(0).standard_normal((2, 10)))
    gradient, _ = target.clipped_gradient(np.zeros(2), 1.0)
    before = gradient.copy()
    with pytest.raises(ValueError, match="read-only"):
        gradient *= 0
    np.testing.assert_array_equal(target.clipped_gradient(np.zeros(2), 1.0)[0], before)
    unclipped, _ = target.clipped_gradient(np.zeros(2), math.inf)
    banana = Banana(2, 10, 1.0, 1.0, [1.0], [0.0])
    circle = Circle(10, 1e-5, 3.0, 1.0, [0.0, 1.0], 1.0)
    for array in (
        unclipped,
        target.likelihood.total_statistics,
        target.data,
        model.true_theta,
        model.precision,
        banana.true_theta,
        banana.precisions,
        circle.true_theta,
        circle.posterior_mean,
        fit_correction().cumulative,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array += 1
