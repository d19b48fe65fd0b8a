"""Corrections of Barker's test: against closed forms, differences and long walks."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, ndtr

import correction
from correction import NormalMixture
from dpmcmc.samplers.barker_correction import fit_correction

X = np.linspace(-7, 7, 57)


def test_a_mixture_has_the_distribution_that_its_draws_have():
    v = NormalMixture(np.array([0.3, 0.7]), np.array([-1.0, 2.0]), np.array([0.5, 0.0]))
    expected = 0.3 * ndtr((X + 1) / np.sqrt(1.5 + 0.25)) + 0.7 * ndtr((X - 2) / np.sqrt(1.5))
    assert v.distribution(X, 1.5) == pytest.approx(expected, abs=1e-14)
    assert v.variance == pytest.approx(0.3 * (1 + 0.25) + 0.7 * 4 - 1.1**2)
    smooth = NormalMixture(np.array([0.3, 0.7]), np.array([-1.0, 2.0]), np.array([0.5, 2.0]))
    expected = 0.3 * stats.norm.pdf(X, -1, 0.5) + 0.7 * stats.norm.pdf(X, 2, 2)
    assert smooth.density(X) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("noise_variance", [1, 2])
def test_ours_has_the_error_that_its_fit_says(noise_variance):
    error = correction.largest_error(correction.atoms(noise_variance), noise_variance)
    assert error == pytest.approx(fit_correction(noise_variance).error, rel=1e-9)


def test_the_ridge_minimises_what_it_says():
    """Least squares of the distribution with a penalty: the gradient is 0 before the cut."""
    count, penalty, noise_variance = 60, 0.05, 2.0
    fit = correction.ridge(noise_variance, count, penalty)
    places = np.linspace(-10, 10, count)
    x = np.linspace(-20, 20, 2 * count - 1)
    matrix = ndtr((x[:, None] - places) / np.sqrt(noise_variance))
    stacked = np.vstack([matrix, np.sqrt(penalty) * np.eye(count)])
    masses = np.linalg.lstsq(stacked, np.append(expit(x), np.zeros(count)), rcond=None)[0]
    kept = masses.clip(0)
    assert fit.weights == pytest.approx(kept / kept.sum(), abs=1e-9)
    assert fit.means == pytest.approx(places)
    negative = -masses[masses < 0].sum() / np.abs(masses).sum()
    assert fit.negative_share == pytest.approx(negative, abs=1e-9) and negative > 0


def test_the_mixture_is_symmetric_and_fits_from_any_start():
    fits = [correction.mixture(1.0, np.random.default_rng(seed), 10, 200) for seed in range(3)]
    for fit in fits:
        assert fit.weights.sum() == pytest.approx(1)
        assert fit.distribution(X, 1.0) + fit.distribution(-X, 1.0) == pytest.approx(1, abs=1e-12)
        assert correction.largest_error(fit, 1.0) < 1e-4
    assert not np.array_equal(fits[0].means, fits[1].means)
    assert correction.mixture(1.0, np.random.default_rng(0), 10, 200).means == pytest.approx(
        fits[0].means, rel=0
    )


def test_the_mixture_descends_by_the_gradient_of_its_loss():
    """From the same start more iterations never fit worse, and few are far from enough."""
    losses = []
    x = np.linspace(-10, 10, 200)
    for iterations in (1, 10, 100):
        fit = correction.mixture(1.5, np.random.default_rng(5), 6, 200, iterations)
        scale = np.sqrt(1.5 + fit.sds**2)
        density = stats.norm.pdf(x[:, None], fit.means, scale) @ fit.weights
        losses.append(((density - stats.logistic.pdf(x)) ** 2).sum())
    assert losses[0] > 10 * losses[1] > 100 * losses[2]


@pytest.mark.parametrize("step", [2, 20])
def test_barkers_own_test_has_no_bias_and_a_wrong_one_has_that_of_a_walk(step):
    grid = np.linspace(-3, 3, 61)
    log_density = np.logaddexp(-2 * (grid + 1) ** 2, -2 * (grid - 1) ** 2)
    assert correction.stationary_bias(expit, log_density, step) < 1e-12
    # A test at the wrong temperature samples that power of the density.
    wrong = np.exp(log_density / 2) / np.exp(log_density / 2).sum()
    right = np.exp(log_density) / np.exp(log_density).sum()
    bias = correction.stationary_bias(lambda x: expit(x / 2), log_density, step)
    assert bias == pytest.approx(np.abs(wrong - right).sum() / 2, rel=1e-9)
