"""Softmax regression: brute force, differences, far thetas, bounds, rows of a file."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import ROOT
from scipy import stats

from dpmcmc.data_files import DataFile, data_set, model_of
from dpmcmc.evaluation.checking.models import check_model
from dpmcmc.models.softmax import Softmax

SETTINGS = {"num_rows": 300, "means": [0.88, 0.63], "sds": [1.08, 0.53]}
NORMAL = Softmax(**SETTINGS, prior_variance=10)
UNIFORM = Softmax(**SETTINGS, prior_bound=20)
BASELINE = Softmax(**SETTINGS, prior_variance=10, has_baseline=True)


def drawn(model, seed=1):
    rng = np.random.default_rng(seed)
    theta = model.sample_prior(rng) / 4
    return theta, model.simulate(rng, theta)


def brute_force(theta, row, has_baseline=False):
    """Probabilities of the five classes of one row, one by one."""
    columns = 4 if has_baseline else 5
    scores = [
        theta[k] + theta[columns + k] * row[1] + theta[2 * columns + k] * row[2]
        for k in range(columns)
    ] + [0.0] * has_baseline
    return np.array([math.exp(score) for score in scores]) / sum(map(math.exp, scores))


@pytest.mark.parametrize("model", [NORMAL, BASELINE])
def test_probabilities_are_those_of_the_definition(model):
    theta, rows = drawn(model)
    assert (
        len(theta) == model.dimension == len(model.parameter_names) == 15 - 3 * (model is BASELINE)
    )
    expected = np.array([brute_force(theta, row, model.has_baseline) for row in rows])
    np.testing.assert_allclose(model.probabilities(theta, rows), expected, rtol=1e-12)
    of_class = expected[np.arange(len(rows)), rows[:, 0].astype(int)]
    np.testing.assert_allclose(model.log_likelihood(theta, rows), np.log(of_class), rtol=1e-10)
    np.testing.assert_array_equal(model.predict(theta, rows), expected.argmax(axis=1))


@pytest.mark.parametrize("model", [NORMAL, BASELINE])
def test_gradients_are_those_of_differences_and_contiguous(model):
    theta, rows = drawn(model)
    gradients = model.gradient(theta, rows)
    assert gradients.shape == (300, model.dimension) and gradients.T.flags.c_contiguous
    for j, step in enumerate(1e-5 * np.eye(model.dimension)):
        found = model.log_likelihood(theta + step, rows) - model.log_likelihood(theta - step, rows)
        np.testing.assert_allclose(gradients[:, j], found / 2e-5, atol=1e-8)


def test_a_baseline_is_the_last_class_at_zero():
    theta, rows = drawn(BASELINE)
    full = np.hstack([theta.reshape(3, 4), np.zeros((3, 1))]).ravel()
    for method in ("log_likelihood", "probabilities"):
        of_both = (getattr(m, method)(t, rows) for m, t in ((BASELINE, theta), (NORMAL, full)))
        np.testing.assert_array_equal(*of_both)


def test_a_shift_of_a_row_of_theta_changes_the_prior_alone():
    theta, rows = drawn(NORMAL)
    shifted = (theta.reshape(3, 5) + np.array([[3.0], [-50.0], [7.0]])).ravel()
    np.testing.assert_allclose(
        NORMAL.log_likelihood(shifted, rows), NORMAL.log_likelihood(theta, rows), rtol=1e-9
    )
    gradients = NORMAL.gradient(theta, rows).reshape(-1, 3, 5)
    np.testing.assert_allclose(gradients.sum(axis=2), 0, atol=1e-14)
    assert NORMAL.log_prior_ratio(theta, shifted) < -10


@pytest.mark.parametrize("size", [1e3, 1e8, 1e150])
def test_extreme_thetas_do_not_overflow(size):
    theta, rows = drawn(NORMAL)
    with np.errstate(all="raise", under="ignore"):
        log_likelihood = NORMAL.log_likelihood(size * theta, rows)
        gradients = NORMAL.gradient(size * theta, rows)
    assert np.isfinite(log_likelihood).all() and log_likelihood.max() <= 0
    assert (np.linalg.norm(gradients, axis=1) <= math.sqrt(2) * 3).all()
    np.testing.assert_allclose(NORMAL.probabilities(size * theta, rows).sum(axis=1), 1)


def test_a_normal_prior_has_its_density():
    prior = stats.norm(0, math.sqrt(10))
    theta, theta_new = np.random.default_rng(3).normal(size=(2, 15))
    expected = prior.logpdf(theta_new).sum() - prior.logpdf(theta).sum()
    assert NORMAL.log_prior_ratio(theta, theta_new) == pytest.approx(expected)
    np.testing.assert_allclose(NORMAL.grad_log_prior(theta), -theta / 10)
    draws = np.array([NORMAL.sample_prior(np.random.default_rng(i)) for i in range(300)])
    assert stats.kstest(draws.ravel(), prior.cdf).pvalue > 1e-3


def test_nothing_comes_out_of_the_bounds_of_a_uniform_prior():
    inside, border, outside = np.zeros(15), np.full(15, 20.0), np.full(15, -1.0)
    outside[3] = -20.1
    not_a_number = np.full(15, math.nan)
    for start in (inside, border, outside):
        for end in (outside, not_a_number):
            assert UNIFORM.log_prior_ratio(start, end) == -math.inf
    assert UNIFORM.log_prior_ratio(inside, border) == UNIFORM.log_prior_ratio(border, inside) == 0
    assert UNIFORM.log_prior_ratio(outside, inside) == math.inf
    assert (UNIFORM.grad_log_prior(outside) == np.zeros(15)).all()
    draws = np.array([UNIFORM.sample_prior(np.random.default_rng(i)) for i in range(300)])
    assert stats.kstest(draws.ravel() / 40 + 0.5, "uniform").pvalue > 1e-3


def test_simulated_classes_have_their_probabilities():
    model = replace(NORMAL, num_rows=20_000)
    theta, rows = drawn(model)
    probabilities = model.probabilities(theta, rows)
    for k in range(5):
        p = probabilities[:, k]
        z = ((rows[:, 0] == k).sum() - p.sum()) / math.sqrt((p * (1 - p)).sum())
        assert abs(z) < 4.5
    assert rows[:, 1:].std(axis=0) == pytest.approx(0.5, rel=0.03)


def test_a_twin_is_drawn_from_the_prior():
    rng, same = np.random.default_rng(4), np.random.default_rng(4)
    np.testing.assert_array_equal(
        NORMAL.simulate(rng), NORMAL.simulate(same, NORMAL.sample_prior(same))
    )
    assert NORMAL.true_theta is None


def test_accuracy_is_that_of_the_mean_of_the_draws():
    theta, rows = drawn(NORMAL)
    draws = theta + np.array([[5.0], [-5.0]]) * np.random.default_rng(5).normal(size=15)
    expected = np.mean(
        [brute_force(theta, row).argmax() == row[0] for row in rows]
    )  # of the mean, which is theta, and of neither draw
    assert NORMAL.accuracy(draws, rows) == pytest.approx(expected)
    assert NORMAL.accuracy(draws[:1], rows) != expected


def test_rows_of_a_file_are_standardised_each_by_itself_and_other_codes_left_out():
    rows = np.array([[9.0, 0.88, 0.63], [3.0, 1.96, 0.1], [4.0, 0, 0], [0.0, 0.88, 1.16]])
    expected = [[4, 0, 0], [3, 0.5, -0.5], [0, 0, 0.5]]
    np.testing.assert_allclose(NORMAL.prepare(rows), expected)
    some = replace(NORMAL, classes=[3, 0])
    assert some.prepare(rows)[:, 0].tolist() == [0, 1] and some.dimension == 6
    assert some.parameter_names[:3] == ["intercept[3]", "intercept[0]", "log_radon[3]"]


@pytest.mark.parametrize(("classes", "count"), [([0, 1, 2, 3, 9], 12_573), ([0, 1, 2, 3], 12_289)])
def test_houses_with_and_without_a_recorded_floor(classes, count):
    file = DataFile(ROOT / "examples/radon.csv")
    model, columns = model_of(
        file, lambda n: Softmax(**SETTINGS | {"num_rows": n}, prior_variance=10, classes=classes)
    )
    data = data_set(model, file, columns)
    assert model.num_rows == count and data.shape == (count, 3)
    assert abs(data[:, 1:].mean(axis=0)).max() < 0.01
    assert data[:, 1:].std(axis=0) == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prior_bound": None}, "prior_variance: must be given if prior_bound is not, .*neither"),
        ({"prior_variance": 10}, "prior_variance: must be given if prior_bound is not, .*both"),
        ({"classes": [0]}, "classes: must be two or more different codes"),
        ({"classes": [0, 1, 1]}, "classes: must be two or more different codes"),
        ({"tempered_rows": 301}, "tempered_rows: must be at most num_rows = 300"),
        ({"means": [0]}, "Softmax.means"),
        ({"sds": [1, 0]}, "Softmax.sds"),
        ({"prior_bound": -1}, "Softmax.prior_bound"),
    ],
)
def test_settings_that_make_no_model_are_refused_in_one_line(changes, message):
    with pytest.raises(ValueError, match=message) as error:
        Softmax(**SETTINGS | {"prior_bound": 1000} | changes)
    assert "\n" not in str(error.value)


def test_the_mean_loss_is_a_power_of_the_likelihood():
    assert replace(NORMAL, tempered_rows=1).likelihood_power == 1 / 300


@pytest.mark.parametrize("model", [replace(UNIFORM, has_baseline=True)])
def test_it_passes_its_check(model):
    findings = list(check_model(model))
    assert not [finding for finding in findings if finding.passed is False]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_draws_without_a_finite_mean_have_no_accuracy(bad):
    model = Softmax(10, [0.0, 0.0], [1.0, 1.0], prior_variance=10)
    draws = np.zeros((5, model.dimension))
    draws[2, 1] = bad
    assert np.isnan(model.accuracy(draws, np.zeros((4, 3))))
