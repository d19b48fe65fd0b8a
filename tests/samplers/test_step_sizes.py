"""Step sizes from a sequence: that of SciPy, whatever the block, and nothing else of DP HMC."""

import dataclasses

import numpy as np
import pytest
from conftest import mechanism_of
from scipy.stats import qmc
from test_samplers import streams

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.samplers import dp_hmc
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.step_sizes import BLOCK, VanDerCorput

SAMPLER = DPHMC(0.5, 2.0, 0.02, 3, 5.0, 5.0, step_size_sequence="van-der-corput")


@pytest.fixture(scope="module")
def target():
    model = Banana(2, 400, 1.0, 1.0, [8.0, 10.0], [0.5, 1.0])
    return Target(model, model.simulate(np.random.default_rng(1)))


def test_the_numbers_are_one_scrambled_sequence_across_blocks():
    expected = qmc.Halton(d=1, scramble=True, rng=12).random(2 * BLOCK + 10)[:, 0]
    place, found = VanDerCorput(12), []
    for _ in expected:
        found.append(place.number)
        place = place.next
    np.testing.assert_array_equal(found, expected)
    # Any 2^k from a multiple of 2^k on have one number in each of so many cells.
    assert sorted(np.floor(64 * np.array(found[128:192]))) == list(range(64))
    assert VanDerCorput(13).number != VanDerCorput(12).number


def test_each_iteration_takes_the_next_step_size(target, monkeypatch):
    taken = []
    leapfrog = dp_hmc.leapfrog

    def watched(theta, p, gradient, step_size, *rest):
        taken.append(step_size)
        return leapfrog(theta, p, gradient, step_size, *rest)

    monkeypatch.setattr(dp_hmc, "leapfrog", watched)
    run_chain(SAMPLER, target, streams(3), np.array([0.5, 1.0]), 50)
    seed = SAMPLER.init(streams(3), np.zeros(2)).memory.seed
    expected = 0.02 * qmc.Halton(d=1, scramble=True, rng=seed).random(50)[:, 0]
    np.testing.assert_array_equal(taken, expected)
    assert min(taken) > 0 and max(taken) < 0.02


def test_a_constant_step_draws_no_number(target):
    constant = dataclasses.replace(SAMPLER, step_size_sequence="constant")
    assert constant.init(streams(3), np.zeros(2)).memory is None
    assert mechanism_of(constant, 400) == mechanism_of(SAMPLER, 400)
    rng = streams(3)
    constant.init(rng, np.zeros(2))
    assert rng.proposal.random() == streams(3).proposal.random()


def test_another_sequence_is_refused():
    with pytest.raises(ValueError, match="Expected one of constant, van-der-corput, not 'sobol'"):
        dataclasses.replace(SAMPLER, step_size_sequence="sobol")
