"""Private samplers at equal epsilon: who is closest and most accurate, on made-up chains."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from classification import Classification
from regression import baseline

CELLS = {  # MMD, accuracy, acceptance, by epsilon and algorithm
    (1.0, "a"): (0.5, 0.700, 0.8),
    (1.0, "b"): (0.4, 0.695, 0.01),
    (1.0, "c"): (0.9, 0.600, 1.0),
    (4.0, "a"): (0.1, 0.700, 0.8),
    (4.0, "b"): (0.4, 0.705, 0.02),
    (4.0, "c"): (np.nan, 0.8, 1.0),
}
SCATTER = 1e-3 * np.linspace(-1, 1, 15)


@pytest.fixture
def page():
    rows = [
        {"epsilon": epsilon, "algorithm": name, "sample": 14 - seed, "acceptance_rate": rate}
        | {"mmd": mmd + shift, "accuracy": accuracy + shift}
        for (epsilon, name), (mmd, accuracy, rate) in CELLS.items()
        for seed, shift in enumerate(SCATTER)
    ]
    chains = pd.DataFrame(rows).assign(model="m", clip_fraction=0.25, gradient_clip_fraction=np.nan)
    ranks = chains.groupby(["model", "epsilon", "algorithm"], sort=False)["mmd"].median()
    ranking = ranks.reset_index().assign(times_exact=5.0, iterations=1000, r_hat=1.5)
    ranking["rank"] = [2, 1, 3, 1, 1, np.nan]
    ranking["is_usable"] = [False] * 3 + [True, False, False]
    ranking = ranking.assign(mmd_low=ranking["mmd"] - 0.1, mmd_high=ranking["mmd"] + 0.1)
    budgets = ranking.assign(allowed_iterations=[1000, 2000, 1000] * 2, spent_epsilon=0.501)
    exact = pd.DataFrame({"model": ["m", "m", "x"], "accuracy": [0.7, 0.72, 0], "mmd": 0.02})
    tables = {"chains": chains, "ranking": ranking, "budgets": budgets[:2]}
    others = {name: table.assign(model="x") for name, table in tables.items()}
    tables = {name: pd.concat([table, others[name]]) for name, table in tables.items()}
    tables |= {"baselines": exact, "starts": exact.assign(accuracy=0.69, mmd=0.9)}
    houses = np.array([[1.0, 0.1], [1.0, 0.2], [0.0, -0.3], [0.0, -0.1], [1.0, 0.3]])
    study = SimpleNamespace(
        table=tables.get,
        algorithm_label=str.upper,
        target=lambda model: SimpleNamespace(data=houses),
        held_out=lambda model: houses[:4],
    )
    return Classification(study, ["m"], ["a", "b", "c"])


def test_the_most_accurate_come_with_those_not_shown_to_be_less_so(page):
    assert page.most_accurate("m", 1.0) == ["a", "b"]  # b is behind by half the margin
    assert page.most_accurate("m", 4.0) == ["b", "a"]


def test_the_answer_names_the_closest_at_each_epsilon(page):
    first, second, about = page.answer().splitlines()
    assert first.startswith(
        "- **ε = 1: B** is closest to the posterior, with a median MMD of 0.400"
    )
    assert "; no sample is usable. Most accurate: A, 0.7000 [" in first
    assert first.endswith("with B not shown to be less accurate by 0.01.")
    assert second.startswith("- **ε = 4: A and B** are closest")
    assert "; usable as samples: A." in second
    assert "never move have a median accuracy of 0.6900, while exact samples" in about
    assert about.endswith("have 0.7100.")


def test_without_samples_that_is_said(page):
    vars(page)["cells"] = {("m", 1.0): {}}
    assert page.at("m", 1.0) == "- **ε = 1**: no budget leaves a sample."


def test_for_scale_there_are_exact_samples_chains_that_stand_still_and_classifiers(page):
    rows = page.scale()
    houses = page.study.target("m").data
    fitted = f"{baseline(houses, houses[:4]):.4f}"
    assert [row["accuracy"] for row in rows] == ["0.7100", "0.6900", fitted, "0.5000"]
    assert [row["MMD"] for row in rows] == ["0.020", "0.900", None, None]


def test_the_table_has_dashes_for_what_a_cell_lacks(page):
    rows = page.table()
    assert len(rows) == 6 and rows[5]["accuracy"] == "–" and rows[5]["MMD"] == "–"
    assert rows[0]["clipped ratios"] == "25.00 %" and rows[0]["clipped gradients"] == "–"
    assert rows[0]["accuracy"].startswith("0.7000 [") and rows[1]["acceptance"] == "1%"


def test_what_ends_early_stands_still_or_comes_no_closer_is_named(page):
    assert page.about_budgets() == (
        " These chains end before they have spent their budget: B at ε = 1 (spends 0.51; 2,000 "
        "allowed)."
    )
    assert "accepted by B**, which barely moves." in page.about_stuck()
    text = page.about_epsilon()  # b has the same MMD at both
    assert "MMD at ε = 4 minus that at 1" in text and "below 0 for B (+0.000" in text
    still = page.gap_of_epsilons("m", "c", 1.0, 4.0)
    assert still == [] and len(page.gap_of_epsilons("m", "a", 1.0, 4.0)) == 1
