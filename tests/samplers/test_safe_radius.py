"""The last radius of a mean: what it costs, and that skewed rows are answered honestly."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from test_samplers import streams

import dpmcmc
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.samplers.row_laws import EDGES, ENTRIES, OFFSETS, laws, skew_switch
from dpmcmc.samplers.safe_radius import (
    SHELLS_SENSITIVITY,
    SKEW_SENSITIVITY,
    radii_of,
    sums_of_far_rows,
)

NUM_ROWS = 10_000


def mean_of(d, num_rows=NUM_ROWS):
    return dpmcmc.Gaussian(num_rows, 1.0, np.eye(d).tolist())


def exponential(rng, d, num_rows=NUM_ROWS):
    return rng.standard_exponential((d, num_rows)) - 1


def normal(rng, d, num_rows=NUM_ROWS):
    return rng.standard_normal((d, num_rows))


def answered(sampler, rows, d, seed):
    """Truth, draws and misfit of a release of rows about a draw of the prior."""
    rng = np.random.default_rng([seed, d])
    truth = rng.standard_normal(d)
    target = dpmcmc.Target(mean_of(d), truth[:, None] + rows(rng, d))
    state, info = sampler.prepare(streams(seed), target)
    return truth, np.array([state.position, *state.memory[1]]), info.misfit


@pytest.mark.parametrize("d", [1, 3])
def test_no_row_moves_a_statistic_of_far_rows_by_more_than_its_sensitivity(d):
    """Every pair of hostile rows, in place of one of three others."""
    rng = np.random.default_rng(d)
    centre, whiten = rng.standard_normal(d), np.linalg.inv(np.eye(d) + 0.3)
    lengths = [0.0, 1e-320, 1e-200, *(math.sqrt(d) + EDGES), skew_switch(d), 30.0, 1e200, 1e308]
    unit = rng.standard_normal(d)
    unit /= np.linalg.norm(unit)
    with np.errstate(over="ignore"):
        hostile = [
            centre + sign * nudge * length * (np.eye(d) + 0.3) @ unit
            for length in lengths
            for nudge in (1 - 1e-9, 1 + 1e-9)
            for sign in (1, -1)
        ]
    hostile += [np.full(d, value) for value in (np.nan, np.inf, -np.inf)]
    others = rng.standard_normal((d, 2))

    def released(row):
        return sums_of_far_rows(np.column_stack([others, row]), centre, whiten, 1.0)

    skews, shells = (np.array(values) for values in zip(*map(released, hostile), strict=True))
    for values, sensitivity in ((skews, SKEW_SENSITIVITY), (shells, SHELLS_SENSITIVITY)):
        moved = np.linalg.norm(values[:, None] - values, axis=2).max()
        assert moved == pytest.approx(sensitivity, rel=1e-9)


def test_what_finds_the_radius_is_paid_for():
    sampler = dpmcmc.NoisyStatistics(noise_scale=2.0)
    model = mean_of(2)
    target = dpmcmc.Target(model, model.simulate(np.random.default_rng(1)))
    released = RecordedStreams(*streams(2)).step(sampler, None, target).released
    spent = [(one.sensitivity / one.sd) ** 2 for one in released]
    assert sum(spent) == pytest.approx(1 / 2.0**2, rel=1e-12)
    assert [one.sensitivity for one in released[-3:-1]] == [SKEW_SENSITIVITY, SHELLS_SENSITIVITY]
    chosen = sampler.chosen_settings(model)
    assert chosen["row_laws"] == "wide" and len(chosen["shares"]) == len(released) - 2
    again = RecordedStreams(*streams(2)).step(replace(sampler, **chosen), None, target).released
    assert [one.sd for one in again] == pytest.approx([one.sd for one in released], rel=1e-12)


@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_skewed_rows_are_covered_as_often_as_stated(d, epsilon):
    """90 % intervals of the mean of exponential rows; one that trusts the model covers less."""
    covered = {}
    for row_laws in ("wide", "model"):
        sampler = dpmcmc.NoisyStatistics(row_laws=row_laws)
        sampler = dpmcmc.for_budget(sampler, NUM_ROWS, epsilon)
        found = []
        for seed in range(30):
            truth, draws, misfit = answered(sampler, exponential, d, seed)
            low, high = np.quantile(draws, [0.05, 0.95], axis=0)
            found.append(((low <= truth) & (truth <= high)).mean())
            assert not misfit > 5
        covered[row_laws] = np.array(found)
    wide = covered["wide"]
    assert wide.mean() > 0.9 - 3 * max(wide.std(), 0.1) / math.sqrt(len(wide))
    assert covered["model"].mean() < 0.8


def test_normal_rows_are_worth_nearly_what_they_are_without_other_laws():
    """Widths over the exact posterior's: 1.03 at the limit with epsilon 1 and d = 10."""
    sampler = dpmcmc.for_budget(dpmcmc.NoisyStatistics(), NUM_ROWS, 1.0)
    answers = [answered(sampler, normal, 10, seed) for seed in range(20)]
    sds = np.array([draws.std(axis=0).mean() for _, draws, _ in answers])
    assert 1.0 < sds.mean() * math.sqrt(NUM_ROWS) < 1.1
    off = np.array([draws.mean(axis=0) - truth for truth, draws, _ in answers])
    ratio = (off**2).mean() / (sds**2).mean()
    assert abs(ratio - 1) < 4 * math.sqrt(2 / off.size)
    assert max(misfit for *_, misfit in answers) < 5


@pytest.mark.parametrize("variances", [[100.0] * 10, [0.5, 4.0, 100.0]], ids=["all", "some"])
def test_rows_of_another_spread_than_the_model_says_do_not_fit(variances):
    sampler = dpmcmc.for_budget(dpmcmc.NoisyStatistics(), NUM_ROWS, 1.0)
    sds = np.sqrt(variances)[:, None]

    def wide(rng, d):
        return sds * normal(rng, d)

    misfits = [answered(sampler, wide, len(sds), seed)[2] for seed in range(5)]
    assert min(misfits) > 20


@pytest.mark.parametrize("d", [1, 10])
def test_small_skewness_biases_as_its_expansion_says(d):
    """Gamma rows of shape 64 are in the dictionary, after the normal law and three mixtures."""
    known, radii = laws(d, "wide"), radii_of(d)
    skewness = 2 / math.sqrt(64)
    r = stats.chi(d).expect
    switch = skew_switch(d)
    alpha = r(lambda x: math.copysign(x**3, x - switch), points=None) / (2 * d * (d + 2))
    assert known.skew[4] == pytest.approx(alpha * skewness, rel=0.1)
    for j in (0, 4):
        radius = math.sqrt(d) + OFFSETS[j]
        beta = r(lambda x, R=radius: min(x, R) * x**3) / r(lambda x, R=radius: min(x, R) * x)
        beta = (beta / (d + 2) - 1) / 2
        assert radii[j].expanded == pytest.approx(beta / alpha, rel=2e-3)
        error = 4 * math.sqrt(1 / ENTRIES)
        assert known.biases[4, j] == pytest.approx(beta * skewness, rel=0.15, abs=error)
    assert (laws(d, "narrow").skew[:5] == known.skew[:5]).all()


def test_a_model_without_exact_draws_has_the_same_answer():
    model = mean_of(2, 2000)

    class Without(dpmcmc.Gaussian):
        sample_given_total = ExponentialFamily.sample_given_total

    other = Without(2000, 1.0, np.eye(2).tolist())
    data = model.simulate(np.random.default_rng(1), np.array([0.5, -1.0]))
    sampler = dpmcmc.NoisyStatistics(noise_scale=3.0)
    one, two = (
        dpmcmc.run_chain(sampler, dpmcmc.Target(m, data), streams(1), None, 800).positions
        for m in (model, other)
    )
    error = one.std(axis=0) * math.sqrt(1 / 800 + 1 / 400)
    assert (np.abs(one.mean(axis=0) - two.mean(axis=0)) < 4 * error).all()
    assert one.std(axis=0) == pytest.approx(two.std(axis=0), rel=4 / math.sqrt(800))
