"""A private answer is that of the sampler for the kind of model."""

import numpy as np
import pytest
from test_private_start import BANANA
from test_samplers import streams

import dpmcmc

LOGISTIC = dpmcmc.LogisticRegression(2, 300, prior_variance=1.0, covariate_bound=2.0)


@pytest.mark.parametrize(
    ("model", "sampler", "settings"),
    [
        (BANANA, dpmcmc.NoisyStatistics(3.0), {}),
        (LOGISTIC, dpmcmc.NoisyNewton(2.0, noise_scale=3.0), {"gradient_clip_bound": 2.0}),
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


def test_a_model_without_statistics_needs_a_clip_bound():
    target = dpmcmc.Target(LOGISTIC, LOGISTIC.simulate(np.random.default_rng(1)))
    with pytest.raises(ValueError, match=r"^gradient_clip_bound: must be given for Logistic"):
        dpmcmc.AutoOneShot(noise_scale=3.0).prepare(streams(2), target)
