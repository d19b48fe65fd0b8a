"""Metrics against brute force, closed forms and their definitions."""

import math

import numpy as np
import pytest

from dpmcmc.evaluation import metrics
from dpmcmc.models.banana import Banana
from dpmcmc.models.gaussian import Gaussian


def brute_force_mmd(x, y, bandwidth):
    def kernel(a, b):
        return math.exp(-np.sum((a - b) ** 2) / (2 * bandwidth**2))

    k, l = len(x), len(y)  # noqa: E741
    xx = sum(kernel(x[i], x[j]) for i in range(k) for j in range(k) if i != j) / (k * (k - 1))
    yy = sum(kernel(y[i], y[j]) for i in range(l) for j in range(l) if i != j) / (l * (l - 1))
    xy = sum(kernel(a, b) for a in x for b in y) / (k * l)
    return math.sqrt(abs(xx + yy - 2 * xy))


@pytest.mark.parametrize("dimension", [1, 2, 10])
def test_mmd_is_that_of_brute_force(dimension):
    rng = np.random.default_rng(dimension)
    x, y = rng.standard_normal((23, dimension)), 0.5 + rng.standard_normal((31, dimension))
    assert metrics.mmd(x, y, 1.7) == pytest.approx(brute_force_mmd(x, y, 1.7), rel=1e-10)


@pytest.mark.parametrize("size", [2, metrics.BLOCK, metrics.BLOCK + 1, 3 * metrics.BLOCK - 1])
def test_blocks_visit_each_pair_once(size):
    rng = np.random.default_rng(size)
    x, y = rng.standard_normal((size, 3)), rng.standard_normal((67, 3))
    values = np.exp(-((x[:, None] - y) ** 2).sum(axis=2) / 2)
    assert metrics.kernel_sum(x, y) == pytest.approx(values.sum(), rel=1e-13)
    values = np.exp(-((x[:, None] - x) ** 2).sum(axis=2) / 2)
    assert metrics.kernel_pair_sum(x) == pytest.approx(np.triu(values, 1).sum(), rel=1e-13)


def test_samples_far_from_the_origin_lose_no_digits():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((90, 2)), 0.5 + rng.standard_normal((80, 2))
    far = 2.0**20  # a shift that itself rounds little
    assert metrics.mmd(x + far, y + far, 1.7) == pytest.approx(metrics.mmd(x, y, 1.7), rel=1e-8)


def test_mmd_squared_estimates_its_closed_form_without_bias():
    # N(0, 1) against N(m, 1), bandwidth s: 2 s / sqrt(s^2 + 2) (1 - exp(-m^2 / (2 (s^2 + 2)))).
    rng, m, s = np.random.default_rng(4), 0.8, 1.2
    exact = 2 * s / math.sqrt(s**2 + 2) * (1 - math.exp(-(m**2) / (2 * (s**2 + 2))))
    estimates = np.array(
        [
            metrics.mmd(rng.normal(size=(60, 1)), m + rng.normal(size=(80, 1)), s) ** 2
            for _ in range(2000)
        ]
    )
    error = estimates.std() / math.sqrt(len(estimates))
    assert estimates.mean() == pytest.approx(exact, abs=4.5 * error)


@pytest.mark.parametrize(
    ("k", "kept"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (702, 352), (1001, 501)]
)
def test_kept_draws_are_the_last_k_minus_half(k, kept):
    positions = np.arange(2.0 * k).reshape(k, 2)
    draws = metrics.kept_draws(positions)
    assert len(draws) == kept == (k - (k - 1) // 2 if k else 0)
    np.testing.assert_array_equal(draws, positions[k - kept :])


def test_thinning_is_even_and_only_when_needed():
    draws = np.arange(101.0)[:, None]
    assert metrics.thin(draws, 101) is draws
    np.testing.assert_array_equal(metrics.thin(draws, 6)[:, 0], [0, 20, 40, 60, 80, 100])


def test_bandwidth_is_the_median_distance_of_random_pairs_across_the_samples():
    # Points 0 and 1 against 10 and 100: distances 9, 10, 99, 100, each as likely.
    x, y = np.array([[0.0], [1.0]]), np.array([[10.0], [100.0]])
    few = [metrics.median_bandwidth(np.random.default_rng(i), x, y, 1) for i in range(400)]
    values, counts = np.unique(few, return_counts=True)
    np.testing.assert_array_equal(values, [9, 10, 99, 100])
    assert abs(counts - 100).max() < 4.5 * math.sqrt(400 * 3 / 16)
    three_to_one = np.array([[10.0], [10.0], [10.0], [100.0]])
    many = [
        metrics.median_bandwidth(np.random.default_rng(i), x, three_to_one, 500) for i in range(40)
    ]
    assert set(many) <= {9.0, 9.5, 10.0}  # the median of many pairs; their mean is near 32


def test_errors_of_mean_and_covariance():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((50, 3)), rng.standard_normal((70, 3))
    difference = x.mean(axis=0) - y.mean(axis=0)
    assert metrics.mean_error(x, y) == pytest.approx(math.sqrt(sum(difference**2)))
    assert metrics.mean_error(x, y, np.zeros(3)) == pytest.approx(np.linalg.norm(x.mean(axis=0)))

    def covariance(z):
        return (z - z.mean(axis=0)).T @ (z - z.mean(axis=0)) / (len(z) - 1)

    expected = math.sqrt(((covariance(x) - covariance(y)) ** 2).sum())
    assert metrics.covariance_error(x, y) == pytest.approx(expected)


class Known:
    """What a comparison asks of a model."""

    posterior_mean = np.ones(2)


class Bent:
    """A model that knows how to straighten its posterior."""

    posterior_mean = None

    @staticmethod
    def straighten(theta):
        return theta * [1.0, 10.0]


def test_standard_deviations_are_compared_in_straight_coordinates():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((300, 2)) * [0.5, 2], rng.standard_normal((400, 2))
    _, axes = np.linalg.eigh(np.cov(y.T))
    turned = (x @ axes).std(axis=0, ddof=1) / (y @ axes).std(axis=0, ddof=1)
    expected = math.sqrt(turned.prod())
    assert metrics.sd_ratio(x, y) == pytest.approx(expected)
    assert metrics.sd_ratio(0.7 * x, 0.7 * y) == pytest.approx(expected)
    skew = np.array([[1.0, 0.3], [2.0, 0.9]])  # of the posterior squared, whatever the axes
    assert metrics.sd_ratio(y @ skew / math.sqrt(2), y @ skew) == pytest.approx(math.sqrt(0.5))
    bent = Banana(2, 100, 5.0, 1.0, [1.0], [0.0])
    assert metrics.sd_ratio(bent.bend(x), bent.bend(y), bent.straighten) == pytest.approx(expected)
    result = metrics.compare(np.random.default_rng(5), x, y, Bent, 50, 100)
    assert result["sd_ratio"] == pytest.approx(metrics.sd_ratio(x * [1, 10], y * [1, 10]))
    assert metrics.sd_ratio(np.ones((5, 2)), y) == 0


def test_samples_of_one_component_are_compared_like_others():
    rng, model = np.random.default_rng(5), Gaussian(10, 1.0, [[4.0]], [1.0])
    x, y = rng.standard_normal((40, 1)), 2 * rng.standard_normal((50, 1))
    result = metrics.compare(rng, x, y, model, 100, 40)
    assert result["sd_ratio"] == pytest.approx(x.std(ddof=1) / y.std(ddof=1))
    assert result["covariance_error"] == pytest.approx(abs(x.var(ddof=1) - y.var(ddof=1)))
    assert result["mean_error"] == pytest.approx(abs(x.mean() - y.mean()))


def test_a_comparison_thins_for_the_mmd_alone_and_takes_the_known_mean():
    rng = np.random.default_rng(1)
    draws, reference = rng.standard_normal((500, 2)), rng.standard_normal((300, 2))
    result = metrics.compare(np.random.default_rng(5), draws, reference, Known, 50, 100)
    thinned = metrics.thin(draws, 100)
    bandwidth = metrics.median_bandwidth(np.random.default_rng(5), thinned, reference, 50)
    assert result == {
        "mmd": metrics.mmd(thinned, reference, bandwidth),
        "mean_error": metrics.mean_error(draws, reference, np.ones(2)),
        "covariance_error": metrics.covariance_error(draws, reference),
        "sd_ratio": metrics.sd_ratio(draws, reference),
        "mmd_draws": 100,
    }


def test_accuracy_is_of_held_out_rows_and_of_models_that_have_one():
    class Predicting(Known):
        @staticmethod
        def accuracy(draws, rows):
            return draws.sum() + rows.sum()

    rng = np.random.default_rng(1)
    draws, reference, rows = rng.normal(size=(3, 9, 2))
    arguments = draws, reference, Predicting, 50, 100
    result = metrics.compare(np.random.default_rng(5), *arguments, held_out=rows)
    assert result.pop("accuracy") == draws.sum() + rows.sum()
    assert metrics.compare(np.random.default_rng(5), *arguments) == result
    known = metrics.compare(np.random.default_rng(5), draws, reference, Known, 50, 100, rows)
    assert known == result
    of_one = metrics.compare(rng, draws[:1], *arguments[1:], held_out=rows)
    assert list(of_one) == [*list(result)[:4], "accuracy", "mmd_draws"]
    assert math.isnan(of_one["accuracy"])


def test_one_dimension_has_all_metrics():
    rng = np.random.default_rng(2)
    x, y = 3 * rng.standard_normal((40, 1)), rng.standard_normal((60, 1))
    known = Known()
    known.posterior_mean = None
    result = metrics.compare(rng, x, y, known, 50, 100)
    assert result["covariance_error"] == pytest.approx(abs(x.var(ddof=1) - y.var(ddof=1)))
    assert result["sd_ratio"] == pytest.approx(x.std(ddof=1) / y.std(ddof=1))
    assert result["mean_error"] == pytest.approx(abs(x.mean() - y.mean()))


def test_a_negative_estimate_of_mmd_squared_is_reported_by_its_size():
    points = np.array([[0.0], [1.0]])  # against themselves: within pairs are farther than between
    assert metrics.mmd(points, points, 1.0) == pytest.approx(math.sqrt(1 - math.exp(-0.5)))


@pytest.mark.parametrize("size", [0, 1])
def test_fewer_than_two_draws_have_no_metrics(size):
    rng, reference = np.random.default_rng(0), np.zeros((10, 2))
    result = metrics.compare(rng, np.ones((size, 2)), reference, Bent, 500, 6000)
    assert result.pop("mmd_draws") == 0
    assert all(math.isnan(value) for value in result.values()) and len(result) == 4


@pytest.mark.parametrize("size", [1e8, 1e92, 1e155, 1e200, math.inf, math.nan])
def test_a_chain_that_has_diverged_is_the_worst_there_is(size):
    rng = np.random.default_rng(0)
    reference = rng.standard_normal((100, 2))
    near = metrics.compare(
        np.random.default_rng(2), rng.standard_normal((100, 2)), reference, Known(), 500, 60
    )
    draws = rng.standard_normal((100, 2))
    for diverged in (size * draws, np.where(np.arange(100)[:, None] == 99, size, draws)):
        found = metrics.compare(np.random.default_rng(2), diverged, reference, Known(), 500, 60)
        assert found["mmd"] == metrics.LARGEST_MMD and found["mmd_draws"] == 60
        assert all(found[key] > near[key] for key in ("mean_error", "covariance_error", "sd_ratio"))
    assert metrics.mmd(size * draws, reference, math.inf) == metrics.LARGEST_MMD
    far = metrics.compare(np.random.default_rng(2), 1e4 * draws, reference, Known(), 500, 60)
    assert 0.4 < far["mmd"] < metrics.LARGEST_MMD
