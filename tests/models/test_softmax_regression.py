"""Softmax regression: brute force, differences, two labels, bounds, far thetas, its check."""

import math

import numpy as np
import pytest

from dpmcmc import LogisticRegression, SoftmaxRegression, Target
from dpmcmc.evaluation.checking.models import check_model

BOUNDS = {"num_rows": 300, "prior_variance": 2.0, "covariate_bound": 2.5}
NAMED = {"outcome": "y", "covariates": ["a", "b"], "intercept": True}
MODEL = SoftmaxRegression(**BOUNDS | NAMED, labels=[5, 7, 9])
THETA = np.array([0.3, -0.6, 1.0, 0.2, -0.8, 1.4])


@pytest.fixture
def rows():
    return MODEL.simulate(np.random.default_rng(1), THETA)


def test_likelihoods_are_those_of_the_definition(rows):
    expected = []
    for label, *x in rows:
        scores = [0.0, *(sum(x[j] * THETA[2 * j + k] for j in range(3)) for k in range(2))]
        expected.append(scores[int(label)] - math.log(sum(map(math.exp, scores))))
    np.testing.assert_allclose(MODEL.log_likelihood(THETA, rows), expected, rtol=1e-10)


def test_gradients_are_those_of_differences_and_contiguous(rows):
    gradients = MODEL.gradient(THETA, rows)
    assert gradients.shape == (300, 6) and gradients.T.flags.c_contiguous
    for j, step in enumerate(1e-5 * np.eye(6)):
        found = MODEL.log_likelihood(THETA + step, rows) - MODEL.log_likelihood(THETA - step, rows)
        np.testing.assert_allclose(gradients[:, j], found / 2e-5, atol=1e-8)


def test_two_labels_make_a_logistic_regression():
    two = SoftmaxRegression(**BOUNDS | NAMED, labels=[5, 7])
    logistic = LogisticRegression(dimension=3, **BOUNDS | NAMED, labels=[5, 7])
    rng = np.random.default_rng(2)
    file = np.column_stack([rng.choice([5, 7], 300), 3 * rng.standard_normal((300, 2))])
    rows = two.prepare(file)
    np.testing.assert_array_equal(rows, logistic.prepare(file))
    theta, other = rng.standard_normal((2, 3))
    for method, arguments in (("gradient", (theta,)), ("log_likelihood_ratio", (theta, other))):
        of_both = (getattr(model, method)(*arguments, rows) for model in (two, logistic))
        np.testing.assert_allclose(*of_both, rtol=1e-9, atol=1e-12)


def test_no_row_has_a_longer_gradient_or_a_larger_information_than_documented(rows):
    for theta in (THETA, 0 * THETA, 10 * THETA):
        target = Target(MODEL, rows)
        assert target.clipped_gradient(theta, math.sqrt(2) * 2.5)[1] == 0
        assert target.clipped_information(theta, 2.5**2 / 2 * (1 + 1e-6))[1] == 0


@pytest.mark.parametrize("size", [1e3, 1e8, 1e150])
def test_extreme_thetas_do_not_overflow(rows, size):
    with np.errstate(all="raise", under="ignore"):
        log_likelihood = MODEL.log_likelihood(size * THETA, rows)
        gradients = MODEL.gradient(size * THETA, rows)
    assert np.isfinite(log_likelihood).all() and log_likelihood.max() <= 0
    assert np.isfinite(gradients).all()


@pytest.mark.torture
def test_it_passes_its_check():
    findings = list(check_model(MODEL))
    assert not [finding for finding in findings if finding.passed is False]
