"""Regressions: gradients by differences, bounds that hold for every row, tails, rows of a file."""

import math

import numpy as np
import pytest
from scipy import stats

from dpmcmc import LinearRegression, LogisticRegression, RobustRegression, Target

LOGISTIC = LogisticRegression(3, 200, prior_variance=1.0, covariate_bound=2.0)
ROBUST = RobustRegression(3, 200, prior_variance=2.0, covariate_bound=2.0, degrees=5, scale=0.5)
LINEAR = LinearRegression(3, 200, prior_variance=1.0)
THETA, OTHER = np.array([0.4, -1.0, 0.3]), np.array([-0.2, 0.1, 0.9])


@pytest.mark.parametrize("model", [LOGISTIC, ROBUST])
def test_gradients_are_derivatives_and_the_prior_is_normal(model):
    rows = model.simulate(np.random.default_rng(1), THETA)
    gradients = model.gradient(THETA, rows)
    for i, step in enumerate(1e-5 * np.eye(3)):
        slopes = model.log_likelihood_ratio(THETA - step, THETA + step, rows) / 2e-5
        np.testing.assert_allclose(gradients[:, i], slopes, rtol=1e-6, atol=1e-8)
    normal = stats.norm(scale=math.sqrt(model.prior_variance))
    expected = (normal.logpdf(OTHER) - normal.logpdf(THETA)).sum()
    assert model.log_prior_ratio(THETA, OTHER) == pytest.approx(expected)


def test_ratios_are_those_of_the_densities():
    rows = LOGISTIC.simulate(np.random.default_rng(2), THETA)
    of_one = [1 / (1 + np.exp(-rows[:, 1:] @ theta)) for theta in (THETA, OTHER)]
    old, new = (np.where(rows[:, 0] == 1, p, 1 - p) for p in of_one)
    np.testing.assert_allclose(
        LOGISTIC.log_likelihood_ratio(THETA, OTHER, rows), np.log(new / old), rtol=1e-9
    )
    rows = ROBUST.simulate(np.random.default_rng(2), THETA)
    old, new = (
        stats.t(5, loc=rows[:, 1:] @ theta, scale=0.5).logpdf(rows[:, 0])
        for theta in (THETA, OTHER)
    )
    np.testing.assert_allclose(
        ROBUST.log_likelihood_ratio(THETA, OTHER, rows), new - old, rtol=1e-8, atol=1e-12
    )


def test_no_row_has_a_longer_gradient_or_a_larger_information_than_documented():
    rng = np.random.default_rng(3)
    for model, gradient, information in (
        (LOGISTIC, 2.0, 1.0),
        (ROBUST, 2.0 * 6 / (2 * 0.5 * math.sqrt(5)), 4 * 6 / (5 * 0.25)),
    ):
        rows = model.simulate(rng, THETA)
        rows[:, 0] = rng.choice([0, 1], 200) if model is LOGISTIC else 3 * rng.standard_cauchy(200)
        target = Target(model, rows)
        assert target.clipped_gradient(THETA, gradient * (1 + 1e-12))[1] == 0
        assert target.clipped_information(THETA, information * (1 + 1e-6))[1] == 0


def test_far_thetas_leave_ratios_finite():
    rows = LOGISTIC.simulate(np.random.default_rng(4), THETA)
    with np.errstate(all="raise", under="ignore"):
        ratios = LOGISTIC.log_likelihood_ratio(1e4 * THETA, 1e4 * OTHER, rows)
    assert np.isfinite(ratios).all()
    signs = 2 * rows[:, 0] - 1
    m, m_new = (signs * (rows[:, 1:] @ theta) * 1e4 for theta in (THETA, OTHER))
    np.testing.assert_allclose(ratios, np.minimum(m_new, 0) - np.minimum(m, 0), atol=0.7)


@pytest.mark.parametrize("log_sigma", [-1e4, 1e4])
def test_a_search_may_look_at_any_spread_of_errors(log_sigma):
    """That the errors are so narrow, or so wide, is never a good guess."""
    near, far = np.array([0.4, -1.0, 0.3]), np.array([0.4, -1.0, log_sigma])
    rows = LINEAR.simulate(np.random.default_rng(4), near)
    with np.errstate(over="ignore"):
        assert LINEAR.log_likelihood_ratio(near, far, rows).sum() < -1e5
        assert not np.isnan(LINEAR.gradient(far, rows)).any()


def test_covariates_of_a_file_are_scaled_back_row_by_row():
    rows = np.array([[1.0, 3.0, 4.0, 0.0], [0.0, 0.3, 0.4, 0.0]])
    prepared = LOGISTIC.prepare(rows)
    np.testing.assert_allclose(prepared, [[1, 1.2, 1.6, 0], [0, 0.3, 0.4, 0]])
    np.testing.assert_array_equal(LOGISTIC.prepare(rows[1:]), prepared[1:])
    simulated = LOGISTIC.simulate(np.random.default_rng(5))
    assert np.linalg.norm(simulated[:, 1:], axis=1).max() <= 2.0 * (1 + 1e-12)
