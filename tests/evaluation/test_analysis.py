"""Intervals, effects of clipping and ranks, on samples made for the purpose."""

import numpy as np
import pandas as pd
import pytest

from dpmcmc.evaluation.metrics import LARGEST_MMD
from dpmcmc_studies.analysis.intervals import median_contrast, median_of_last_axis
from dpmcmc_studies.analysis.ranking import (
    clipping_chains,
    clipping_effects,
    clipping_thresholds,
    gains_on_start,
    ranking,
    with_stand_ins,
)


def test_intervals_cover_as_often_as_they_say():
    rng = np.random.default_rng(1)
    covered = [
        (estimate := median_contrast((i,), [rng.normal(3, 1, 20)], [rng.normal(1, 1, 20)])).low
        < 2
        < estimate.high
        for i in range(200)
    ]
    # 95 % nominal; the percentile interval of a median of 20 is somewhat conservative.
    assert 0.92 <= np.mean(covered) <= 1


def test_differences_are_taken_in_pairs():
    sample = np.random.default_rng(2).normal(0, 100, 20)
    shifted = median_contrast(("pairs",), [sample + 1], [sample])
    np.testing.assert_allclose(shifted, (1, 1, 1))
    alone = median_contrast(("alone",), [sample])
    assert alone.low < alone.value == np.median(sample) < alone.high


@pytest.mark.parametrize("count", [1, 2, 7, 20])
def test_medians_are_those_of_numpy(count):
    samples = np.random.default_rng(count).normal(0, 100, (50, 3, count))
    samples[3, 1, 0] = np.nan
    np.testing.assert_array_equal(median_of_last_axis(samples), np.median(samples, axis=-1))


def test_a_contrast_of_four_adds_and_subtracts_medians():
    samples = [np.full(5, value) for value in (1.0, 20.0, 300.0, 4000.0)]
    assert median_contrast((), samples[:2], samples[2:]) == (-4279, -4279, -4279)


def test_the_same_labels_give_the_same_interval():
    sample = np.random.default_rng(3).normal(size=20)
    assert median_contrast(("a", 1.0), [sample]) == median_contrast(("a", 1.0), [sample])


def test_a_single_chain_has_no_interval():
    assert median_contrast((), [[2.0]], [[5.0]]) == (-3, -np.inf, np.inf)


MODELS = pd.DataFrame({"model": ["o", "m"], "d": [7, 2]})


def clipping_study(shifts, noise=0.001):
    """Chains that a sweep of clip bounds has: MMDs around 0.05 plus a shift, a bound for each.

    Beside them, another model and another algorithm for which nothing is as here.
    """
    rng = np.random.default_rng(4)
    rows = [
        {
            "model": model,
            "algorithm": algorithm,
            "bound": bound,
            "sample": seed,
            "iterations": 100,
            "clip_fraction": clip_fraction + 0.001 * seed + (seed == 19) + other,
            "changed_decisions": round(100 * clip_fraction),
            "mmd": 0.05 + shift + noise * rng.normal() + other * bound,
        }
        for model, algorithm, other in (("m", "rwmh", 0), ("m", "hmc", 0.3), ("o", "rwmh", 0.4))
        for bound, (clip_fraction, shift) in shifts.items()
        for seed in range(20)
    ]
    baselines = [
        {"model": model, "mmd": scale * value}
        for model, scale in (("m", 1), ("o", 50))
        for value in np.linspace(0.01, 0.03, 10)
    ]
    return pd.DataFrame(rows), pd.DataFrame(baselines)


def test_decisions_of_a_sample_of_several_chains_are_a_share_of_all_their_iterations():
    """A row counts those of all its chains, and the iterations of one."""
    clipping, baselines = clipping_study({1000: (0.0, 0.0), 1: (0.6, 0.1)})
    one = clipping_effects(clipping, baselines, MODELS)["changed_fraction"]
    assert one.max() == 0.6
    clipping["changed_decisions"] *= 4
    four = clipping_effects(clipping, baselines, MODELS, chains_per_sample=4)["changed_fraction"]
    pd.testing.assert_series_equal(four, one)


def test_a_cell_of_few_seeds_is_compared_with_the_first_of_another():
    few, many = [1.0, 4.0, 2.0], [5.0, 5.0, 9.0, 50.0, 60.0]
    expected = median_contrast(("few",), [few], [many[:3]])
    assert median_contrast(("few",), [few], [many]) == expected
    assert expected.value == 2 - 5


def test_chains_of_the_sweep_are_told_from_all_others():
    """By their clip bound, and by having no delta: a private sampler may be swept as well."""
    chains = pd.DataFrame(
        {
            "algorithm": ["rwmh", "rwmh", "dp-penalty", "dp-penalty", "hmc", "dp-hmc"],
            "epsilon": [np.nan, np.nan, 4.0, 4.0, np.nan, np.nan],
            "delta": [np.nan, np.nan, 1e-6, 1e-6, np.nan, 1e-6],
            "clip_bound": [2.0, 1000.0, 2.0, np.nan, np.nan, 2.0],
        }
    )
    swept = clipping_chains(chains)
    assert list(swept["bound"]) == [2.0, 1000.0] and set(swept["algorithm"]) == {"rwmh"}
    assert "clip_bound" in chains
    assert clipping_chains(chains.drop(columns="clip_bound")).empty


def only_first(table):
    return table[(table["model"] == "m") & (table["algorithm"] == "rwmh")]


def test_the_threshold_is_the_largest_fraction_before_clipping_shows():
    shifts = {1000: (0.0, 0), 10: (0.05, 0), 6: (0.1, 0), 4: (0.2, 0.02), 2: (0.4, 0)}
    clipping, baselines = clipping_study(shifts)
    all_effects = clipping_effects(clipping, baselines, MODELS)
    effects = only_first(all_effects).set_index("bound")
    assert list(effects["is_undetectable"]) == [True, True, True, False, True]
    assert list(effects.loc[1000, ["effect", "effect_low", "effect_high"]]) == [0, 0, 0]
    np.testing.assert_allclose(effects.loc[4, "effect"], 0.02, atol=0.002)
    np.testing.assert_allclose(effects["spread"], 0.8 * 0.02)
    assert effects.loc[2, "changed_fraction"] == 0.4
    dimensions = all_effects.groupby("model")["dim"].unique()
    assert dimensions["m"].tolist() == [2] and dimensions["o"].tolist() == [7]

    # Bound 2 passes, but the looser bound 4 does not.
    (row,) = only_first(clipping_thresholds(clipping, all_effects)).itertuples()
    assert row.bound == 6 and row.threshold == pytest.approx(0.1 + 0.001 * 9.5)
    assert 0.1 <= row.threshold_low < row.threshold < row.threshold_high <= 0.12
    assert row.next_clip_fraction == pytest.approx(0.2 + 0.001 * 9.5)


def test_an_effect_too_uncertain_to_exclude_is_not_undetectable():
    clipping, baselines = clipping_study({1000: (0.0, 0), 2: (0.2, 0)}, noise=0.05)
    all_effects = clipping_effects(clipping, baselines, MODELS)
    wide = only_first(all_effects).set_index("bound").loc[2]
    assert wide["effect_low"] < 0 < wide["effect_high"] and not wide["is_undetectable"]
    (row,) = only_first(clipping_thresholds(clipping, all_effects)).itertuples()
    assert np.isnan(row.bound) and np.isnan(row.threshold)
    assert row.next_clip_fraction == pytest.approx(0.2 + 0.001 * 9.5)


def test_a_small_but_certain_effect_is_detected():
    clipping, baselines = clipping_study({1000: (0.0, 0), 2: (0.2, 0.004)})
    small = only_first(clipping_effects(clipping, baselines, MODELS)).set_index("bound").loc[2]
    assert 0 < small["effect_low"] < small["effect_high"] < small["spread"]
    assert not small["is_undetectable"]


def test_a_rule_that_holds_everywhere_has_no_next_bound():
    clipping, baselines = clipping_study({1000: (0.0, 0), 6: (0.3, 0), 2: (0.2, 0)})
    effects = clipping_effects(clipping, baselines, MODELS)
    (row,) = only_first(clipping_thresholds(clipping, effects)).itertuples()
    # The largest fraction is not at the tightest bound here.
    assert row.bound == 6 and np.isnan(row.next_clip_fraction)


def test_one_baseline_or_one_bound_leaves_no_threshold():
    clipping, baselines = clipping_study({1000: (0.0, 0), 2: (0.2, 0)})
    effects = clipping_effects(clipping, baselines.groupby("model").head(1), MODELS)
    (row,) = only_first(clipping_thresholds(clipping, effects)).itertuples()
    assert np.isnan(row.threshold) and row.next_clip_fraction > 0
    alone = clipping[clipping["bound"] == 2]
    effects = clipping_effects(alone, baselines, MODELS)
    (row,) = only_first(clipping_thresholds(alone, effects)).itertuples()
    assert np.isnan(row.threshold) and np.isnan(row.next_clip_fraction)


def chains_with(mmds):
    """Table of chains with these lists of MMDs, by algorithm."""
    return pd.DataFrame(
        {
            "model": "m",
            "epsilon": 1.0,
            "algorithm": name,
            "sample": seed,
            "mmd": value,
            "clip_fraction": 0.1,
            "iterations": 7,
        }
        for name, values in mmds.items()
        for seed, value in enumerate(values)
    )


def test_algorithms_that_cannot_be_told_apart_share_a_rank():
    base = np.random.default_rng(5).normal(0.3, 0.03, 20)
    noise = 0.02 * (-1.0) ** np.arange(20)
    chains = chains_with(
        {
            "far": base + 0.5,
            "none": [np.nan] * 20,
            "diverged": [LARGEST_MMD] * 20,
            "near": base,
            "as-near": base + noise,
            "middle": base + 0.2,
        }
    )
    starts = pd.DataFrame({"model": "m", "sample": range(20), "mmd": base + 0.5 - noise})
    summary = chains.groupby(["model", "algorithm", "epsilon"]).size().index.to_frame(index=False)
    summary = summary.assign(times_exact=2.9, r_hat=1.05, distance_closed=0.5, ess=3.0)
    summary = summary.assign(sd_ratio=0.9, mean_error=0.3)
    summary.loc[summary["algorithm"] == "as-near", "r_hat"] = 1.2
    summary.loc[summary["algorithm"] == "middle", "times_exact"] = 3.1
    summary.loc[summary["algorithm"] == "none", "times_exact"] = np.nan
    summary.loc[summary["algorithm"] == "diverged", "times_exact"] = 70.0
    table = ranking(chains, summary, gains_on_start(chains, starts))
    nearer, usable = (set(table.loc[table[c], "algorithm"]) for c in ("is_nearer", "is_usable"))
    assert nearer == {"near", "as-near", "middle"}
    assert usable == {"near"}  # "far" is as near as exact samples, and so is never moving
    ranks = dict(zip(table["algorithm"], table["rank"], strict=True))
    assert ranks["near"] == ranks["as-near"] == 1
    assert (ranks["middle"], ranks["far"]) == (3, 4)
    assert ranks["none"] is ranks["diverged"] is pd.NA
    ties = dict(zip(table["algorithm"], table["is_tied"], strict=True))
    assert [name for name, is_tied in ties.items() if is_tied] == list(table["algorithm"][:2])
    assert ((table["mmd_low"] <= table["mmd"]) & (table["mmd"] <= table["mmd_high"]))[:4].all()
    assert list(table["iterations"].unique()) == [7]


def test_a_ranking_has_the_models_in_their_order_and_epsilon_grows_within_each():
    parts = [("z", 4.0), ("a", 1.0), ("z", 0.5), ("a", 2.0), ("z", 1.0)]
    chains = pd.concat(cells({"x": 0.1, "y": 0.2}, *part) for part in parts)
    chains = chains.assign(clip_fraction=0.1, iterations=7)
    starts = cells({"x": 0.1}).drop(columns=["algorithm", "epsilon"])
    starts = pd.concat([starts.assign(model=model) for model in "za"])
    summary = chains.groupby(["model", "algorithm", "epsilon"]).size().index.to_frame(index=False)
    scale = ["times_exact", "distance_closed", "sd_ratio", "mean_error", "r_hat", "ess"]
    summary = summary.assign(**dict.fromkeys(scale, 1.0))
    table = ranking(chains, summary, gains_on_start(chains, starts))
    problems = table[["model", "epsilon"]].drop_duplicates()
    assert list(problems.itertuples(index=False, name=None)) == [
        ("z", 0.5),
        ("z", 1.0),
        ("z", 4.0),
        ("a", 1.0),
        ("a", 2.0),
    ]
    assert list(table["algorithm"]) == ["x", "y"] * 5


def cells(medians, model="banana", epsilon=4.0):
    """Chains of each algorithm, 20 seeds; the same spread about each median."""
    spread = np.random.default_rng(5).normal(0, 0.01, 20)
    return pd.concat(
        pd.DataFrame(
            {"model": model, "epsilon": epsilon, "algorithm": name, "sample": range(20)}
        ).assign(mmd=median + spread - np.median(spread))
        for name, median in medians.items()
    )


STAND_INS = {"dp-barker-certified": "dp-barker"}


def test_stand_ins_take_the_place_of_others_cell_by_cell():
    chains = pd.concat(
        [
            cells({"dp-barker": 0.3, "dp-barker-certified": 0.1, "dp-hmc": 0.2}),
            cells({"dp-barker": 0.4, "dp-hmc": 0.2}, epsilon=2.0),
            cells({"dp-barker-certified": 0.5}, epsilon=1.0),
        ]
    )
    replaced = with_stand_ins(chains, STAND_INS)
    medians = replaced.groupby(["epsilon", "algorithm"])["mmd"].median().to_dict()
    assert medians == pytest.approx(
        {
            (4.0, "dp-barker"): 0.1,
            (4.0, "dp-hmc"): 0.2,
            (2.0, "dp-barker"): 0.4,
            (2.0, "dp-hmc"): 0.2,
            (1.0, "dp-barker"): 0.5,
        }
    )
    untouched = cells({"dp-barker": 0.3, "dp-hmc": 0.2})
    pd.testing.assert_frame_equal(with_stand_ins(untouched, STAND_INS), untouched)
    pd.testing.assert_frame_equal(with_stand_ins(chains, {}), chains)
