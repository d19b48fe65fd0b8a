"""Samplers and models that are wrong in a way of their own are caught, each by the check of it.

docs/own.md has a table of them.
"""

import dataclasses
import math

import numpy as np
import pytest
from conftest import chosen, fitted_correction
from test_check_samplers import Right
from wrong_models import (
    Centred,
    HalfAGradient,
    LogScale,
    ScaledByTheLargest,
    SquaredScale,
    StatisticsOfAllRows,
    Twice,
    WidePrior,
    WithoutJacobian,
    WithoutNormalizer,
)

from dpmcmc.accounting.mechanisms import GaussianMechanism
from dpmcmc.evaluation.checking import models
from dpmcmc.evaluation.checking.findings import find_all
from dpmcmc.evaluation.checking.models import check_model
from dpmcmc.evaluation.checking.samplers import OF_PRIVATE, Checked, for_any_dimension
from dpmcmc.samplers.batch_ratios import batch_log_ratio
from dpmcmc.samplers.batches import draw_batch
from dpmcmc.samplers.chain import accepts
from dpmcmc.samplers.dp_barker import FullDataDPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_sgld import DPSGLD
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk
from dpmcmc.samplers.noisy_statistics import NoisyStatistics
from dpmcmc.samplers.safe_radius import sums_of_far_rows
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.sghmc import DPSGHMC

RATIO = "One row moves a released statistic by at most its sensitivity"
STATE = "The same releases lead to the same state, whatever the rows"
SECRET = "The same releases lead to the same state, whatever the batch"
READ = "Rows are read that are in a batch of the iteration, and no others"
COST = "(sensitivity / noise)^2 of an iteration is what releases() says"
AWAY = "Chains without noise and clipping come away from their start"
PREPARED = "(sensitivity / noise)^2 of the preparation is what releases() says"
QUIET = "Without noise and clipping it leaves the posterior invariant"
ON_BATCHES = "With noise and batches, without clipping, it leaves the posterior invariant"
SMALL_STEPS = "With steps that go to 0, without clipping, it leaves the posterior invariant"
OTHERS = "Replaced row: the terms of all others stay, to the last bit"
WALK = GaussianWalk(0.15)


# -- Samplers --------------------------------------------------------------------------------------


class TemperedAtHalf(Right):
    """A sensitivity that is right where T is 1/2: that of T times the sum, without the 2."""

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        ratio, _ = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        T = target.likelihood_power
        return rng.add_noise(T * ratio, bound, sigma / 2) / T


class PowerInTheNoise(Right):
    """Noise on T times the sum, and a price of noise on the sum."""

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        ratio, _ = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        T = target.likelihood_power
        return rng.add_noise(T * ratio, 2 * T * bound, 0.5 * sigma) / T


class BarkerWithoutPower(FullDataDPBarker):
    """Barker's test on all rows at the price of B for 2 T B."""

    def releases(self, num_rows, likelihood_power, iterations):
        return [(GaussianMechanism(self.clip_bound / math.sqrt(2)), iterations)]


class WithoutScale(DPSGLD):
    """The sensitivity of the sum over a batch, without the n T / b that it is multiplied by."""

    def sensitivity(self, num_rows, likelihood_power):
        return self.gradient_step * 2 * self.gradient_clip_bound


class TrajectoryWithoutScale(DPSGHMC):
    """Likewise, at each step of a trajectory."""

    def sensitivity(self, num_rows, likelihood_power, step_size):
        return step_size * 2 * self.gradient_clip_bound


class PartOfTheVariance(MinibatchDPPenalty):
    """A quarter of the sensitivity that the batch's variance has."""

    def sensitivity_at(self, target, bound):
        a = target.num_rows * target.likelihood_power / self.batch_size
        return 2 * a * bound + (super().sensitivity_at(target, bound) - 2 * a * bound) / 4


class DropsClippedRows(Right):
    """The mean of the rows that are not clipped, times n."""

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        ratio, num_clipped = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        left = max(1, target.num_rows - num_clipped)
        return rng.add_noise(ratio * target.num_rows / left, 2 * bound, sigma)


class ClipsComponents(DPHMC):
    """Each component of a gradient is clipped by itself, at the bound of the norm."""

    def noisy_gradient(self, rng, target, theta):
        bound, n = self.gradient_clip_bound, target.num_rows
        sigma = 2 * self.gradient_noise_scale * math.sqrt(n) * bound
        banana, straight = target.model, target.model.straighten(theta)
        gradients = banana.precisions[:, None] * (target.data - straight[:, None])
        gradients[0] += 2 * banana.curvature * theta[0] * gradients[1]
        total = np.nan_to_num(gradients).clip(-bound, bound).sum(axis=1)
        noisy = rng.add_noise(total, 2 * bound, sigma)
        return target.likelihood_power * noisy + target.model.grad_log_prior(theta), 0


class DirectionInTheOpen(DPHMC):
    """The length of the gradient has noise, its direction has none."""

    def noisy_gradient(self, rng, target, theta):
        bound = self.gradient_clip_bound
        sigma = 2 * self.gradient_noise_scale * math.sqrt(target.num_rows) * bound
        total, num_clipped = target.clipped_gradient(theta, bound)
        length = np.linalg.norm(total)
        noisy = rng.add_noise(length, 2 * bound, sigma)
        total = total / max(length, 1e-9) * noisy
        return target.likelihood_power * total + target.model.grad_log_prior(theta), num_clipped


class TellingInfo(Right):
    """`Info.is_accepted`, which is not secret, tells the sign of a sum of the rows."""

    def step(self, rng, state, target):
        state, info = super().step(rng, state, target)
        return state, info._replace(is_accepted=bool(target.data.sum() > 0))


class AfterTenRejections(Right):
    """Decides by the bare ratio after ten rejections in a row."""

    kind = False

    def init(self, rng, position):
        return State(position, 0)

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        ratio, _ = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        noisy = rng.add_noise(ratio, 2 * bound, sigma)
        return noisy if self.count < 10 else math.copysign(math.inf, ratio)

    def step(self, rng, state, target):
        object.__setattr__(self, "count", state.memory)
        new, info = super().step(rng, state, target)
        count = state.memory + 1 if info.is_accepted == self.kind else 0
        return State(new.position, count), info


class AfterTenAcceptances(AfterTenRejections):
    """Decides by the bare ratio after ten acceptances in a row."""

    kind = True


class SpellsTheBatch(DPSGLD):
    """The position has a last digit for a row that was in the batch."""

    def step(self, rng, state, target):
        batch = draw_batch(rng, target.num_rows, self.batch_size)
        new = self.step_on(rng, state.position, target, batch)
        is_in = batch[0] if batch.dtype == bool else 0 in batch
        return State(new + 1e-13 * is_in), Info(True, math.nan)

    def step_on(self, rng, theta, target, batch):
        n, T = target.num_rows, target.likelihood_power
        G, _ = target.clipped_batch_gradient(theta, self.gradient_clip_bound, batch)
        gradient = target.model.grad_log_prior(theta) + n * T / self.batch_size * G
        mean = theta + self.gradient_step * gradient
        return rng.add_noise(mean, self.sensitivity(n, T), self.noise_sd)


class KeepsTheBatch(DPSGLD):
    """The state remembers the batch, from which nothing is released."""

    def step(self, rng, state, target):
        new, info = super().step(rng, state, target)
        return State(new.position, draw_batch(rng, target.num_rows, self.batch_size)), info


class BatchForAll(MinibatchDPPenalty):
    """The ratio of a batch is taken for that of all rows."""

    def step(self, rng, state, target):
        n, b = target.num_rows, self.batch_size
        theta = state.position
        theta_new, yes, no = self.move.propose(rng, theta, state.memory)
        c = self.row_bound(target, theta, theta_new)
        sensitivity = self.sensitivity_at(target, c)
        sigma = math.sqrt(self.noise_variance) * sensitivity
        ratio, _, num_clipped = batch_log_ratio(
            target, theta, theta_new, c, self.read(rng, n), b, 0.0
        )
        ratio += self.prior_times(n, b) * target.model.log_prior_ratio(theta, theta_new)
        noisy = rng.add_noise(ratio, sensitivity, sigma)
        is_accepted = accepts(rng, noisy - sigma**2 / 2)
        state = State(theta_new, yes) if is_accepted else State(theta, no)
        return state, Info(is_accepted, num_clipped / b)

    def read(self, rng, num_rows):
        return draw_batch(rng, num_rows, self.batch_size)

    def prior_times(self, num_rows, batch_size):
        return 1.0


class PriorOfBatches(BatchForAll):
    """Likewise, and the prior counts n / b times."""

    def prior_times(self, num_rows, batch_size):
        return num_rows / batch_size


class NextRows(BatchForAll):
    """Sums a batch and the next row of each, at the price of the batch."""

    def read(self, rng, num_rows):
        rows = np.arange(num_rows)[super().read(rng, num_rows)]
        return np.union1d(rows, (rows + 1) % num_rows)


class TwiceTheBatch(DPSGLD):
    """The sum of a batch counts twice, as if batches had half of the rows, and T once."""

    def sensitivity(self, num_rows, likelihood_power):
        return super().sensitivity(2 * self.batch_size, likelihood_power)

    def step(self, rng, state, target):
        theta, b, T = state.position, self.batch_size, target.likelihood_power
        G, _ = target.clipped_batch_gradient(
            theta, self.gradient_clip_bound, draw_batch(rng, target.num_rows, b)
        )
        mean = theta + self.gradient_step * (target.model.grad_log_prior(theta) + 2 * T * G)
        sensitivity = self.sensitivity(target.num_rows, T)
        return State(rng.add_noise(mean, sensitivity, self.noise_sd)), Info(True, math.nan)


class OneDirection(Right):
    """All components take the same step, so that their differences stay."""

    def propose(self, rng, theta):
        return theta + self.scale * rng.proposal.standard_normal()


class NeverThird(Right):
    """Components beyond the second are left where they are."""

    def propose(self, rng, theta):
        step = self.scale * rng.proposal.standard_normal(theta.size)
        step[2:] = 0
        return theta + step


class UnpricedRound(NoisyStatistics):
    """A preparation that releases once more than it says."""

    def prepare(self, rng, target):
        state, info = super().prepare(rng, target)
        z, _ = target.clipped_statistics(np.zeros(3), np.eye(3), 1.0)
        rng.add_noise(z, 2.0, 4.0)
        return state, info


class CentreOfTheRows(NoisyStatistics):
    """A ball about the mean of the rows, of which nothing is released."""

    def first_ball(self, model, whiten):
        return self.centre, 5.0

    def prepare(self, rng, target):
        centre, _ = target.clipped_statistics(np.zeros(3), np.eye(3), 1e3)
        object.__setattr__(self, "centre", centre / target.num_rows)
        return super().prepare(rng, target)


class LooksAgain(NoisyStatistics):
    """After the last release the rows are looked at: one that is no number shows."""

    def prepare(self, rng, target):
        state, info = super().prepare(rng, target)
        return state._replace(position=state.position + np.isnan(target.data).any()), info


class HalfTheSensitivity(NoisyStatistics):
    """B in place of 2 B: a row that is replaced counts as one that is removed."""

    def prepare(self, rng, target):
        class Half:
            noise, proposal = rng.noise, rng.proposal

            def add_noise(self, statistic, sensitivity, sd):
                return rng.add_noise(statistic, sensitivity / 2, sd / 2)

        return super().prepare(Half(), target)


class UnpricedCounts(NoisyStatistics):
    """Far rows are counted with less noise than is paid for."""

    def measure_far_rows(self, rng, *arguments):
        cheap = dataclasses.replace(self, noise_scale=self.noise / 3)
        return super(UnpricedCounts, cheap).measure_far_rows(rng, *arguments)


class ReadsTheCounts(NoisyStatistics):
    """The last radius follows from the counts themselves, not from what was released of them."""

    def measure_far_rows(self, rng, target, centre, whiten, s):
        far = super().measure_far_rows(rng, target, centre, whiten, s)
        _, shells = sums_of_far_rows(target.data, centre, whiten, s)
        return far._replace(tails=np.cumsum(shells[::-1])[::-1] / target.num_rows)


OF_SAMPLERS = [
    (TemperedAtHalf(), RATIO),
    (PowerInTheNoise(), COST),
    (BarkerWithoutPower(WALK, 0.05, fitted_correction()), COST),
    (WithoutScale(0.006, 50, 1), RATIO),
    (TrajectoryWithoutScale(0.01, 2, 50, 5.0, gradient_clip_bound=1, step_size_decay=0), RATIO),
    (PartOfTheVariance(WALK, 1.5, 50, 1), RATIO),
    (DropsClippedRows(), RATIO),
    (ClipsComponents(0.1, 0.4, 0.1, 4, 2, 1), RATIO),
    (DirectionInTheOpen(0.1, 0.4, 0.1, 4, 2, 1), STATE),
    (TellingInfo(), STATE),
    (AfterTenRejections(), STATE),
    (AfterTenAcceptances(), STATE),
    (SpellsTheBatch(0.006, 50, 1), SECRET),
    (KeepsTheBatch(0.006, 50, 1), SECRET),
    (NextRows(WALK, 1.5, 50, 1), READ),
    (BatchForAll(WALK, 1.5, 50, 1), ON_BATCHES),
    (PriorOfBatches(WALK, 1.5, 50, 1), ON_BATCHES),
    (TwiceTheBatch(0.006, 50, 1), SMALL_STEPS),
    (OneDirection(), AWAY),
    (UnpricedRound(noise_scale=10.0), PREPARED),
    (UnpricedCounts(noise_scale=1.0), PREPARED),
    (ReadsTheCounts(noise_scale=1.0), STATE),
    (CentreOfTheRows(noise_scale=10.0), STATE),
    (LooksAgain(noise_scale=10.0), STATE),
    (HalfTheSensitivity(noise_scale=10.0), RATIO),
    (NeverThird(), AWAY),
]


# One of each kind; the others are other ways to make the same mistake.
KEPT = (WithoutScale, PartOfTheVariance, TellingInfo, AfterTenRejections, SpellsTheBatch)
KEPT += (NextRows, BatchForAll, OneDirection)
KEPT += (UnpricedCounts, ReadsTheCounts, CentreOfTheRows, LooksAgain)
KEPT += (HalfTheSensitivity,)


@pytest.mark.parametrize(
    ("sampler", "what"),
    chosen(OF_SAMPLERS, *(case for case in OF_SAMPLERS if type(case[0]) in KEPT)),
    ids=[type(sampler).__name__ for sampler, _ in OF_SAMPLERS],
)
def test_a_wrong_sampler_is_caught(sampler, what):
    checked = Checked(for_any_dimension(sampler), seed=0)
    check = next(check for check in OF_PRIVATE if check.__doc__.startswith(what))
    assert [finding.passed for finding in find_all([(check, checked)])] == [False]


# -- Models ----------------------------------------------------------------------------------------


OF_MODELS = [
    (WithoutJacobian(), "Draws of sample_prior: stay in it by log_prior_ratio"),
    (SquaredScale(), "Simulated at theta: the scores have mean 0"),
    (WithoutNormalizer(), "Simulated at theta: the scores have mean 0"),
    (Twice(), "Simulated at theta: the scores vary as the Hessian says"),
    (Centred(), "Clipped ratios: a batch or block sums as its rows alone"),
    (HalfAGradient(2, 300), "Gradient of a row: finite differences of its ratio"),
    (WidePrior(2, 300), "Draws of sample_prior: stay in it by log_prior_ratio"),
]


@pytest.mark.parametrize(
    ("model", "what"), OF_MODELS, ids=[type(model).__name__ for model, _ in OF_MODELS]
)
def test_a_wrong_model_is_caught(model, what, monkeypatch):
    monkeypatch.setattr(models, "CHECKS", [one for one in models.CHECKS if what in one.__doc__])
    (finding,) = check_model(model)
    assert finding.tried == what and finding.passed is False


def test_what_moves_the_last_digits_of_other_rows_alone_is_seen_by_one_check_alone():
    findings = check_model(ScaledByTheLargest(2, 300))
    assert [finding.tried for finding in findings if finding.passed is False] == [OTHERS]


def test_a_statistic_that_looks_at_other_rows_is_caught():
    findings = check_model(StatisticsOfAllRows())
    assert [finding.tried for finding in findings if finding.passed is False] == [OTHERS]


def test_the_model_that_these_are_made_of_passes():
    assert not [finding for finding in check_model(LogScale()) if finding.passed is False]
