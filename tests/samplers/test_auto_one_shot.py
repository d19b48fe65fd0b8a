"""A private answer is that of the sampler for the kind of model."""

from dataclasses import replace

import numpy as np
import pytest
from test_private_start import BANANA
from test_samplers import streams

import dpmcmc

LOGISTIC = dpmcmc.LogisticRegression(2, 300, prior_variance=1.0, covariate_bound=2.0)
LINEAR = dpmcmc.LinearRegression(3, 300, prior_variance=1.0)
COLUMNS = dpmcmc.NormalColumns(["a", "b"], 300, 1.0)


@pytest.mark.parametrize(
    ("model", "sampler", "settings"),
    [
        (BANANA, dpmcmc.NoisyStatistics(3.0), {}),
        (COLUMNS, dpmcmc.NoisyColumns(3.0), {}),
        (LINEAR, dpmcmc.NoisyLeastSquares(3.0, errors_share=0.5), {"errors_share": 0.5}),
        (LOGISTIC, dpmcmc.NoisyNewton(1.0, noise_scale=3.0), {"gradient_clip_bound": 1.0}),
    ],
)
def test_its_draws_are_those_of_that_sampler(model, sampler, settings):
    target = dpmcmc.Target(model, model.simulate(np.random.default_rng(1)))
    answer = dpmcmc.AutoOneShot(noise_scale=3.0, **settings)
    chains = [
        dpmcmc.run_chain(s, target, streams(2), np.zeros(model.dimension), 5)
        for s in (answer, sampler)
    ]
    np.testing.assert_array_equal(*(chain.positions for chain in chains))
    assert answer.releases(300, 1.0, 5) == sampler.releases(300, 1.0, 5)


def test_it_chooses_as_that_sampler():
    answer, newton = dpmcmc.AutoOneShot(noise_scale=3.0), dpmcmc.NoisyNewton(noise_scale=3.0)
    assert answer.chosen_settings(LOGISTIC) == newton.chosen_settings(LOGISTIC)
    statistics = dpmcmc.NoisyStatistics(noise_scale=3.0)
    assert answer.chosen_settings(BANANA) == statistics.chosen_settings(BANANA)


def test_what_it_chooses_are_settings_of_its_own():
    answer, mean = dpmcmc.AutoOneShot(noise_scale=1.0), dpmcmc.Gaussian(10_000, 1.0, [[1.0]])
    chosen = answer.chosen_settings(mean)
    assert chosen["row_laws"] == "wide"
    assert replace(answer, **chosen).chosen_settings(mean)["row_laws"] == "wide"
