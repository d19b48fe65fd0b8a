"""The page of the paper: which algorithm is closest, and which sample is the median one."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import closest
import kept_samples

STUDY = SimpleNamespace(algorithm_label=str.upper, model_label=str.title)
RANKING = pd.DataFrame(
    [
        ("banana", 1.0, "a", 0.1, 2.0, True, True),
        ("banana", 4.0, "a", 0.2, 7.0, True, False),
        ("banana", 4.0, "b", 0.1, 3.0, True, True),
        ("gauss", 4.0, "a", 0.5, 20.0, False, False),
        ("gauss", 4.0, "b", np.nan, np.nan, False, False),
    ],
    columns=["model", "epsilon", "algorithm", "mmd", "times_exact", "is_nearer", "is_usable"],
)


@pytest.mark.parametrize(
    ("model", "algorithms", "text"),
    [
        ("banana", ["a", "b"], "B (usable)"),
        ("banana", ["a"], "A (7.0 times exact)"),
        ("gauss", ["a", "b"], "A (20.0 times exact, no closer than never moving)"),
        ("gauss", ["b"], "none"),
    ],
)
def test_the_nearest_has_the_lowest_mmd_of_those_compared(model, algorithms, text):
    assert closest.nearest(STUDY, RANKING, model, 4.0, algorithms) == text


def test_the_answer_is_at_the_largest_epsilon_and_says_what_correction_changes():
    lists = ["banana", "gauss"], ["a"], ["b"]
    text = closest.answer(STUDY, RANKING, *lists, has_corrected=["banana"])
    assert text.splitlines() == [
        "- **Banana**, ε = 4: A (7.0 times exact) as published, B (usable) when corrected.",
        "- **Gauss**, ε = 4: A (20.0 times exact, no closer than never moving) as published.",
    ]


def test_the_table_has_a_column_for_each_algorithm_in_their_order():
    table = closest.median_table(STUDY, RANKING, ["banana", "gauss"], ["b", "c", "a"])
    assert [*table] == ["model", "ε", "B", "A"]
    assert table["B"].tolist() == ["", "0.100 (3×)", "–"]
    assert table["A"].tolist() == ["0.100 (2×)", "0.200 (7×)", "0.500 (20×) °"]


def test_corrected_algorithms_that_are_published_too_are_no_others():
    chains = pd.DataFrame({"model": ["m", "n"], "algorithm": ["old", "new"]})
    assert closest.run_with_others(chains, ["m", "n"], ["old", "new"], ["old"]) == ["n"]


def test_the_median_sample_is_the_lower_of_two():
    chains = pd.DataFrame({"algorithm": ["a"] * 5 + ["b"], "sample": range(6)})
    chains = chains.assign(model="m", epsilon=1.0, mmd=[0.4, 0.1, np.nan, 0.3, 0.2, 0.9])
    found = closest.median_samples(chains, "m", 1.0, ["a", "absent", "b", "a"])
    assert {name: row["sample"] for name, row in found.items()} == {"a": 4, "b": 5}
    assert closest.median_samples(chains, "m", 2.0, ["a"]) == {}


def test_verdicts_are_counted():
    claims = pd.DataFrame({"verdict": ["confirmed", "undecided", "confirmed"]})
    assert closest.counts(claims) == "2 confirmed, 1 undecided"


def test_draws_of_all_chains_of_a_sample_are_kept_and_thinned(monkeypatch):
    draws = np.arange(24.0).reshape(2, 6, 2)
    monkeypatch.setattr(kept_samples, "sample_draws", lambda *of: draws + of[-1])
    kept = kept_samples.median_draws(None, "m", "run", {"a": 100}, 4)
    assert [*kept] == ["a/median"] and kept["a/median"].dtype == np.float32
    assert len(kept["a/median"]) <= 4 and kept["a/median"].min() >= 100
    assert kept["a/median"].max() > 112  # of the second chain
