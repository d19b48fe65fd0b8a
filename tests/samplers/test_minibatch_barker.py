"""Barker's test on batches without privacy: logistic, on all rows and on batches of small error."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from test_samplers import streams

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.samplers import minibatch_barker
from dpmcmc.samplers.batches import draw_batch
from dpmcmc.samplers.minibatch_barker import MinibatchBarker, UnitCorrection
from dpmcmc.samplers.moves import Move
from dpmcmc.samplers.sampler import State


@dataclass(frozen=True)
class To(Move):
    """A move that always proposes one place."""

    place: float

    def propose(self, rng, theta, memory):
        return np.array([self.place]), None, None


@pytest.fixture(scope="module")
def correction():
    return UnitCorrection.compute()


@pytest.fixture(scope="module")
def target():
    """400 rows of variance 400: a log ratio of all rows of about 1 for a step of 1."""
    model = Gaussian(400, 10.0, [[400.0]], [0.0])
    return Target(model, model.simulate(np.random.default_rng(2)))


def test_the_correction_makes_unit_noise_logistic(correction):
    assert isinstance(correction, UnitCorrection) and correction.error < 1e-5
    rng = np.random.default_rng(1)
    draws = rng.standard_normal(100_000) + [correction.draw(rng) for _ in range(100_000)]
    assert stats.kstest(draws, stats.logistic.cdf).pvalue > 1e-3


@pytest.mark.parametrize("batch_size", [100, 300, 400])
@pytest.mark.parametrize("place", [-0.1, 0.3, 0.8])
def test_a_proposal_is_accepted_as_often_as_barker_says(target, correction, batch_size, place):
    """On all rows exactly; on batches as long as their variance is below that of the noise."""
    sampler, rng, theta = MinibatchBarker(To(place), batch_size, correction), streams(3), [0.4]
    state, count = State(np.array(theta)), 10_000
    accepted = sum(sampler.step(rng, state, target)[1].is_accepted for _ in range(count))
    share = stats.logistic.cdf(target.log_density_ratio(state.position, np.array([place])))
    assert abs(accepted / count - share) < 4.5 * math.sqrt(share * (1 - share) / count) + 0.002


def test_the_error_of_a_batch_and_the_noise_together_have_variance_one(
    target, correction, monkeypatch
):
    """Replayed from the same draws: too little a change for shares of acceptance to show."""
    accepts, noisy_ratios = minibatch_barker.accepts, []
    monkeypatch.setattr(
        minibatch_barker,
        "accepts",
        lambda rng, value, c: noisy_ratios.append(value) or accepts(rng, value, c),
    )
    theta, theta_new = np.array([0.4]), np.array([0.8])
    sampler, rng, twin = MinibatchBarker(To(0.8), 100, correction), streams(7), streams(7)
    slope, intercept = target.model.ratio_coefficients(theta, theta_new)
    for _ in range(20):
        sampler.step(rng, State(theta), target)
        r = slope @ target.data[:, draw_batch(twin, 400, 100)] - intercept
        variance = 4**2 * 100 * (1 - 100 / 400) * r.var(ddof=1)  # n / b = 4
        noise = math.sqrt(1 - variance) * twin.acceptance.standard_normal()
        expected = 4 * r.sum() + target.model.log_prior_ratio(theta, theta_new) + noise
        assert noisy_ratios[-1] == pytest.approx(expected, rel=1e-9) and variance > 0.3
        correction.draw(twin.acceptance)


def test_an_accepted_proposal_is_the_next_state(target, correction):
    sampler, rng, state = MinibatchBarker(To(0.5), 100, correction), streams(4), State(np.zeros(1))
    for _ in range(50):
        new, info = sampler.step(rng, state, target)
        assert new.position == (0.5 if info.is_accepted else 0.0)
        assert info.clip_fraction == 0 and not info.is_changed


@pytest.mark.parametrize("bound", [1e-3, 0.02])
def test_clipped_rows_count_for_no_more_than_the_bound(target, correction, bound):
    """On all rows, so that the error of the batch is none: Barker's test of the clipped sum."""
    place, count, rng = 0.8, 10_000, streams(6)
    sampler, state = MinibatchBarker(To(place), 400, correction, bound), State(np.array([0.4]))
    infos = [sampler.step(rng, state, target)[1] for _ in range(count)]
    theta_new = np.array([place])
    ratio, num_clipped = target.clipped_log_likelihood_ratio(state.position, theta_new, bound)
    ratio += target.model.log_prior_ratio(state.position, theta_new)
    assert num_clipped > 40 and infos[0].clip_fraction == num_clipped / 400
    whole = target.log_density_ratio(state.position, theta_new)
    share, unclipped = stats.logistic.cdf([ratio, whole])
    accepted = sum(info.is_accepted for info in infos) / count
    se = math.sqrt(share * (1 - share) / count)
    assert abs(accepted - share) < 4.5 * se + 0.002
    assert bound > 1e-3 or abs(accepted - unclipped) > 10 * se


def test_a_batch_of_larger_variance_than_the_noise_gets_none(target, correction):
    """No number under the root is negative; the log ratio of the batch decides with V alone."""
    sampler, rng = MinibatchBarker(To(40.0), 4, correction), streams(5)
    outcomes = [sampler.step(rng, State(np.zeros(1)), target)[1].is_accepted for _ in range(100)]
    assert 0 < sum(outcomes) < 100 and not sampler.is_private
