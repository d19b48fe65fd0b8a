"""DP-SGLD and DP-SGNHT: their steps, what they mechanism, and what they sample as steps vanish."""

import math

import numpy as np
import pytest
from conftest import chosen, mechanism_of
from test_samplers import streams

from dpmcmc.accounting.costs import iterations
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.samplers.batches import draw_batch
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.dp_sgld import DPSGLD
from dpmcmc.samplers.dp_sgnht import DPSGNHT
from dpmcmc.samplers.streams import Streams

N = 100_000  # rows of the published experiments


@pytest.fixture(scope="module")
def target():
    """A tempered banana, whose clipped gradients are computed row by row below."""
    model = Banana(
        dimension=2,
        num_rows=500,
        curvature=3.0,
        prior_variance=0.5,
        likelihood_variances=[2.0, 0.5],
        true_position=[0.2, 1.0],
        tempered_rows=200,
    )
    return Target(model, model.simulate(np.random.default_rng(7)))


def clipped_rows(target, theta, bound, batch):
    """Sum over a batch of the clipped gradients, one row at a time, from their definition."""
    model, total = target.model, np.zeros(2)
    for x in target.data.T[batch]:
        y = np.array([theta[0], theta[1] + model.curvature * theta[0] ** 2])
        bend = np.array([[1.0, 0.0], [2 * model.curvature * theta[0], 1.0]])
        g = bend.T @ ((x - y) / model.likelihood_variances)
        total += g * min(1, bound / np.linalg.norm(g))
    return total


def twice(seed):
    """Two sets of streams that give the same random numbers."""
    return (Streams(*map(np.random.default_rng, (seed, seed + 1, seed + 2))) for _ in range(2))


# -- The steps -------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_a_step_of_dp_sgld_is_that_of_langevin_dynamics(target, temperature):
    h, b, c, theta = 0.01, 40, 0.8, np.array([0.3, 0.7])
    sampler, (rng, other) = DPSGLD(h, b, c, temperature), twice(1)
    state, info = sampler.step(rng, sampler.init(rng, theta), target)
    total = clipped_rows(target, theta, c, draw_batch(other, 500, b))
    gradient = target.model.grad_log_prior(theta) + 200 / b * total  # n T = 200
    noise = math.sqrt(temperature * h) * other.noise.standard_normal(2)
    np.testing.assert_allclose(state.position, theta + h / 2 * gradient + noise, rtol=1e-12)
    assert info.is_accepted and math.isnan(info.clip_fraction)
    assert 0 < info.gradient_clip_fraction < 1


def test_the_published_step_is_one_of_temperature_one_half(target):
    """theta + h (gradient) + Normal(0, h I)."""
    h, b, c, theta = 0.01, 40, 0.8, np.array([0.3, 0.7])
    sampler, (rng, other) = DPSGLD(2 * h, b, c, 0.5), twice(2)
    state, _ = sampler.step(rng, sampler.init(rng, theta), target)
    total = clipped_rows(target, theta, c, draw_batch(other, 500, b))
    gradient = target.model.grad_log_prior(theta) + 200 / b * total
    expected = theta + h * gradient + math.sqrt(h) * other.noise.standard_normal(2)
    np.testing.assert_allclose(state.position, expected, rtol=1e-12)


def test_steps_of_dp_sgnht_are_those_of_the_thermostat(target):
    """Ding et al. (2014), Algorithm 2, for three iterations."""
    h, b, c, A, theta = 0.02, 40, 0.8, 5.0, np.array([0.3, 0.7])
    sampler, (rng, other) = DPSGNHT(h, b, c, A), twice(3)
    state = sampler.init(rng, theta)
    p, xi = other.proposal.standard_normal(2), A
    for _ in range(3):
        state, info = sampler.step(rng, state, target)
        total = clipped_rows(target, theta, c, draw_batch(other, 500, b))
        gradient = target.model.grad_log_prior(theta) + 200 / b * total
        noise = math.sqrt(2 * A * h) * other.noise.standard_normal(2)
        p = p - xi * h * p + h * gradient + noise
        theta = theta + h * p
        xi = xi + h * ((p[0] ** 2 + p[1] ** 2) / 2 - 1)
        np.testing.assert_allclose(state.position, theta, rtol=1e-12)
        np.testing.assert_allclose(state.memory.momentum, p, rtol=1e-12)
        assert state.memory.friction == pytest.approx(xi, rel=1e-12)
    assert info.is_accepted


# -- What they release -----------------------------------------------------------------------------

PUBLISHED = {  # published_studies, part A: eta / n, with n = 1e5 and batches of 1000
    "sgld banana": (DPSGLD(2 / N, 1000, 0.2, 0.5), 7.9057),
    "sgld gauss": (DPSGLD(2 * 0.008 / N, 1000, 15, 0.5), 1.1785),
    "sgnht banana": (DPSGNHT(100 / N, 1000, 0.2, 50), 7.9057),
    "sgnht gauss": (DPSGNHT(0.2 / N, 1000, 12, 30), 2.2822),
}


@pytest.mark.parametrize(("sampler", "noise"), PUBLISHED.values(), ids=PUBLISHED)
def test_noise_over_sensitivity_is_that_of_the_published_runs(sampler, noise):
    mechanism = mechanism_of(sampler, N)
    assert math.sqrt(mechanism.noise_variance) == pytest.approx(noise, abs=5e-5)
    assert mechanism.sampling_probability == 0.01


@pytest.mark.parametrize(
    ("name", "epsilon", "accountant", "expected"),
    [
        ("sgld banana", 4, "published-pld", 109_672),
        ("sgld gauss", 15, "published-pld", 21_467),
        ("sgnht gauss", 15, "published-pld", 86_082),
        ("sgnht gauss", 4, "certified", 24_868),
    ],
)
def test_budgets_are_those_of_the_published_settings(name, epsilon, accountant, expected):
    found = iterations(PUBLISHED[name][0], N, epsilon, accountant=accountant)
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("sampler", [PUBLISHED["sgld gauss"][0]])
def test_tighter_accountants_allow_more(sampler):
    loose, published, tight = (
        iterations(sampler, N, 4, accountant=name) for name in ("rdp", "published-pld", "certified")
    )
    assert 0 < loose < published < tight


@pytest.mark.parametrize("sampler", [DPSGLD(0.01, 5, 0.3), DPSGNHT(0.01, 5, 0.3, 2.0)])
def test_one_row_of_a_batch_moves_what_is_released_by_the_sensitivity(sampler):
    """Two rows far apart, each clipped, on either side: the most that there is."""
    model = Gaussian(20, 1.0, [[1.0]], [0.0])
    far = np.full((1, 20), 1e3)
    rng = RecordedStreams(*map(np.random.default_rng, range(3)))
    state = sampler.init(rng, np.zeros(1))
    step = rng.step(sampler, state, Target(model, far))
    (released,) = step.released
    assert released.sensitivity**2 / released.sd**2 == pytest.approx(
        1 / mechanism_of(sampler, 20).noise_variance
    )
    most = 0.0
    for i in range(20):
        near = far.copy()
        near[0, i] = -1e3
        (other,) = rng.repeat(sampler, state, Target(model, near), step).released
        most = max(most, float(np.linalg.norm(released.statistic - other.statistic)))
    assert most == pytest.approx(released.sensitivity)


# -- What they sample ------------------------------------------------------------------------------


def gaussian_target():
    """A posterior of one component; nothing is clipped, and a batch has all the rows."""
    model = Gaussian(50, 1e6, [[50.0]], [0.0])
    return Target(model, model.simulate(np.random.default_rng(4)))  # its variance is 1


def variance_of(sampler, target, seed, chains=40, iterations=4000, dropped=400):
    """Mean over chains of the second moment about the posterior mean, and its standard error."""
    centre = target.data.mean()
    moments = []
    for i in range(chains):
        start = np.array([centre])
        chain = run_chain(sampler, target, streams(seed * 1000 + i), start, iterations)
        moments.append(((chain.positions[dropped:] - centre) ** 2).mean())
    return np.mean(moments), np.std(moments, ddof=1) / math.sqrt(chains)


@pytest.mark.parametrize(
    ("h", "temperature"), chosen([(1.0, 0.5), (1.0, 1.0), (0.2, 0.5), (0.2, 1.0)], (1.0, 0.5))
)
def test_dp_sgld_has_the_variance_that_its_recursion_has(h, temperature):
    """On a normal posterior of variance 1 it is AR(1): temperature / (1 - h / 4).

    At h = 1 a twentieth of what a factor 1 - h / 4 makes is the standard error.
    """
    chains, length = (20, 1000) if h == 1 else (40, 4000)
    sampler = DPSGLD(h, 50, 1e6, temperature)
    found, error = variance_of(sampler, gaussian_target(), 1, chains, length)
    assert abs(found - temperature / (1 - h / 4)) < 4.5 * error
    assert error < (0.05 * temperature if h == 1 else 0.05)


@pytest.mark.torture
def test_the_bias_of_dp_sgnht_falls_in_order_with_the_step():
    """On a normal posterior of variance 1: of a step and its half, extrapolation has none."""
    target, found = gaussian_target(), []
    for h in (0.2, 0.1):
        sampler = DPSGNHT(h, 50, 1e6, 1.0)
        found.append(variance_of(sampler, target, seed=2, iterations=round(800 / h)))
    (long, error), (short, error_short) = found
    assert abs(2 * short - long - 1) < 4.5 * math.hypot(2 * error_short, error)
    assert math.hypot(2 * error_short, error) < 0.06


def test_the_thermostat_takes_up_noise_of_the_gradients():
    """Batches add noise that the friction, which starts at A, must grow to balance."""
    model = Gaussian(200, 1e6, [[200.0]], [0.0])
    target = Target(model, model.simulate(np.random.default_rng(4)))
    sampler = DPSGNHT(0.1, 4, 1e6, 0.5)
    rng = streams(5)
    state, frictions = sampler.init(rng, np.array([target.data.mean()])), []
    for _ in range(30_000):
        state, _ = sampler.step(rng, state, target)
        frictions.append(state.memory.friction)
    # Variance of the batch's gradient, n / b times a sum without replacement.
    noise = (200 / 4) ** 2 * 4 * (1 - 4 / 200) * target.data.var() / 200**2
    # With it (1 - h xi)^2 + h^2 noise + 2 A h = 1: the momentum keeps its variance of 1.
    expected = (1 - math.sqrt(1 - 0.1**2 * noise - 2 * 0.5 * 0.1)) / 0.1
    assert np.mean(frictions[2000:]) == pytest.approx(expected, rel=0.1) and expected > 3


@pytest.mark.parametrize("sampler", [DPSGLD(1e9, 5, 1e9), DPSGNHT(1e9, 5, 1e9, 1e9)])
def test_what_diverges_raises_nothing(sampler, target):
    chain = run_chain(sampler, target, streams(6), np.ones(2), 300)
    assert chain.positions.shape == (300, 2) and not np.isfinite(chain.positions[-1]).all()
    assert chain.is_accepted.all()
