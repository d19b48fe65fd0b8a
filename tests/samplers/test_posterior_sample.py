"""Posterior samples: exact draws, their price, and what a row can change."""

import math

import numpy as np
import pytest
from conftest import mechanism_of
from scipy.special import ndtr
from scipy.stats import norm
from test_samplers import streams

from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.regression import LogisticRegression, RobustRegression
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.moves import GaussianWalk
from dpmcmc.samplers.posterior_sample import PosteriorSample, RidgedLogistic, usable_rows
from dpmcmc.samplers.private_start import PrivateStart


def line(rows):
    """A logistic regression of one covariate with R = 1, and its data."""
    return LogisticRegression(1, len(rows), 1.0, 1.0), np.array(rows, dtype=float)


def cumulated(rows, power, m):
    """Grid, and distribution function of the posterior on it."""
    grid = np.linspace(-8, 8, 160_001)
    values = -m * grid**2 / 2
    for y, x in rows:
        values -= power * np.logaddexp(0, -(2 * y - 1) * x * grid)
    mass = np.exp(values - values.max())
    return grid, np.cumsum(mass) / mass.sum()


def test_draws_of_a_regression_have_its_posterior():
    rows = np.column_stack([np.arange(30) % 3 > 0, np.linspace(-1, 1, 30)]).astype(float)
    posterior, rng = RidgedLogistic((2 * rows[:, :1] - 1) * rows[:, 1:], 0.7, 1.5, 1.0), streams(0)
    draws = np.array([posterior.draw(rng.noise)[0] for _ in range(4000)])
    grid, distribution = cumulated(rows, 0.7, 1.5)
    ranks = np.sort(np.interp(draws, grid, distribution))
    distance = np.abs(ranks - (np.arange(4000) + 0.5) / 4000).max()
    assert distance < 1.95 / math.sqrt(4000)  # Kolmogorov, at .001


@pytest.mark.parametrize(("dimension", "power"), [(1, 1.0), (3, 0.2), (6, 0.05)])
def test_the_envelope_is_above_the_posterior(dimension, power):
    rng = np.random.default_rng(dimension)
    model = LogisticRegression(dimension, 200, 1.0, 2.0)
    posterior = RidgedLogistic(usable_rows(model, model.simulate(rng)), power, 1.5, 2.0)
    lowest, largest = posterior.potential(posterior.mode), -math.inf
    for _ in range(3000):
        direction = rng.standard_normal(dimension)
        r = 4 * rng.random() * dimension
        theta = posterior.mode + posterior.unit @ (r * direction / np.linalg.norm(direction))
        bound = posterior.intercept + posterior.slope * r
        largest = max(largest, bound - posterior.potential(theta) + lowest)
    assert largest <= 0


def most_delta(first, second, epsilon, power, m):
    """Delta that two neighbouring data sets need, by their densities on a grid."""
    masses = [np.diff(cumulated(rows, power, m)[1], prepend=0) for rows in (first, second)]
    return np.maximum(masses[0] - math.exp(epsilon) * masses[1], 0).sum()


@pytest.mark.parametrize("rest", [0, 5])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_neighbours_need_no_more_delta_than_the_price(rest, epsilon):
    """Rows at both ends of the bound."""
    others = [[i % 2, 0.5] for i in range(rest)]
    m, power = 2.0, 0.8
    mu = 2 * power / math.sqrt(m)
    found = most_delta([[1, 1.0], *others], [[0, 1.0], *others], epsilon, power, m)
    price = ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
    assert 0 < found <= price


def test_the_power_is_the_one_that_the_price_allows():
    model, rows = line([[1, 1.0], [0, -1.0]])
    sampler = PosteriorSample(ridge=3.0, num_draws=4, noise_scale=2.0)
    assert mechanism_of(sampler, 2, 1.0).mu == 0.5 and sampler.mu == 0.25
    draws = np.array(
        [sampler.logistic_draws(streams(s), Target(model, rows), model)[0, 0] for s in range(200)]
    )
    grid, distribution = cumulated(rows, 0.25 * 2 / 2, 4.0)  # p = mu sqrt(m) / (2 B)
    ranks = np.interp(draws, grid, distribution)
    assert abs(ranks.mean() - 0.5) < 4 / math.sqrt(12 * 200)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, 0.5])
def test_a_row_that_is_no_row_does_not_count(value):
    model, rows = line([[1, 1.0], [0, 0.5], [1, -0.2]])
    assert usable_rows(model, 3 * rows[:1] - [2, 0]).tolist() == [[1.0]]  # longer than the bound
    rows[1, 0] = value
    assert len(usable_rows(model, rows)) == 2
    rows[1] = 1, value
    used = usable_rows(model, rows)
    assert np.isfinite(used).all() and np.abs(used).max() <= 1


def normal(num_rows=5, scale=1.0):
    model = Gaussian(num_rows, 1.0, (scale * np.eye(2)).tolist())
    return model, np.zeros((2, num_rows))


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_a_quadratic_loss_has_the_price_of_the_gaussian_mechanism(scale):
    """Two rows at opposite ends move the mean of a draw by mu of its standard deviations."""
    model, rows = normal(scale=scale)
    sampler, means = PosteriorSample(ridge=0.5, row_radius=1.5, noise_scale=2.0), []
    for end in (100.0, -100.0):
        rows[0, 0] = end
        rng = RecordedStreams(*streams(0))
        [released] = rng.step(sampler, None, Target(model, rows)).released
        means.append(released.statistic)
    assert released.sensitivity / released.sd == pytest.approx(0.5)
    assert np.linalg.norm(means[0] - means[1]) == pytest.approx(0.5)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, 2.0])
def test_one_row_moves_a_normal_draw_by_its_sensitivity(value):
    model = Gaussian(6, 1.0, [[1.0, 0.6], [0.6, 2.0]])
    rows = model.simulate(np.random.default_rng(0))
    other = rows.copy()
    other[:, 0] = value
    sampler = PosteriorSample(ridge=0.5, num_draws=3, row_radius=1.5, noise_scale=2.0)
    rng = RecordedStreams(*streams(0))
    first = rng.step(sampler, None, Target(model, rows))
    second = rng.repeat(sampler, None, Target(model, other, "clip"), first)
    cost = 0.0
    for one, two in zip(first.released, second.released, strict=True):
        assert np.linalg.norm(one.statistic - two.statistic) <= one.sensitivity * (1 + 1e-9)
        cost += (one.sensitivity / one.sd) ** 2
    assert len(first.released) == 3 and cost == pytest.approx(0.25)


def test_draws_of_a_normal_mean_have_the_tempered_posterior():
    model = Gaussian(50, 1.0, [[1.0, 0.6], [0.6, 2.0]])
    rows = model.simulate(np.random.default_rng(0))
    sampler = PosteriorSample(ridge=0.5, num_draws=4000, row_radius=100.0, noise_scale=1e-9)
    draws = sampler.normal_draws(streams(0), Target(model, rows), model)
    precision = 50 * model.precision + 1.5 * np.eye(2)  # T = 1 is all that is allowed
    mean = np.linalg.solve(precision, model.precision @ rows.sum(axis=1))
    z = (draws - mean) @ np.linalg.cholesky(precision)
    assert np.abs(z.mean(axis=0)).max() < 4 / math.sqrt(4000)
    assert np.abs((z**2).mean(axis=0) - 1).max() < 4 * math.sqrt(2 / 4000)


def test_steps_go_round_the_draws():
    model, rows = line([[1, 1.0], [0, -1.0]])
    sampler, rng = PosteriorSample(ridge=1.0, num_draws=2, noise_scale=2.0), streams(0)
    state, _ = sampler.prepare(rng, Target(model, rows))
    positions = []
    for _ in range(4):
        state, _ = sampler.step(rng, state, None)
        positions.append(state.position[0])
    assert positions[:2] == positions[2:] and positions[0] != positions[1]


def test_a_model_without_exact_draws_is_refused_in_one_line():
    model = RobustRegression(2, 5, 1.0, 1.0)
    target = Target(model, np.zeros((5, 3)))
    with pytest.raises(ValueError, match=r"^model: must be LogisticRegression or Gaussian.*Robust"):
        PosteriorSample(ridge=1.0, noise_scale=1.0).prepare(streams(0), target)


def test_a_regression_needs_a_bound_of_its_covariates():
    model = LogisticRegression(1, 2, 1.0)
    with pytest.raises(ValueError, match="covariate_bound: must be given"):
        PosteriorSample(ridge=1.0, noise_scale=1.0).prepare(
            streams(0), Target(model, np.array([[1.0, 1.0], [0.0, 2.0]]))
        )


def test_a_ridge_with_which_no_draw_would_end_is_refused():
    model, rows = LogisticRegression(1, 2, 1.0, 1e6), np.array([[1.0, 1.0], [0.0, 2.0]])
    with pytest.raises(ValueError, match=r"ridge: must be at least 1e\+08"):
        PosteriorSample(ridge=1.0, noise_scale=1.0).prepare(streams(0), Target(model, rows))


def test_it_is_no_start_of_a_chain():
    walk = DPPenalty(GaussianWalk(0.8), 0.5, 1.0)
    with pytest.raises(ValueError, match="start: must prepare"):
        PrivateStart(walk, PosteriorSample(ridge=1.0, row_radius=3.0))


@pytest.mark.parametrize("bound", [1e-9, 1e-3, 1.0])
def test_the_envelope_of_nearly_normal_posteriors_is_their_density(bound):
    posterior = RidgedLogistic(np.array([[bound / 2]]), 1.0, 1.5, bound)
    assert posterior.slope > 0
    assert posterior.intercept == pytest.approx(-(posterior.slope**2) / 2, rel=0.5)


def test_a_normal_mean_needs_a_radius():
    with pytest.raises(ValueError, match=r"^row_radius: must be given"):
        PosteriorSample(ridge=1.0, noise_scale=1.0).prepare(streams(0), Target(*normal()))


def largest_mu(power, m):
    """The least mu that two one-row data sets at both ends need, over several epsilons."""
    first, second = [[1, 1.0]], [[0, 1.0]]
    most = 0.0
    for epsilon in (0.1, 0.5, 1.0):
        delta = most_delta(first, second, epsilon, power, m)
        mus = np.linspace(0.01, 4, 2000)
        deltas = norm.cdf(mus / 2 - epsilon / mus)
        deltas -= math.exp(epsilon) * norm.cdf(-mus / 2 - epsilon / mus)
        most = max(most, float(np.interp(delta, deltas, mus)))
    return most


@pytest.mark.parametrize(
    "claimed",
    [lambda p, m: p / 2 / math.sqrt(m), lambda p, m: 2 * p / m],
    ids=["the slope at 0 of one row", "m in place of its root"],
)
def test_wrong_prices_are_below_what_two_data_sets_need(claimed):
    power, m = 0.8, 9.0
    assert claimed(power, m) < largest_mu(power, m) <= 2 * power / math.sqrt(m)
