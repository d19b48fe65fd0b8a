"""Batches are drawn without replacement, and acceptance tests on them know it."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from conftest import chosen, fitted_correction, mechanism_of
from test_samplers import streams

from dpmcmc.accounting import certified, gaussian
from dpmcmc.accounting.accountants import accountant
from dpmcmc.accounting.certified import base_curve, gaussian_curve
from dpmcmc.accounting.search import max_iterations
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.samplers.batches import batch_variance_factor
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk, Move
from dpmcmc.samplers.streams import Streams


@pytest.fixture(scope="module")
def correction():
    return fitted_correction()


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_its_mean_over_all_batches_is_the_variance(n):
    r = np.random.default_rng(n).standard_normal(n)
    for b in range(2, n + 1):
        batches = np.array(list(itertools.combinations(r, b)))
        a = n / b
        estimates = batch_variance_factor("exact", b, n) * a**2 * b * batches.var(axis=1)
        assert estimates.mean() == pytest.approx((a * batches.sum(axis=1)).var(), abs=1e-13)
        if n**0.5 < b < n:  # for smaller ones the divisor b makes up for it
            assert (a**2 * b * batches.var(axis=1)).mean() > estimates.mean()


def test_what_cannot_be_estimated_is_refused():
    assert batch_variance_factor("exact", 1, 1) == 0 and batch_variance_factor("published", 1, 9)
    with pytest.raises(ValueError, match="batch_size: must be at least 2 for an exact variance"):
        batch_variance_factor("exact", 1, 9)
    with pytest.raises(ValueError, match=r"^DPBarker\.batch_variance: .*'x'$"):
        DPBarker(GaussianWalk(1.0), 20, batch_variance="x")
    small = DPBarker(GaussianWalk(1.0), 20)  # fewer than sqrt(n): Theorem 3.3 does not speak of it
    with pytest.raises(ValueError, match=r"at most 1, not 1\.05"):
        accountant("barker-rdp").delta(small.releases(10_000, 1.0, 1), 1.0)
    assert accountant("barker-rdp").delta(small.releases(400, 1.0, 1), 1.0) > 0


@pytest.mark.parametrize(("b", "n"), [(16, 20), (16, 10_000), (100, 100), (1300, 10**5)])
def test_barkers_curve_is_above_every_admissible_pair(b, n):
    """Means at most m apart, variances in [2 - f, 2], at most 4 (1 - q) / b apart."""
    mechanism = mechanism_of(DPBarker(GaussianWalk(1.0), b), n)
    epsilons = np.linspace(0, 8 / math.sqrt(b), 50)
    bound = base_curve(mechanism, epsilons)
    least, change = 2 - (1 - b / n) * b / (b - 1), 4 * (1 - b / n) / b
    rng = np.random.default_rng(4)
    for _ in range(500):
        variance = rng.uniform(least, 2)
        other = np.clip(variance + rng.uniform(-change, change), least, 2)
        distance = 2 / math.sqrt(b) * rng.choice([1.0, rng.random()])
        if rng.random() < 0.3:
            variance, other = rng.permutation([least, least + change])
        assert (gaussian_curve(epsilons, distance, variance, other) <= bound + 1e-13).all()


@pytest.mark.parametrize(("b", "n"), [(4, 9), (10, 40)])
def test_the_variance_of_a_batch_and_its_change_are_as_priced(b, n):
    mechanism = mechanism_of(DPBarker(GaussianWalk(1.0), b), n)
    rng, a, c = np.random.default_rng(b), n / b, math.sqrt(b) / n
    r = np.clip(rng.standard_normal((50_000, b)) * rng.choice([c, 1e9], (50_000, 1)), -c, c)
    other = r.copy()
    other[:, 0] = rng.choice([-c, c, 0], len(r))
    variance, changed = (mechanism.batch_variance * a**2 * b * x.var(axis=1) for x in (r, other))
    assert variance.max() == pytest.approx(mechanism.batch_variance)  # half of them at either clip
    assert mechanism.batch_variance == pytest.approx((1 - b / n) * b / (b - 1))
    assert abs(variance - changed).max() <= 4 * (1 - b / n) / b * (1 + 1e-12)


@pytest.mark.parametrize(
    ("b", "n"), chosen([(1300, 10**5), (75_300, 10**5), (10**5, 10**5)], (75_300, 10**5))
)
def test_less_is_taken_off_the_noise_so_more_iterations_are_allowed(b, n):
    exact, published = (
        dataclasses.replace(DPBarker(GaussianWalk(1.0), b), batch_variance=kind)
        for kind in ("exact", "published")
    )
    counts = [
        max_iterations(lambda k, s=s: certified.delta(s.releases(n, 1.0, k), 1.0), 1e-6, 10**5)
        for s in (published, exact)
    ]
    assert counts[0] < counts[1] < 2.1 * counts[0]


def test_a_batch_of_all_rows_costs_what_the_algorithm_on_all_rows_costs():
    n = 10_000
    batch = DPBarker(GaussianWalk(1.0), n)
    full = FullDataDPBarker(GaussianWalk(1.0), clip_bound=1 / math.sqrt(n))
    for k, epsilon in ((1, 0.01), (10, 0.1), (10_000, 4.0)):
        exact = gaussian.delta(full.releases(n, 1.0, k), epsilon)
        assert exact <= certified.delta(batch.releases(n, 1.0, k), epsilon) <= 1.005 * exact


class SameNoise(np.random.Generator):
    """Noise whose normal draws do not depend on the words that batches take."""

    def __init__(self, seed):
        super().__init__(np.random.PCG64(0))
        self.normal_draws = np.random.default_rng(seed)

    def standard_normal(self, *arguments):
        return self.normal_draws.standard_normal(*arguments)


def test_a_batch_of_all_rows_decides_as_the_algorithm_on_all_rows(correction):
    n, T = 4000, 0.1
    model = Gaussian(num_rows=n, prior_variance=2.0, covariance=[[1.0]], true_position=[0.3])
    object.__setattr__(model, "likelihood_power", T)
    target = Target(model, model.simulate(np.random.default_rng(1)))
    move, bound = GaussianWalk(0.05), 1 / (math.sqrt(n) * T)
    pairs = {
        "barker": (DPBarker(move, n, correction), FullDataDPBarker(move, bound, correction)),
        "penalty": (
            MinibatchDPPenalty(move, 0.5, n, 2.0),
            DPPenalty(move, math.sqrt(0.5 / n), 2.0),
        ),
    }
    for name, pair in pairs.items():
        chains = []
        for sampler in pair:
            rng = Streams(*(np.random.default_rng([3, i]) for i in range(2)), SameNoise(5))
            chains.append(run_chain(sampler, target, rng, np.array([0.3]), 500))
        np.testing.assert_array_equal(chains[0].positions, chains[1].positions, err_msg=name)
        np.testing.assert_array_equal(chains[0].clip_fraction, chains[1].clip_fraction)
        assert 0.1 < chains[0].is_accepted.mean() < 0.95 and chains[0].clip_fraction.max() > 0


@dataclasses.dataclass(frozen=True)
class Step(Move):
    """A step to either side, of a length within bounds, in posterior standard deviations."""

    low: float
    high: float
    sd: float

    def init(self, rng, dimension):
        return None

    def propose(self, rng, theta, memory):
        side, length = rng.proposal.random(2)
        step = self.low + (self.high - self.low) * length
        return theta + math.copysign(step * self.sd, side - 0.5), None, None


def variance_z(sampler, seed, iterations):
    """Posterior variance of a chain that starts in the posterior, less the exact one, over its
    standard error by batch means. Rows are +-1: hardly a ratio is clipped."""
    n = 1000
    model = Gaussian(num_rows=n, prior_variance=1e9, covariance=[[1.0]], true_position=[0.0])
    target = Target(model, np.where(np.arange(n) % 2, 1.0, -1.0)[None])
    rng = streams(seed)
    start = rng.proposal.standard_normal(1) / math.sqrt(n)
    chain = run_chain(sampler, target, rng, start, iterations)
    assert chain.clip_fraction.mean() < 1e-3
    means = (n * chain.positions[:, 0] ** 2).reshape(40, -1).mean(axis=1)
    return (means.mean() - 1) / (means.std(ddof=1) / math.sqrt(len(means)))


def samplers(q, correction, kind):
    b, sd = round(1000 * q), 1 / math.sqrt(1000)
    root = math.sqrt(q)
    return {
        "barker": DPBarker(Step(0.7 * root, 0.9 * root, sd), b, correction, kind),
        # The penalty's own noise would hide that of the batch.
        "penalty": MinibatchDPPenalty(Step(root, 1.5 * root, sd), 1e-6, b, 10.0, "exact", kind),
    }


@pytest.mark.parametrize(
    ("name", "q"),
    chosen(
        list(itertools.product(["barker", "penalty"], [0.1, 0.5, 0.9, 1.0])),
        ("barker", 0.9),
        ("penalty", 0.5),
        ("penalty", 0.9),
    ),
)
def test_the_posterior_is_left_invariant_whatever_the_share_of_rows(name, q, correction):
    assert abs(variance_z(samplers(q, correction, "exact")[name], 1, 40_000)) < 4


@pytest.mark.parametrize(
    ("name", "q"), chosen([("barker", 1.0), ("penalty", 0.5), ("penalty", 0.9)], ("barker", 1.0))
)
def test_the_published_variance_narrows_the_sample(name, q, correction):
    assert variance_z(samplers(q, correction, "published")[name], 1, 40_000) < -5
