"""Tests that would catch a wrong sampler: start in the target, stay in the target; limits that
must coincide; reversibility; clipping; reproducibility."""

import dataclasses
import math

import numpy as np
import pytest
from conftest import ROOT, SMALL_MODELS, chosen, mechanism_of

from dpmcmc import registry
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers import dp_hmc, dp_penalty
from dpmcmc.samplers.chain import accepts, run_chain
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.hmc import HMC, leapfrog
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.moves import GaussianWalk, GuidedWalk, OneComponentWalk
from dpmcmc.samplers.streams import Streams
from dpmcmc_studies.study.loading import load_study

SCALES = {"banana": [0.3, 0.4, 0.5], "gaussian": 0.3, "circle": 1.0}
STEP_SIZES = {"banana": 0.12, "gaussian": 0.15, "circle": 0.25}
NO_CLIP = {"banana": 200.0, "gaussian": 50.0, "circle": 50.0}  # above every row's ratio
NOTHING = 1e-300  # of noise: what is added of it is lost in rounding
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
    starts = target.model.sample_posterior(sample, start_target.data, size)
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


# What replays below show draw by draw of a sampler, and of models, is not shown here once more.
KEPT = [
    "rwmh-ocu-gwmh",
    "hmc",
    "dp-penalty",
    "dp-penalty-ocu-gwmh",
    "dp-hmc",
    "dp-hmc-clipped-gradients",
]


@pytest.mark.parametrize(
    ("model", "name"),
    chosen(CASES, *(("banana", name) for name in KEPT), ("circle", "dp-penalty")),
)
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


@pytest.mark.parametrize("model", chosen(SMALL_MODELS, "banana"))
def test_the_invariance_test_sees_a_missing_penalty(model):
    target, right = make_target(model), samplers(model)["dp-penalty-ocu"]
    wrong = NoPenalty(right.move, 2 * right.noise_scale, right.clip_bound)
    z, _ = drift(wrong, target, target, seed=1)
    assert abs(z).max() > 6


@pytest.mark.parametrize("name", chosen(["dp-penalty-ocu-gwmh", "dp-hmc"], "dp-penalty-ocu-gwmh"))
def test_the_invariance_test_sees_a_slightly_different_target(name):
    target = make_target("gaussian")
    rows = target.data.copy()
    rows[0] += 0.05  # moves the posterior by about a quarter of its standard deviation
    z, _ = drift(samplers("gaussian")[name], Target(target.model, rows), target, seed=1)
    assert abs(z).max() > 6


@pytest.mark.parametrize("model", SMALL_MODELS)
@pytest.mark.parametrize("move", [GaussianWalk, OneComponentWalk, GuidedWalk])
def test_penalty_without_noise_and_clipping_is_random_walk_metropolis(model, move):
    target = make_target(model)
    start = target.model.sample_posterior(np.random.default_rng(3), target.data, 1)[0]
    private = DPPenalty(move(SCALES[model]), noise_scale=NOTHING, clip_bound=1e100)
    plain = Metropolis(move(SCALES[model]))
    a = run_chain(private, target, streams(5), start, 300)
    b = run_chain(plain, target, streams(5), start, 300)
    np.testing.assert_array_equal(a.positions, b.positions)
    assert 0.05 < a.is_accepted.mean() < 1


@pytest.mark.parametrize("model", SMALL_MODELS)
def test_dp_hmc_without_noise_and_clipping_is_hmc(model):
    target = make_target(model)
    start = target.model.sample_posterior(np.random.default_rng(3), target.data, 1)[0]
    hmc = dict(step_size=STEP_SIZES[model], num_integration_steps=5, inverse_mass_matrix=0.8)
    private = DPHMC(
        noise_scale=NOTHING,
        gradient_noise_scale=NOTHING,
        clip_bound=1e100,
        gradient_clip_bound=1e200,
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
    start = target.model.sample_posterior(np.random.default_rng(3), target.data, 1)[0]
    chain = run_chain(Metropolis(GaussianWalk(scale)), target, streams(5), start, 300)
    expected = random_walk_reference(target, scale, streams(5), start, 300)
    np.testing.assert_allclose(chain.positions, expected, rtol=1e-12)


@pytest.mark.parametrize("bound", [0.1, math.inf])
@pytest.mark.parametrize("name", ["rwmh", "hmc"])
@pytest.mark.parametrize("model", SMALL_MODELS)
def test_clipped_samplers_replay_row_by_row(model, name, bound):
    """Acceptance, clipped rows and changed decisions, from the ratio of every single row."""
    target = make_target(model)
    T = target.likelihood_power
    start = target.model.sample_posterior(np.random.default_rng(3), target.data, 1)[0]
    if name == "rwmh":
        sampler = Metropolis(GaussianWalk(SCALES[model]), clip_bound=bound)
    else:
        sampler = HMC(2 * STEP_SIZES[model], 4, 0.8, clip_bound=bound)
    chain = run_chain(sampler, target, streams(5), start, 200)

    rng, theta, changed = streams(5), start, 0
    for i in range(200):
        if name == "rwmh":
            theta_new = theta + np.multiply(SCALES[model], rng.proposal.standard_normal(theta.size))
            energy_lost = 0.0
        else:
            p = rng.proposal.standard_normal(theta.size) / math.sqrt(0.8)
            *_, (theta_new, p_new) = leapfrog(
                theta, p, gradient_of(target), 2 * STEP_SIZES[model], 4, 0.8
            )
            energy_lost = 0.4 * (p @ p - p_new @ p_new)
        slope, intercept = target.model.ratio_coefficients(theta, theta_new)
        ratios = slope @ target.data - intercept
        limit = bound * np.linalg.norm(theta_new - theta)
        rest = target.model.log_prior_ratio(theta, theta_new) + energy_lost
        log_u = -rng.acceptance.standard_exponential()
        accepted = log_u < T * np.clip(ratios, -limit, limit).sum() + rest
        changed_now = accepted != (log_u < T * ratios.sum() + rest)
        assert chain.is_accepted[i] == accepted and chain.is_changed[i] == changed_now
        assert chain.clip_fraction[i] == np.mean(np.abs(ratios) > limit)
        theta = theta_new if accepted else theta
        changed += changed_now
        np.testing.assert_allclose(chain.positions[i], theta, rtol=1e-9)
    assert (changed > 0) == (bound < math.inf)


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
    theta = target.model.sample_posterior(np.random.default_rng(3), target.data, 1)[0]
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


class Recorder(Target):
    """A target that keeps what a sampler asks of it: (theta, theta_new, bound, clipped rows) of
    ratios, (theta, bound, clipped rows) of gradients."""

    def __init__(self, target):
        super().__init__(target.model, target.data)
        self.ratios, self.gradients = [], []

    def clipped_log_likelihood_ratio(self, theta, theta_new, bound):
        total, num_clipped = super().clipped_log_likelihood_ratio(theta, theta_new, bound)
        self.ratios.append((theta, theta_new, bound, num_clipped))
        return total, num_clipped

    def clipped_gradient(self, theta, bound):
        total, num_clipped = super().clipped_gradient(theta, bound)
        self.gradients.append((theta, bound, num_clipped))
        return total, num_clipped


def record_tests(monkeypatch, module):
    """Log acceptance ratios that a sampler's module submits to the test, as they come."""
    log_ratios = []
    monkeypatch.setattr(
        module, "accepts", lambda rng, value: log_ratios.append(value) or accepts(rng, value)
    )
    return log_ratios


@pytest.mark.parametrize("model", SMALL_MODELS)
@pytest.mark.parametrize("algorithm", ["dp-penalty", "dp-penalty-ocu", "dp-penalty-ocu-gwmh"])
def test_penalty_tests_what_section_3_1_says_with_the_noise_that_is_charged(
    model, algorithm, monkeypatch
):
    """ln alpha = ln posterior ratio + T sigma Z - (T sigma)^2 / 2, sigma = sensitivity / mu."""
    target, sampler = Recorder(make_target(model)), samplers(model)[algorithm]
    log_ratios = record_tests(monkeypatch, dp_penalty)
    start = target.model.sample_posterior(np.random.default_rng(3), target.data, 1)[0]
    run_chain(sampler, target, streams(8), start, 60)
    noise = streams(8).noise  # the same draws once more: one for each iteration
    for log_ratio, (theta, theta_new, bound, _) in zip(log_ratios, target.ratios, strict=True):
        sensitivity = 2 * sampler.clip_bound * np.linalg.norm(theta_new - theta)
        assert bound == pytest.approx(sensitivity / 2)
        sigma = sensitivity / mechanism_of(sampler, target.num_rows).mu
        tempered = target.likelihood_power * sigma
        expected = target.log_density_ratio(theta, theta_new)
        expected += tempered * noise.standard_normal() - tempered**2 / 2
        assert log_ratio == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("model", SMALL_MODELS)
@pytest.mark.parametrize("gradient_clip_bound", [0.3, 1e4])
def test_dp_hmc_is_algorithm_4_with_the_noise_that_is_charged(
    model, gradient_clip_bound, monkeypatch
):
    """Trajectory and test recomputed from the same draws; every mechanism at the declared noise."""
    target, settings = Recorder(make_target(model)), samplers(model)["dp-hmc"]
    n, T, d = target.num_rows, target.likelihood_power, target.model.dimension
    sampler = dataclasses.replace(
        settings,
        gradient_clip_bound=gradient_clip_bound,
        gradient_noise_scale=noise_scale_for(target, 1.5, gradient_clip_bound),
        noise_scale=2 * settings.noise_scale,
    )
    log_ratios = record_tests(monkeypatch, dp_hmc)
    start = target.model.sample_posterior(np.random.default_rng(3), target.data, 1)[0]
    chain = run_chain(sampler, target, streams(8), start, 25)
    plain, proposal, noise = make_target(model), streams(8).proposal, streams(8).noise
    mass, eta, charged = np.array(sampler.inverse_mass_matrix), sampler.step_size, 0.0
    L = sampler.num_integration_steps
    for i, (theta, theta_new, bound, _) in enumerate(target.ratios):
        gradients = iter(target.gradients[i * (L + 1) : (i + 1) * (L + 1)])
        charged = 0.0

        def noisy_gradient(theta, gradients=gradients):
            nonlocal charged
            asked, bound, _ = next(gradients)
            np.testing.assert_allclose(asked, theta, rtol=1e-9, atol=1e-12)
            assert bound == gradient_clip_bound
            sigma = sampler.gradient_noise_scale * math.sqrt(n) * 2 * bound
            charged += (2 * bound / sigma) ** 2
            total, _ = plain.clipped_gradient(theta, bound)
            total = T * (total + sigma * noise.standard_normal(d))
            return total + plain.model.grad_log_prior(theta)

        p = p_0 = proposal.standard_normal(d) / np.sqrt(mass)
        q = theta
        G = noisy_gradient(q)
        for _ in range(L):
            p = p + eta / 2 * G
            q = q + eta * mass * p
            G = noisy_gradient(q)
            p = p + eta / 2 * G
        np.testing.assert_allclose(q, theta_new, rtol=1e-9, atol=1e-12)
        assert next(gradients, None) is None
        sensitivity = 2 * sampler.clip_bound * np.linalg.norm(theta_new - theta)
        assert bound == pytest.approx(sensitivity / 2)
        sigma = sampler.noise_scale * math.sqrt(n) * sensitivity
        charged += (sensitivity / sigma) ** 2
        expected = plain.log_density_ratio(theta, theta_new)
        expected += 0.5 * (p_0 @ (mass * p_0) - p @ (mass * p))
        expected += T * sigma * noise.standard_normal() - (T * sigma) ** 2 / 2
        assert log_ratios[i] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert mechanism_of(sampler, n).mu ** 2 == pytest.approx(charged)
    clipped = np.array([num_clipped for *_, num_clipped in target.gradients]).reshape(25, L + 1)
    np.testing.assert_allclose(chain.gradient_clip_fraction, clipped.mean(axis=1) / n)
    assert (chain.gradient_clip_fraction.mean() > 0.1) == (gradient_clip_bound < 1)


@pytest.mark.parametrize("model", SMALL_MODELS)
@pytest.mark.parametrize("name", [n for n in samplers("banana") if "clipped" not in n])
def test_ratios_are_clipped_at_the_bound_times_the_step(model, name):
    target = Recorder(make_target(model))
    sampler = dataclasses.replace(samplers(model)[name], clip_bound=0.3)
    start = target.model.sample_posterior(np.random.default_rng(3), target.data, 1)[0]
    chain = run_chain(sampler, target, streams(2), start, 50)
    for theta, theta_new, bound, _ in target.ratios:
        assert bound == pytest.approx(0.3 * np.linalg.norm(theta_new - theta))
    clipped = [num_clipped / target.num_rows for *_, num_clipped in target.ratios]
    np.testing.assert_allclose(chain.clip_fraction, clipped)
    assert 0 < np.mean(clipped) < 1


@pytest.mark.parametrize("move", [GaussianWalk, OneComponentWalk, GuidedWalk])
@pytest.mark.parametrize("scale", [0.7, [0.1, 1.0, 3.0]])
def test_moves_have_the_scale_they_are_given_and_choose_components_uniformly(move, scale):
    rng, size = streams(4), 6000
    walk = move(scale)
    memory = walk.init(rng, 3)
    steps = np.array([walk.propose(rng, np.zeros(3), memory)[0] for _ in range(size)])
    for component, expected in zip(steps.T, np.broadcast_to(scale, 3), strict=True):
        moved = component[component != 0]
        # A mean square of standard normals has standard deviation sqrt(2 / count).
        mean_square = (moved**2).mean() / expected**2
        assert mean_square == pytest.approx(1, abs=4.5 * math.sqrt(2 / len(moved)))
        if move is GaussianWalk:
            assert len(moved) == size
        else:
            assert len(moved) == pytest.approx(size / 3, abs=4.5 * math.sqrt(size * 2 / 9))
    assert (np.count_nonzero(steps, axis=1) == (3 if move is GaussianWalk else 1)).all()
    if move is GuidedWalk:
        assert (np.sign(steps) * memory >= 0).all()
        directions = np.array([walk.init(rng, 3) for _ in range(2000)])
        assert set(np.unique(directions)) == {-1.0, 1.0}
        assert abs(directions.mean(axis=0)).max() < 4.5 / math.sqrt(2000)


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


@pytest.mark.parametrize("name", ["rwmh-ocu-gwmh", "dp-penalty", "dp-hmc"])
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
    rows = target.data.copy()
    rows[:, 4] = bad
    clean = run_chain(sampler, target, streams(1), np.zeros(2), 300)
    poisoned = run_chain(sampler, Target(target.model, rows, "clip"), streams(1), np.zeros(2), 300)
    assert np.isfinite(poisoned.positions).all()
    assert (clean.is_accepted == poisoned.is_accepted).mean() > 0.99


def test_every_algorithm_is_built_of_its_published_settings():
    study = load_study(ROOT)
    assert len(study.algorithms) >= 14
    for algorithm in study.algorithms.values():
        for model, settings in algorithm.settings.items():
            sampler = registry.build(algorithm.spec(settings))
            assert type(sampler) is algorithm.sampler_class
            assert hasattr(sampler, "move") == (algorithm.move is not None)
            sampler = sampler.with_preparation_noise(1.0)
            releases = sampler.releases(study.models[model].model.num_rows, 1.0, 1)
            assert bool(releases) == algorithm.is_private


@pytest.mark.parametrize(
    ("iterations", "most"), [(10, 3), (10, 10), (10, 20), (9, 2), (1, 2), (0, 5)]
)
def test_a_thinned_chain_keeps_every_sth_position(iterations, most):
    target = make_target("gaussian")
    sampler, start = Metropolis(GaussianWalk(0.5)), np.zeros(2)
    whole = run_chain(sampler, target, streams(5), start, iterations)
    thinned = run_chain(sampler, target, streams(5), start, iterations, most)
    s = max(1, -(-iterations // most))
    np.testing.assert_array_equal(thinned.positions, whole.positions[s - 1 :: s])
    assert len(thinned.positions) <= most
    np.testing.assert_array_equal(thinned.is_accepted, whole.is_accepted)
