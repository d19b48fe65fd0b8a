"""One noisy sum of the rows: what it costs, what it releases, and the posterior that it gives."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import pytest
from conftest import mechanism_of
from test_samplers import streams

import dpmcmc
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.normal_prior import NormalPrior
from dpmcmc.models.rows import RowsModel
from dpmcmc.samplers.given_total import GivenTotal
from dpmcmc.settings import Rows

GAUSSIAN = dpmcmc.Gaussian(400, 4.0, [[1.0, 0.6], [0.6, 2.0]], [0.5, -1.0])
PRIOR_VARIANCES = np.array([1.0, 0.25])


@dataclass(frozen=True)
class MeanAndScale(ExponentialFamily):
    """x ~ N(theta_1, exp(theta_2)^2), normal priors; t(x) = (x, x^2), of no constant covariance."""

    num_rows: Rows = 400
    dimension = 2

    def sample_prior(self, rng):
        return np.sqrt(PRIOR_VARIANCES) * rng.standard_normal(2)

    def log_prior_ratio(self, theta, theta_new):
        return float(((theta**2 - theta_new**2) / (2 * PRIOR_VARIANCES)).sum())

    def grad_log_prior(self, theta):
        return -theta / PRIOR_VARIANCES

    def simulate(self, rng, theta=None):
        x = theta[0] + np.exp(theta[1]) * rng.standard_normal(self.num_rows)
        return np.array([x, x * x])

    def ratio_coefficients(self, theta, theta_new):
        slopes, intercepts = [], []
        for mean, log_sd in (theta, theta_new):
            precision = np.exp(-2 * log_sd)
            slopes.append(np.array([mean * precision, -precision / 2]))
            intercepts.append(mean**2 * precision / 2 + log_sd)
        return slopes[1] - slopes[0], intercepts[1] - intercepts[0]

    def gradient_coefficients(self, theta):
        mean, precision = theta[0], np.exp(-2 * theta[1])
        jacobian = precision * np.array([[1.0, -2 * mean], [0.0, 1.0]])
        return jacobian, np.array([mean * precision, 1 - mean**2 * precision])

    def statistic_mean(self, theta):
        return np.array([theta[0], theta[0] ** 2 + np.exp(2 * theta[1])])

    def statistic_covariance(self, theta):
        mean, variance = theta[0], np.exp(2 * theta[1])
        both = 2 * mean * variance
        return np.array([[variance, both], [both, 2 * mean * both + 2 * variance**2]])


def watched(sampler, target, seed=1):
    """What a preparation released, a list of `Released`."""
    rng = RecordedStreams(*streams(seed))
    return rng.step(sampler, None, target).released


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_the_rounds_share_the_budget_and_each_moves_by_its_sensitivity(rounds):
    sampler = dpmcmc.NoisyStatistics(noise_scale=0.8, rounds=rounds)
    data = GAUSSIAN.simulate(np.random.default_rng(1))
    far = data.copy()
    data[:, 0], far[:, 0] = 1e6, -1e6
    released = watched(sampler, dpmcmc.Target(GAUSSIAN, data))
    assert len(released) == rounds
    spent = [(one.sensitivity / one.sd) ** 2 for one in released]
    assert sum(spent) == pytest.approx(1 / 0.8**2, rel=1e-12)
    assert mechanism_of(sampler, 400).mu == pytest.approx(1 / 0.8)
    assert rounds == 1 or spent[-1] == pytest.approx(0.95 / 0.8**2)
    first, other = (watched(sampler, dpmcmc.Target(GAUSSIAN, rows))[0] for rows in (data, far))
    moved = np.linalg.norm(first.statistic - other.statistic)
    assert moved == pytest.approx(first.sensitivity, rel=1e-6)


def test_later_balls_are_smaller_and_hold_the_rows():
    sampler = dpmcmc.NoisyStatistics(noise_scale=0.5)
    target = dpmcmc.Target(GAUSSIAN, GAUSSIAN.simulate(np.random.default_rng(2)))
    radii = [one.sensitivity / 2 for one in watched(sampler, target)]
    assert radii == sorted(radii, reverse=True)
    assert radii[-1] < radii[0] / 2
    chain = dpmcmc.run_chain(sampler, target, streams(3), None, 5)
    assert chain.preparation.clip_fraction < 0.01


@pytest.mark.parametrize("posterior", ["plug-in", "noise-aware"])
def test_the_posterior_of_a_gaussian_is_the_one_in_closed_form(posterior):
    """Of a released sum S + N(0, sd^2 C): S counts as of fewer rows, by 1 + sd^2 / n."""
    sampler = dpmcmc.NoisyStatistics(noise_scale=3.0, posterior=posterior)
    target = dpmcmc.Target(GAUSSIAN, GAUSSIAN.simulate(np.random.default_rng(4)))
    precision = sum(1 / one.sd**2 for one in watched(sampler, target, seed=5))
    state, _ = sampler.prepare(streams(5), target)
    total = state.memory[0].total
    power = 1 / (1 + 1 / precision / 400) if posterior == "noise-aware" else 1.0
    precision = power * 400 * GAUSSIAN.precision + np.eye(2) / 4.0
    mean = np.linalg.solve(precision, power * GAUSSIAN.precision @ total)
    draws = sampler.draws(np.random.default_rng(6), GAUSSIAN, state.memory[0], 40_000)
    sd = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert np.abs((draws.mean(axis=0) - mean) / sd).max() < 5 / math.sqrt(40_000)
    assert draws.std(axis=0) == pytest.approx(sd, rel=5 / math.sqrt(2 * 40_000))


def test_steps_read_no_row():
    sampler = dpmcmc.NoisyStatistics(noise_scale=1.0)
    target, other = (
        dpmcmc.Target(GAUSSIAN, GAUSSIAN.simulate(np.random.default_rng(seed))) for seed in (1, 2)
    )
    state, _ = sampler.prepare(streams(1), target)
    one, two = (sampler.step(streams(2), state, t)[0] for t in (target, other))
    assert (one.position == two.position).all()
    assert sampler.has_free_steps


@pytest.mark.parametrize("noise", [None, np.diag([60.0, 200.0])], ids=["plug-in", "noise-aware"])
def test_draws_given_a_total_are_of_its_density(noise):
    """Against the density on a grid; draws of HMC hardly depend on each other."""
    model = MeanAndScale()
    total = model.simulate(np.random.default_rng(1), np.array([0.7, 0.3])).sum(axis=1)
    given = GivenTotal(model, total, noise)
    draws = given.sample(np.random.default_rng(2), 2000)
    axes = [np.linspace(*(x.mean() + 6 * x.std() * np.array([-1, 1])), 61) for x in draws.T]
    logs = np.array([[given.log_density(np.array([a, b])) for b in axes[1]] for a in axes[0]])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    for j, axis in enumerate(axes):
        marginal = weights.sum(axis=1 - j)
        mean = marginal @ axis
        sd = math.sqrt(marginal @ (axis - mean) ** 2)
        assert abs(draws[:, j].mean() - mean) < 5 * sd / math.sqrt(1000)
        assert draws[:, j].std() == pytest.approx(sd, rel=5 / math.sqrt(2000))


def test_noise_aware_intervals_cover_as_often_as_they_say():
    """theta from the prior, epsilon .1: 300 data sets of a normal mean in two dimensions."""
    model, draws = GAUSSIAN, 200
    sampler = dpmcmc.for_budget(dpmcmc.NoisyStatistics(), model.num_rows, 0.1)
    plug_in = dataclasses.replace(sampler, posterior="plug-in")
    covered = {sampler: [], plug_in: []}
    for i in range(300):
        rng = np.random.default_rng([8, i])
        truth = model.sample_prior(rng)
        target = dpmcmc.Target(model, model.simulate(rng, truth))
        for one, found in covered.items():
            chain = dpmcmc.run_chain(one, target, streams(1000 + i), None, draws)
            low, high = np.quantile(chain.positions, [0.05, 0.95], axis=0)
            found.append(((low <= truth) & (truth <= high)).mean())
    aware, naive = (np.array(found) for found in covered.values())
    assert abs(aware.mean() - 0.9) < 4 * aware.std() / math.sqrt(300)
    assert naive.mean() < 0.7


def test_what_cannot_be_known_has_to_be_said():
    target = dpmcmc.Target(MeanAndScale(), np.ones((2, 400)))
    with pytest.raises(ValueError, match=r"^noise_scale: must be given, or follow from an epsilon"):
        dpmcmc.NoisyStatistics().releases(400, 1.0, 0)
    with pytest.raises(ValueError, match=r"^statistic_scale: must be given, as the covariance"):
        dpmcmc.NoisyStatistics(noise_scale=1.0).prepare(streams(1), target)
    with pytest.raises(ValueError, match=r"^statistic_scale: must be a number or a list of 2"):
        dpmcmc.NoisyStatistics(1.0, statistic_scale=[1.0] * 3).prepare(streams(1), target)
    with pytest.raises(ValueError, match=r"^first_centre: needs a first_radius"):
        dpmcmc.NoisyStatistics(first_centre=[0.0])
    circle = dpmcmc.Circle(10, 1e-5, 3.0, 1.0, [0.0, 1.0], 1.0)
    flat = dpmcmc.Target(circle, np.ones((1, 10)))
    with pytest.raises(
        ValueError, match=r"^first_radius: must be given, as Circle has no sample_p"
    ):
        dpmcmc.NoisyStatistics(1.0).prepare(streams(1), flat)


def test_only_exponential_families_have_statistics():
    @dataclass(frozen=True)
    class Rowwise(NormalPrior, RowsModel):
        num_rows: Rows
        dimension = row_length = 1

    target = dpmcmc.Target(Rowwise(3), np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"^model: must be an ExponentialFamily"):
        target.clipped_statistics(np.zeros(1), np.eye(1), 1.0)


def test_statistics_are_clipped_row_by_row():
    rng = np.random.default_rng(1)
    data = rng.standard_normal((2, 9000)) * 10.0 ** rng.integers(-3, 4, 9000)
    data[:, :3] = np.array([[np.nan, np.inf, 1e200], [0.0, 1.0, 1e200]])
    target = dpmcmc.Target(dataclasses.replace(GAUSSIAN, num_rows=9000), data, "clip")
    centre, whiten, radius = np.array([0.3, -0.2]), np.array([[2.0, 0.0], [0.5, 1.0]]), 1.5
    total, num_clipped = target.clipped_statistics(centre, whiten, radius)
    rows = (data[:, 2:].T - centre) @ whiten.T
    lengths = np.hypot(*rows.T)
    expected = (rows * np.minimum(1, radius / lengths)[:, None]).sum(axis=0)
    assert total == pytest.approx(expected, rel=1e-9)
    assert num_clipped == 2 + (lengths > radius).sum()
