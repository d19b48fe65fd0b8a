"""Columns with unknown means and standard deviations: their likelihood, posterior and units."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpmcmc import NormalColumns
from dpmcmc.evaluation.checking import models, posteriors
from dpmcmc.models.normal_columns import in_range

UNITS = {"centres": {"age": 50, "income": 30}, "scales": {"age": 20, "income": 10}}
MODEL = NormalColumns(["age", "income"], 400, 1.0, **UNITS)
THETA = np.array([0.5, -1.0, 0.3, -0.4])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"variables": ["a", "a"]}, "variables: must be different names: a, a"),
        ({"centres": [1.0]}, "centres: must be 2, one for each variable, not 1"),
        ({"scales": {"age": 1.0}}, "scales: must name age, income, not age"),
        ({"ranges": {"sex": [0, 1]}}, "ranges: must name some of age, income, not sex"),
        ({"ranges": {"age": [9, 9]}}, "ranges: age must go from a number to a greater one"),
        ({"ranges": {"age": [18, 100]}}, "centres: the centre of age must be in its range"),
        (
            {"ranges": {"age": [0, 5e-324]}},
            "ranges: the range of age must be 1e-60 to 1e+60 scales long",
        ),
    ],
)
def test_settings_that_clash_are_refused(change, expected):
    with pytest.raises(ValueError) as error:
        NormalColumns(
            **{"variables": ["age", "income"], "num_rows": 9, "prior_variance": 1} | change
        )
    assert str(error.value) == expected


def test_its_likelihood_is_that_of_normal_columns():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((20, 2))
    other = THETA + 0.1 * rng.standard_normal(4)

    def log_likelihood(theta):
        return stats.norm(theta[:2], np.exp(theta[2:])).logpdf(rows).sum(axis=1)

    statistics = MODEL.statistics(rows)
    slope, intercept = MODEL.ratio_coefficients(THETA, other)
    ratios = slope @ statistics - intercept
    np.testing.assert_allclose(ratios, log_likelihood(other) - log_likelihood(THETA), rtol=1e-9)
    many = MODEL.statistics(np.random.default_rng(2).standard_normal((10**6, 2)))
    theta = np.zeros(4)
    np.testing.assert_allclose(many.mean(axis=1), MODEL.statistic_mean(theta), atol=0.01)
    np.testing.assert_allclose(np.cov(many), MODEL.statistic_covariance(theta), atol=0.02)


@pytest.mark.parametrize(
    ("mean", "sd", "variance"), [(0.4, 0.7, 1.0), (6.0, 0.02, 0.1)], ids=["usual", "far"]
)
def test_exact_draws_have_the_moments_of_the_posterior(mean, sd, variance):
    """Against integrals over ln sigma of a column of 30 values, with the mean integrated out."""
    model, n = NormalColumns(["x"], 30, variance), 30
    values = mean + sd * np.random.default_rng(3).standard_normal(n)
    data = model.statistics(values[:, None])
    of_mean, squares = values.mean(), ((values - values.mean()) ** 2).sum()

    grid = np.linspace(-6, 5, 20_001)
    spread = np.exp(2 * grid) / n
    logs = -(n - 1) * grid - squares / (2 * n * spread) - grid**2 / (2 * variance)
    logs += stats.norm(0, np.sqrt(variance + spread)).logpdf(of_mean)
    weights = np.exp(logs - logs.max())
    weights /= integrate.trapezoid(weights, grid)
    log_sd = integrate.trapezoid(weights * grid, grid)
    given = of_mean / (1 + np.exp(2 * grid) / n / variance)
    draws = model.sample_posterior(np.random.default_rng(4), data, 20_000)
    error = 4 * draws.std(axis=0) / math.sqrt(len(draws))
    assert abs(draws[:, 1].mean() - log_sd) < error[1]
    assert abs(draws[:, 0].mean() - integrate.trapezoid(weights * given, grid)) < error[0]
    again = model.sample_given_total(np.random.default_rng(4), data.sum(axis=1), 20_000)
    np.testing.assert_allclose(again, draws, atol=1e-6)


def test_values_beyond_their_range_count_as_the_end_of_it():
    model = NormalColumns(["age", "income"], 400, 1.0, ranges={"age": [0, 120]}, **UNITS)
    data = model.statistics(model.prepare(np.array([[-99.0, -99.0], [130.0, 1e9], [20.0, 30.0]])))
    np.testing.assert_allclose(model._centres[0] + model._scales[0] * data[0], [0, 120, 20])
    assert data[1, 1] == pytest.approx(1e8) and (data[2:] == data[:2] ** 2).all()
    rows = model.simulate(np.random.default_rng(1), np.array([3.0, 0, 1, 0]))
    assert rows[0].max() == pytest.approx((120 - 50) / 20) and rows[1].min() < -2
    assert "  age: centre 50, scale 20, from 0 to 120" in model.units_in_words()
    assert "  income: centre 30, scale 10" in model.units_in_words()


@pytest.mark.parametrize(
    ("mean", "sd", "expected"),
    [
        (0.2, 0.3, (0.2, 0.3)),
        (1.3, 0.1, (0.7, 0.1)),  # reflected
        (-3.0, 9.0, (0.99, 0.0995)),  # at an end, and nearly a flag
        (1e300, 1e-300, (None, 0.0)),
    ],
)
def test_simulated_values_have_the_mean_and_spread_that_their_range_allows(mean, sd, expected):
    values = in_range(np.random.default_rng(3), [-1.0, 1.0], 2 * mean - 1, 2 * sd, 100_000)
    shares = (values + 1) / 2
    assert (shares >= 0).all() and (shares <= 1).all()
    assert shares.std() == pytest.approx(expected[1], abs=0.005)
    if expected[0] is not None:
        assert shares.mean() == pytest.approx(expected[0], abs=0.005)


def test_a_model_with_ranges_passes_its_check(monkeypatch):
    of_simulated = [
        posteriors.scores_have_mean_zero,
        posteriors.scores_have_the_information,
        posteriors.simulation_based_calibration,
    ]
    monkeypatch.setattr(models, "CHECKS", of_simulated)
    units = {"centres": 0.5, "scales": 0.5, "ranges": {"flag": [0, 1]}}
    model = NormalColumns(["flag"], 1000, 1.0, **units)
    data = model.statistics(model.prepare(np.resize([[0.0], [0.0], [1.0]], (1000, 1))))
    assert [one.passed for one in models.check_model(model, data)] == [True] * len(of_simulated)


def test_draws_are_in_the_units_of_the_columns():
    assert MODEL.parameter_names == ["age", "income", "log_sd_age", "log_sd_income"]
    draws = MODEL.in_file_units(THETA)
    np.testing.assert_allclose(draws[:2], [60, 20])
    np.testing.assert_allclose(np.exp(draws[2:]), [20 * math.exp(0.3), 10 * math.exp(-0.4)])
    np.testing.assert_allclose(MODEL.prepare(np.array([[70.0, 20.0]])), [[1.0, -1.0]])
    assert "  income: centre 30, scale 10" in MODEL.units_in_words()


def test_rows_of_other_laws_have_the_same_mean_and_spread():
    model = NormalColumns(["a", "b"], 100_000, 1.0)
    for law in model.other_laws:
        rows = model.simulate_as(law, np.random.default_rng(1), THETA)[:2]
        np.testing.assert_allclose(rows.mean(axis=1), THETA[:2], atol=0.03)
        np.testing.assert_allclose(np.log(rows.std(axis=1)), THETA[2:], atol=0.1)
