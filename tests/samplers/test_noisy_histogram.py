"""A noisy histogram: what it counts, what it costs, and the posterior that it gives."""

import math

import numpy as np
import pytest
from conftest import ROOT
from test_samplers import streams

import dpmcmc
from dpmcmc import registry
from dpmcmc.evaluation.audit import Case, audit
from dpmcmc.evaluation.checking.samplers import check_sampler
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.samplers.noisy_histogram import Bins, NoisyHistogram, fitted
from dpmcmc.samplers.on_grid import draws_on_grid
from dpmcmc.samplers.one_shot import does_fit

NORMAL = dpmcmc.Gaussian(2000, 4.0, [[1.0]])
MIXTURE = dpmcmc.GaussianMixture(20_000, 2.0, [10.0, 1.0], [0.0, 1.0], 100)
HISTOGRAM = dpmcmc.NoisyHistogram(-10, 10, 80, noise_scale=5.0)


def test_a_row_is_shared_by_the_centres_around_it_or_counts_nowhere():
    bins = Bins(np.array([0.0, -1.0]), np.array([1.0, 0.5]), (3, 4))
    rows = np.array(
        [[0.5, -0.75], [0.75, -0.65], [2.9, 0.9], [3.0, 0.0], [np.nan, 0.0], [1.0, -np.inf]]
    )
    found = np.array([bins.counts(row[None]) for row in rows])
    assert found.sum(axis=1).tolist() == [1, 1, 1, 0, 0, 0]
    assert bins.centres[[0, -1]].tolist() == [[0.5, -0.75], [2.5, 0.75]]
    assert found[0, 0] == 1 and found[2, -1] == 1  # at a centre, and beyond the last
    assert found[1] @ bins.centres == pytest.approx([0.75, -0.65], abs=1e-3)
    assert bins.counts(rows).tolist() == found.sum(axis=0).tolist()


def test_sums_of_shares_lose_no_digit():
    bins = Bins(np.array([-4.0]), np.array([0.1]), (80,))
    rows = np.random.default_rng(1).standard_normal((300_000, 1))
    assert bins.counts(rows).tolist() == bins.counts(rows[::-1]).tolist()
    assert bins.counts(rows).sum() == (np.abs(rows) < 4).sum()


def test_rows_that_are_rounded_to_an_edge_do_not_move_the_answer():
    """As measurements are. If a row counted in one bin alone, the mean would move by half a bin.

    And of so many rows the mean is more exact than that of the rows that are simulated for bins.
    """
    many = dpmcmc.Gaussian(1_000_000, 4.0, [[1.0]])
    rows = np.round(many.simulate(np.random.default_rng(2), np.array([0.13])), 1)
    bins = dpmcmc.NoisyHistogram(-10, 10, 200).bins_of(many)
    posterior = fitted(many, bins, bins.counts(rows.T), 1e-12)
    mode, factor = posterior.mode(posterior.theta)
    assert abs(mode[0] - rows.mean()) < 0.15 * abs(factor[0, 0]) < 0.0002


@pytest.mark.parametrize(
    ("other", "move"),
    [(3.375, math.sqrt(2)), (3.3, 1.257), (0.2, 0.3 * math.sqrt(2)), (1e9, 1), (math.nan, 1)],
)
def test_a_row_moves_the_counts_by_the_sensitivity_at_most(other, move):
    data = np.full((1, 2000), 0.125)  # a centre
    changed = data.copy()
    changed[0, 0] = other
    found = []
    for rows in (data, changed):
        rng = RecordedStreams(*streams(1))
        (one,) = rng.step(HISTOGRAM, None, dpmcmc.Target(NORMAL, rows, "clip")).released
        assert one.sensitivity == math.sqrt(2) and one.sd == pytest.approx(5 * math.sqrt(2))
        found.append(one.statistic)
    moved = np.linalg.norm(found[0] - found[1])
    assert moved == pytest.approx(move, rel=0.001) and moved <= math.sqrt(2) * (1 + 1e-12)


def test_an_audit_comes_close_to_the_price_and_not_above():
    sampler, rows = dpmcmc.NoisyHistogram(-2, 2, 2, noise_scale=1.0), np.ones(16)
    case = Case(sampler, np.r_[-1.0, rows[1:]], rows, 0)
    found = audit(case, 1, 3000, 0.01)
    assert 0.7 < found.values.mu <= case.mu() == 1.0
    assert found.values.epsilon <= case.epsilon(0.01)
    assert found.noise.p_value > 0.001


def test_without_noise_the_draws_are_those_of_the_posterior():
    sampler = dpmcmc.NoisyHistogram(-10, 10, 400, noise_scale=1e-6)
    rng = np.random.default_rng(1)
    target = dpmcmc.Target(NORMAL, NORMAL.simulate(rng, np.array([1.3])))
    exact = NORMAL.sample_posterior(rng, target.data, 4000)
    draws = dpmcmc.run_chain(sampler, target, streams(2), None, 1000).positions
    assert abs(draws.mean() - exact.mean()) < 5 * exact.std() / math.sqrt(1000)
    assert draws.std() == pytest.approx(exact.std(), rel=5 / math.sqrt(2000))


def test_intervals_cover_as_often_as_they_say_where_noise_is_most_of_the_width():
    rng, sampler = np.random.default_rng(3), dpmcmc.NoisyHistogram(-12, 12, 60, noise_scale=20.0)
    bins, variance, scores = sampler.bins_of(NORMAL), 2 * 20.0**2, []
    for _ in range(12):
        truth = NORMAL.sample_prior(rng)
        counts = bins.counts(NORMAL.simulate(rng, truth).T)
        noisy = counts + math.sqrt(variance) * rng.standard_normal(len(counts))
        posterior = fitted(NORMAL, bins, noisy, variance)
        mode, factor = posterior.mode(posterior.theta)
        scores.append(float((truth - mode)[0] / factor[0, 0]))
    assert abs(factor[0, 0]) > 1.5 / math.sqrt(2000)
    assert 0.25 < np.mean(np.square(scores)) < 2.6


@pytest.mark.parametrize("seed", [1, 16, 20])
def test_a_fit_with_wild_steps_comes_back(seed):
    """Bins are as wide as a row's scale here; the fit ended far outside of the prior."""
    tails = registry.load(f"{ROOT}/examples/tails.py:Tails")(12_000)
    bins = dpmcmc.NoisyHistogram(-6, 8, 140).bins_of(tails)
    rng, theta = np.random.default_rng(seed), np.array([3.054, -2.165, 1.571])
    counts = bins.counts(tails.simulate(rng, theta))
    posterior = fitted(tails, bins, counts + 1.5 * rng.standard_normal(140), 2.2)
    draws = posterior.sample(rng, 100)
    assert (np.abs(draws.mean(axis=0) - theta) < 5 * draws.std(axis=0)).all()
    assert draws.std(axis=0) == pytest.approx([0.0015, 0.014, 0.075], rel=0.5)


ROWS_OF = {
    "as the model has them": lambda rng, z: z,
    "rounded": lambda rng, z: np.round(2 * z) / 2,
    "skewed": lambda rng, z: rng.standard_exponential(z.shape) - 1,
    "outside of the box": lambda rng, z: np.where(rng.random(z.shape) < 0.2, 1e9, z),
    "a twentieth far out": lambda rng, z: np.where(rng.random(z.shape) < 0.05, z + 5, z),
}


@pytest.mark.parametrize(
    ("law", "fits"), [*zip(ROWS_OF, (True, True, False, False, False), strict=True)]
)
def test_a_release_says_if_rows_move_its_answer_that_the_model_does_not_have(law, fits):
    rng = np.random.default_rng(5)
    rows = ROWS_OF[law](rng, rng.standard_normal((1, 2000)))
    sampler = dpmcmc.NoisyHistogram(-10, 10, 80, noise_scale=1.0)
    chain = dpmcmc.run_chain(sampler, dpmcmc.Target(NORMAL, rows), streams(1), None, 2)
    assert does_fit(chain.preparation.misfit) == fits


def test_both_modes_of_a_mixture_are_drawn():
    target = dpmcmc.Target(MIXTURE, MIXTURE.simulate(np.random.default_rng(1)))
    draws = dpmcmc.run_chain(HISTOGRAM, target, streams(4), None, 1000).positions
    mirrored = MIXTURE.mirrored(draws)
    assert 0.2 < (draws[:, 1] > 0).mean() < 0.8
    assert draws.std(axis=0) == pytest.approx(mirrored.std(axis=0), rel=0.25)


def test_draws_on_a_grid_follow_two_narrow_modes():
    def log_density(theta):
        return float(np.logaddexp(*(-((theta - c) ** 2).sum() / 2e-8 for c in (3.0, -2.0))))

    box = np.array([[-10.0, -10.0], [10.0, 10.0]])
    draws = draws_on_grid(np.random.default_rng(1), log_density, box, 2000)
    upper = draws[:, 0] > 0
    assert abs(upper.mean() - 0.5) < 0.05
    assert draws[upper].std(axis=0) == pytest.approx(1e-4, rel=0.1)


def test_what_cannot_be_is_said():
    with pytest.raises(ValueError, match=r"^high: must be above low"):
        dpmcmc.NoisyHistogram(1, 1, 10)
    with pytest.raises(ValueError, match=r"^bins: must be a number or a list of 1 numbers"):
        dpmcmc.NoisyHistogram(-1, 1, [10, 10]).bins_of(NORMAL)
    with pytest.raises(ValueError, match=r"^bins: must be at most 100,000"):
        dpmcmc.NoisyHistogram(-1, 1, 400).bins_of(dpmcmc.Banana(2 + 1, 10, 1, 1, [1], [0]))
    circle = dpmcmc.Circle(10, 1e-5, 3.0, 1.0, [0.0, 1.0], 1.0)
    with pytest.raises(ValueError, match=r"^model: must be able to simulate"):
        dpmcmc.NoisyHistogram(-1, 1, 4).bins_of(circle)


@pytest.mark.torture
def test_it_passes_the_checks_of_its_privacy():
    """All but those that need thousands of runs: each fits the counts anew."""
    findings = zip(check_sampler(NoisyHistogram(-4.0, 4.0, 6)), range(9), strict=False)
    assert False not in {finding.passed for finding, _ in findings}
