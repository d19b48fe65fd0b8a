"""Accountants against the numbers of the literature, high precision, and each other."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

from dpmcmc.accounting import ACCOUNTANTS, accountant, max_iterations
from dpmcmc.accounting.releases import GaussianRelease
from dpmcmc.samplers import ALGORITHMS

gaussian, zcdp = accountant("gaussian"), accountant("zcdp")

# model, algorithm -> {epsilon: (zCDP, exact)}; None where no value is known.
KNOWN = {
    ("flat-banana-2d", "dp-penalty"): {1: (34, 56), 4: (507, 702)},
    ("flat-banana-2d", "dp-hmc"): {1: (20, 33), 4: (300, 416)},
    ("flat-banana-10d", "dp-penalty"): {1: (None, 104), 4: (None, 1331)},
    ("gauss-30d", "dp-penalty-ocu-gwmh"): {1: (None, 419), 4: (None, 5325)},
    ("tempered-banana-10d", "dp-hmc"): {1: (None, 24), 4: (None, 308)},
    ("circle", "dp-penalty"): {0.5: (None, 24643), 1: (None, 89646)},
    ("circle", "dp-hmc"): {0.5: (None, 108), 1: (None, 396)},
}


@pytest.mark.parametrize(("model", "algorithm"), KNOWN)
def test_known_iterations_are_met_exactly(config, model, algorithm):
    n = config["models"][model]["num_rows"]
    settings = config["algorithms"][algorithm]["settings"][model]
    release = ALGORITHMS[algorithm](**settings).release(n)
    for epsilon, (zcdp_iterations, exact) in KNOWN[model, algorithm].items():
        assert max_iterations(gaussian, release, epsilon, 0.1 / n) == exact
        if zcdp_iterations is not None:
            assert max_iterations(zcdp, release, epsilon, 0.1 / n) == zcdp_iterations


def test_zcdp_is_the_closed_form_of_theorem_3_1():
    for tau, n, epsilon in [(0.1, 100_000, 1), (0.2, 150_000, 6), (0.05, 20_000, 2.5)]:
        delta = 0.1 / n
        rho = (math.sqrt(epsilon - math.log(delta)) - math.sqrt(-math.log(delta))) ** 2
        release = GaussianRelease(mu=1 / (tau * math.sqrt(n)))
        assert max_iterations(zcdp, release, epsilon, delta) == math.floor(2 * tau**2 * n * rho)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1, 6, 50, 699, 710, 2000])
@pytest.mark.parametrize("mu", [1e-3, 0.3, 1, 5, 40, 70])
def test_gaussian_delta_agrees_with_eighty_digits(epsilon, mu):
    with mpmath.workdps(80):
        exact = mpmath.ncdf(mu / 2 - mpmath.mpf(epsilon) / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mpmath.mpf(mu) / 2 - mpmath.mpf(epsilon) / mu
        )
        exact = float(exact)
    assert gaussian(GaussianRelease(mu), 1, epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-300)


def test_gaussian_delta_is_that_of_dp_accounting():
    for mu, epsilon in [(0.3, 0.5), (1.0, 1.0), (2.0, 6.0)]:
        theirs = GaussianPrivacyLoss(standard_deviation=1 / mu).get_delta_for_epsilon(epsilon)
        assert gaussian(GaussianRelease(mu), 1, epsilon) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("name", ACCOUNTANTS)
def test_delta_falls_with_epsilon_and_grows_with_iterations(name):
    delta, release = accountant(name), GaussianRelease(0.05)
    by_epsilon = [delta(release, 100, epsilon) for epsilon in np.linspace(0.2, 8, 40)]
    assert all(a > b for a, b in itertools.pairwise(by_epsilon))
    by_iterations = [delta(release, k, 1.5) for k in range(1, 400, 10)]
    assert all(a < b for a, b in itertools.pairwise(by_iterations))
    assert delta(release, 0, 1.0) == 0


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1, 4, 20])
@pytest.mark.parametrize("mu", [0.002, 0.05, 0.4])
def test_iterations_are_the_most_that_fit_and_zcdp_allows_no_more(epsilon, mu):
    release, target = GaussianRelease(mu), 1e-6
    k = max_iterations(gaussian, release, epsilon, target)
    assert gaussian(release, k, epsilon) <= target < gaussian(release, k + 1, epsilon)
    assert max_iterations(zcdp, release, epsilon, target) <= k


def test_a_budget_too_small_for_one_iteration_allows_none():
    assert max_iterations(gaussian, GaussianRelease(3.0), 0.01, 1e-9) == 0


def test_hmc_is_charged_one_ratio_and_a_gradient_more_than_it_has_steps():
    settings = dict(noise_scale=0.5, step_size=1, clip_bound=1, gradient_clip_bound=1)
    hmc = ALGORITHMS["dp-hmc"](gradient_noise_scale=2.0, num_integration_steps=7, **settings)
    assert hmc.release(100).mu ** 2 == pytest.approx(1 / (0.25 * 100) + 8 / (4 * 100))


@pytest.mark.parametrize("name", ACCOUNTANTS)
def test_an_accountant_refuses_what_it_cannot_price(name):
    with pytest.raises(TypeError, match=f"accountant {name} prices Gaussian releases, not str"):
        accountant(name)("a release", 1, 1.0)
