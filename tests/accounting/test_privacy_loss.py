"""Composition of privacy losses: an upper bound, and a tight one, far out and many times."""

import math
from fractions import Fraction

import numpy as np
import pytest
from conftest import chosen

from dpmcmc.accounting import certified, gaussian, privacy_loss, published_pld
from dpmcmc.accounting.mechanisms import (
    BarkerMechanism,
    GaussianMechanism,
    SubsampledGaussianMechanism,
)
from dpmcmc.accounting.privacy_loss import Composition, PrivacyLoss


def brute_force(parts, epsilon):
    """Delta of losses, each so many times, all added up in rational numbers."""
    probabilities, finite = {0: Fraction(1)}, Fraction(1)
    for loss, k in parts:
        one = [(loss.first + i, Fraction(float(p))) for i, p in enumerate(loss.probabilities)]
        for _ in range(k):
            longer = {}
            for index, probability in probabilities.items():
                for more, factor in one:
                    longer[index + more] = longer.get(index + more, 0) + probability * factor
            probabilities = longer
        finite *= (1 - Fraction(loss.infinite)) ** k
    infinite = 1 - finite
    grid = Fraction(parts[0][0].grid)
    return float(infinite) + math.fsum(
        float(p) * -math.expm1(epsilon - float(i * grid))
        for i, p in probabilities.items()
        if i * grid > Fraction(epsilon)
    )


@pytest.mark.parametrize("kinds", [1, 2, 3])
def test_it_is_the_convolution_from_above(kinds):
    rng = np.random.default_rng(3)
    for case in range(120 // kinds):
        grid, parts = float(10 ** rng.uniform(-4, 0.5)), []
        for _ in range(kinds):
            m, first = int(rng.integers(1, 7)), int(rng.integers(-8, 4))
            p = rng.random(m) ** rng.choice([1, 8, 30])
            infinite = float(rng.choice([0.0, 1e-12, 0.01]))
            loss = PrivacyLoss(grid, first, p * (1 - infinite) / p.sum(), infinite)
            parts.append((loss, int(rng.integers(1, 9))))
        composition = Composition(parts)
        most = sum(k * (loss.first + len(loss.probabilities)) for loss, k in parts)
        for epsilon in grid * np.array([0.0, 0.3, most - 1.5, most + 0.5]):
            if epsilon < 0:
                continue
            expected, found = brute_force(parts, epsilon), composition.delta(epsilon)
            assert expected * (1 - 1e-12) - 1e-15 <= found, case
            assert found <= expected * (1 + 1e-9) + 1e-12 or expected > 1 - 1e-9, case


@pytest.mark.parametrize(
    ("kinds", "epsilon"), chosen([(20, 2.0), (200, 0.5), (200, 2.0), (200, 6.0)], (20, 2.0))
)
def test_many_kinds_that_are_one_kind_cost_the_same(kinds, epsilon):
    """Products of many transforms lose what rounding may, as one power does."""
    loss = certified.one_release(SubsampledGaussianMechanism(1.5, 0.02))
    whole, parts = Composition([(loss, 2000)]), Composition([(loss, 2000 // kinds)] * kinds)
    assert parts.delta(epsilon) == pytest.approx(whole.delta(epsilon), rel=1e-6)
    assert parts.epsilon(1e-6) == pytest.approx(whole.epsilon(1e-6), rel=1e-6)


def test_losses_on_different_grids_do_not_compose():
    parts = [(PrivacyLoss(grid, 0, np.array([0.5, 0.5]), 0.0), 1) for grid in (0.1, 0.2)]
    with pytest.raises(ValueError, match="parts: must be on one grid"):
        Composition(parts)


@pytest.mark.parametrize("k", chosen([1, 2, 10, 10**4, 10**6, 10**7], 1, 10, 10**4, 10**6))
def test_certified_is_above_the_exact_gaussian_and_near_it(k):
    """Mu sqrt(k) = 1, delta from 0.35 down to 4e-15: errors of transforms grow with k."""
    mechanism, exact = (
        SubsampledGaussianMechanism(float(k), 1.0),
        GaussianMechanism(1 / math.sqrt(k)),
    )
    for epsilon in (0.1, 1.0, 3.0, 5.0, 6.0, 7.0, 8.0):
        true = gaussian.delta([(exact, k)], epsilon)
        assert true <= certified.delta([(mechanism, k)], epsilon) <= 1.005 * true
    for delta in (1e-6, 1e-10, 1e-12):
        epsilon = certified.epsilon([(mechanism, k)], delta)
        assert 0.99 * delta <= gaussian.delta([(exact, k)], epsilon) <= delta


@pytest.mark.parametrize("k", [100, 10**5, 3 * 10**6])
def test_published_pld_is_above_the_gaussian_of_twice_the_sensitivity(k):
    """It rounds a loss up on a grid of 1e-4, which costs nothing only while losses are large."""
    mechanism, exact = (
        SubsampledGaussianMechanism(4.0 * k, 1.0),
        GaussianMechanism(1 / math.sqrt(k)),
    )
    costs = [published_pld.delta([(mechanism, k)], epsilon) for epsilon in np.arange(0.5, 12, 0.5)]
    true = [gaussian.delta([(exact, k)], epsilon) for epsilon in np.arange(0.5, 12, 0.5)]
    assert (np.array(costs) >= true).all() and (np.diff(costs) <= 0).all()


def test_one_composition_answers_for_every_epsilon():
    """Whatever the tilt is, the bound holds: it decides about digits alone."""
    loss, k = certified.one_release(SubsampledGaussianMechanism(1e4, 1.0)), 10**4
    for tilt in (0.0, 0.5, 3.0, 9.0):
        composed = Composition([(loss, k)])._composed(tilt)
        for epsilon in (0.0, 1.0, 3.0, 6.0):
            true = gaussian.delta([(GaussianMechanism(0.01), k)], epsilon)
            assert true <= composed.delta(epsilon)


@pytest.mark.parametrize(
    "mechanism",
    chosen(
        [
            SubsampledGaussianMechanism(1e-6, 0.5),
            SubsampledGaussianMechanism(1e-3, 1e-9),
            SubsampledGaussianMechanism(1e-300, 0.5),
            SubsampledGaussianMechanism(0.05, 1.0),
            SubsampledGaussianMechanism(0.005, 0.01),
            BarkerMechanism(2, 1e-3, 1.998),
        ],
        SubsampledGaussianMechanism(1e-3, 1e-9),
        SubsampledGaussianMechanism(1e-300, 0.5),
        BarkerMechanism(2, 1e-3, 1.998),
    ),
)
def test_extreme_losses_are_priced(mechanism):
    for k in (1, 30, 10**4, 10**7):
        releases = [(mechanism, k)]
        costs = [certified.delta(releases, epsilon) for epsilon in (0.0, 1.0, 30.0, 1000.0)]
        assert (np.diff(costs) <= 1e-12).all() and all(0 <= cost <= 1 for cost in costs)
        epsilon = certified.epsilon([(mechanism, k)], 1e-6)
        assert epsilon == math.inf or certified.delta([(mechanism, k)], epsilon) <= 1e-6 * (
            1 + 1e-3
        )


def test_a_window_stays_short_where_a_little_more_tilt_finds_far_losses():
    """Small batches with little noise: Chernoff's bound with large steps alone was of no use."""
    loss = certified.one_release(SubsampledGaussianMechanism(2.18, 1320 / 200_000))
    composition = Composition([(loss, 1365)])
    assert len(composition._composed(composition._tilt_at(1.0)).losses) < 2**21
    assert loss.delta(1365, 1.0) <= 5e-7 * (1 - 1e-3) < loss.delta(1366, 1.0)
    assert loss.delta(1365, 1.0) == pytest.approx(composition._composed(0.0).delta(1.0), rel=1e-3)


def test_beyond_the_longest_window_there_is_chernoffs_bound(monkeypatch):
    loss, k = certified.one_release(SubsampledGaussianMechanism(1e4, 1.0)), 10**4
    tight = loss.delta(k, 3.0)
    monkeypatch.setattr(privacy_loss, "MAX_WINDOW", 1000)
    assert tight < loss.delta(k, 3.0) < 50 * tight


def test_the_distribution_of_one_release_cannot_be_changed():
    loss = certified.one_release(SubsampledGaussianMechanism(1.0, 0.1))
    with pytest.raises(ValueError, match="read-only"):
        loss.probabilities[0] = 1.0
