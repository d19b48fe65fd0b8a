"""Noisy Newton of this study: what it releases and at which price, and how honest the answer is."""

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from conftest import mechanism_of
from row_models import PlainLogisticRows

from clipped_newton import NoisyNewton
from dpmcmc.evaluation.checking.traces import same
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.likelihoods.information import as_matrix
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.regression import RobustRegression
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.streams import Streams

LOGISTIC = NoisyNewton(gradient_clip_bound=3.0, noise_scale=2.0)
NORMAL_90 = 1.6449


def streams(seed):
    return Streams(*map(np.random.default_rng, np.random.SeedSequence(seed).spawn(3)))


def watched(seed=0):
    return RecordedStreams(*streams(seed))


def logistic(n, seed=0, dimension=3):
    model = PlainLogisticRows(dimension, n, 4.0)
    return model, model.simulate(np.random.default_rng(seed))


@pytest.mark.parametrize(("power", "steps"), [*product([1.0, 0.3], [1, 10])])
def test_all_releases_together_cost_what_the_preparation_says(power, steps):
    sampler, rng = replace(LOGISTIC, num_steps=steps), watched()
    model, rows = logistic(50)
    object.__setattr__(model, "likelihood_power", power)
    released = rng.step(sampler, None, Target(model, rows)).released
    assert len(released) == 2 * steps
    cost = sum((r.sensitivity / r.sd) ** 2 for r in released)
    assert math.sqrt(cost) == pytest.approx(1 / 2.0)
    assert mechanism_of(sampler, 50, power).mu == pytest.approx(1 / 2.0)


@pytest.mark.parametrize("value", [0.0, 30.0, -1e9, 1e200, math.nan, math.inf])
def test_one_row_moves_releases_by_their_sensitivity_and_the_answer_by_nothing_else(value):
    model, rows = logistic(40)
    rows[::2, :-1] *= 20  # rows at the clip
    other = rows.copy()
    other[3] = value
    rng, largest = watched(1), 0.0
    first = rng.step(LOGISTIC, None, Target(model, rows))
    second = rng.repeat(LOGISTIC, None, Target(model, other, "clip"), first)
    for one, two in zip(first.released, second.released, strict=True):
        assert one.sensitivity == two.sensitivity and one.sd == two.sd
        moved = np.linalg.norm(np.subtract(one.statistic, two.statistic)) / one.sensitivity
        largest = max(largest, moved)
    assert 0 < largest <= 1 + 1e-9
    assert same(first.state, second.state)


def test_a_row_at_one_clip_put_at_the_other_moves_a_gradient_by_all_of_its_sensitivity():
    model, rows = logistic(40)
    rows[3] = [100, 0, 0, 1]
    other = rows.copy()
    other[3, -1] = 0
    rng = watched(1)
    step = rng.step(LOGISTIC, None, Target(model, rows))
    first = step.released[0]
    second = rng.repeat(LOGISTIC, None, Target(model, other), step)
    change = np.linalg.norm(first.statistic - second.released[0].statistic)
    assert change == pytest.approx(first.sensitivity)


def test_steps_read_no_row_and_are_draws_of_the_answer():
    model, rows = logistic(500)
    target = Target(model, rows)
    state, info = LOGISTIC.prepare(streams(2), target)
    target.likelihood = target.data = None
    rng, draws = watched(3), []
    for _ in range(4000):
        step = rng.step(LOGISTIC, state, target)
        assert not step.released
        state = step.state
        draws.append(state.position)
    mean, factor = state.memory
    z = np.linalg.solve(factor, (np.array(draws) - mean).T)
    assert abs(z.mean(axis=1)).max() < 5 / math.sqrt(4000)
    assert abs(np.cov(z) - np.eye(3)).max() < 7 / math.sqrt(4000)
    assert math.isnan(info.clip_fraction) and 0 <= info.gradient_clip_fraction < 1


def test_the_library_runs_it_without_a_start():
    model, rows = logistic(500)
    chain = run_chain(LOGISTIC, Target(model, rows), streams(4), None, 5)
    assert chain.positions.shape == (5, 3) and np.isfinite(chain.positions).all()


@dataclass(frozen=True)
class TemperedGaussian(Gaussian):
    likelihood_power = 0.25


@pytest.mark.parametrize("kind", [Gaussian, TemperedGaussian])
def test_of_a_normal_mean_it_is_the_noise_aware_posterior(kind):
    """Steps are exact there: a release of the last four, of covariance v I, about H theta^."""
    n, T = 40_000, kind.likelihood_power
    model = kind(n, 0.02, [[1.0, 0.5], [0.5, 2.0]], [0.3, -0.2])
    data = model.simulate(np.random.default_rng(5))
    H = n * model.precision
    errors = []
    for seed in range(50):
        rng = watched(seed)
        sampler = NoisyNewton(8.0, information_clip_bound=1.5, noise_scale=15.0)
        step = rng.step(sampler, None, Target(model, data))
        mean, factor = step.state.memory
        v = 1 / sum(r.sd**-2 for r in step.released[-8::2])
        gain = H @ np.linalg.inv(H / T + v * np.eye(2))
        precision = gain @ H + np.eye(2) / 0.02
        np.testing.assert_allclose(factor @ factor.T @ precision, np.eye(2), atol=0.1)
        expected = np.linalg.solve(precision, gain @ (model.precision @ data.sum(axis=1)))
        noise_of_mean = np.linalg.solve(precision, gain) * math.sqrt(v)
        errors.append(np.linalg.solve(noise_of_mean, mean - expected))
    errors = np.array(errors)
    assert abs(errors.mean(axis=0)).max() < 4 / math.sqrt(50)
    assert (errors**2).mean() == pytest.approx(1, abs=4 * math.sqrt(2 / 100))


def test_intervals_of_a_logistic_regression_cover_as_they_say():
    """With noise that widens the posterior by a third."""
    covered, ratios = [], []
    for seed in range(60):
        model, rows = logistic(10_000, [6, seed])
        sampler = NoisyNewton(gradient_clip_bound=4.0, noise_scale=4.0)
        state, _ = sampler.prepare(streams([7, seed]), Target(model, rows))
        mean, factor = state.memory
        sds = np.linalg.norm(factor, axis=1)
        covered.append(abs(mean - model.true_theta) <= NORMAL_90 * sds)
        x = rows[:, :-1]
        p = 1 / (1 + np.exp(-x @ model.true_theta))
        exact = np.linalg.inv((x.T * (p * (1 - p))) @ x + np.eye(3) / 4.0)
        ratios.append(sds / np.sqrt(np.diag(exact)))
    per_set = np.mean(covered, axis=1)
    error = per_set.std(ddof=1) / math.sqrt(len(per_set))
    assert abs(per_set.mean() - 0.9) < 4 * error
    assert 1.2 < np.median(ratios) < 1.5  # sqrt(1 + v / H) is about 1.3


@pytest.mark.parametrize("noise_scale", [0.1, 1.0, 4.0])
def test_it_reaches_the_mode_from_where_the_information_is_not_positive(noise_scale):
    """A row of Student's t informs by a negative amount where its residual is beyond its scale."""
    model = RobustRegression(5, 300_000, 1.0, 3.0)
    theta = np.array([-0.1, 2.0, -1.2, 0.7, 1.5])
    rows = model.simulate(np.random.default_rng(3), theta)
    first = information(Target(model, rows), np.zeros(5))
    assert np.linalg.eigvalsh(first)[0] < 0
    sampler = NoisyNewton(3.75, 11.25, noise_scale=noise_scale)
    state, _ = sampler.prepare(streams(4), Target(model, rows))
    mean, factor = state.memory
    # Standardised by the exact information, the rows' sampling and the noise are about N(0, I).
    error = np.linalg.solve(factor, mean - theta)
    assert error @ error < 20.5  # the 99.9 % point of chi^2 with five degrees


@pytest.mark.parametrize("noise_scale", [1.0, 10.0])
def test_it_reaches_a_mode_far_from_the_start(noise_scale):
    """Seven standard deviations of a row away, where log-likelihoods rise by 24 on the way."""
    theta = np.array([4.2, -5.6])
    model = Gaussian(20_000, 100.0, [[1.0, 0.0], [0.0, 1.0]], theta.tolist())
    rows = model.simulate(np.random.default_rng(9))
    sampler = NoisyNewton(5.0, information_clip_bound=1.5, noise_scale=noise_scale)
    state, _ = sampler.prepare(streams(10), Target(model, rows))
    mean, factor = state.memory
    error = np.linalg.solve(factor, mean - theta)
    assert error @ error < 13.8  # the 99.9 % point of chi^2 with two degrees


def information(target, theta):
    """Summed information (d, d) of all rows; nothing is clipped."""
    summed, _ = target.clipped_information(theta, 1e6)
    return as_matrix(summed, len(theta))


def test_it_stays_finite_where_there_is_noise_alone():
    model, rows = logistic(20)
    state, _ = replace(LOGISTIC, noise_scale=1e4).prepare(streams(8), Target(model, rows))
    mean, factor = state.memory
    assert np.isfinite(mean).all() and np.linalg.norm(factor) < 2 * math.sqrt(3 * 4.0)  # the prior


def test_what_is_not_said_is_asked_for():
    model, rows = logistic(20)
    for call in (
        lambda sampler: sampler.releases(20, 1.0, 0),
        lambda sampler: sampler.prepare(streams(9), Target(model, rows)),
    ):
        with pytest.raises(ValueError, match="noise_scale: must be given"):
            call(NoisyNewton(gradient_clip_bound=3.0))
    assert NoisyNewton(3.0).with_preparation_noise(2.0) == LOGISTIC
    assert LOGISTIC.with_preparation_noise(5.0) == LOGISTIC
    with pytest.raises(ValueError, match="start: must be a number or a list of 3 numbers, not 2"):
        replace(LOGISTIC, start=[0.0, 1.0]).prepare(streams(9), Target(model, rows))
