"""Sentences on effects of clipping, on made-up ones."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from clipping_effects import (
    about_rule_of_thumb,
    about_single_chains,
    about_threshold,
    detected,
    effect_tables,
    is_loosest,
)

STUDY = SimpleNamespace(algorithm_label=str.upper, model_label=str.title)


@pytest.fixture
def effects():
    rows = [  # bound, share clipped, effect and whether it is undetectable
        (8.0, 0.0, 0.0, True),
        (4.0, 0.005, 0.001, True),
        (2.0, 0.02, 0.001, True),
        (1.0, 0.1, 0.05, False),
        (0.5, 0.15, 0.015, False),
        (0.2, 0.5, -0.3, False),
    ]
    table = pd.DataFrame(rows, columns=["bound", "clip_fraction", "effect", "is_undetectable"])
    table = table.assign(model="m", algorithm="a", changed_fraction=0.01, mmd=0.2, spread=0.01)
    return table.assign(effect_low=table["effect"] - 0.02, effect_high=table["effect"] + 0.02)


def test_the_loosest_bound_is_that_of_each_cell(effects):
    both = pd.concat([effects, effects.assign(algorithm="b", bound=effects["bound"] / 2)])
    assert is_loosest(both, "bound").tolist() == ([True] + [False] * 5) * 2


def test_effects_in_either_direction_are_named_with_their_cells(effects):
    assert detected(STUDY, effects) == [
        "- A, M: chains are detectably further from the posterior (interval without 0) with "
        "10.00 % (bound 1) of the rows clipped.",
        "- A, M: chains are detectably closer to the posterior (interval without 0) with "
        "50.00 % (bound 0.2) of the rows clipped.",
    ]


def test_bounds_below_the_rule_of_thumb_are_counted_by_what_they_show(effects):
    text = about_rule_of_thumb(effects)
    assert "Of the 4 tighter bounds with less than that, 1 clip less than 1%" in text
    assert (
        "Of the other 3, clipping is undetectable by the rule in 1 and detected in 1; in 1" in text
    )


@pytest.mark.parametrize(
    ("threshold", "following", "text"),
    [
        (0.1, 0.3, "- **A, M: 10.00 %** of the rows (interval of that median 5.00 % to 20.00 %)"),
        (0.1, np.nan, "The rule holds at every bound of the study."),
        (np.nan, 0.3, "- **A, M: no threshold.** At the next bound, with 30.00 %"),
        (np.nan, np.nan, "because the loosest bound is the only one."),
    ],
)
def test_a_threshold_is_told_with_the_next_bound(threshold, following, text):
    row = {"model": "m", "algorithm": "a", "bound": 2.0, "threshold": threshold}
    row |= {"threshold_low": 0.05, "threshold_high": 0.2, "next_clip_fraction": following}
    assert text in about_threshold(STUDY, SimpleNamespace(**row))


def test_single_chains_far_away_are_counted_against_the_worst_at_the_loosest_bound():
    rows = [(8.0, 0.0, 0.1), (8.0, 0.0, 0.2), (1.0, 0.1, 0.39), (1.0, 0.15, 0.5), (1.0, 0.3, 0.9)]
    chains = pd.DataFrame(rows, columns=["clip_bound", "clip_fraction", "mmd"])
    text = about_single_chains(chains.assign(model="m", algorithm="a"))
    assert text.startswith("- Medians hide single chains: 1 with less than 20 %")
    assert "(the least: 15.00 %)" in text
    assert about_single_chains(chains[:3].assign(model="m", algorithm="a")) == ""


def test_each_cell_has_a_table(effects):
    ((title, rows),) = effect_tables(STUDY, effects).items()
    assert title == "A, M" and len(rows) == 6
    assert rows[3]["effect"] == "+0.050 [+0.030,\N{NO-BREAK SPACE}+0.070]"
    assert (rows[2]["undetectable"], rows[3]["undetectable"]) == ("yes", "no")
