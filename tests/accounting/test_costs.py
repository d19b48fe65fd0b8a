"""Iterations, epsilon and noise: each the inverse of the others, never on the unsafe side."""

import dataclasses
import doctest
import math

import numpy as np
import pytest

from dpmcmc.accounting import costs
from dpmcmc.accounting.accountants import accountant
from dpmcmc.accounting.costs import Price, epsilon, iterations, noise_scale
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk
from dpmcmc.samplers.sampler import Sampler
from dpmcmc.samplers.sghmc import DPSGHMC
from dpmcmc_studies.jobs.budgets import given_epsilon, price_of
from dpmcmc_studies.study import specs

N = 5000
WALK = GaussianWalk(0.008)
PENALTY = DPPenalty(WALK, noise_scale=0.1, clip_bound=2)  # tau of the thesis
MINIBATCH = MinibatchDPPenalty(WALK, noise_variance=0.7, batch_size=500, clip_bound=2)
HMC = DPHMC(
    noise_scale=0.1,
    gradient_noise_scale=0.4,
    step_size=0.0005,
    num_integration_steps=10,
    clip_bound=2,
    gradient_clip_bound=1,
)
BARKER = DPBarker(WALK, batch_size=500)
FULL_BARKER = FullDataDPBarker(WALK, clip_bound=0.05)


def test_five_thousand_rows_allow_thirteen_iterations():
    """By the closed form: mu sqrt(k) of a Gaussian mechanism, at epsilon = 2, delta = 0.1 / n."""
    assert iterations(PENALTY, N, 2) == iterations(PENALTY, N, 2, delta=0.1 / N) == 13

    def delta(k):
        mu = math.sqrt(k / N) / 0.1
        phi = [0.5 * math.erfc(-x / math.sqrt(2)) for x in (mu / 2 - 2 / mu, -mu / 2 - 2 / mu)]
        return phi[0] - math.exp(2) * phi[1]

    assert delta(13) <= 0.1 / N < delta(14)


def test_the_examples_of_the_docstrings_are_right():
    results = doctest.testmod(costs)
    assert results.attempted >= 10 and not results.failed


CASES = [
    (PENALTY, "gaussian", {}),
    (PENALTY, "zcdp", {}),
    (PENALTY, "certified", {}),
    (HMC, "certified", {"setting": "gradient_noise_scale"}),
    (MINIBATCH, "certified", {}),
    (dataclasses.replace(MINIBATCH, batch_size=50), "rdp", {}),
]


@pytest.mark.parametrize(("sampler", "name", "setting"), CASES)
@pytest.mark.parametrize("k", [1, 300])
def test_the_least_noise_allows_so_many_iterations_and_less_does_not(sampler, name, setting, k):
    if sampler is HMC:
        sampler = dataclasses.replace(sampler, noise_scale=2.0)
    value = noise_scale(sampler, N, k, 3, accountant=name, **setting)
    field = setting.get("setting") or next(f for f in dir(sampler) if f.startswith("noise_"))
    assert value == float(f"{value:.6g}")

    def with_noise(value):
        return dataclasses.replace(sampler, **{field: value})

    assert iterations(with_noise(value), N, 3, accountant=name) >= k
    assert iterations(with_noise(value * (1 - 1e-5)), N, 3, accountant=name) < k
    assert epsilon(with_noise(value), N, k, accountant=name) <= 3


@pytest.mark.parametrize(("sampler", "name"), [(s, name) for s, name, _ in CASES] + [
    (BARKER, "certified"), (BARKER, "barker-rdp"), (FULL_BARKER, "certified"),
])  # fmt: skip
def test_epsilon_is_what_so_many_iterations_cost(sampler, name):
    spent = epsilon(sampler, N, 20, accountant=name)
    assert 0.01 < spent < math.inf and spent == round(spent, 6)
    assert iterations(sampler, N, spent, accountant=name) >= 20
    assert iterations(sampler, N, spent * (1 - 1e-4), accountant=name) < 20
    assert epsilon(sampler, N, 0, accountant=name) == 0


def test_they_are_what_the_jobs_of_a_study_work_out():
    sampler = {"class": "dpmcmc.samplers.minibatch_dp_penalty:MinibatchDPPenalty"}
    sampler |= {"move": {"class": "dpmcmc.samplers.moves:GaussianWalk", "proposal_scale": 0.008}}
    sampler |= {"noise_variance": 0.7, "batch_size": 500, "clip_bound": 2}
    spec = {"model": "m", "algorithm": "a", "sampler": sampler, "num_rows": N, "epsilon": 2}
    spec |= {"likelihood_power": 1.0, "delta": 0.1 / N, "accountant": "published-pld"}
    spec = specs.Budget(**spec, chains_per_sample=1, varied={})
    found = given_epsilon(spec, price_of(spec, {}))["iterations"]
    assert iterations(MINIBATCH, N, 2, accountant="published-pld") == found


def test_tempering_makes_what_full_data_barker_releases_smaller():
    less = epsilon(FULL_BARKER, N, 20, likelihood_power=0.1)
    assert less == pytest.approx(
        epsilon(dataclasses.replace(FULL_BARKER, clip_bound=0.005), N, 20), abs=2e-6
    )


def test_numbers_of_numpy_will_do():
    assert iterations(PENALTY, np.int64(N), np.float64(2)) == 13
    assert epsilon(PENALTY, np.int64(N), np.int32(13)) == epsilon(PENALTY, N, 13)


def test_chains_share_a_budget():
    assert iterations(PENALTY, N, 2, chains=3) == 13 // 3
    assert epsilon(PENALTY, N, 4, chains=3) == epsilon(PENALTY, N, 12)
    assert noise_scale(PENALTY, N, 4, 2, chains=3) == noise_scale(PENALTY, N, 12, 2)
    # Noise that grows starts anew in each chain, which costs more than one of their length.
    growing = DPSGHMC(0.01, 2, 5, friction=1, gradient_clip_bound=1)
    one, two = (Price(growing, N, "certified", 1, m).releases(3 * m) for m in (1, 2))
    assert two == [(mechanism, 2 * count) for mechanism, count in one] and len(one) == 3
    # What is left over is one iteration more of some chains.
    more = dict(Price(growing, N, "certified", 1, 2).releases(7))
    assert [more.pop(mechanism) for mechanism, _ in two] == [count for _, count in two]
    assert [*more.values()] == [2]


def test_nearly_no_privacy_and_nearly_no_budget():
    assert iterations(PENALTY, N, 1e-9) == 0
    assert iterations(dataclasses.replace(PENALTY, noise_scale=1e8), N, 100) == 10**9
    assert epsilon(dataclasses.replace(PENALTY, noise_scale=1e-8), N, 10) == math.inf
    assert noise_scale(PENALTY, N, 1, 1e9) < 1e-3
    large = noise_scale(PENALTY, N, 10**7, 0.001)
    module = accountant("gaussian")
    releases = dataclasses.replace(PENALTY, noise_scale=large).releases(N, 1.0, 10**7)
    assert 0.1 / N * (1 - 1e-3) < module.delta(releases, 0.001) <= 0.1 / N


@dataclasses.dataclass(frozen=True)
class Own(Sampler):
    """A stranger's sampler, whose noise has a name of its own."""

    sigma: float

    step = DPPenalty.step

    def releases(self, *size):
        return DPPenalty(WALK, noise_scale=self.sigma, clip_bound=1).releases(*size)


def test_a_sampler_of_ones_own_is_searched_by_the_field_that_is_named():
    assert noise_scale(Own(1.0), N, 13, 2, setting="sigma") == noise_scale(PENALTY, N, 13, 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: iterations(Metropolis(WALK), N, 1), ValueError, "Metropolis is not private"),
        (lambda: iterations(WALK, N, 1), ValueError, "GaussianWalk is not private"),
        (
            lambda: noise_scale(Metropolis(WALK), N, 9, 1, setting="clip_bound"),
            ValueError,
            "not pr",
        ),
        (
            lambda: iterations(PENALTY, N, 1, accountant="rd"),
            ValueError,
            "valid names: barker-rdp",
        ),
        (lambda: iterations(PENALTY, N, 1, accountant="rdp"), TypeError, "rdp prices a Subsampled"),
        (lambda: iterations(PENALTY, N, 0), ValueError, "^epsilon: must be a positive number, not"),
        (lambda: iterations(PENALTY, N, math.nan), ValueError, "epsilon: .*, not nan"),
        (lambda: epsilon(FULL_BARKER, N, 9, likelihood_power=-1), ValueError, "likelihood_power: "),
        (lambda: epsilon(PENALTY, N, 9, likelihood_power="1"), ValueError, "likelihood_power: "),
        (lambda: epsilon(PENALTY, N, 9, accountant=None), ValueError, "accountant: must be a name"),
        (lambda: iterations(PENALTY, N, "1"), ValueError, "epsilon: .*, not '1'"),
        (lambda: noise_scale(PENALTY, N, 9, None), ValueError, "epsilon: .*, not None"),
        (lambda: epsilon(PENALTY, N, 9, "1e-5"), ValueError, "delta: .*, not '1e-5'"),
        (lambda: iterations(DPPenalty, N, 1), ValueError, "sampler: .*, not the class DPPenalty"),
        (lambda: noise_scale(DPPenalty, N, 9, 1), ValueError, "sampler: .*, not the class DPPe"),
        (lambda: iterations(PENALTY, N, 1, chains=0), ValueError, "chains: must be a whole number"),
        (
            lambda: iterations(PENALTY, N, 1, delta=0.0),
            ValueError,
            "delta: must be between 0 and 1",
        ),
        (
            lambda: iterations(PENALTY, 0, 1),
            ValueError,
            "num_rows: must be a whole number of at le",
        ),
        (lambda: iterations(PENALTY, 5e3, 1), ValueError, "num_rows: .*, not 5000.0"),
        (lambda: iterations(MINIBATCH, 100, 1), ValueError, "batch_size: must be at most num_rows"),
        (
            lambda: epsilon(PENALTY, N, -1),
            ValueError,
            "iterations: must be a whole number of at le",
        ),
        (lambda: noise_scale(PENALTY, N, 0, 1), ValueError, "iterations: .* at least 1, not 0"),
        (lambda: noise_scale(HMC, N, 9, 1), ValueError, "noise_scale, gradient_noise_scale; name"),
        (lambda: noise_scale(BARKER, N, 9, 1), ValueError, "DPBarker has no noise setting; name"),
        (
            lambda: noise_scale(PENALTY, N, 9, 1, setting="tau"),
            ValueError,
            "no field tau; it has move, noise_scale, clip_bound",
        ),
        (
            lambda: noise_scale(HMC, N, 9000, 1, setting="noise_scale"),
            ValueError,
            r"noise_scale: no value up to 1e\+09 makes 9000 iterations of DPHMC cost at most ep",
        ),
        (
            lambda: noise_scale(FULL_BARKER, N, 9, 0.001, setting="clip_bound"),
            ValueError,
            "clip_bound: ",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused_in_one_line(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
