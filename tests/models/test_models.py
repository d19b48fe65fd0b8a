"""Likelihoods from their definitions, gradients by differences, posteriors in closed form."""

import math

import numpy as np
import pytest
from conftest import SMALL_MODELS
from scipy import stats

from dpmcmc import registry
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.circle import Circle
from dpmcmc.models.gaussian import Gaussian, RandomGaussian


def log_likelihood_of_rows(model, statistics, theta):
    """ln p(x | theta) of every row, written from the model's definition in section 5.1."""
    if model is SMALL_MODELS["banana"]:
        means = [theta[0], theta[1] + model.curvature * theta[0] ** 2, *theta[2:]]
        scales = np.sqrt(model.likelihood_variances)
        return sum(
            stats.norm.logpdf(column, mean, scale)
            for column, mean, scale in zip(statistics, means, scales, strict=True)
        )
    if model is SMALL_MODELS["gaussian"]:
        return stats.multivariate_normal.logpdf(statistics.T, theta, model.covariance)
    return -model.sharpness * (theta[0] ** 2 + theta[1] ** 2 - statistics[0]) ** 2


def log_prior(model, theta):
    if model is SMALL_MODELS["banana"]:
        bent = [theta[0], theta[1] + model.curvature * theta[0] ** 2, *theta[2:]]
        return stats.norm.logpdf(bent, scale=math.sqrt(model.prior_variance)).sum()
    if model is SMALL_MODELS["gaussian"]:
        return stats.norm.logpdf(theta, scale=math.sqrt(model.prior_variance)).sum()
    return 0.0


def pairs(model, count=5):
    rng = np.random.default_rng(11)
    for _ in range(count):
        yield rng.standard_normal(model.dimension), rng.standard_normal(model.dimension)


def test_ratios_are_those_of_the_definition(small_target):
    model = small_target.model
    for theta, theta_new in pairs(model):
        rows = log_likelihood_of_rows(model, small_target.data, theta_new)
        rows -= log_likelihood_of_rows(model, small_target.data, theta)
        for bound in (0.5, math.inf):
            total, clipped = small_target.clipped_log_likelihood_ratio(theta, theta_new, bound)
            assert total == pytest.approx(np.clip(rows, -bound, bound).sum(), rel=1e-10)
            assert clipped == (abs(rows) > bound).sum()
        prior = log_prior(model, theta_new) - log_prior(model, theta)
        assert model.log_prior_ratio(theta, theta_new) == pytest.approx(prior, abs=1e-10)


def test_gradients_are_those_of_finite_differences(small_target):
    model = small_target.model
    steps = 1e-5 * np.eye(model.dimension)
    for theta, _ in pairs(model):
        rows = np.array(
            [
                log_likelihood_of_rows(model, small_target.data, theta + step)
                - log_likelihood_of_rows(model, small_target.data, theta - step)
                for step in steps
            ]
        ) / (2 * 1e-5)
        norms = np.linalg.norm(rows, axis=0)
        for bound in (float(np.median(norms)), math.inf):
            expected = (rows * np.minimum(1, bound / norms)).sum(axis=1)
            total, clipped = small_target.clipped_gradient(theta, bound)
            np.testing.assert_allclose(total, expected, rtol=1e-6, atol=1e-6)
            assert abs(clipped - (norms > bound).sum()) <= 1
        prior = [log_prior(model, theta + step) - log_prior(model, theta - step) for step in steps]
        np.testing.assert_allclose(
            model.grad_log_prior(theta), np.array(prior) / (2 * 1e-5), atol=1e-6
        )


def posterior_log_density(target, theta):
    """Log density of the exact posterior, from its closed form (Theorem 5.2, section 5.1)."""
    model, n, mean = target.model, target.num_rows, target.data.mean(axis=1)
    if model is SMALL_MODELS["banana"]:
        power, tau_0 = model.tempered_rows / n, 1 / model.prior_variance
        tau = 1 / np.array(model.likelihood_variances)
        mu = power * n * tau * mean / (power * n * tau + tau_0)
        sigma = (power * n * tau + tau_0) ** -0.5
        bent = [theta[0], theta[1] + model.curvature * theta[0] ** 2, *theta[2:]]
        return stats.norm.logpdf(bent, mu, sigma).sum()
    if model is SMALL_MODELS["gaussian"]:
        precision = n * np.linalg.inv(model.covariance) + np.eye(2) / model.prior_variance
        centre = np.linalg.solve(precision, n * np.linalg.inv(model.covariance) @ mean)
        return stats.multivariate_normal.logpdf(theta, centre, np.linalg.inv(precision))
    return stats.norm.logpdf(theta @ theta, mean[0], (2 * model.sharpness * n) ** -0.5)


def test_posterior_density_is_that_of_the_closed_form(small_target):
    for theta, theta_new in pairs(small_target.model):
        expected = posterior_log_density(small_target, theta_new) - posterior_log_density(
            small_target, theta
        )
        assert small_target.log_density_ratio(theta, theta_new) == pytest.approx(expected, rel=1e-9)


def z_scores(values, expected):
    """Standard errors between the mean of independent values (size, ...) and what is expected."""
    values = np.asarray(values, dtype=float)
    return (values.mean(axis=0) - expected) / (values.std(axis=0) / math.sqrt(len(values)))


def draw(target, size=40_000, seed=5):
    return target.model.sample_posterior(np.random.default_rng(seed), target.data, size)


def test_banana_draws_have_the_moments_of_theorem_5_2():
    model = SMALL_MODELS["banana"]
    target = Target(model, model.simulate(np.random.default_rng(7)))
    theta = draw(target)
    power, tau = 0.5, 1 / np.array([2.0, 0.5, 1.0])
    variance = 1 / (power * 40 * tau + 1 / 4.0)
    mean = variance * power * 40 * tau * target.data.mean(axis=1)
    straight = theta.copy()
    straight[:, 1] += 1.5 * theta[:, 0] ** 2
    assert abs(z_scores(straight, mean)).max() < 4.5
    assert abs(z_scores((straight - mean) ** 2, variance)).max() < 4.5
    # The mean of the banana itself: E theta_2 = mu_2 - a (mu_1^2 + s_1^2).
    assert abs(z_scores(theta[:, 1], mean[1] - 1.5 * (mean[0] ** 2 + variance[0]))) < 4.5


def test_gaussian_draws_have_the_closed_form_moments():
    model = SMALL_MODELS["gaussian"]
    target = Target(model, model.simulate(np.random.default_rng(7)))
    theta = draw(target)
    precision = np.linalg.inv(model.covariance)
    covariance = np.linalg.inv(30 * precision + np.eye(2) / 2.0)
    mean = covariance @ precision @ target.data.sum(axis=1)
    assert abs(z_scores(theta, mean)).max() < 4.5
    centred = theta - mean
    products = centred[:, :, None] * centred[:, None, :]
    assert abs(z_scores(products, covariance)).max() < 4.5


@pytest.mark.parametrize("radius_mean", [2.0, 0.0])
def test_circle_draws_have_a_truncated_normal_square_and_a_uniform_angle(radius_mean):
    settings = dict(num_rows=25, sharpness=0.02, radius_sd=0.5, start_mean=[0, 1], start_sd=1)
    model = Circle(radius_mean=radius_mean, **settings)
    target = Target(model, model.simulate(np.random.default_rng(7)))
    theta = draw(target)
    centre, scale = target.data.mean(), (2 * 0.02 * 25) ** -0.5
    exact = stats.truncnorm(-centre / scale, np.inf, centre, scale)
    assert stats.kstest((theta**2).sum(axis=1), exact.cdf).pvalue > 1e-3
    angle = np.arctan2(theta[:, 1], theta[:, 0])
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3
    assert abs(z_scores(theta, model.posterior_mean)).max() < 4.5


def test_data_sets_are_drawn_at_the_true_position():
    rng = np.random.default_rng(2)
    for name in ("banana", "gaussian"):
        fields = vars(SMALL_MODELS[name]) | {"num_rows": 40_000}
        fields = {key: fields[key] for key in SMALL_MODELS[name].__dataclass_fields__}
        rows = type(SMALL_MODELS[name])(**fields).simulate(rng).T
        if name == "banana":
            mean, covariance = [0.5, 1.0 + 1.5 * 0.5**2, 0.0], np.diag([2.0, 0.5, 1.0])
        else:
            mean, covariance = [0.3, -1.0], fields["covariance"]
        assert abs(z_scores(rows, mean)).max() < 4.5
        centred = rows - mean
        assert abs(z_scores(centred[:, :, None] * centred[:, None, :], covariance)).max() < 4.5


def test_published_models_are_all_there(config):
    models = {
        name: registry.build(
            {"class": registry.resolve("model", settings["kind"])}
            | {key: value for key, value in settings.items() if key not in ("kind", "label")}
        )
        for name, settings in config["models"].items()
    }
    assert len(models) == 9
    assert models["tempered-banana-10d"].likelihood_power == 1000 / 200_000
    big = models["gauss-30d"]
    np.testing.assert_array_equal(1 / big.precisions, [20, 2.5, *[1] * 28])
    np.testing.assert_array_equal(big.true_theta, [0, 3, *[0] * 28])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e200])
def test_a_proposal_that_is_not_finite_is_rejected_without_reading_the_data(small_target, bad):
    theta = np.full(small_target.model.dimension, 0.1)
    theta_new = theta.copy()
    theta_new[0] = bad
    poisoned = Target(small_target.model, np.full_like(small_target.data, np.nan), "clip")
    with np.errstate(all="ignore"):
        assert poisoned.clipped_log_likelihood_ratio(theta, theta_new, 1.0) == (-math.inf, 0)


def test_a_random_covariance_is_drawn_once_and_is_that_of_the_model():
    """Orthogonal axes from a uniform matrix, variances Gamma(1/2); the rest is Gaussian."""
    model = RandomGaussian(5, 200, 100.0, 3, [0.0, 3.0, 0.0])
    rng = np.random.default_rng(3)
    axes, variances = np.linalg.qr(rng.random((5, 5)))[0], rng.gamma(0.5, size=5)
    np.testing.assert_allclose(model.covariance_matrix @ axes, axes * variances, atol=1e-12)
    other = RandomGaussian(5, 9, 1.0, 4, [0.0]).covariance_matrix
    assert abs(other - model.covariance_matrix).max() > 0.01
    np.testing.assert_array_equal(model.true_theta, [0, 3, 0, 0, 0])
    given = Gaussian(200, 100.0, model.covariance_matrix, model.true_theta)
    rows = given.simulate(np.random.default_rng(1))
    data = model.simulate(np.random.default_rng(1))
    np.testing.assert_allclose(data, model.statistics(rows.T), rtol=1e-12)
    mine, other = Target(model, data), Target(given, rows)
    theta, theta_new = np.array(model.true_theta), model.true_theta + 0.01
    for bound in (0.02, math.inf):
        a, b = (t.clipped_log_likelihood_ratio(theta, theta_new, bound) for t in (mine, other))
        assert a == pytest.approx(b, rel=1e-9)
        a, b = (t.clipped_gradient(theta, 100 * bound) for t in (mine, other))
        np.testing.assert_allclose(a[0], b[0], rtol=1e-9, atol=1e-9)
        assert a[1] == b[1] and (0 < a[1] < 200 or bound == math.inf)
    draws = (t.model.sample_posterior(np.random.default_rng(2), t.data, 9) for t in (mine, other))
    np.testing.assert_allclose(*draws, rtol=1e-9)
    with pytest.raises(ValueError, match="true_position: must have at most dimension = 2 entries"):
        RandomGaussian(2, 200, 100.0, 3, [0.0, 3.0, 0.0])


def test_variances_of_random_covariances_are_gamma_distributed():
    found = [
        np.linalg.eigvalsh(RandomGaussian(4, 2, 1.0, seed, [0.0]).covariance_matrix)
        for seed in range(500)
    ]
    assert stats.kstest(np.concatenate(found), stats.gamma(0.5).cdf).pvalue > 1e-3
