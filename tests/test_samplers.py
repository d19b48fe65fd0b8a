"""Tests that would catch a wrong sampler: start in the target, stay in the target; limits that
must coincide; reversibility; clipping; reproducibility."""

import dataclasses
import math

import numpy as np
import pytest
from conftest import SMALL_MODELS

from dpmcmc.models import Target
from dpmcmc.samplers import (
    ALGORITHMS,
    DPHMC,
    HMC,
    DPPenalty,
    GaussianWalk,
    GuidedWalk,
    Metropolis,
    OneComponentWalk,
    Streams,
    run_chain,
)
from dpmcmc.samplers.hmc import leapfrog

SCALES = {"banana": [0.3, 0.4, 0.5], "gaussian": 0.3, "circle": 1.0}
STEP_SIZES = {"banana": 0.12, "gaussian": 0.15, "circle": 0.25}
NO_CLIP = {"banana": 200.0, "gaussian": 50.0, "circle": 50.0}  # above every row's ratio
GRADIENT_CLIP = {"banana": 1.0, "gaussian": 1.0, "circle": 0.2}  # a good part of the rows


def streams(seed):
    return Streams(*map(np.random.default_rng, np.random.SeedSequence(seed).spawn(3)))


def make_target(name):
    model = SMALL_MODELS[name]
    return Target(model, model.simulate(np.random.default_rng(7)))


def noise_scale_for(target, deviation, sensitivity):
    """tau with T 2 tau sqrt(n) sensitivity / 2 = deviation: the noise after tempering."""
    scale = 2 * math.sqrt(target.num_rows) * sensitivity * target.likelihood_power
    return deviation / scale


def samplers(name):
    """Every sampler with clipping off; the private ones with noise that matters (about 1)."""
    target = make_target(name)
    walk, clip, step_size = SCALES[name], NO_CLIP[name], STEP_SIZES[name]
    noise_scale = noise_scale_for(target, 1.0, clip * 0.5)
    gradient_noise_scale = noise_scale_for(target, 3.0, 1e4)
    hmc = dict(step_size=step_size, num_integration_steps=4)
    masses = list(np.linspace(0.7, 1.5, target.model.dimension))
    private_hmc = DPHMC(
        noise_scale=noise_scale,
        gradient_noise_scale=gradient_noise_scale,
        clip_bound=clip,
        gradient_clip_bound=1e4,
        inverse_mass_matrix=masses,
        **hmc,
    )
    # Clipped gradients make another proposal, but the same target (section 4.2).
    clipped_hmc = dataclasses.replace(
        private_hmc,
        gradient_clip_bound=GRADIENT_CLIP[name],
        gradient_noise_scale=noise_scale_for(target, 1.0, GRADIENT_CLIP[name]),
    )
    return {
        "rwmh": Metropolis(GaussianWalk(walk)),
        "rwmh-ocu": Metropolis(OneComponentWalk(walk)),
        "rwmh-ocu-gwmh": Metropolis(GuidedWalk(walk)),
        "hmc": HMC(inverse_mass_matrix=masses, **hmc),
        "dp-penalty": DPPenalty(GaussianWalk(walk), noise_scale, clip),
        "dp-penalty-ocu": DPPenalty(OneComponentWalk(walk), 2 * noise_scale, clip),
        "dp-penalty-ocu-gwmh": DPPenalty(GuidedWalk(walk), 2 * noise_scale, clip),
        "dp-hmc": private_hmc,
        "dp-hmc-clipped-gradients": clipped_hmc,
    }


CASES = [(model, sampler) for model in SMALL_MODELS for sampler in samplers(model)]


def observables(positions, directions, centre, spread):
    """Functions of theta (and of the guided walk's d) whose means describe the distribution."""
    z = (positions - centre) / spread
    columns = [*z.T, *(z**2).T, *(z > 0.5).T, *(z < -0.5).T]
    columns += [z[:, 0] * z[:, 1], z[:, 0] ** 2 * z[:, 1]]
    radius = np.linalg.norm(positions, axis=1) / np.linalg.norm(spread)
    columns += [radius, radius**2, radius**4]
    if directions is not None:
        columns += [*directions.T, *(directions * z).T, directions[:, 0] * directions[:, 1]]
        columns += [directions[:, 0] * z[:, 1]]
    return np.column_stack(columns)


def drift(sampler, start_target, target, seed, size=3000, num_steps=6):
    """Start `size` chains in the exact posterior of start_target, run them on target; return the
    mean change of each observable in standard errors, and how the chains went."""
    rng = streams(seed)
    sample = np.random.default_rng(seed + 10_000)
    starts = target.model.sample_posterior(sample, start_target.statistics, size)
    before, after, directions, infos = [], [], [], []
    for start in starts:
        state = sampler.init(rng, start.copy())
        first = state.memory
        for _ in range(num_steps):
            state, info = sampler.step(rng, state, target)
            infos.append(info)
        before.append(start)
        after.append(state.position)
        directions.append((first, state.memory))
    before, after = np.array(before), np.array(after)
    centre, spread = before.mean(axis=0), before.std(axis=0)
    guided = directions[0][0] is not None
    first, last = (np.array(d) if guided else None for d in zip(*directions, strict=True))
    change = observables(after, last, centre, spread) - observables(before, first, centre, spread)
    z = change.mean(axis=0) / (change.std(axis=0) / math.sqrt(size) + 1e-300)
    return z, infos


@pytest.mark.parametrize(("model", "name"), CASES)
def test_started_in_the_target_it_stays_in_the_target(model, name):
    target, sampler = make_target(model), samplers(model)[name]
    z, infos = drift(sampler, target, target, seed=1)
    assert abs(z).max() < 4.5
    # The run must have been what it claims: no ratio clipped, proposals accepted and rejected.
    assert not any(info.clip_fraction for info in infos)
    assert 0.1 < np.mean([info.is_accepted for info in infos]) < 0.98
    if name == "dp-hmc-clipped-gradients":
        assert np.mean([info.gradient_clip_fraction for info in infos]) > 0.2


class NoPenalty(DPPenalty):
    """DP penalty without the correction for its noise: wrong on purpose."""

    def step(self, rng, state, target):
        theta = state.position
        theta_new, if_accepted, if_rejected = self.move.propose(rng, theta, state.memory)
        bound = self.clip_bound * np.linalg.norm(theta_new - theta)
        sigma = 2 * self.noise_scale * math.sqrt(target.num_rows) * bound
        ratio, _ = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        noisy = target.likelihood_power * (ratio + sigma * rng.noise.standard_normal())
        noisy += target.model.log_prior_ratio(theta, theta_new)
        accepted = -rng.acceptance.standard_exponential() < noisy
        return (
            type(state)(theta_new, if_accepted) if accepted else type(state)(theta, if_rejected),
            (accepted, 0.0, 0.0),
        )


@pytest.mark.parametrize("model", SMALL_MODELS)
def test_the_invariance_test_sees_a_missing_penalty(model):
    target, right = make_target(model), samplers(model)["dp-penalty-ocu"]
    wrong = NoPenalty(right.move, 2 * right.noise_scale, right.clip_bound)
    z, _ = drift(wrong, target, target, seed=1)
    assert abs(z).max() > 6


@pytest.mark.parametrize("name", ["dp-penalty-ocu-gwmh", "dp-hmc"])
def test_the_invariance_test_sees_a_slightly_different_target(name):
    target = make_target("gaussian")
    rows = target.statistics.copy()
    rows[0] += 0.05  # moves the posterior by about a quarter of its standard deviation
    z, _ = drift(samplers("gaussian")[name], Target(target.model, rows), target, seed=1)
    assert abs(z).max() > 6


@pytest.mark.parametrize("model", SMALL_MODELS)
@pytest.mark.parametrize("move", [GaussianWalk, OneComponentWalk, GuidedWalk])
def test_penalty_without_noise_and_clipping_is_random_walk_metropolis(model, move):
    target = make_target(model)
    start = target.model.sample_posterior(np.random.default_rng(3), target.statistics, 1)[0]
    private = DPPenalty(move(SCALES[model]), noise_scale=0.0, clip_bound=1e100)
    plain = Metropolis(move(SCALES[model]))
    a = run_chain(private, target, streams(5), start, 300)
    b = run_chain(plain, target, streams(5), start, 300)
    np.testing.assert_array_equal(a.positions, b.positions)
    assert 0.05 < a.is_accepted.mean() < 1


@pytest.mark.parametrize("model", SMALL_MODELS)
def test_dp_hmc_without_noise_and_clipping_is_hmc(model):
    target = make_target(model)
    start = target.model.sample_posterior(np.random.default_rng(3), target.statistics, 1)[0]
    hmc = dict(step_size=STEP_SIZES[model], num_integration_steps=5, inverse_mass_matrix=0.8)
    private = DPHMC(
        noise_scale=0.0,
        gradient_noise_scale=0.0,
        clip_bound=1e100,
        gradient_clip_bound=1e100,
        **hmc,
    )
    a = run_chain(private, target, streams(5), start, 200)
    b = run_chain(HMC(**hmc), target, streams(5), start, 200)
    np.testing.assert_array_equal(a.positions, b.positions)
    assert 0.05 < a.is_accepted.mean() < 1


def random_walk_reference(target, scale, rng, start, num_iterations):
    """Random-walk Metropolis in six plain lines, from the density of the posterior."""
    theta, positions = start, []
    for _ in range(num_iterations):
        proposal = theta + scale * rng.proposal.standard_normal(theta.size)
        if -rng.acceptance.standard_exponential() < target.log_density_ratio(theta, proposal):
            theta = proposal
        positions.append(theta)
    return np.array(positions)


@pytest.mark.parametrize("model", SMALL_MODELS)
def test_metropolis_is_the_textbook_algorithm(model):
    target, scale = make_target(model), np.array(SCALES[model])
    start = target.model.sample_posterior(np.random.default_rng(3), target.statistics, 1)[0]
    chain = run_chain(Metropolis(GaussianWalk(scale)), target, streams(5), start, 300)
    expected = random_walk_reference(target, scale, streams(5), start, 300)
    np.testing.assert_allclose(chain.positions, expected, rtol=1e-12)


def gradient_of(target):
    def gradient(theta):
        total, _ = target.clipped_gradient(theta, math.inf)
        return target.likelihood_power * total + target.model.grad_log_prior(theta)

    return gradient


def total_energy(target, origin, theta, p, inverse_mass_matrix):
    return -target.log_density_ratio(origin, theta) + 0.5 * p @ (inverse_mass_matrix * p)


@pytest.mark.parametrize("model", SMALL_MODELS)
def test_leapfrog_is_reversible_and_conserves_energy(model):
    target = make_target(model)
    theta = target.model.sample_posterior(np.random.default_rng(3), target.statistics, 1)[0]
    masses = np.linspace(0.7, 1.5, theta.size)
    p = np.random.default_rng(4).standard_normal(theta.size)

    def run(theta, p, step_size, num_steps):
        trajectory = leapfrog(theta, p, gradient_of(target), step_size, num_steps, masses)
        *_, end = trajectory
        return end

    end, p_end = run(theta, p, STEP_SIZES[model], 8)
    back, p_back = run(end, -p_end, STEP_SIZES[model], 8)
    np.testing.assert_allclose(back, theta, atol=1e-9)
    np.testing.assert_allclose(-p_back, p, atol=1e-9)

    # The energy error of the integrator is of second order in the step size.
    def error(step_size, num_steps):
        end, p_end = run(theta, p, step_size, num_steps)
        return abs(
            total_energy(target, theta, end, p_end, masses)
            - total_energy(target, theta, theta, p, masses)
        )

    coarse, fine = error(STEP_SIZES[model] / 8, 16), error(STEP_SIZES[model] / 32, 64)
    assert fine < coarse / 8


@pytest.mark.parametrize("model", SMALL_MODELS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_ratios_are_clipped_at_the_bound_times_the_step(model, algorithm):
    target = make_target(model)
    sampler = dataclasses.replace(samplers(model)[algorithm], clip_bound=0.3)
    start = target.model.sample_posterior(np.random.default_rng(3), target.statistics, 1)[0]
    seen = []

    class Recorder(Target):
        def clipped_log_likelihood_ratio(self, theta, theta_new, bound):
            seen.append((np.linalg.norm(theta_new - theta), bound))
            return super().clipped_log_likelihood_ratio(theta, theta_new, bound)

    recorder = Recorder(target.model, target.statistics)
    chain = run_chain(sampler, recorder, streams(2), start, 50)
    length, bound = np.array(seen).T
    np.testing.assert_allclose(bound, 0.3 * length, rtol=1e-12)
    assert 0 < chain.clip_fraction.mean() < 1
    if algorithm.startswith("dp-penalty-ocu"):
        moved = np.diff(np.vstack([start, chain.positions]), axis=0) != 0
        assert moved.sum(axis=1).max() == 1 and moved.any(axis=0).all()


class Counter:
    """Stands for a generator; counts and scales its standard normal draws."""

    def __init__(self, factor):
        self.factor, self.rng, self.draws = factor, np.random.default_rng(0), []

    def standard_normal(self, *size):
        draw = self.factor * self.rng.standard_normal(*size)
        self.draws.append(np.size(draw))
        return draw


def test_noise_is_drawn_as_often_and_as_large_as_the_accountant_is_told():
    """The noisy sum of an all-zero data set is the noise: its deviation over the sensitivity
    must be what `release` declares."""
    target = make_target("gaussian")
    n = target.num_rows
    hmc = DPHMC(
        noise_scale=0.3,
        gradient_noise_scale=0.7,
        step_size=0.01,
        num_integration_steps=6,
        clip_bound=0.5,
        gradient_clip_bound=0.2,
    )
    rng = streams(1)._replace(noise=Counter(1.0))
    run_chain(hmc, target, rng, np.zeros(2), 1)
    assert rng.noise.draws == [2] * 7 + [1]  # seven gradients of two components, one ratio
    deviation = np.std(
        [hmc.noisy_gradient(streams(i), target, np.zeros(2))[0] for i in range(4000)], axis=0
    )
    sensitivity = 2 * 0.2
    gradient_mu = sensitivity / deviation
    expected = hmc.release(n).mu ** 2
    assert 1 / (0.3**2 * n) + 7 * gradient_mu.mean() ** 2 == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("algorithm", ["dp-penalty", "dp-hmc"])
def test_the_ratio_noise_is_the_declared_one(algorithm):
    # With huge proposals' prior and likelihood switched off, log alpha = T noise - (T sigma)^2 / 2
    # is all that decides: read sigma off the acceptance rate of a flat target.
    class Flat:
        dimension, num_rows, likelihood_power = 2, 50, 0.5
        statistics = np.zeros((2, 50))

        def ratio_coefficients(self, theta, theta_new):
            return np.zeros(2), 0.0

        def gradient_coefficients(self, theta):
            return np.zeros((2, 2)), np.zeros(2)

        def log_prior_ratio(self, theta, theta_new):
            return 0.0

        def grad_log_prior(self, theta):
            return np.zeros(2)

    class Fixed:
        def init(self, rng, dimension):
            return None

        def propose(self, rng, theta, memory):
            return theta + np.array([0.6, 0.8]), None, None

    target = Target(Flat(), Flat.statistics)
    if algorithm == "dp-penalty":
        sampler = DPPenalty(Fixed(), noise_scale=0.2, clip_bound=0.9)
        release_mu = sampler.release(50).mu
        deviation = 0.5 * 2 * 0.9 * 1.0 / release_mu  # T x sensitivity / mu
        chain = run_chain(sampler, target, streams(3), np.zeros(2), 40_000)
        # P(accept) = E min(1, exp(N(-s^2/2, s^2))) = 2 Phi(-s / 2)
        expected = math.erfc(deviation / 2 / math.sqrt(2))
        error = math.sqrt(expected * (1 - expected) / 40_000)
        assert chain.is_accepted.mean() == pytest.approx(expected, abs=4.5 * error)
    else:
        sampler = DPHMC(
            noise_scale=0.2,
            gradient_noise_scale=0.0,
            step_size=0.5,
            num_integration_steps=2,
            clip_bound=0.9,
            gradient_clip_bound=1.0,
        )
        chain = run_chain(sampler, target, streams(3), np.zeros(2), 40_000)
        # Free flight: the step is |p|, of a Rayleigh distribution, so sigma is proportional to it.
        length = np.random.default_rng(0).rayleigh(size=1_000_000)
        deviation = 0.5 * 2 * 0.9 * length * 0.2 * math.sqrt(50)
        from scipy.special import erfc

        expected = erfc(deviation / 2 / math.sqrt(2)).mean()
        error = math.sqrt(expected * (1 - expected) / 40_000)
        assert chain.is_accepted.mean() == pytest.approx(expected, abs=4.5 * error)


def test_guided_walk_keeps_its_direction_on_acceptance_and_flips_it_on_rejection():
    target, sampler = make_target("gaussian"), samplers("gaussian")["rwmh-ocu-gwmh"]
    rng = streams(9)
    state = sampler.init(rng, np.array([0.3, -1.0]))
    kept = flipped = 0
    for _ in range(400):
        old = state
        state, info = sampler.step(rng, old, target)
        changed = state.memory != old.memory
        if info.is_accepted:
            step = state.position - old.position
            j = int(np.flatnonzero(step)[0])
            assert np.sign(step[j]) == old.memory[j]
            assert not changed.any()
            kept += 1
        else:
            assert changed.sum() == 1
            flipped += 1
    assert kept > 50 and flipped > 50


@pytest.mark.parametrize("name", samplers("banana"))
def test_same_seed_same_chain_and_no_iterations_no_chain(name):
    target, sampler = make_target("banana"), samplers("banana")[name]
    a, b = (run_chain(sampler, target, streams(1), np.zeros(3), 50) for _ in range(2))
    np.testing.assert_array_equal(a.positions, b.positions)
    c = run_chain(sampler, target, streams(2), np.zeros(3), 50)
    assert (a.positions != c.positions).any()
    assert len(run_chain(sampler, target, streams(1), np.zeros(3), 0).positions) == 0


@pytest.mark.parametrize("name", ["dp-penalty", "dp-penalty-ocu-gwmh", "dp-hmc"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_one_bad_row_cannot_decide(name, bad):
    """With tiny clip bounds one row hardly matters, so a NaN or infinity in it must not either."""
    target = make_target("gaussian")
    sampler = dataclasses.replace(samplers("gaussian")[name], clip_bound=1e-6)
    if name == "dp-hmc":
        sampler = dataclasses.replace(sampler, gradient_clip_bound=1e-6)
    rows = target.statistics.copy()
    rows[:, 4] = bad
    clean = run_chain(sampler, target, streams(1), np.zeros(2), 300)
    poisoned = run_chain(sampler, Target(target.model, rows), streams(1), np.zeros(2), 300)
    assert np.isfinite(poisoned.positions).all()
    assert (clean.is_accepted == poisoned.is_accepted).mean() > 0.99


def test_every_algorithm_id_builds_from_published_settings(config):
    for algorithm, entry in config["algorithms"].items():
        for settings in entry["settings"].values():
            assert ALGORITHMS[algorithm](**settings).release(1000).mu > 0
