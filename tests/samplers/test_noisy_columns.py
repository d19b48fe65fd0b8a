"""Noisy columns: what they cost, and that means are covered whatever the scale and the law."""

import math

import numpy as np
import pytest
from test_samplers import streams

import dpmcmc
from dpmcmc.evaluation.recording import RecordedStreams
from dpmcmc.samplers.column_laws import laws_of_columns
from dpmcmc.samplers.column_range import OF_SQUARE, SENSITIVITY, PublicRange, sums_in_range
from dpmcmc.samplers.column_scale import (
    Place,
    bins_of,
    clipped_sums,
    counts,
    first_place,
    matched,
    normal_moments,
)
from dpmcmc.samplers.noisy_columns import NoisyColumns
from dpmcmc.samplers.one_shot import MOST_MISFIT

N = 10_000
LAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape) - 1,
    "binary": lambda rng, shape: ((rng.random(shape) < 0.3) - 0.3) / math.sqrt(0.21),
}
HOSTILE = [0.0, 1e-320, 1.0, -1.0, 3.0, -3.0, 50.0, 1e200, -1e308, np.nan, np.inf, -np.inf]


RANGE = [-2.0, 4.0]


def columns(count, num_rows=N, with_range=()):
    ranges = {f"x{i}": RANGE for i in with_range}
    return dpmcmc.NormalColumns([f"x{i}" for i in range(count)], num_rows, 1.0, ranges=ranges)


def released(sampler, model, data, seed):
    """All that is released, in its order."""
    target = dpmcmc.Target(model, data, "clip")
    return RecordedStreams(*streams(seed)).step(sampler, None, target).released


def test_all_columns_together_cost_what_is_declared():
    sampler, model = NoisyColumns(noise_scale=2.0), columns(3, with_range=[1])
    found = released(sampler, model, model.simulate(np.random.default_rng(1)), 2)
    assert sum((one.sensitivity / one.sd) ** 2 for one in found) == pytest.approx(1 / 4, rel=1e-12)
    assert len(found) % 2 == 1  # one of the column with a range


@pytest.mark.parametrize("with_range", [[], [0]])
def test_no_row_moves_a_release_by_more_than_its_sensitivity(with_range):
    """Hostile rows in place of each other; what comes later is about what was released before."""
    sampler, model = NoisyColumns(noise_scale=1.0), columns(1, 30, with_range)
    rng = np.random.default_rng(1)
    others = rng.standard_normal(29)
    data = [model.statistics(np.append(others, row)[:, None]) for row in HOSTILE]
    moved = []
    watching = RecordedStreams(*streams(3))
    first = watching.step(sampler, None, dpmcmc.Target(model, data[0], "clip"))
    for rows in data:
        again = watching.repeat(
            sampler, None, dpmcmc.Target(model, rows, "clip"), first, to_end=True
        ).released
        for a, b in zip(first.released, again, strict=True):
            assert (a.sensitivity, a.sd) == (b.sensitivity, b.sd)
            moved.append(np.linalg.norm(np.subtract(a.statistic, b.statistic)) / a.sensitivity)
    assert 0.4 < max(moved) <= 1 + 1e-9


def test_squares_in_a_range_move_two_rows_no_farther_apart_than_values_do():
    values = np.linspace(-2, 4, 601)
    rows = np.array([sums_in_range(values[[i]], PublicRange(1, 3))[0] for i in range(601)])
    apart = np.linalg.norm(rows[:, None] - rows, axis=2)
    assert apart.max() == pytest.approx(SENSITIVITY, rel=1e-15)
    rows[:, 1] *= 1.02 * math.sqrt(2) / OF_SQUARE
    assert np.linalg.norm(rows - rows[-1], axis=1).max() <= SENSITIVITY * (1 + 1e-15)
    rows[:, 1] *= 1.2  # here the ends are not the farthest any more
    assert np.linalg.norm(rows - rows[-1], axis=1).max() > SENSITIVITY * 1.02


@pytest.mark.parametrize("share", [0.01, 0.3, None])
@pytest.mark.parametrize(("num_rows", "epsilon"), [(1000, 0.5), (N, 1.0)])
def test_columns_with_a_public_range_have_intervals_that_hold_for_any_law(share, num_rows, epsilon):
    """Flags with a share of ones, or skewed values, against the exact posterior."""
    names = ["a", "b"]
    units = {"centres": 0.5, "scales": 0.5, "ranges": {name: [0, 1] for name in names}}
    model = dpmcmc.NormalColumns(names, num_rows, 1.0, **units)
    sampler = dpmcmc.for_budget(NoisyColumns(), num_rows, epsilon)
    assert sampler.chosen_settings(model) == {}
    held = []
    for seed in range(30):
        rng = np.random.default_rng([seed, 7])
        rows = rng.random((num_rows, 2))
        rows = rows**4 if share is None else (rows < share).astype(float)
        data = model.statistics(model.prepare(rows))
        state, info = sampler.prepare(streams(seed), dpmcmc.Target(model, data))
        assert info.misfit < MOST_MISFIT and info.clip_fraction == 0
        low, high = np.quantile([state.position, *state.memory[1]], [0.05, 0.95], axis=0)
        exact = model.sample_posterior(rng, data, 1000)
        held.append(((low <= exact) & (exact <= high)).mean(axis=0))
    error = np.std(held, axis=0).mean() / math.sqrt(60)  # of two columns alike
    of_kind = np.mean(held, axis=0).reshape(2, 2).mean(axis=1)
    assert (of_kind > 0.9 - 3 * max(error, 0.01)).all()


def test_a_mean_that_the_prior_excludes_does_not_fit():
    """As if a centre were forgotten: the exact posterior is between the two, too."""
    model = dpmcmc.NormalColumns(["age"], 1000, 1.0, centres=18, ranges={"age": [18, 100]})
    ages = np.random.default_rng(1).uniform(30, 60, (1000, 1))
    target = dpmcmc.Target(model, model.statistics(model.prepare(ages)))
    sampler = dpmcmc.for_budget(NoisyColumns(), 1000, 4.0)
    state, info = sampler.prepare(streams(1), target)
    means = model.in_file_units(np.array([state.position, *state.memory[1]]))[:, 0]
    assert info.misfit > MOST_MISFIT and (means > 18).all()


def test_a_constant_column_has_the_prior_s_lower_tail():
    model = dpmcmc.NormalColumns(["flag"], 1000, 100.0, centres=0.5, ranges={"flag": [0, 1]})
    target = dpmcmc.Target(model, model.statistics(model.prepare(np.zeros((1000, 1)))))
    sampler = dpmcmc.for_budget(NoisyColumns(), 1000, 1.0)
    state, _ = sampler.prepare(streams(1), target)
    log_sds = np.array([state.position, *state.memory[1]])[:, 1]
    assert np.quantile(log_sds, 0.05) < -12 < -1 > np.quantile(log_sds, 0.95)


@pytest.mark.parametrize("law", LAWS)
def test_means_and_sds_are_covered_as_often_as_stated_whatever_the_scale(law):
    model = columns(3)
    sampler = dpmcmc.for_budget(NoisyColumns(), N, 1.0)
    covered, misfits, widths = [], [], []
    for seed in range(30):
        rng = np.random.default_rng([seed, 5])
        theta = model.sample_prior(rng)
        means, sds = model.means_and_sds(theta)
        rows = means[:, None] + sds[:, None] * LAWS[law](rng, (3, N))
        state, info = sampler.prepare(streams(seed), dpmcmc.Target(model, model.statistics(rows.T)))
        draws = np.array([state.position, *state.memory[1]])
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        truth = np.concatenate([means, np.log(sds)])
        covered.append(((low <= truth) & (truth <= high)).reshape(2, 3).mean(axis=1))
        widths.append((high - low)[:3] / (2 * 1.645 * sds / math.sqrt(N)))
        misfits.append(info.misfit)
    error = np.maximum(np.std(covered, axis=0), 0.15) / math.sqrt(30)
    assert (np.mean(covered, axis=0) > 0.9 - 3 * error).all()
    assert np.median(widths) < {"exponential": 2.0}.get(law, 1.3)
    assert np.mean(np.array(misfits) > MOST_MISFIT) < 0.1


def test_the_squares_of_the_last_sum_give_an_sd_that_the_rounds_miss():
    """Prices are like this: skewed, and with ends."""
    z = np.random.default_rng(4).standard_normal(60_000)
    values = np.exp(z[(z > -2) & (z < 2)])[:50_000, None]
    model = columns(1, len(values))
    target = dpmcmc.Target(model, model.statistics(values))
    sampler = dpmcmc.for_budget(NoisyColumns(), len(values), 4.0)
    found = [sampler.prepare(streams(seed), target)[0].memory[0][0].log_sd for seed in range(5)]
    off = [log_sd.mean - math.log(values.std()) for log_sd in found]
    assert np.abs(off).max() < 0.01 < min(log_sd.variance for log_sd in found) ** 0.5 < 0.1


def test_a_rare_column_does_not_fit():
    model = columns(1)
    sampler = dpmcmc.for_budget(NoisyColumns(), N, 1.0)
    rows = (np.random.default_rng(1).random((N, 1)) < 0.02).astype(float)
    target = dpmcmc.Target(model, model.statistics(rows))
    assert min(sampler.prepare(streams(seed), target)[1].misfit for seed in range(5)) > MOST_MISFIT


@pytest.mark.parametrize("place", [Place(0.3, 1.0), Place(-1.0, 0.4), Place(2.0, 2.0)])
def test_a_place_is_found_by_its_moments_and_by_its_counts(place):
    values = place.mean + place.sd * np.random.default_rng(1).standard_normal(200_000)
    sums = clipped_sums(values, Place(0.0, 1.0))
    np.testing.assert_allclose(np.array(sums) / len(values), normal_moments(place), atol=0.01)
    np.testing.assert_allclose(matched(*normal_moments(place)), place, rtol=1e-3)
    bins = bins_of(4.0)
    shares = counts(values, bins.edges) / len(values)
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(first_place(shares, 0.0, bins), place, rtol=0.05, atol=0.02)


def test_laws_of_columns_are_in_units_of_the_place_that_is_found():
    laws = laws_of_columns("wide")
    sds = np.exp(laws.moments.log_sds)
    assert sds[0] == pytest.approx(1, abs=0.01) and sds.max() > 3
    assert (laws.moments.squares[0] >= 0.9).all() and laws.skew[0] == 0
    assert len(laws_of_columns("narrow").skew) < len(laws.skew)


def test_what_it_cannot_do_is_refused_in_one_line():
    with pytest.raises(ValueError, match=r"model: must be NormalColumns, not Gaussian"):
        NoisyColumns(1.0).prepare(
            streams(1), dpmcmc.Target(dpmcmc.Gaussian(4, 1, [[1]]), [[0] * 4])
        )
    with pytest.raises(ValueError, match="variables: 500 are too many for this budget and 10,000"):
        NoisyColumns(4.0).chosen_settings(columns(500))
    assert NoisyColumns(4.0).chosen_settings(columns(3)) == {"row_laws": "wide"}
