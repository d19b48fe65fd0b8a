"""Counts of outcomes that are far out: their price, and what they say of a wrong model."""

import math

import numpy as np
import pytest

import dpmcmc
from dpmcmc import streams
from dpmcmc.models.model import Model
from dpmcmc.samplers.far_outcomes import LEVELS, SENSITIVITY, Far, counts
from dpmcmc.samplers.noisy_newton import NoisyNewton
from dpmcmc.samplers.one_shot import does_fit
from dpmcmc.samplers.streams import Streams

ROWS = 10_000
NORMAL = dpmcmc.LinearRegression(4, ROWS, 1.0)
ROBUST = dpmcmc.RobustRegression(4, ROWS, 1.0)
COUNTS = dpmcmc.PoissonRegression(4, ROWS, 0.1)


def prepared(model, law=None, seed=0, epsilon=1.0, **settings):
    """Preparation of a release on simulated rows, and of what."""
    rng = np.random.default_rng([5, seed])
    theta = model.sample_prior(rng)
    rows = model.simulate_as(law, rng, theta) if law else model.simulate(rng, theta)
    sampler = dpmcmc.for_budget(NoisyNewton(**settings), ROWS, epsilon)
    return sampler.prepare(streams(seed), dpmcmc.Target(model, rows))


@pytest.mark.parametrize("model", [ROBUST, COUNTS])
def test_rows_of_the_model_fit(model):
    _, info = prepared(model)
    assert does_fit(info.misfit, info.far)
    for far in info.far:
        assert abs(far.found - far.expected) < 4 * far.sd


@pytest.mark.parametrize(
    ("model", "law"),
    [
        (NORMAL, "heavy tails"),
        (ROBUST, "wide errors"),
        (COUNTS, "overdispersed counts"),
    ],
)
def test_rows_with_more_far_outcomes_than_the_model_has_do_not_fit(model, law):
    _, info = prepared(model, law)
    assert info.misfit < 5 and not does_fit(info.misfit, info.far)


def test_they_have_a_small_share_of_the_budget():
    """Steps and counts together cost mu^2, whose share is public."""
    noted = []

    class Noting(Streams):
        def add_noise(self, statistic, sensitivity, sd):
            noted.append((sensitivity / sd) ** 2)
            return super().add_noise(statistic, sensitivity, sd)

    rows = ROBUST.simulate(np.random.default_rng(0), np.zeros(4))
    costs = []
    for share in (0.0, 0.1):
        noted.clear()
        sampler = NoisyNewton(noise_scale=4.0, fit_share=share)
        _, info = sampler.prepare(Noting(*streams(0)), dpmcmc.Target(ROBUST, rows))
        assert bool(info.far) == bool(share)
        costs.append(noted.copy())
    assert [sum(some) for some in costs] == [pytest.approx(1 / 16)] * 2
    assert costs[1][-1] == pytest.approx(0.1 / 16)


def test_models_that_do_not_say_how_far_outcomes_are_spend_nothing_on_it():
    model = dpmcmc.LogisticRegression(4, ROWS, 1.0)
    with_counts, without = (prepared(model, fit_share=share) for share in (0.5, 0.0))
    assert np.array_equal(with_counts[0].position, without[0].position)
    assert not with_counts[1].far


@pytest.mark.parametrize("value", [0.0, 1e200, math.nan, math.inf])
def test_one_row_moves_the_counts_by_their_sensitivity_at_most(value):
    largest = 0.0
    for model in (NORMAL, ROBUST, COUNTS):
        theta = 0.3 * np.ones(4)
        rows = model.simulate(np.random.default_rng(0), theta)[:50]
        for place in range(len(rows)):
            for changed in ([0], [1, 2], slice(None)):
                other = rows.copy()
                other[place, changed] = value
                moved = counts(model, theta, rows) - counts(model, theta, other)
                largest = max(largest, np.linalg.norm(moved))
    assert largest == pytest.approx(SENSITIVITY)


def test_outcomes_are_as_seldom_far_as_the_levels_say():
    """By the exact distribution of errors, at the theta of the rows: within four sds."""
    number = 100_000
    for model in (
        dpmcmc.LinearRegression(3, number, 1.0),
        dpmcmc.RobustRegression(3, number, 1.0),
    ):
        theta = np.array([0.5, -0.5, 0.2])
        rows = model.simulate(np.random.default_rng(1), theta)
        for level, found in zip(LEVELS, counts(model, theta, rows), strict=True):
            sd = math.sqrt(number * level * (1 - level))
            assert abs(found - number * level) < 4 * sd


def test_a_model_that_cannot_simulate_lets_one_expect_the_levels():
    class Mute(dpmcmc.RobustRegression):
        simulate = Model.simulate

    rows = ROBUST.simulate(np.random.default_rng(0), np.zeros(4))
    sampler = NoisyNewton(4.0, 0.2, [0.1, 0.3, 0.6], noise_scale=4.0)
    _, info = sampler.prepare(streams(0), dpmcmc.Target(Mute(4, ROWS, 1.0), rows))
    assert [far.expected for far in info.far] == [*LEVELS]


@pytest.mark.parametrize(
    ("found", "sd", "is_too_much"), [(0.14, 0.001, False), (0.2, 0.01, True), (0.2, 0.02, False)]
)
def test_too_much_is_half_as_much_again_for_sure(found, sd, is_too_much):
    assert Far(0.1, 0.1, found, sd).is_too_much is is_too_much
    assert does_fit(0.0, [Far(0.1, 0.1, found, sd)]) is not is_too_much


def test_an_array_of_another_shape_is_refused():
    class Wrong(dpmcmc.RobustRegression):
        def tail_probabilities(self, theta, rows):
            return super().tail_probabilities(theta, rows)[:, None]

    with pytest.raises(ValueError, match=r"Wrong.tail_probabilities: must return an array of"):
        counts(Wrong(3, 10, 1.0), np.zeros(3), np.ones((10, 4)))
