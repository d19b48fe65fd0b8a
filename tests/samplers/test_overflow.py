"""Steps and scales over hundreds of orders of magnitude: a proposal that overflows is rejected."""

import numpy as np
import pytest
from conftest import fitted_correction

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.models.circle import Circle
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.hmc import HMC
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk, GuidedWalk, OneComponentWalk
from dpmcmc.samplers.streams import Streams


def streams(seed):
    return Streams(*map(np.random.default_rng, np.random.SeedSequence(seed).spawn(3)))


CORRECTION = fitted_correction()
STEPS = [1e-300, 1e-160, *10.0 ** np.arange(-10, 11, 2), 1e50, 1e100, 1e154, 1e200, 1e300]
CLIPS = [1e-10, 1e-3, 1.0, 1e10, 1e200]
MODELS = {
    "banana": lambda n: Banana(2, n, 20.0, 1000.0, [20.0, 2.5], [0.0, 3.0]),
    "gaussian": lambda n: Gaussian(n, 10.0, [[1.0, 0.5], [0.5, 1.0]], [0.0, 3.0]),
    "circle": lambda n: Circle(n, 1e-5, 3.0, 1.0, [0.0, 1.0], 1.0),
}


def samplers(step, clip, n):
    b = n // 4
    for move in (GaussianWalk(step), OneComponentWalk(step), GuidedWalk(step)):
        yield DPPenalty(move, 0.1, clip)
        yield Metropolis(move, clip)
        yield MinibatchDPPenalty(move, 0.7, b, clip)
        yield MinibatchDPPenalty(move, 0.7, n, clip, "published", "published")
    yield DPBarker(GaussianWalk(step), b, CORRECTION)
    yield DPBarker(GaussianWalk(step), n, CORRECTION)
    yield FullDataDPBarker(GaussianWalk(step), clip, CORRECTION)
    yield DPHMC(0.1, 0.4, step, 2, clip, clip)
    yield DPHMC(1e10, 1e10, step, 5, clip, 1.0)
    yield HMC(step, 5, clip_bound=clip)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [50, 5000])
def test_no_step_and_no_scale_is_too_large_or_too_small(name, n):
    model = MODELS[name](n)
    target = Target(model, model.simulate(np.random.default_rng(1)))
    for step in STEPS:
        for clip in CLIPS if n < 1000 else CLIPS[2:3]:
            for sampler in samplers(step, clip, n):
                chain = run_chain(sampler, target, streams(7), model.true_theta, 6)
                assert np.isfinite(chain.positions).all(), sampler


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("step_size", "steps"), [(0.3, 6), (3.0, 5), (100.0, 4), (1e8, 10)])
def test_hmc_that_diverges_rejects(step_size, steps):
    """The square of the noise's scale overflowed, which raised an exception."""
    model = MODELS["banana"](4000)
    target = Target(model, model.simulate(np.random.default_rng(1)))
    sampler = DPHMC(0.1, 0.4, step_size, steps, 2, 1)
    chain = run_chain(sampler, target, streams(7), np.array([0.0, 3.0]), 200)
    assert not chain.is_accepted.any() and (chain.positions == [0.0, 3.0]).all()
