"""Texts and tables of the pages that every study shares, and how a page shows them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpmcmc_studies.reporting import comparison, output, summary
from dpmcmc_studies.study.description import RelatedStudy

STUDY = SimpleNamespace(
    algorithm_label=str.upper,
    model_label=str.title,
    remarks=["One."],
    tables=[],
    related={"other": RelatedStudy("Other", "it differs.")},
)


@pytest.fixture
def shown(monkeypatch):
    found = []
    monkeypatch.setattr(output, "display", lambda one: found.append(one.data))
    return found


def test_prose_and_tables_are_shown_open_or_folded(shown):
    output.say("a", "b")
    output.say("a", folded="Title")
    output.show_table([{"x": 1.25}], {"x": ".1f"})
    output.show_table([{"x": 1.25}], folded="Title", note="<p>n</p>")
    assert shown[:2] == ["ab", "<details><summary>Title</summary>\n\na\n\n</details>"]
    assert "<td" in shown[2] and ">1.2<" in shown[2] and not shown[2].startswith("<details>")
    assert shown[3].startswith("<details><summary>Title</summary><p>n</p><div")


def test_remarks_end_with_related_studies():
    lines = summary.remarks(STUDY).splitlines()
    assert lines[-2:] == ["- One.", "- [Other](../../other/README.md): it differs."]
    assert summary.remarks(SimpleNamespace(remarks=[], related={})) == ""


def test_first_places_are_counted_with_those_held_alone():
    ranking = pd.DataFrame(
        [
            ("m", 1, "a", 1, True),
            ("m", 1, "b", 1, True),
            ("m", 2, "a", 1, False),
            ("m", 2, "b", 2, False),
            ("m", 3, "b", np.nan, False),
        ],
        columns=["model", "epsilon", "algorithm", "rank", "is_tied"],
    )
    assert summary.num_problems(ranking) == 2
    assert summary.first_places(STUDY, ranking).splitlines() == [
        "- A is first in 2 of the 2 problems it ran on, in 1 of them alone.",
        "- B is first in 1 of the 2 problems it ran on, in 0 of them alone.",
    ]


def test_ranks_show_ties_and_dashes():
    row = {"epsilon": 1.0, "algorithm": "a", "mmd": 0.1, "mmd_low": 0.05, "mmd_high": 0.2}
    row |= {"iterations": 10, "seconds": 1.0, "times_exact": 2.0, "is_nearer": True}
    row |= {"is_usable": True, "distance_closed": 0.9, "mean_error": 0.1}
    row |= {"sd_ratio": 1.0, "r_hat": 1.0, "ess": 9.0}
    rows = [row | {"rank": 1.0, "is_tied": True, "clip_fraction": 0.25}]
    rows += [row | {"rank": np.nan, "is_tied": False, "clip_fraction": np.nan}]
    first, last = summary.ranking_table(STUDY, pd.DataFrame(rows))
    assert (first["rank"], first["clipped"]) == ("1=", "25.0%")
    assert (last["rank"], last["clipped"]) == ("–", "–")
    assert first["usable"] == "yes"
    scored = SimpleNamespace(**vars(STUDY) | {"tables": ["worth"]})
    assert "usable" not in summary.ranking_table(scored, pd.DataFrame(rows))[0]
    assert first["MMD"] == "0.100 [0.050,\N{NO-BREAK SPACE}0.200]"


def test_comparisons_for_a_claim_are_not_listed_unless_left_out():
    sides = ["for", "for", "against"] + ["open"] * 45
    table = pd.DataFrame({"claim": [1] * 3 + [2] * 45, "speaks": sides, "counts": True})
    table.loc[1, "counts"] = False
    table = pd.concat([table, pd.DataFrame({"claim": [3], "speaks": "for", "counts": True})])
    (one, first), (two, second) = summary.not_for_claims(table).items()
    assert one.startswith("Claim 1") and first["counts"].tolist() == ["no", "yes"]
    assert two.endswith("(the first 40 of 45)") and len(second) == 40


@pytest.fixture
def cells():
    rows = [
        ("m", 1.0, "a", 0.01, 0.5),
        ("m", 4.0, "a", 0.30, 0.5),
        ("m", 4.0, "b", 0.10, 0.9),
        ("short", 4.0, "b", np.nan, np.nan),
        ("one", 4.0, "b", 0.20, 0.7),
    ]
    names = ["model", "epsilon", "algorithm", "mmd_median", "distance_closed"]
    return pd.DataFrame(rows, columns=names).assign(times_exact=3.0)


def test_the_nearest_is_at_the_largest_epsilon(cells):
    first, second, third = comparison.nearest(STUDY, cells, ["m", "short", "one"]).splitlines()
    assert first.startswith("- M, ε = 4: the lowest median is that of B, 0.100, which is 3.0 times")
    assert first.endswith(
        "closes 90% of the distance from never moving to exact. The highest is that of A, 0.300."
    )
    assert second == "- Short: no chain is long enough for an MMD."
    assert third.endswith("from never moving to exact.")
