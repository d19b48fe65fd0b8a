"""Noisy least squares: what it releases and at which price, and how honest the answer is."""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import chosen, mechanism_of
from test_samplers import streams

import dpmcmc
from dpmcmc.evaluation.checking.traces import same
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.likelihoods.information import as_matrix
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.laws import heavy, rare
from dpmcmc.samplers.clipped_residuals import SENSITIVITY, ClippedResiduals, Design
from dpmcmc.samplers.error_scale import Counts
from dpmcmc.samplers.metric import Metric
from dpmcmc.samplers.noisy_least_squares import NoisyLeastSquares
from dpmcmc.samplers.one_shot import does_fit

SAMPLER = NoisyLeastSquares(noise_scale=2.0)
METRIC = np.array([[1.0, 0.4], [0.4, 2.5]])


def regression(n, seed=0, **settings):
    model = dpmcmc.LinearRegression(4, n, 1.0, intercept=True, **settings)
    return model, model.simulate(np.random.default_rng(seed))


def scores_in(metric, bound=0.8, sigma=1.3, spread=0.2):
    rows = np.random.default_rng(1).standard_normal((500, 2))
    return ClippedResiduals(Design(rows, Metric(metric)), bound, sigma, spread)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_all_releases_together_cost_what_the_preparation_says(share):
    model, rows = regression(50)
    sampler, rng = replace(SAMPLER, errors_share=share), RecordedStreams(*streams(0))
    released = rng.step(sampler, None, Target(model, rows)).released
    assert len(released) == 2 * 6 + 1 + (2 * 2 + 3 if share else 0)
    assert math.sqrt(sum((r.sensitivity / r.sd) ** 2 for r in released)) == pytest.approx(1 / 2.0)
    assert mechanism_of(sampler, 50, 1.0).mu == pytest.approx(1 / 2.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("has_intercept", [False, True])
@pytest.mark.parametrize("value", [30.0, -1e6, 1e100, 1.2e154, 1e200, math.nan])
def test_one_row_moves_releases_by_their_sensitivity_and_the_answer_by_nothing_else(
    value, has_intercept
):
    # No row has a 1 that keeps it from being short.
    model = dpmcmc.LinearRegression(4, 40, 100.0, intercept=has_intercept)
    rows = model.simulate(np.random.default_rng(0))
    rows[::2, 1:] *= 20  # long rows
    other = rows.copy()
    other[3] = value
    rng, moved, sampler = RecordedStreams(*streams(1)), [], replace(SAMPLER, errors_share=0.2)
    first = rng.step(sampler, None, Target(model, rows))
    second = rng.repeat(sampler, None, Target(model, other, "clip"), first)
    for one, two in zip(first.released, second.released, strict=True):
        assert one.sensitivity == two.sensitivity and one.sd == two.sd
        change = np.linalg.norm(np.subtract(one.statistic, two.statistic))
        moved.append(change / one.sensitivity)
    assert 0 < max(moved) <= 1 + 1e-9
    assert same(first.state, second.state)


@pytest.mark.parametrize("spread", [0.0, 0.01, 5.0])
@pytest.mark.parametrize("metric", [np.eye(2), METRIC], ids=["plain", "found"])
def test_no_row_in_place_of_another_moves_scores_and_slopes_by_more_than_their_sensitivity(
    metric, spread
):
    """Of all pairs of some hundred rows, long and short, with residuals far and near."""
    rng, scores = np.random.default_rng(3), scores_in(metric, spread=spread)
    x = rng.choice([0.0, 1.0, -1.0, 0.3], (600, 2)) * 10 ** rng.uniform(-1, 2, (600, 1))
    residuals = rng.choice([0.0, 1.0, -1.0, 1e-3, 1e6, -50.0], 600)
    x[::50] *= 1e4
    extreme = [1e100, 1.2e154, 1.57e-162, 1e-100, 1e300, math.inf, math.nan]
    x[: len(extreme)] = np.array([1.0, 1.46]) * np.array(extreme)[:, None]
    residuals[: len(extreme)] = 1e200
    released = []
    for row, residual in zip(x, residuals, strict=True):
        gradient, information, _ = scores.sums(row[None], np.array([residual]))
        assert np.linalg.norm(gradient) <= scores.bound * (1 + 1e-12)
        assert np.linalg.norm(information) <= scores.largest * (1 + 1e-12)
        released.append([*gradient, *(scores.ratio * information)])
    released = np.array(released)
    squares = (released**2).sum(axis=1)
    largest = math.sqrt((squares[:, None] + squares - 2 * released @ released.T).max())
    assert 0.9 * SENSITIVITY < largest / scores.bound <= SENSITIVITY * (1 + 1e-9)


@pytest.mark.parametrize("law", [rare, heavy], ids=["rare", "heavy"])
def test_scores_have_mean_zero_for_symmetric_errors_and_with_centres_for_skewed_ones(law):
    rng, n = np.random.default_rng(4), 200_000
    x = 1.0 + law(rng, (n, 2))
    symmetric, skewed = heavy(rng, (n, 1))[:, 0], rng.exponential(size=n) - 1
    centres = Counts.of(streams(0), skewed, 1.0, 1e-9).centres(0.0, 1.3, 0.8)
    for errors, taken_off, is_zero in (
        (symmetric, np.zeros_like, True),
        (skewed, np.zeros_like, False),
        (skewed, lambda c: centres.at(c, centres.centres), True),
    ):
        scores = scores_in(METRIC, bound=1.5)
        scores.centres = taken_off
        parts = zip(np.split(x, 50), np.split(errors, 50), strict=True)
        means = np.array([scores.sums(*part)[0] for part in parts])
        z = means.mean(axis=0) / (means.std(axis=0, ddof=1) / math.sqrt(50))
        assert (abs(z) < 4).all() == is_zero


def test_slopes_are_those_of_a_regression_of_scores_on_a_normal_belief():
    """Stein's identity: E score way' is the slope times the variance of the way."""
    rng, n, scores = np.random.default_rng(5), 4000, scores_in(METRIC, bound=1.5, spread=0.5)
    x = rare(rng, (n, 2))
    _, information, _ = scores.sums(x, np.zeros(n))
    found = []
    for _ in range(400):
        way = math.sqrt(scores.spread) * rng.standard_normal(2)  # of Q^-1 theta
        residuals = x @ METRIC @ way + scores.sigma * rng.standard_normal(n)
        found.append(np.outer(scores.sums(x, residuals)[0], way) / scores.spread)
    error = np.std(found, axis=0, ddof=1) / 20
    assert (abs(np.mean(found, axis=0) - as_matrix(information, 2)) < 4 * error).all()


def exact(target, theta):
    """Mean and covariance of the coefficients, with the true sigma."""
    x, y = target.data[:, 1:] / math.exp(theta[-1]), target.data[:, 0] / math.exp(theta[-1])
    covariance = np.linalg.inv(x.T @ x + np.eye(x.shape[1]))
    return covariance @ (x.T @ y), covariance


@pytest.mark.parametrize("log_sigma", chosen([0.0, -2.0, 1.5], -2.0, 1.5))
def test_answers_are_narrow_and_hold_the_truth_in_any_units(log_sigma):
    """Coefficients are some 1 in size, so errors are from a seventh of them to four times them."""
    model, _ = regression(10_000)
    sampler = dpmcmc.for_budget(NoisyLeastSquares(), num_rows=10_000, epsilon=1)
    hits, widths = [], []
    for seed in range(6):
        rng = np.random.default_rng([8, seed])
        theta = np.append(rng.standard_normal(3), log_sigma)
        target = Target(model, model.simulate(rng, theta))
        state, info = sampler.prepare(streams([9, seed]), target)
        mean, covariance = state.memory.normal
        sds = np.sqrt(np.diag(covariance))
        widths.append(sds[:-1] / np.sqrt(np.diag(exact(target, theta)[1])))
        hits.append(abs(mean - theta) < 1.645 * sds)
        assert does_fit(info.misfit, info.far)
    assert np.mean(hits) > 0.8  # 0.9 with a standard error of 0.06
    assert 1 < np.mean(widths) < 1.4


def data_of(model, seed, covariates, errors):
    """Rows with an intercept, and theta: both laws are functions of a generator and a number."""
    rng, n = np.random.default_rng(seed), model.num_rows
    theta = np.append(rng.standard_normal(3), 0.0)
    x = np.column_stack([np.ones(n), covariates(rng, n)])
    return Target(model, np.column_stack([x @ theta[:-1] + errors(rng, n), x])), theta


def flags(rng, n):
    """Rare ones, and heavy tails."""
    return np.column_stack([rng.random(n) < 0.1, heavy(rng, (n, 1))])


def correlated(rng, n):
    """Flags that are mostly one, and nearly the 1 of the intercept."""
    return (rng.random((n, 2)) < [0.5, 0.8]).astype(float)


@pytest.mark.parametrize(("law", "n", "width"), [(flags, 10_000, 1.6), (correlated, 1500, 3.5)])
def test_covariates_unlike_simulated_ones_are_honest(law, n, width):
    model, _ = regression(n)
    sampler = dpmcmc.for_budget(NoisyLeastSquares(), num_rows=n, epsilon=1)
    hits, widths = [], []
    for seed in range(8):
        target, theta = data_of(model, [10, seed], law, lambda rng, n: rng.standard_normal(n))
        state, _ = sampler.prepare(streams([11, seed]), target)
        mean, covariance = state.memory.normal
        sds = np.sqrt(np.diag(covariance))
        hits.append(abs(mean - theta) < 1.645 * sds)
        widths.append(sds[:-1] / np.sqrt(np.diag(exact(target, theta)[1])))
    assert np.mean(hits) > 0.78  # 0.9 with a standard error of 0.06
    assert np.mean(widths) < width


def test_a_prior_that_denies_the_size_of_errors_does_not_fit_and_leaves_coefficients_right():
    model = dpmcmc.LinearRegression(4, 10_000, 0.04)
    sampler = dpmcmc.for_budget(NoisyLeastSquares(), num_rows=10_000, epsilon=1)
    theta = np.array([0.1, -0.1, 0.0, -2.0])
    rows = model.simulate(np.random.default_rng(17), theta)
    state, info = sampler.prepare(streams(18), Target(model, rows))
    mean, covariance = state.memory.normal
    z = (mean - theta)[:3] / np.sqrt(np.diag(covariance))[:3]
    assert (abs(z) < 3).all() and covariance[:3, :3].max() < 1e-5
    assert not does_fit(info.misfit)


@pytest.mark.parametrize("variance", [1e-4, 1.0, 1e4])
def test_a_release_that_says_nothing_leaves_the_prior(variance):
    model = dpmcmc.LinearRegression(2, 50, variance)
    sampler = dpmcmc.for_budget(NoisyLeastSquares(), num_rows=50, epsilon=0.05)
    rows = model.simulate(np.random.default_rng(19), np.zeros(2))
    state, _ = sampler.prepare(streams(20), Target(model, rows))
    sds = np.sqrt(np.diag(state.memory.normal.covariance) / variance)
    assert (sds < 1.1).all()


def lognormal(rng, n):
    """Of mean 0 and variance 1."""
    return (np.exp(rng.standard_normal(n)) - math.exp(0.5)) / math.sqrt(math.e * (math.e - 1))


def exponential(rng, n):
    """Of mean 0 and variance 1."""
    return rng.exponential(size=n) - 1


@pytest.mark.parametrize("errors", [exponential, lognormal])
def test_skewed_errors_do_not_move_coefficients(errors):
    """Rare flags have short clips, so their errors are centred elsewhere than those of others."""
    n = 10_000
    model, _ = regression(n)
    sampler = dpmcmc.for_budget(NoisyLeastSquares(), num_rows=n, epsilon=1)
    hits, z = [], []
    for seed in range(8):
        target, theta = data_of(model, [21, seed], flags, errors)
        state, info = sampler.prepare(streams([22, seed]), target)
        mean, covariance = state.memory.normal
        sds = np.sqrt(np.diag(covariance))
        hits.append(abs(mean - theta) < 1.645 * sds)
        z.append((mean - theta) / sds)
        assert sds[0] < 0.1 and does_fit(info.misfit)
        assert not does_fit(info.misfit, info.far)  # as they are not normal
    assert np.mean(hits) > 0.75  # 0.9 with a standard error of 0.06
    assert (abs(np.mean(z, axis=0)) < 1.2).all()  # with a standard error of .4; 12 without centres


def test_where_the_mean_of_errors_is_not_found_the_intercept_is_as_uncertain_as_they_are_skewed():
    model, rows = regression(10_000)
    sampler = replace(SAMPLER, noise_scale=3.0)
    sds = [
        np.sqrt(np.diag(one.prepare(streams(23), Target(model, rows))[0].memory.normal.covariance))
        for one in (sampler, replace(sampler, errors_share=0.0))
    ]
    assert sds[0][0] < 0.1 < 0.2 < sds[1][0] < 0.3
    assert abs(sds[1][1:3] / sds[0][1:3] - 1).max() < 0.2


def test_what_it_cannot_do_is_said():
    logistic = dpmcmc.LogisticRegression(2, 100, 1.0)
    with pytest.raises(ValueError, match="must be a LinearRegression, not LogisticRegression"):
        SAMPLER.chosen_settings(logistic)
    with pytest.raises(ValueError, match="shares: must be at least 2, not 1"):
        NoisyLeastSquares(shares=[1.0])
    with pytest.raises(ValueError, match=r"fit_share: must be below 0\.8, not 0\.95"):
        NoisyLeastSquares(fit_share=0.95)
    with pytest.raises(ValueError, match=r"shares: must add up to 1, not to 0\.9"):
        NoisyLeastSquares(shares=[0.4, 0.5])


@pytest.mark.parametrize(("epsilon", "share"), [(4, 0.2), (0.25, 0.0)])
def test_two_steps_are_enough_and_less_clip_noise_and_a_small_budget_are_seen_in_settings(
    epsilon, share
):
    model, rows = regression(2000)
    sampler = dpmcmc.for_budget(NoisyLeastSquares(shares=[0.4, 0.6]), 2000, epsilon)
    chosen = {"clip_noise": sampler.noise, "shares": [0.4, 0.6], "errors_share": share}
    assert sampler.chosen_settings(model) == chosen
    clipped = [
        replace(sampler, clip_noise=noise)
        .prepare(streams(14), Target(model, rows))[1]
        .gradient_clip_fraction
        for noise in (sampler.noise, sampler.noise / 30)
    ]
    assert clipped[0] > 2 * clipped[1]


def test_spread_after_a_step_is_about_what_beliefs_have():
    """The recursion by which bounds are chosen, beside a release."""
    rng = np.random.default_rng(16)
    design, n, noise = Design(rng.standard_normal((1024, 3)), Metric(np.eye(3))), 20_000, 20.0
    scores = ClippedResiduals(design, 1.0, 1.0, 0.04)
    predicted = scores.spread_after(n, noise)
    sd = SENSITIVITY * noise * scores.bound
    slope = n * scores.mean_slope(predicted) * design.size / 3
    alone = (n * scores.sampling * design.size / 3 + sd**2) / slope**2
    assert 0.8 < predicted * (1 / 0.04 + 1 / alone) < 1.6
