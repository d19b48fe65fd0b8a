"""Scores of the samples of a cell, beside the right draws; intervals widened by other data sets."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import SMALL_MODELS

from dpmcmc.evaluation import scores
from dpmcmc_studies.analysis.worth import worth_table
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.jobs import score_tables
from dpmcmc_studies.study import specs

RECORD = {"model": "normal", "algorithm": "walk", "epsilon": 1.0, "iterations": 50, "delta": 1e-5}
MODEL = SMALL_MODELS["gaussian"]
PRIOR = scores.prior_draws(MODEL)


def given(kept, data_sets=None, chains_per_sample=1, references=1):
    """A cell whose chains keep some draws; references are standard normal."""
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(references, 400, 2))
    spec = specs.ScoreTable(
        study_seed=1,
        model="normal",
        model_entry={},
        data_sets=data_sets,
        chains_per_sample=chains_per_sample,
        cells=[specs.Cell("walk", "epsilon-1", "1", len(kept))],
    )
    files = [SimpleNamespace(record=RECORD, kept=part, varied={}) for part in kept]
    return SimpleNamespace(
        spec=spec,
        model=MODEL,
        reference=reference if data_sets else reference[0],
        chains=lambda algorithm, run, seeds: [files[i] for i in seeds],
    )


def cell(of, count):
    return score_tables.cell_scores(of, PRIOR, "walk", "epsilon-1", range(count))


def normal(seed, shift=0.0, scale=1.0, size=300):
    return np.random.default_rng(seed).normal(shift, scale, (size, 2))


def test_chains_that_share_a_budget_are_scored_together():
    kept = [normal(seed) for seed in range(4)]
    of = given(kept, chains_per_sample=2)
    rows = cell(of, 4)
    assert [row["sample"] for row in rows] == [0, 1]
    for row, draws in zip(rows, (kept[:2], kept[2:]), strict=True):
        expected = scores.interval_metrics(np.concatenate(draws), of.reference, PRIOR)
        expected["energy_ratio"] = scores.energy_ratio(np.concatenate(draws), of.reference, PRIOR)
        assert {key: row[key] for key in expected} == expected
        assert "data_set" not in row and "widened_ratio" not in row and "delta" not in row


def test_each_data_set_has_its_reference_and_a_factor_found_on_the_others():
    # Intervals are half as wide as they should be on all data sets but the last, which is exact.
    kept = [normal(seed, scale=0.5) for seed in range(5)] + [normal(9)]
    of = given(kept, data_sets=6, references=6)
    rows = cell(of, 6)
    assert [row["data_set"] for row in rows] == [*range(6)]
    others = [(kept[i], of.reference[i]) for i in range(5)]
    factor = scores.widening_factor(others)
    assert 1.7 < factor < 2.3
    widened = scores.interval_metrics(kept[5], of.reference[5], PRIOR, factor=factor)
    assert rows[5]["widened_ratio"] == widened["score_ratio"] > rows[5]["score_ratio"]
    assert all(row["widened_ratio"] < row["score_ratio"] for row in rows[:5])


def test_a_chain_that_diverges_or_is_too_short_scores_as_the_prior_does():
    kept = [np.full((50, 2), np.nan), normal(1, size=1), normal(2)]
    rows = cell(given(kept), 3)
    assert [row["is_scored"] for row in rows] == [False, False, True]
    assert rows[0]["score_ratio"] == rows[1]["score_ratio"] > rows[2]["score_ratio"]
    assert np.isfinite([row[key] for row in rows for key in ("score_ratio", "energy_ratio")]).all()


def test_committed_rows_are_taken_as_they_are(tmp_path):
    of = given([normal(seed) for seed in range(3)])
    committed = pd.DataFrame(cell(of, 3)).assign(run="epsilon-1")
    committed.to_csv(tmp_path / "scores.csv", index=False)
    rows = specs.Rows(tables=str(tmp_path), parts={"scores/normal/walk/epsilon-1": "a-b"})
    entry = {"class": "dpmcmc.models.gaussian:Gaussian", "num_rows": 10, "prior_variance": 1}
    of.spec.model_entry = entry | {"covariance": [[1, 0], [0, 1]], "true_position": [0, 0]}
    score_tables.score_table(of.spec, rows, tmp_path, None, tmp_path / "made.csv")
    made = read_csv(tmp_path / "made.csv")
    pd.testing.assert_frame_equal(made, committed)


def frame(name, epsilon, ratios, coverage, sets=True):
    count = len(ratios)
    return pd.DataFrame(
        {
            "model": "m",
            "algorithm": name,
            "epsilon": epsilon,
            "iterations": 9,
            "sample": range(count),
            "data_set": np.arange(count) if sets else np.nan,
            "score_ratio": ratios,
            "coverage": coverage,
            "width": 1.0,
            "is_scored": np.isfinite(ratios),
            "energy_ratio": 1.0,
        }
    )


def test_honest_cells_rank_first_and_those_that_do_not_differ_share_a_rank():
    wiggle = np.resize([0.0, 0.02], 20)
    cells = {
        "narrow": (1.05 + wiggle, 0.7),
        "good": (1.2 + wiggle, 0.9),
        "as-good": (1.2 + wiggle[::-1], 0.9),
        "worse": (1.5 + wiggle, 0.9),
        "stopped": (1.0 + wiggle, 0.9),
        "no-intervals": (np.full(20, np.inf), 1.0),
        "one-without": (1.1 + wiggle, 0.95),
    }
    table = pd.concat([frame(name, 1.0, *values) for name, values in cells.items()])
    table.loc[(table["algorithm"] == "one-without") & (table["sample"] == 3), "is_scored"] = False
    budgets = pd.DataFrame({"model": "m", "algorithm": [*cells], "epsilon": 1.0})
    budgets["spent_epsilon"] = np.where(budgets["algorithm"] == "stopped", 0.5, 1.0)
    found = worth_table(table, budgets).set_index("algorithm")
    ranks = found["rank"].to_dict()
    assert {k: ranks[k] for k in ("good", "as-good", "worse")} == {
        "good": 1,
        "as-good": 1,
        "worse": 3,
    }
    assert ranks["narrow"] == 4  # not honest
    assert found.loc[["stopped", "no-intervals", "one-without"], "rank"].isna().all()
    assert found["is_tied"].to_dict() == {k: k in ("good", "as-good") for k in found.index}
    assert found.loc["good", "worth"] == pytest.approx(1.21**-2)
    assert found.loc["good", "honest"] == "honest" and found.loc["narrow", "honest"] == "not honest"
    assert found.loc["no-intervals", ["worth", "honest"]].to_list() == [0, "no intervals"]
    # Its mean coverage is that of an honest cell, but one sample of twenty has none of its own.
    partly = found.loc["one-without", ["honest", "not_scored", "samples"]]
    assert partly.to_list() == ["no intervals", 1, 20]
