"""Sums over batches: against all batches of few rows, the sampler's own decisions, closed forms."""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, ndtr

import clt
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian_mixture import GaussianMixture
from dpmcmc.models.rows import RowsModel
from dpmcmc.random_streams import three_streams
from dpmcmc.samplers.barker_correction import fit_correction
from dpmcmc.samplers.dp_barker import DPBarker
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import GaussianWalk, Move
from dpmcmc.samplers.sampler import State
from dpmcmc_studies.reporting.study import StudyResults
from dpmcmc_studies.study.description import AlgorithmDescription
from kept_places import run_as_set


def streams(seed):
    return three_streams(np.random.SeedSequence(seed))


def all_sums(values, b):
    sums = np.array([sum(batch) for batch in combinations(values, b)])
    return np.sort((sums - sums.mean()) / sums.std())


@pytest.mark.parametrize("b", [3, 6, 9])
def test_skewness_is_that_of_all_batches(b):
    values = np.random.default_rng(b).exponential(size=13)
    expected = stats.skew(all_sums(values, b))
    assert clt.skewness(values, b, 13) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("b", [5, 10, 16])
def test_the_distribution_is_that_of_all_batches(b):
    """Of 20 rows there are thousands of batches, whose steps are as fine."""
    values = np.random.default_rng(b).exponential(size=20)
    sums = all_sums(values, b)
    x = np.linspace(-2.5, 2.5, 41)
    exact = np.searchsorted(sums, x, side="right") / len(sums)
    assert clt.distribution(values, b, 20, x) == pytest.approx(exact, abs=4e-3)


def test_a_sum_of_independent_rows_has_the_distribution_of_gamma():
    """Exponential rows, of a data set so large that batches are independent draws."""
    quantiles = -np.log1p(-(np.arange(200_000) + 0.5) / 200_000)
    b, x = 12, np.linspace(-3, 5, 81)
    found = clt.distribution(quantiles, b, 10**9, x)
    assert found == pytest.approx(stats.gamma.cdf(b + math.sqrt(b) * x, b), abs=1e-5)
    distance = clt.kolmogorov_distance(quantiles, b, 10**9)
    expected = np.abs(stats.gamma.cdf(b + math.sqrt(b) * clt.X, b) - ndtr(clt.X))
    assert distance == pytest.approx(expected.max(), abs=1e-5)
    skew = clt.skewness(quantiles, b, 10**9)
    assert skew == pytest.approx(2 / math.sqrt(b), rel=1e-3)
    berry_esseen, self_normalised = clt.normal_bounds(quantiles, b)
    third = 12 / math.e - 2  # E|X - 1|^3 of the exponential distribution
    assert berry_esseen == pytest.approx(0.4748 * third / math.sqrt(b), rel=1e-2)
    assert self_normalised == pytest.approx((6.4 * third + 4 / math.e) / math.sqrt(b), rel=1e-2)
    assert distance < berry_esseen
    # As printed it goes with the length of the step, and with it falls below the distance.
    assert clt.printed_bound(quantiles, b, 100, 0.01) == pytest.approx(self_normalised, rel=1e-3)
    assert clt.printed_bound(1e-3 * quantiles, b, 100, 0.01) < distance


@pytest.mark.parametrize("shape", [1e3, 1e5, 1e7])
def test_distances_are_right_to_a_ten_millionth(shape):
    """Gamma rows, whose sum is nearly normal: Edgeworth's first term is all that there is."""
    quantiles = stats.gamma.ppf((np.arange(200_000) + 0.5) / 200_000, shape)
    expected = 1 / (3 * math.sqrt(2 * math.pi * 100 * shape))  # 4.2e-4, 4.2e-5, 4.2e-6
    distance = clt.kolmogorov_distance(quantiles, 100, 10**12)
    assert distance == pytest.approx(expected, rel=3e-4, abs=1e-7)


def test_the_few_rows_that_are_not_clipped_smooth_the_sum():
    """Their number is binomial, and so is how many of the others are at which bound."""
    n, b, inside = 10**9, 40, 0.02
    values = np.concatenate([np.repeat([-1.0, 1.0], 490), np.linspace(-1, 1, 22)[1:-1]])
    x = np.linspace(-3, 3, 61)
    sums = np.zeros(len(x))
    sd = math.sqrt(b * np.mean(values**2))
    for free in range(8):  # sums of free uniform ones are nearly Irwin and Hall's
        k = np.arange(b - free + 1)
        of_bounds = stats.binom(b - free, 0.5).pmf(k)
        for number, chance in zip(k, of_bounds, strict=True):
            left = x * sd - (2 * number - (b - free))
            law = left >= 0 if free == 0 else stats.irwinhall(free).cdf((left + free) / 2)
            sums += stats.binom(b, inside).pmf(free) * chance * law
    is_between = np.abs(x * sd - np.round(x * sd)) > 0.05
    found = clt.distribution(values, b, n, x)
    assert found[is_between] == pytest.approx(sums[is_between], abs=2e-3)


def test_rows_that_are_all_clipped_alike_have_no_distribution():
    values = np.full(1000, 0.3)
    assert np.isnan(clt.kolmogorov_distance(values, 10, 10_000))
    assert np.isnan(clt.skewness(values, 10, 10_000))
    assert np.isnan(clt.normal_bounds(values, 10)).all()


@pytest.fixture(scope="module")
def target():
    model = GaussianMixture(2000, 2.0, [10.0, 1.0], [0.0, 1.0], 100)
    return Target(model, model.simulate(np.random.default_rng(1)))


def test_moments_are_those_of_batches(target):
    theta, theta_new = np.array([0.1, 0.9]), np.array([0.3, 0.8])
    sampler = DPBarker(GaussianWalk(0.1), 300)
    sums, variances = clt.simulated(streams(1), target, sampler, theta, theta_new, 0.1, 20_000)
    mean, variance = clt.exact_moments(target, sampler, theta, theta_new, 0.1)
    assert abs(sums.mean() - mean) < 4 * math.sqrt(variance / 20_000)
    assert sums.var() == pytest.approx(variance, rel=0.05)
    assert variances.mean() == pytest.approx(variance, rel=0.01)


def test_penalty_acceptance_is_that_of_draws():
    for mean, variance in ((-0.4, 0.5), (0.7, 2.0), (-8.0, 0.1)):
        draws = stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000, mean, math.sqrt(variance))
        expected = np.minimum(1, np.exp(draws)).mean()
        assert clt.penalty_acceptance(mean, variance) == pytest.approx(expected, rel=1e-3)


@dataclass(frozen=True)
class Skewed(RowsModel):
    """Of rows that are log-likelihood ratios by themselves; a flat prior."""

    num_rows: int
    dimension = 1
    row_length = 1

    def log_likelihood(self, theta, rows):
        return theta[0] * rows[:, 0]

    def log_prior_ratio(self, theta, theta_new):
        return 0.0


@dataclass(frozen=True)
class ToOne(Move):
    """A move that always proposes 1."""

    def propose(self, rng, theta, memory):
        return np.ones(1), None, None


@pytest.mark.parametrize("kind", ["barker", "penalty"])
def test_acceptance_is_that_of_the_samplers_own_steps(kind):
    """Batches of few rows with a rare large one: acceptance is far from what a normal sum gives."""
    n, b = 400, 8
    rows = np.where(np.arange(n) % 20 == 0, 0.02, -0.0005)[:, None]
    target, theta = Target(Skewed(n), rows), np.zeros(1)
    rng, correction, step = streams(2), fit_correction(), (theta, np.ones(1), 20_000)
    if kind == "barker":
        sampler = DPBarker(ToOne(), b, correction)
        found = clt.barker_error(rng, target, sampler, correction, *step)
    else:
        sampler = MinibatchDPPenalty(ToOne(), 0.01, b, 0.02)
        found = clt.penalty_error(rng, target, sampler, *step)
    probability, error, standard_error = found
    steps, state = 20_000, State(theta)
    share = sum(sampler.step(rng, state, target)[1].is_accepted for _ in range(steps)) / steps
    both = math.hypot(math.sqrt(share * (1 - share) / steps), standard_error)
    assert abs(share - probability - error) < 4 * both
    if kind == "penalty":
        assert abs(error) > 8 * both


def test_acceptance_of_barker_is_that_of_all_batches():
    """Rows of two values: how many are large is hypergeometric, and so the sum is exact."""
    n, b, correction = 400, 8, fit_correction()
    rows = np.where(np.arange(n) % 20 == 0, 0.02, -0.0005)[:, None]
    sampler, step = DPBarker(ToOne(), b, correction), (np.zeros(1), np.ones(1), 20_000)
    target, large = Target(Skewed(n), rows), np.arange(b + 1)
    found = clt.barker_error(streams(3), target, sampler, correction, *step)
    bound = math.sqrt(b) / n
    sums = large * min(0.02, bound) - (b - large) * 0.0005
    squares = large * min(0.02, bound) ** 2 + (b - large) * 0.0005**2
    variances = (1 - b / n) * b / (b - 1) * (n / b) ** 2 * (squares - sums**2 / b)
    z = (n / b * sums[:, None] + correction.atoms) / np.sqrt(2 - variances)[:, None]
    exact = stats.hypergeom(n, n // 20, b).pmf(large) @ (ndtr(z) @ correction.weights)
    # A normal sum makes up the variance of the noise: what is left is the error of the correction.
    mean = n * (min(0.02, bound) / 20 - 0.0005 * 19 / 20)
    normal = ndtr((mean + correction.atoms) / math.sqrt(2)) @ correction.weights
    assert abs(normal - expit(mean)) < correction.error
    assert found[0] == pytest.approx(normal) and found[2] < abs(exact - normal) / 10
    assert abs(found[1] - (exact - normal)) < 4 * found[2]


def test_the_run_whose_swept_settings_are_the_algorithm_s_own():
    study = StudyResults(
        "", algorithms={"a": AlgorithmDescription(settings={"m": {"proposal_scale": 0.1}})}
    )
    cell = pd.DataFrame(
        {"model": "m", "algorithm": "a", "iterations": 400, "epsilon": np.nan}, [0, 1]
    )
    assert run_as_set(study, cell) == "iterations-400"
    cell["proposal_scale"] = [0.2, 0.1]
    assert run_as_set(study, cell) == "iterations-400/proposal_scale-0.1"
