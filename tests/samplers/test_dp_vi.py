"""DP-VI: its limit without noise, its price, and what it reads."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from conftest import mechanism_of
from test_samplers import streams

from dpmcmc.accounting.mechanisms import SubsampledGaussianMechanism
from dpmcmc.evaluation.checking.samplers import (
    Checked,
    nothing_else_of_the_rows,
    preparation_as_priced,
    sensitivities_hold,
)
from dpmcmc.evaluation.checking.traces import WatchedTarget, same
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.regression import LogisticRegression
from dpmcmc.samplers.dp_vi import DPVI

COVARIANCE = [[1.0, 0.6], [0.6, 2.0]]
QUIET = DPVI(
    gradient_clip_bound=1e6,
    learning_rate=0.02,
    num_steps=4000,
    start_scale=0.2,
    noise_scale=1e-12,
)


def watched(seed=0):
    return RecordedStreams(*streams(seed))


def of_normal(sampler):
    """The answer on a normal mean, and the precision and mean of its posterior."""
    model = Gaussian(num_rows=50, prior_variance=1.0, covariance=COVARIANCE)
    data = model.simulate(np.random.default_rng(0), np.array([0.5, -0.5]))
    state, _ = sampler.prepare(streams(0), Target(model, data))
    precision = 50 * model.precision + np.eye(2)
    return state.memory, precision, np.linalg.solve(precision, model.precision @ data.sum(axis=1))


def test_without_noise_a_full_rank_q_is_the_posterior():
    q, precision, mean = of_normal(replace(QUIET, family="full-rank"))
    sds = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert np.abs(q.mean - mean).max() < 0.1 * sds.min()
    units = np.linalg.cholesky(precision).T @ q.factor
    assert np.allclose(units @ units.T, np.eye(2), atol=0.1)


def test_without_noise_a_mean_field_q_has_the_precisions_of_the_posterior():
    """Its variances are the inverse of the diagonal of the precision, as for any normal target."""
    q, precision, mean = of_normal(QUIET)
    assert np.abs(q.mean - mean).max() < 0.1 * np.diag(precision).max() ** -0.5
    assert np.allclose(q.factor, np.diag(np.diag(precision) ** -0.5), rtol=0.05, atol=1e-12)


def logistic(n, dimension=3):
    model = LogisticRegression(dimension, n, 1.0, 3.0)
    return model, model.simulate(np.random.default_rng(0))


def test_steps_on_all_rows_cost_what_the_preparation_says():
    sampler, rng = DPVI(gradient_clip_bound=3.0, num_steps=7, noise_scale=2.0), watched()
    released = rng.step(sampler, None, Target(*logistic(40))).released
    cost = sum((r.sensitivity / r.sd) ** 2 for r in released)
    assert len(released) == 7 and math.sqrt(cost) == pytest.approx(0.5)
    assert mechanism_of(sampler, 40, 1.0).mu == pytest.approx(0.5)


def test_steps_on_batches_read_no_other_row_and_have_the_noise_that_is_priced():
    sampler = DPVI(gradient_clip_bound=3.0, num_steps=7, batch_size=10, noise_scale=2.0)
    target, rng = WatchedTarget(*logistic(40)), watched()
    step = rng.step(sampler, None, target)
    in_batches = np.zeros(40, dtype=bool)
    for batch in step.batches:
        in_batches[batch] = True
    assert step.batch_sizes == [10] * 7 and step.has_batch_each
    assert np.array_equal(target.is_read, in_batches)
    [(mechanism, count)] = sampler.releases(40, 1.0, 100)
    assert count == 7 and mechanism == SubsampledGaussianMechanism(28.0, 0.25)
    for released in step.released:
        assert (released.sd / released.sensitivity) ** 2 == pytest.approx(28.0)


@pytest.mark.parametrize("value", [30.0, -1e9, 1e200, math.nan, math.inf])
@pytest.mark.parametrize("family", ["mean-field", "full-rank"])
def test_one_row_moves_releases_by_their_sensitivity_and_the_answer_by_nothing_else(value, family):
    sampler = DPVI(gradient_clip_bound=0.5, num_steps=20, family=family, noise_scale=2.0)
    model, rows = logistic(40)
    other = rows.copy()
    other[3] = value
    rng = watched()
    first = rng.step(sampler, None, Target(model, rows))
    second = rng.repeat(sampler, None, Target(model, other, "clip"), first)
    for one, two in zip(first.released, second.released, strict=True):
        assert one.sensitivity == two.sensitivity and one.sd == two.sd
        assert np.linalg.norm(one.statistic - two.statistic) <= one.sensitivity * (1 + 1e-9)
    assert same(first.state, second.state)


def test_the_average_is_nearer_than_the_last_q():
    model, rows = logistic(2000)
    target, errors = Target(model, rows), {}
    exact = DPVI(gradient_clip_bound=9.0, num_steps=2000, noise_scale=1e-9)
    mode = exact.prepare(streams(0), target)[0].position
    for answer in ("last", "averaged"):
        sampler = DPVI(gradient_clip_bound=3.0, noise_scale=4.0, answer=answer)
        found = [sampler.prepare(streams(i), target)[0].position for i in range(8)]
        errors[answer] = np.mean((np.array(found) - mode) ** 2)
    assert errors["averaged"] < errors["last"]


@dataclass(frozen=True)
class HalfNoise(DPVI):
    """Takes the sensitivity of a row that is added or removed."""

    def gradient(self, rng, target, theta):
        total, _ = target.clipped_gradient(theta, self.gradient_clip_bound)
        sensitivity = target.likelihood_power * self.gradient_clip_bound
        sd = sensitivity * self.noise * math.sqrt(self.num_steps)
        noisy = rng.add_noise(target.likelihood_power * total, sensitivity, sd)
        return noisy + target.model.grad_log_prior(theta), 0.0


@dataclass(frozen=True)
class ExactLine(DPVI):
    """Adds noise to a gradient, and follows the one without."""

    def gradient(self, rng, target, theta):
        _, clip_fraction = super().gradient(rng, target, theta)
        return target.gradient(theta), clip_fraction


@pytest.mark.parametrize(
    ("kind", "check"), [(HalfNoise, sensitivities_hold), (ExactLine, nothing_else_of_the_rows)]
)
def test_check_refuses_wrong_versions(kind, check):
    sampler = kind(gradient_clip_bound=3.0, num_steps=5)
    assert not check(Checked(sampler, 0)).passed


def test_check_finds_the_price_of_batches_right():
    sampler = DPVI(gradient_clip_bound=3.0, num_steps=5, batch_size=20)
    assert preparation_as_priced(Checked(sampler, 0)).passed
