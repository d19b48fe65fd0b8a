"""The check of samplers: ours pass, and deliberate errors of a stranger's are caught, by name."""

import dataclasses
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest
from conftest import ROOT, chosen, fitted_correction

from dpmcmc import registry
from dpmcmc.accounting.mechanisms import GaussianMechanism, SubsampledGaussianMechanism
from dpmcmc.evaluation.checking.samplers import (
    Checked,
    check_move,
    check_sampler,
    for_any_dimension,
    noise_as_declared,
    posterior_stays,
)
from dpmcmc.evaluation.checking.traces import banana, same, streams
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.auto_one_shot import AutoOneShot
from dpmcmc.samplers.batches import draw_batch
from dpmcmc.samplers.chain import accepts, ratio_bound
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.dp_sgld import DPSGLD
from dpmcmc.samplers.dp_sgnht import DPSGNHT
from dpmcmc.samplers.dp_vi import DPVI
from dpmcmc.samplers.exact_posterior import ExactPosterior
from dpmcmc.samplers.hmc import HMC
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.minibatch_barker import MinibatchBarker, UnitCorrection
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk, GuidedWalk, OneComponentWalk
from dpmcmc.samplers.noisy_columns import NoisyColumns
from dpmcmc.samplers.noisy_newton import NoisyNewton
from dpmcmc.samplers.noisy_statistics import NoisyStatistics
from dpmcmc.samplers.private_start import PrivateStart
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.sghmc import DPSGHMC, SGHMC
from dpmcmc.samplers.start_point import StartPoint
from dpmcmc.samplers.streams import Streams
from dpmcmc.samplers.subsampled_hmc import SubsampledHMC
from dpmcmc.settings import Noise, Positive

WALK = GaussianWalk(0.15)
CORRECTION = fitted_correction()
OURS = [
    DPPenalty(WALK, 0.1, 2),
    DPPenalty(GuidedWalk([0.2, 0.2, 0.2]), 0.1, 2),
    MinibatchDPPenalty(WALK, 1.5, 50, 1),
    MinibatchDPPenalty(WALK, 1.5, 50, 1, sensitivity="published"),
    DPBarker(WALK, 50, CORRECTION),
    FullDataDPBarker(WALK, 0.05, CORRECTION),
    DPHMC(0.1, 0.4, 0.1, 4, 2, 1, [1.0, 2.0]),
    DPHMC(0.1, 0.4, 0.15, 4, 2, 1, step_size_sequence="van-der-corput"),
    DPSGLD(0.006, 50, 1),
    DPSGNHT(0.03, 50, 1, 3.0),
    DPSGHMC(0.01, 5, 50, 5.0, gradient_clip_bound=1, step_size_decay=0),
    SGHMC(0.015, 5, 50, 10.0, step_size_decay=0),
    DPSGLD(0.002, 2, 5.0),
    SubsampledHMC(0.015, 5, 50, step_size_decay=0),
    MinibatchBarker(GaussianWalk(0.3), 50, UnitCorrection.compute()),
    HMC(0.15, 5),
    HMC(0.15, 5, gradient_clip_bound=0.5),
    Metropolis(OneComponentWalk(0.3)),
    ExactPosterior(),
]


PREPARING = [
    NoisyStatistics(noise_scale=10.0),  # so much that far rows need no HMC, which takes long
    NoisyStatistics(),
    PrivateStart(DPPenalty(GaussianWalk(0.8), 0.5, 1.0), NoisyStatistics()),
    NoisyNewton(3.0, 0.3, [0.1, 0.3, 0.6]),
    AutoOneShot(),
    NoisyColumns(),
    DPVI(gradient_clip_bound=3.0, num_steps=10),
    DPVI(gradient_clip_bound=3.0, num_steps=10, batch_size=20, family="full-rank"),
]
OTHERWISE = {
    # tests/samplers/test_noisy_least_squares.py watches its releases on neighbouring data.
    "NoisyLeastSquares": "takes a linear regression, not the banana of the check",
    "StartPoint": "never moves, which the check says",
    # test_posterior_sample.py compares what neighbouring data need with the price.
    "PosteriorSample": "takes two models, neither the banana of the check; its draws add no noise",
}
PREPARED = "(sensitivity / noise)^2 of the preparation is what releases() says"
SMALL_STEPS = (
    "Chains of small steps, without clipping, come away from their start",
    "With steps that go to 0, without clipping, it leaves the posterior invariant",
)
KINDS = "without noise and clipping", "with noise, without clipping,"


def failed(sampler, seed=0):
    return [finding.tried for finding in check_sampler(sampler, seed) if finding.passed is False]


@pytest.mark.parametrize(
    "sampler", chosen(OURS, OURS[2]), ids=lambda sampler: type(sampler).__name__
)
def test_our_samplers_pass_and_nothing_is_left_untried_without_a_reason(sampler):
    findings = list(check_sampler(sampler))
    assert not [finding for finding in findings if finding.passed is False]
    untried = {finding.tried for finding in findings if finding.passed is None}
    expected = set(SMALL_STEPS)
    if isinstance(sampler, SGHMC | SubsampledHMC):  # which are exact for small steps alone
        expected = {QUIET, "Chains without noise and clipping come away from their start"}
    if isinstance(sampler, DPSGLD | DPSGNHT | DPSGHMC):
        expected = {QUIET, NOISY, *(f"Chains {kind} come away from their start" for kind in KINDS)}
    if isinstance(sampler, DPBarker | FullDataDPBarker):  # whose noise is part of the test
        expected |= {QUIET, "Chains without noise and clipping come away from their start"}
    if isinstance(sampler, DPBarker):
        expected |= {DECLARED}
    if isinstance(sampler, DPPenalty | DPHMC | FullDataDPBarker):
        expected |= {BATCH, SECRET, READ, ON_BATCHES}
    if isinstance(sampler, DPBarker | DPSGLD | DPSGNHT | DPSGHMC):
        expected |= {ON_BATCHES}
    assert untried - {PREPARED} == expected


@pytest.mark.parametrize(
    "sampler",
    chosen(PREPARING, PREPARING[0]),
    ids=lambda sampler: type(sampler).__name__,
)
def test_our_preparations_pass(sampler):
    findings = {finding.tried: finding.passed for finding in check_sampler(sampler)}
    assert False not in findings.values() and findings[PREPARED]


@pytest.mark.torture
@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_another_temperature_is_no_bias_of_the_step(temperature):
    """The published DP-SGLD has 1/2, and samples the posterior squared."""
    assert failed(DPSGLD(0.006, 50, 1, temperature)) == [SMALL_STEPS[1]]


@dataclass(frozen=True)
class Forgetful(DPSGLD):
    """Takes the gradient of a batch for that of all the rows."""

    def sensitivity(self, num_rows, likelihood_power):
        return super().sensitivity(self.batch_size, likelihood_power)

    def step(self, rng, state, target):
        n, b, T = target.num_rows, self.batch_size, target.likelihood_power
        theta = state.position
        batch = draw_batch(rng, n, b)
        G, _ = target.clipped_batch_gradient(theta, self.gradient_clip_bound, batch)
        mean = theta + self.step_size / 2 * (target.model.grad_log_prior(theta) + T * G)
        theta_new = rng.add_noise(mean, self.sensitivity(n, T), self.noise_sd)
        return State(theta_new), Info(True, math.nan)


@pytest.mark.torture
def test_a_batch_is_not_taken_for_all_the_rows():
    assert failed(Forgetful(0.006, 50, 1)) == [SMALL_STEPS[1]]


def test_all_samplers_of_the_package_are_checked_here_or_in_their_own_test():
    here = {type(sampler).__name__ for sampler in [*OURS, *PREPARING]} | {*OTHERWISE}
    tests = "".join(path.read_text() for path in (ROOT / "tests/samplers").glob("*.py"))
    for name in registry.names("sampler").keys() - here:
        assert f"check_sampler({name}(" in tests, name


def test_the_one_that_never_moves_fails():
    assert failed(StartPoint()) == ["Chains without noise and clipping come away from their start"]


@pytest.mark.parametrize(
    "move", chosen([WALK, OneComponentWalk(0.3), GuidedWalk(0.3)], GuidedWalk(0.3))
)
def test_our_moves_pass(move):
    untried = [finding.tried for finding in check_move(move) if not finding.passed]
    assert untried == list(SMALL_STEPS)  # of which it claims nothing


def test_published_variances_of_batches_are_not_exact():
    """Batches of all rows have no error, for which the published version allows all the same."""
    sampler = MinibatchDPPenalty(GaussianWalk(0.3), 1.5, 50, 1, batch_variance="published")
    assert not posterior_stays(Checked(sampler, 0)).passed


# -- Errors of a stranger --------------------------------------------------------------------------


@dataclass(frozen=True)
class Right(Sampler):
    """DP penalty as a stranger may write it; the classes below have one error each."""

    noise_scale: Noise = 0.1
    clip_bound: Positive = 2.0
    scale: Positive = 0.15

    exact_with_noise = True

    def releases(self, num_rows, likelihood_power, iterations):
        return [(GaussianMechanism(1 / (self.noise_scale * math.sqrt(num_rows))), iterations)]

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        ratio, _ = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        return rng.add_noise(ratio, 2 * bound, sigma)

    def log_prior_ratio(self, target, theta, theta_new):
        return target.model.log_prior_ratio(theta, theta_new)

    def penalty(self, sigma):
        return sigma**2 / 2

    def propose(self, rng, theta):
        return theta + self.scale * rng.proposal.standard_normal(theta.size)

    def remembered(self, rng, state, target):
        return state.memory

    def step(self, rng, state, target):
        T, theta = target.likelihood_power, state.position
        theta_new = self.propose(rng, theta)
        bound = ratio_bound(self.clip_bound, theta, theta_new)
        sigma = 2 * self.noise_scale * math.sqrt(target.num_rows) * bound
        noisy = self.noisy_ratio(rng, target, theta, theta_new, bound, sigma)
        log_ratio = T * noisy + self.log_prior_ratio(target, theta, theta_new)
        is_accepted = accepts(rng, log_ratio - self.penalty(T * sigma))
        is_accepted = is_accepted and not self.is_vetoed(target, theta, theta_new, bound)
        memory = self.remembered(rng, state, target)
        return State(theta_new if is_accepted else theta, memory), Info(is_accepted, 0.0)

    def is_vetoed(self, target, theta, theta_new, bound):
        return False


@pytest.mark.torture
def test_a_strangers_sampler_passes():
    assert failed(Right()) == []


RATIO = "One row moves a released statistic by at most its sensitivity"
STATE = "The same releases lead to the same state, whatever the rows"
COST = "(sensitivity / noise)^2 of an iteration is what releases() says"
COUNT = "A sampler learns of its rows by rng.add_noise"
DECLARED = "Declared sensitivities and noise do not depend on the rows"
QUIET = "Without noise and clipping it leaves the posterior invariant"
NOISY = "With noise, without clipping, it leaves the posterior invariant"
SECRET = "The same releases lead to the same state, whatever the batch"
READ = "Rows are read that are in a batch of the iteration, and no others"
ON_BATCHES = "With noise and batches, without clipping, it leaves the posterior invariant"
BATCH = "Batches, of one release each, are as large as releases() says"


class WrongSign(Right):
    """The penalty is added."""

    def penalty(self, sigma):
        return -(sigma**2) / 2


class NoPrior(Right):
    """The prior is forgotten."""

    def log_prior_ratio(self, target, theta, theta_new):
        return 0.0


class Untempered(Right):
    """The power of the likelihood is forgotten."""

    def noisy_ratio(self, rng, target, *arguments):
        return super().noisy_ratio(rng, target, *arguments) / target.likelihood_power


class Drifting(Right):
    """A proposal that is not symmetric, as if it were."""

    def propose(self, rng, theta):
        return super().propose(rng, theta) + 0.05


class ClippedAbove(Right):
    """Ratios of rows are clipped from above only."""

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        slope, intercept = target.model.ratio_coefficients(theta, theta_new)
        ratios = np.minimum(slope @ target.data - intercept, bound)
        return rng.add_noise(ratios.sum(), 2 * bound, sigma)


class HalfTheNoise(Right):
    """Noise of half the size that the accountant is told of."""

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        return super().noisy_ratio(rng, target, theta, theta_new, bound, sigma / 2)


class HalfTheSensitivity(Right):
    """As if a row could only come in, and none go."""

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        ratio, _ = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        return rng.add_noise(ratio, bound, sigma)


class Peeking(Right):
    """A proposal that the bare ratio forbids is not even tried."""

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        noisy = super().noisy_ratio(rng, target, theta, theta_new, bound, sigma)
        ratio, _ = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        return noisy if ratio > -10 * bound else -math.inf


class OwnNoise(Right):
    """Noise that is drawn past the one place."""

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        ratio, _ = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        return ratio + 0.5 * sigma * rng.noise.standard_normal()


class NoiseOfTheData(Right):
    """Noise, and a sensitivity, that shrink with what the rows happen to be."""

    def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
        ratio, num_clipped = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        share = 0.5 + num_clipped / target.num_rows
        return rng.add_noise(ratio, 2 * share * bound, share * sigma)


class Twice(Right):
    """Two releases at the price of one."""

    def noisy_ratio(self, *arguments):
        super().noisy_ratio(*arguments)
        return super().noisy_ratio(*arguments)


class Caching(Right):
    """A step length from the rows, kept on the sampler."""

    def propose(self, rng, theta):
        return theta + self._scale * rng.proposal.standard_normal(theta.size)

    def step(self, rng, state, target):
        if not hasattr(self, "_scale"):
            object.__setattr__(self, "_scale", 0.1 + 0.1 * (target.data[0].std() > 1000))
        return super().step(rng, state, target)


class KeptInPlace(Right):
    """A sum of the rows, hidden in an array that is changed in place."""

    def init(self, rng, position):
        return State(position, np.zeros(2))

    def remembered(self, rng, state, target):
        state.memory[0] = target.data.sum()
        return state.memory


class Veto(Right):
    """A proposal by which most rows are clipped is rejected."""

    def is_vetoed(self, target, theta, theta_new, bound):
        _, num_clipped = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        return num_clipped > target.num_rows / 2


class Late(Right):
    """From the 20th iteration on something else is released, for nothing."""

    def init(self, rng, position):
        return State(position, 0)

    def remembered(self, rng, state, target):
        if state.memory == 20:
            rng.add_noise(target.data[0].clip(-1, 1).sum(), 2.0, 1e-6)
        return state.memory + 1


class TwoBatches(MinibatchDPPenalty):
    """One release of what two batches hold."""

    def step(self, rng, state, target):
        draw_batch(rng, target.num_rows, self.batch_size)
        return super().step(rng, state, target)


class OneBatch(DPSGHMC):
    """All releases of a trajectory are of one batch."""

    def step(self, rng, state, target):
        batch = draw_batch(rng, target.num_rows, self.batch_size)
        object.__setattr__(self, "kept", batch)
        return super().step(rng, state, target)

    def draw_batch(self, rng, target):
        return self.kept


class FirstBatch(DPSGHMC):
    """Draws a batch for each release, and takes the first one for all."""

    def draw_batch(self, rng, target):
        batch = super().draw_batch(rng, target)
        if getattr(self, "left", 0) == 0:
            object.__setattr__(self, "kept", batch)
            object.__setattr__(self, "left", self.num_integration_steps)
        object.__setattr__(self, "left", self.left - 1)
        return self.kept


class TwoForOne(DPSGHMC):
    """The first release is of two batches, and there is one less."""

    def step(self, rng, state, target):
        self.draw_batch(rng, target)
        shorter = dataclasses.replace(self, num_integration_steps=self.num_integration_steps - 1)
        return DPSGHMC.step(shorter, rng, state, target)


class Shrinking(DPSGHMC):
    """Tells the accountant that the noise grows faster than it does."""

    def releases(self, *size):
        return DPSGHMC.releases(dataclasses.replace(self, step_size_decay=0.5), *size)


class OneMore(DPSGHMC):
    """Tells the accountant of one release less."""

    def releases(self, *size):
        fewer = dataclasses.replace(self, num_integration_steps=self.num_integration_steps - 1)
        return DPSGHMC.releases(fewer, *size)


class SaysNothing(Right):
    """Neither says which setting is noise nor that it is exact."""

    exact_with_noise = False

    def releases(self, num_rows, likelihood_power, iterations):
        return [(GaussianMechanism(1 / (0.1 * math.sqrt(num_rows))), iterations)]


@dataclass(frozen=True)
class Untyped(SaysNothing):
    noise_scale: Positive = 0.1


class GradientNotClipped(DPHMC):
    """Gradients of the rows as they are."""

    def noisy_gradient(self, rng, target, theta):
        bound = self.gradient_clip_bound
        sigma = 2 * self.gradient_noise_scale * math.sqrt(target.num_rows) * bound
        total, _ = target.clipped_gradient(theta, math.inf)
        noisy = rng.add_noise(total, 2 * bound, sigma)
        return target.likelihood_power * noisy + target.model.grad_log_prior(theta), 0


class NormOfTheSum(DPHMC):
    """The norm that clips the rows is that of their mean."""

    def noisy_gradient(self, rng, target, theta):
        bound = self.gradient_clip_bound
        sigma = 2 * self.gradient_noise_scale * math.sqrt(target.num_rows) * bound
        total, _ = target.clipped_gradient(theta, math.inf)
        total = total * min(1.0, bound * target.num_rows / np.linalg.norm(total))
        noisy = rng.add_noise(total, 2 * bound, sigma)
        return target.likelihood_power * noisy + target.model.grad_log_prior(theta), 0


class BatchesTooLarge(MinibatchDPPenalty):
    """An accountant that is told of batches of half the size."""

    def releases(self, num_rows, likelihood_power, iterations):
        q = self.batch_size / num_rows / 2
        return [(SubsampledGaussianMechanism(self.noise_variance, q), iterations)]


HMC_SETTINGS = (0.1, 0.4, 0.1, 4, 2, 1)
SGHMC_SETTINGS = (0.01, 3, 50, 5.0)
ERRORS = [
    (WrongSign(), NOISY),
    (NoPrior(), QUIET),
    (Untempered(), QUIET),
    (Drifting(), QUIET),
    (ClippedAbove(), RATIO),
    (HalfTheNoise(), COST),
    (HalfTheSensitivity(), RATIO),
    (Peeking(), STATE),
    (OwnNoise(), COUNT),
    (NoiseOfTheData(), DECLARED),
    (Twice(), COST),
    (GradientNotClipped(*HMC_SETTINGS), RATIO),
    (NormOfTheSum(*HMC_SETTINGS), RATIO),
    (BatchesTooLarge(WALK, 1.5, 50, 1), BATCH),
    (Caching(), STATE),
    (KeptInPlace(), STATE),
    (Veto(), STATE),
    (Late(), COST),
    (TwoBatches(WALK, 1.5, 50, 1), BATCH),
    (Untyped(), QUIET),
    (OneBatch(*SGHMC_SETTINGS, gradient_clip_bound=1), BATCH),
    (OneMore(*SGHMC_SETTINGS, gradient_clip_bound=1), BATCH),
    (FirstBatch(*SGHMC_SETTINGS, gradient_clip_bound=1), BATCH),
    (TwoForOne(*SGHMC_SETTINGS, gradient_clip_bound=1), BATCH),
    (Shrinking(*SGHMC_SETTINGS, gradient_clip_bound=1), COST),
]


# One or two of each kind; the others are other ways to make the same mistake.
KEPT = (WrongSign, ClippedAbove, HalfTheNoise, Peeking, OwnNoise, NoiseOfTheData)
KEPT += (BatchesTooLarge, KeptInPlace, Late, TwoBatches, FirstBatch)


@pytest.mark.parametrize(
    ("sampler", "what"),
    chosen(ERRORS, *(error for error in ERRORS if isinstance(error[0], KEPT))),
    ids=[type(s).__name__ for s, _ in ERRORS],
)
def test_a_deliberate_error_is_caught_by_the_check_of_its_kind(sampler, what):
    findings = check_sampler(sampler)  # one after the other: the rest is not waited for
    assert any(finding.tried == what and finding.passed is False for finding in findings)


@pytest.mark.torture
def test_noise_past_the_one_place_is_found_by_the_positions_too():
    """Which take no sampler's word: here the price of much noise, and next to none drawn."""

    class Loud(OwnNoise):
        def noisy_ratio(self, rng, target, theta, theta_new, bound, sigma):
            ratio, _ = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
            return ratio + 0.01 * sigma * rng.noise.standard_normal()

        def penalty(self, sigma):
            return 0.0

        def propose(self, rng, theta):
            return theta + 0.5

    found = failed(dataclasses.replace(Loud(), noise_scale=1.0))
    assert any("by positions" in tried for tried in found)


class Counting(Right):
    """A count of the iterations, in an array that is changed in place."""

    def init(self, rng, position):
        return State(position, {"count": np.zeros(1), "nothing": math.nan})

    def remembered(self, rng, state, target):
        state.memory["count"] += 1
        return state.memory


class Lazy(Right):
    """It stays every other time, by chance, and computes in place with what was released."""

    def step(self, rng, state, target):
        if rng.proposal.random() < 0.5:
            return state, Info(False, 0.0)
        rng.add_noise(np.zeros(3), 0.0, 1.0).fill(7.0)
        return super().step(rng, state, target)


class Dithering(Right):
    """Random numbers of the noise's stream after a release."""

    def remembered(self, rng, state, target):
        return rng.noise.random()


@pytest.mark.parametrize("sampler", [Counting(), Dithering(), Lazy()])
def test_what_has_no_rows_in_it_may_be_remembered(sampler):
    findings = [finding for finding, _ in zip(check_sampler(sampler), range(7), strict=False)]
    assert sum(finding.passed is None for finding in findings) == 2  # of batches, which it has not
    assert all(finding.passed is not False for finding in findings)


def test_noise_that_is_a_tenth_too_small_is_found_and_right_noise_is_not(monkeypatch):
    assert noise_as_declared(Checked(Right(), 0)).passed
    add_noise = Streams.add_noise
    monkeypatch.setattr(
        Streams, "add_noise", lambda rng, value, bound, sd: add_noise(rng, value, bound, 0.9 * sd)
    )
    assert not noise_as_declared(Checked(Right(), 0)).passed


def test_each_component_of_a_list_has_noise_of_its_own():
    rng = streams(Streams, 3)
    for sd in (0.5, np.float64(0.5)):
        assert len(set(rng.add_noise([0.0, 0.0, 0.0], 1.0, sd))) == 3
    assert np.ndim(rng.add_noise(0.0, 1.0, 0.5)) == 0
    with pytest.raises(ValueError, match="sd: must be one number"):
        rng.add_noise(np.zeros(2), 1.0, np.ones(2))


class Broken(Right):
    def step(self, rng, state, target):
        raise RuntimeError("this\nbreaks")


def test_what_a_sampler_raises_is_a_finding_in_one_line_and_names_its_place_once():
    findings = list(check_sampler(Broken()))
    assert not any(finding.passed for finding in findings)
    first, *others = [finding.found for finding in findings if finding.passed is False]
    place = rf"{re.escape(__file__)}, line \d+"
    assert re.fullmatch(rf"RuntimeError: this breaks \({place}\)", first)
    assert set(others) == {"the same exception"}


# -- Watching --------------------------------------------------------------------------------------


def watched(seed):
    return streams(RecordedStreams, seed)


@pytest.mark.parametrize("sampler", [OURS[1], OURS[2], OURS[6]])
def test_a_repetition_on_the_same_rows_is_the_same_and_leaves_the_streams_as_they_were(sampler):
    sampler = for_any_dimension(sampler)
    model = banana(100, 0.5)
    target = Target(model, model.simulate(np.random.default_rng(1)))
    rng, plain = watched(2), streams(Streams, 2)
    state = other = sampler.init(rng, np.full(3, 0.5))
    assert np.array_equal(sampler.init(plain, np.full(3, 0.5)).memory, state.memory)
    for _ in range(5):
        step = rng.step(sampler, state, target)
        again = rng.repeat(sampler, state, target, step)
        assert same(step.state, again.state) and step.released
        for a, b in zip(step.released, again.released, strict=True):
            assert np.array_equal(a.statistic, b.statistic) and np.array_equal(a.value, b.value)
        other, _ = sampler.step(plain, other, target)  # as if nobody had watched
        assert np.array_equal(other.position, step.state.position)
        state = step.state


def test_a_list_for_the_components_becomes_one_number_and_no_other_list_does():
    sampler = NoisyNewton(1.0, 0.5, [0.4, 0.6], start=[0.5, 1.0])
    assert for_any_dimension(sampler) == NoisyNewton(1.0, 0.5, [0.4, 0.6], start=0.5)
