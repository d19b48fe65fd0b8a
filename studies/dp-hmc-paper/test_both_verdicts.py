"""Verdicts beside each other."""

import pandas as pd
import pytest

from both_verdicts import both_verdicts
from dpmcmc_studies.analysis.claims import SIDES


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        (["a", "b", "not in this study"], "**No verdict changes.**"),
        (
            ["x", "b", "c"],
            "**One of the 2 verdicts changes**: claim 1 (“It works”) was a and is now x.",
        ),
        (
            ["x", "y", "c"],
            "**2 of the 2 verdicts change**: claim 1 (“It works”) was a and is now x; claim 2",
        ),
    ],
)
def test_verdicts_that_change_are_counted_and_named(verdicts, sentence):
    before = pd.DataFrame(
        {"claim": [1, 2, 3], "statement": ["It works", "It flies", "It swims"], "section": "6.1"}
    ).assign(comparisons=3, **dict.fromkeys(SIDES, 1))
    before["verdict"] = ["a", "b", "not in this study"]
    text, rows, changed = both_verdicts(before, before.assign(verdict=verdicts), ("old", "new"))
    assert sentence in text and len(rows) == 3
    assert [row["verdict, new"] for row in rows] == verdicts
    assert changed == [
        n for n, a, b in zip((1, 2, 3), before["verdict"], verdicts, strict=True) if a != b
    ]
