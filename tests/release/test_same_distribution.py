"""Every private sampler draws by secret streams what it draws by published seeds."""

import numpy as np
import pytest

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.precomputed import with_precomputed
from dpmcmc.random_streams import three_streams
from dpmcmc.release.plan import allowance
from dpmcmc.release.rows import RowByRow
from dpmcmc.release.streams import SecretStreams
from dpmcmc.samplers import drawn_information, newton_settings
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.dp_sgld import DPSGLD
from dpmcmc.samplers.dp_sgnht import DPSGNHT
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk
from dpmcmc.samplers.noisy_newton import NoisyNewton
from dpmcmc.samplers.noisy_statistics import NoisyStatistics
from dpmcmc.samplers.private_start import PrivateStart
from dpmcmc.samplers.sghmc import DPSGHMC

ROWS, ITERATIONS = 200, 6
MODEL = Gaussian(ROWS, 1.0, [[1, 0.3], [0.3, 1]], [0.2, -0.1])
MOVE = GaussianWalk(0.1)
SAMPLERS = {
    "dp-penalty": DPPenalty(MOVE, noise_scale=0.3, clip_bound=2),
    "dp-hmc": DPHMC(0.3, 0.5, 0.03, 3, 2, 2),
    "minibatch-dp-penalty": MinibatchDPPenalty(MOVE, 2.0, 100, 0.2),
    "dp-sgld": DPSGLD(0.005, 100, 2.0),
    "dp-sgnht": DPSGNHT(0.005, 100, 2.0, 2.0),
    "dp-sghmc": DPSGHMC(0.05, 3, 100, 2.0, gradient_clip_bound=1.0),
    "dp-barker": DPBarker(MOVE, 100),
    "dp-barker-full-data": FullDataDPBarker(MOVE, 0.5),
    "noisy-statistics": NoisyStatistics(noise_scale=1.0),
    "noisy-newton": NoisyNewton(2.0, 0.3, [0.1, 0.3, 0.6], noise_scale=1.0),
}
SAMPLERS["started"] = PrivateStart(
    DPPenalty(MOVE, noise_scale=0.3, clip_bound=2), NoisyStatistics(noise_scale=1.0)
)
Z = 5.5  # the streams are secret, so not the same each time: one false alarm in a million


def secret(sampler):
    allowed = allowance(sampler.releases(ROWS, 1.0, ITERATIONS), ROWS)
    return lambda i: SecretStreams(ROWS, allowed)


def published(sampler):
    return lambda i: three_streams(np.random.SeedSequence([1, i]))


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("chains", [30, pytest.param(400, marks=pytest.mark.torture)])
def test_positions_have_the_same_distribution(name, chains, monkeypatch):
    # Of both alike: what noisy Newton computes without a row takes long.
    monkeypatch.setattr(newton_settings, "PLACES", 8)
    monkeypatch.setattr(drawn_information, "ITERATIONS", 10)
    sampler = with_precomputed(SAMPLERS[name])
    data = MODEL.simulate(np.random.default_rng(3))
    ends = []
    for streams, kind in ((secret, RowByRow), (published, Target)):
        target, make = kind(MODEL, data), streams(sampler)
        runs = [run_chain(sampler, target, make(i), [0.3, 0.3], ITERATIONS) for i in range(chains)]
        ends.append(np.array([run.positions[[0, -1]].ravel() for run in runs]))
    for statistic in (lambda x: x, lambda x: (x - ends[1].mean(axis=0)) ** 2):
        one, other = map(statistic, ends)
        spread = np.sqrt((one.var(axis=0) + other.var(axis=0)) / chains)
        assert (abs(one.mean(axis=0) - other.mean(axis=0)) <= Z * spread + 1e-12).all()


@pytest.mark.parametrize("name", SAMPLERS)
def test_what_is_priced_is_enough_and_no_more_is_released(name):
    """The last release that is planned is the last that is made: of a chain, or of preparations."""
    sampler = with_precomputed(SAMPLERS[name])
    target = RowByRow(MODEL, MODEL.simulate(np.random.default_rng(3)))
    run_chain(sampler, target, secret(sampler)(0), [0.3, 0.3], ITERATIONS)
    rng = secret(sampler)(0)
    with pytest.raises(ArithmeticError, match="more would be released than was declared"):
        if sampler.has_free_steps:
            for _ in range(2):
                sampler.prepare(rng, target)
        else:
            run_chain(sampler, target, rng, [0.3, 0.3], ITERATIONS + 1)
