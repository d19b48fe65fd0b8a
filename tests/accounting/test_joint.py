"""What releases cost together where each is chosen on what came before."""

import math
from itertools import product

import numpy as np
import pytest

from dpmcmc.accounting import certified, gaussian
from dpmcmc.accounting.joint import gaussian_delta, largest_mu, mu_and_delta0
from dpmcmc.accounting.mechanisms import (
    BarkerMechanism,
    GaussianMechanism,
    SubsampledGaussianMechanism,
)

DELTA = 1e-6


def test_the_largest_mu_is_within_and_hardly_below():
    for epsilon, delta in ((1, 1e-6), (4, 8e-6), (0.1, 1e-9), (10, 1e-3)):
        mu = largest_mu(epsilon, delta)
        assert gaussian_delta(mu, epsilon) <= delta < gaussian_delta(mu * (1 + 1e-6), epsilon)


def test_methods_on_all_rows_lose_nothing():
    assert mu_and_delta0([(GaussianMechanism(0.1), 25)], 1e-7) == (pytest.approx(0.5), 0.0)
    preparation = GaussianMechanism(0.3), 1
    prepared = [preparation, (GaussianMechanism(0.1), 16)]
    assert mu_and_delta0(prepared, 1e-7) == (pytest.approx(0.5), 0.0)
    assert mu_and_delta0([preparation], 0.0) == (0.3, 0.0)
    batches = SubsampledGaussianMechanism(0.7, 0.01), 0
    assert mu_and_delta0([batches], 1e-7) == mu_and_delta0([], 1e-7) == (0.0, 0.0)
    assert mu_and_delta0([preparation, batches], 1e-7) == (0.3, 0.0)


@pytest.mark.parametrize(
    ("mechanism", "iterations", "most"),
    [
        (SubsampledGaussianMechanism(0.7, 0.01), 300, 1.05),
        pytest.param(SubsampledGaussianMechanism(1.5, 0.01), 4702, 1.04, marks=pytest.mark.torture),
        pytest.param(BarkerMechanism(1300, 0.013, 0.987), 50_000, 1.04, marks=pytest.mark.torture),
    ],
)
def test_a_curve_on_batches_lies_below_that_of_its_two_numbers(mechanism, iterations, most):
    releases = [(mechanism, iterations)]
    mu, delta0 = mu_and_delta0(releases, DELTA / 10)
    assert delta0 == DELTA / 10
    for epsilon in np.linspace(0, 12, 13):
        computed = certified.delta(releases, float(epsilon))
        assert computed <= gaussian_delta(mu, epsilon) + delta0
    alone = certified.epsilon(releases, DELTA)
    by_two = gaussian.epsilon([(GaussianMechanism(mu), 1)], DELTA - delta0)
    assert alone <= by_two <= most * alone


def test_what_no_numbers_can_cover_is_infinite():
    assert mu_and_delta0([(SubsampledGaussianMechanism(1e-4, 0.5), 100)], 1e-12)[0] == math.inf


def test_whoever_chooses_the_next_release_gains_nothing():
    """By brute force: pairs of finite distributions, the second chosen on the result of the first.

    Each has two numbers of its own; the two releases together must keep to their sums.
    """
    rng = np.random.default_rng(1)
    epsilons = np.linspace(0, 6, 61)
    for _ in range(40):
        first = pair(rng)
        options = [pair(rng) for _ in range(4)]
        delta0 = 0.02
        mu_1, mu_2 = least(first, delta0), max(least(option, delta0) for option in options)
        bound = [gaussian_delta(math.hypot(mu_1, mu_2), e) + 2 * delta0 for e in epsilons]
        for choice in product(range(4), repeat=len(first[0])):
            p = np.concatenate([first[0][y] * options[c][0] for y, c in enumerate(choice)])
            q = np.concatenate([first[1][y] * options[c][1] for y, c in enumerate(choice)])
            for one, other in ((p, q), (q, p)):
                deltas = np.maximum(one - np.exp(epsilons)[:, None] * other, 0).sum(axis=1)
                assert (deltas <= np.array(bound) + 1e-9).all()


def pair(rng):
    """Two distributions on three results, near each other."""
    p = rng.dirichlet([2, 2, 2])
    q = p * np.exp(rng.uniform(-0.8, 0.8, 3))
    return p, q / q.sum()


def least(two, delta0):
    """Least mu whose curve, with delta0, lies above both curves of a pair."""
    grid = np.linspace(0, 3, 61)
    mu = 0.0
    for one, other in (two, two[::-1]):
        for epsilon in grid:
            excess = np.maximum(one - np.exp(epsilon) * other, 0).sum() - delta0
            while gaussian_delta(mu, epsilon) < excess:
                mu += 0.005
    return mu + 0.01  # for what lies between points of the grid
