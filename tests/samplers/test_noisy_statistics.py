"""One noisy sum of the rows: what it costs, what it releases, and the posterior that it gives."""

import dataclasses
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from conftest import mechanism_of
from test_samplers import streams

import dpmcmc
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.normal_prior import NormalPrior
from dpmcmc.models.rows import RowsModel
from dpmcmc.samplers.clipped_law import normal_moments
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


@pytest.mark.parametrize("shares", [[1.0], [0.2, 0.8], None])
def test_the_rounds_share_the_budget_and_each_moves_by_its_sensitivity(shares):
    sampler = dpmcmc.NoisyStatistics(noise_scale=0.8, shares=shares, row_laws="model")
    data = GAUSSIAN.simulate(np.random.default_rng(1))
    far = data.copy()
    data[:, 0], far[:, 0] = 1e6, -1e6
    released = watched(sampler, dpmcmc.Target(GAUSSIAN, data))
    spent = [(one.sensitivity / one.sd) ** 2 for one in released]
    assert sum(spent) == pytest.approx(1 / 0.8**2, rel=1e-12)
    assert mechanism_of(sampler, 400).mu == pytest.approx(1 / 0.8)
    chosen = sampler.chosen_settings(GAUSSIAN)
    assert shares is None or chosen["shares"] == shares
    assert spent == pytest.approx([share / 0.8**2 for share in chosen["shares"]], rel=1e-12)
    assert [one.sensitivity / 2 for one in released] == chosen["radii"]
    again = watched(replace(sampler, **chosen), dpmcmc.Target(GAUSSIAN, data))
    assert [(one.sensitivity, one.sd) for one in again] == [
        (one.sensitivity, one.sd) for one in released
    ]
    first, other = (watched(sampler, dpmcmc.Target(GAUSSIAN, rows))[0] for rows in (data, far))
    moved = np.linalg.norm(first.statistic - other.statistic)
    assert moved == pytest.approx(first.sensitivity, rel=1e-6)


def test_later_balls_are_smaller_and_hold_the_rows():
    sampler = dpmcmc.NoisyStatistics(noise_scale=0.5, row_laws="model")
    target = dpmcmc.Target(GAUSSIAN, GAUSSIAN.simulate(np.random.default_rng(2)))
    radii = [one.sensitivity / 2 for one in watched(sampler, target)]
    assert radii == sorted(radii, reverse=True)
    assert radii[-1] < radii[0] / 2
    chain = dpmcmc.run_chain(sampler, target, streams(3), None, 5)
    assert chain.preparation.clip_fraction < 0.1


@pytest.mark.parametrize("size", [1, 2, 10])
@pytest.mark.parametrize("distance", [0.0, 0.8, 2.0])
def test_moments_of_clipped_normals_are_those_of_draws(size, distance):
    radius, k = math.sqrt(size) + 0.5, 200_000
    z = np.random.default_rng(size).standard_normal((k, size))
    z[:, 0] += distance
    clipped = z * np.minimum(1, radius / np.linalg.norm(z, axis=1))[:, None]
    moments = normal_moments(size, radius)
    mean, across, along = (float(value) for value in moments.at(np.array(distance)))
    assert abs(clipped[:, 0].mean() - mean) < 4 * math.sqrt(along / k)
    assert clipped[:, 0].var() == pytest.approx(along, rel=0.03)
    assert size == 1 or clipped[:, -1].var() == pytest.approx(across, rel=0.02)
    h = 1e-3
    ahead, behind = (float(moments.at(np.array(abs(distance + x)))[0]) for x in (h, -h))
    behind = -behind if distance < h else behind
    assert float(moments.slope(np.array(distance))) == pytest.approx((ahead - behind) / 2 / h, 1e-3)
    assert moments.distance(mean) == pytest.approx(distance, abs=0.01)


@pytest.mark.parametrize("distance", [0.0, 1e9])
def test_a_ball_is_flat_where_it_is_large(distance):
    """Rows about a mean that is 2 inside of the surface, or far outside."""
    near, far = normal_moments(3, 1.9e3), normal_moments(3, 1e10)
    for offset in (-2.0, 0.0, 3.0):
        at_near, at_far = near.at(1.9e3 + offset), far.at(1e10 + offset + distance)
        if not distance:
            assert float(at_far[0]) - 1e10 == pytest.approx(float(at_near[0]) - 1.9e3, abs=1e-2)
            assert [float(x) for x in at_far[1:]] == pytest.approx(
                [float(x) for x in at_near[1:]], abs=1e-2
            )
        assert float(far.distance(float(at_far[0]))) <= far.end + far.shift + 1e-3


def test_the_last_ball_has_the_mean_however_the_noise_falls():
    """A first ball so large that its noise is as wide as the second one."""
    model = replace(GAUSSIAN, num_rows=2000, prior_variance=1000.0)
    data = model.simulate(np.random.default_rng(1), np.array([20.0, -30.0]))
    target, sampler = dpmcmc.Target(model, data), dpmcmc.NoisyStatistics(noise_scale=4.0)
    for seed in range(60):
        ball = sampler.prepare(streams(seed), target)[0].memory[0].ball
        assert np.linalg.norm(ball.whiten @ (data.mean(axis=1) - ball.centre)) < ball.radius


@pytest.mark.parametrize("prior_variance", [1e8, 1e16])
def test_a_vague_prior_has_rounds_that_find_the_rows(prior_variance):
    model = replace(GAUSSIAN, prior_variance=prior_variance)
    sampler = dpmcmc.NoisyStatistics(noise_scale=0.8, row_laws="model")
    radii = sampler.chosen_settings(model)["radii"]
    assert len(radii) == 4 and radii == sorted(radii, reverse=True)
    assert radii[0] > math.sqrt(prior_variance) and radii[-1] < radii[0] / 1e3
    truth = model.sample_prior(np.random.default_rng(1))
    target = dpmcmc.Target(model, model.simulate(np.random.default_rng(2), truth))
    draws = dpmcmc.run_chain(sampler, target, streams(3), None, 500).positions
    assert (np.abs(draws.mean(axis=0) - truth) < 4 * draws.std(axis=0)).all()
    assert (draws.std(axis=0) < radii[-1]).all()


@pytest.mark.parametrize("noise_scale", [0.3, 30.0])
def test_draws_of_a_gaussian_are_of_the_density_with_the_clip(noise_scale):
    """Against HMC of the same density."""
    sampler = dpmcmc.NoisyStatistics(noise_scale=noise_scale, row_radius=1.0)
    target = dpmcmc.Target(GAUSSIAN, GAUSSIAN.simulate(np.random.default_rng(4)))
    released = sampler.prepare(streams(5), target)[0].memory[0]
    rng = np.random.default_rng(6)
    draws = sampler.draws(rng, GAUSSIAN, released, 4000)
    others = sampler.by_hmc(rng, GAUSSIAN, released, 500)
    error = draws.std(axis=0) * math.sqrt(1 / 4000 + 1 / 250)
    assert (np.abs(draws.mean(axis=0) - others.mean(axis=0)) < 4 * error).all()
    assert draws.std(axis=0) == pytest.approx(others.std(axis=0), rel=4 / math.sqrt(500))


def test_a_clip_of_any_family_is_accounted_for():
    """Mean and scale at n = 20,000, with a clip that bites."""
    model, truth = MeanAndScale(20_000), np.array([0.7, 0.3])
    target = dpmcmc.Target(model, model.simulate(np.random.default_rng(1), truth))
    sampler = dpmcmc.NoisyStatistics(60.0, row_radius=1.5, statistic_scale=[1.5, 4.0])
    (state, info) = sampler.prepare(streams(2), target)
    draws = np.array([state.position, *state.memory[1][:300]])
    assert info.clip_fraction > 0.05
    assert (np.abs(draws.mean(axis=0) - truth) < 4 * draws.std(axis=0)).all()
    assert (draws.std(axis=0) < 0.1).all()


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
    """theta from the prior, epsilon .1: 100 data sets of a normal mean in two dimensions."""
    model, draws = GAUSSIAN, 200
    sampler = dpmcmc.for_budget(dpmcmc.NoisyStatistics(), model.num_rows, 0.1)
    plug_in = dataclasses.replace(sampler, posterior="plug-in")
    covered = {sampler: [], plug_in: []}
    for i in range(100):
        rng = np.random.default_rng([8, i])
        truth = model.sample_prior(rng)
        target = dpmcmc.Target(model, model.simulate(rng, truth))
        for one, found in covered.items():
            chain = dpmcmc.run_chain(one, target, streams(1000 + i), None, draws)
            low, high = np.quantile(chain.positions, [0.05, 0.95], axis=0)
            found.append(((low <= truth) & (truth <= high)).mean())
    aware, naive = (np.array(found) for found in covered.values())
    assert abs(aware.mean() - 0.9) < 4 * aware.std() / math.sqrt(100)
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
