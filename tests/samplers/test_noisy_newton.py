"""Private Newton steps: what they release, what they cost, and the posterior that they give."""

import math

import numpy as np
import pytest
from row_models import LogisticJax, PlainLogisticRows
from test_samplers import streams

import dpmcmc
from dpmcmc.evaluation.watching import WatchedStreams
from dpmcmc.likelihoods.information import as_matrix

MEAN = dpmcmc.Gaussian(2000, 4.0, [[1.0, 0.3], [0.3, 0.5]], [0.5, -0.4])


def logistic(kind=PlainLogisticRows, num_rows=4000, seed=1):
    """A regression with data; covariates within 4 of 0."""
    model = kind(3, num_rows)
    rng = np.random.default_rng(seed)
    data = model.simulate(rng)
    lengths = np.linalg.norm(data[:, :-1], axis=1, keepdims=True)
    data[:, :-1] *= np.minimum(1, 4 / lengths)
    return dpmcmc.Target(model, data)


def watched(sampler, target, seed=1):
    """A preparation, with what it released."""
    return WatchedStreams(*streams(seed)).step(sampler, None, target)


def test_information_is_that_of_the_rows_each_clipped():
    """By differences on rows, exactly in JAX; of a logistic regression it is p (1 - p) x x^T."""
    theta, bound = np.array([0.3, -0.2, 0.4]), 0.5
    target = logistic()
    x = target.data[:, :-1]
    p = 1 / (1 + np.exp(-x @ theta))
    matrices = (p * (1 - p))[:, None, None] * x[:, :, None] * x[:, None]
    norms = np.linalg.norm(matrices, axis=(1, 2))
    clipped = matrices * np.minimum(1, bound / norms)[:, None, None]
    for kind in (PlainLogisticRows, LogisticJax):
        total, num_clipped = logistic(kind).clipped_information(theta, bound)
        assert as_matrix(total, 3) == pytest.approx(clipped.sum(axis=0), rel=1e-5)
        assert num_clipped == pytest.approx((norms > bound).sum(), abs=1)


def test_information_of_an_exponential_family_is_minus_the_slope_of_its_gradient():
    model = dpmcmc.Banana(3, 300, 0.7, 1.0, [2.0, 0.5], [0.2, 1.0])
    target = dpmcmc.Target(model, model.simulate(np.random.default_rng(1)))
    theta, change = np.array([0.4, 0.7, 0.1]), 1e-5 * np.eye(3)
    total, num_clipped = target.clipped_information(theta, 1e3)
    slopes = [
        (target.clipped_gradient(theta - h, 1e9)[0] - target.clipped_gradient(theta + h, 1e9)[0])
        / 2e-5
        for h in change
    ]
    assert as_matrix(total, 3) == pytest.approx(np.array(slopes), rel=1e-4, abs=1e-2)
    assert num_clipped == 0
    assert 0 < target.clipped_information(theta, 1.0)[1] <= 300


def test_steps_share_the_budget_and_a_row_moves_what_they_release_by_its_sensitivity():
    sampler = dpmcmc.NoisyNewton(gradient_clip_bound=1.5, noise_scale=0.7)
    data = MEAN.simulate(np.random.default_rng(1))
    far = data.copy()
    data[:, 0], far[:, 0] = 1e6, -1e6
    released, other = (watched(sampler, dpmcmc.Target(MEAN, x)).released for x in (data, far))
    assert len(released) == 2 * sampler.num_steps
    spent = sum((one.sensitivity / one.sd) ** 2 for one in released)
    assert spent == pytest.approx(1 / 0.7**2, rel=1e-12)
    assert sampler.preparation(2000).mu == pytest.approx(1 / 0.7)
    moved = np.linalg.norm(released[0].statistic - other[0].statistic)
    assert moved == pytest.approx(released[0].sensitivity, rel=1e-3)


def test_of_a_gaussian_the_posterior_is_the_noise_aware_one():
    """Where nothing is clipped, of the mean it is known: z ~ N(H theta, H + v I), H = n C^-1."""
    sampler = dpmcmc.NoisyNewton(12.0, information_clip_bound=8.0, noise_scale=0.5)
    target = dpmcmc.Target(MEAN, MEAN.simulate(np.random.default_rng(2)))
    step = watched(sampler, target)
    gradients = step.released[::2][-4:]
    v = 1 / sum(one.sd**-2 for one in gradients)
    H = 2000 * MEAN.precision
    precision = H @ np.linalg.solve(H + v * np.eye(2), H) + np.eye(2) / 4
    answer = step.state.memory
    expected = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert np.sqrt((answer.factor**2).sum(axis=1)) == pytest.approx(expected, rel=0.05)
    exact = MEAN.sample_posterior(np.random.default_rng(1), target.data, 4000).mean(axis=0)
    assert np.abs((answer.mean - exact) / expected).max() < 4


def test_intervals_of_a_logistic_regression_cover_as_often_as_they_say():
    """epsilon .5, 60 data sets at one theta, three components each."""
    sampler = dpmcmc.for_budget(dpmcmc.NoisyNewton(gradient_clip_bound=4.0), 4000, 0.5)
    covered = []
    for seed in range(60):
        target = logistic(seed=100 + seed)
        state, info = sampler.prepare(streams(seed), target)
        answer, truth = state.memory, target.model.true_theta
        sd = np.sqrt((answer.factor**2).sum(axis=1))
        covered.append((np.abs(answer.mean - truth) < 1.645 * sd).mean())
        assert info.gradient_clip_fraction == 0
    covered = np.array(covered)
    assert abs(covered.mean() - 0.9) < 4 * covered.std() / math.sqrt(60)


def test_draws_are_free_and_of_the_answer():
    sampler = dpmcmc.NoisyNewton(4.0, noise_scale=0.5)
    chain = dpmcmc.run_chain(sampler, logistic(), streams(1), None, 4000)
    answer = watched(sampler, logistic()).state.memory
    sd = np.sqrt((answer.factor**2).sum(axis=1))
    assert np.abs((chain.positions.mean(axis=0) - answer.mean) / sd).max() < 5 / math.sqrt(4000)
    assert chain.positions.std(axis=0) == pytest.approx(sd, rel=5 / math.sqrt(8000))
    assert not hasattr(sampler, "mechanism")


def test_a_start_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"^start: must be a number or a list of 3 numbers, not 2"):
        dpmcmc.NoisyNewton(4.0, noise_scale=1.0, start=[0.0, 1.0]).prepare(streams(1), logistic())
