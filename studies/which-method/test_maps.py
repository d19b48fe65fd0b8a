"""What the page on methods says: families, the best method, how many rows it needs."""

import numpy as np
import pandas as pd
import pytest

from dpmcmc_studies.reporting.study import StudyResults
from dpmcmc_studies.study.description import AlgorithmDescription, ModelDescription
from maps import (
    best_methods,
    families,
    front_sentences,
    gain_of_search,
    gain_of_smaller_bounds,
    limits_of_chains,
    lookup_table,
    map_figure,
    method_table,
    needed_rows,
    needed_table,
    never_usable,
    others_sentence,
    others_table,
    prices,
    rounded,
    rows_needed,
    ties,
    with_families,
    with_kinds,
    without_family,
)

SIZES, EPSILONS = (1000, 10_000, 100_000), (0.25, 1.0)


def model(n, kind="Normal"):
    entry = {"class": f"m:{kind}", "num_rows": n}
    label = f"{kind} mean, d = 3, n = {n:,}"
    return ModelDescription(label, 3, n, entry)


STUDY = StudyResults(
    results="",
    models={f"normal-{n}": model(n) for n in SIZES} | {"alone": model(50, "Other")},
    algorithms={
        "release": AlgorithmDescription("Noisy Newton", sampler="NoisyNewton"),
        "chain": AlgorithmDescription("DP penalty", sampler="DPPenalty"),
    },
)


def ranking():
    """A release that is 30, 9 and 1 times as far as exact samples at epsilon 1; a chain at 20."""
    rows = []
    for n, times in zip(SIZES, (30.0, 9.0, 1.0), strict=True):
        for epsilon in EPSILONS:
            for name, factor in (("release", times / epsilon), ("chain", 20.0)):
                row = {"model": f"normal-{n}", "epsilon": epsilon, "algorithm": name}
                row |= {"mmd": factor / 30, "mmd_low": factor / 40, "mmd_high": factor / 20}
                row |= {"times_exact": factor, "is_usable": factor <= 3, "coverage": 0.9}
                row |= {"is_nearer": factor <= 30}
                row |= {"sd_ratio": 1.1, "seconds": 2.0, "rank": 1 + (factor > 20)}
                row |= {"is_tied": False, "share_first": 1.0}
                rows.append(row)
    return with_kinds(STUDY, pd.DataFrame([*rows, rows[0] | {"model": "alone"}]))


def test_a_family_is_of_models_that_differ_by_their_rows_alone():
    assert families(STUDY.models) == dict.fromkeys(list(STUDY.models)[:3], "Normal mean, d = 3")
    table = with_families(ranking(), STUDY.models)
    assert set(table["n"]) == set(SIZES) and "alone" not in set(table["model"])


def test_rows_that_are_needed_are_between_the_last_n_that_fails_and_the_first_that_does():
    best = best_methods(with_families(ranking(), STUDY.models))
    needed = needed_table(best).set_index("epsilon")
    # 9 times at 10,000 and 1 at 100,000: 3 times is half the way on logarithmic scales.
    assert needed.loc[1.0, "n"] == pytest.approx(10**4.5)
    assert needed.loc[1.0, "algorithm"] == "release"
    assert needed.loc[0.25, "n"] == np.inf  # 4 times at the largest n
    cells = pd.DataFrame({"n": SIZES, "times_exact": [2.0, 1.0, 1.0], "is_usable": True})
    assert rows_needed(cells) == 1000
    cells["is_usable"] = [True, False, True]
    cells["times_exact"] = [2.0, 6.0, 1.0]  # usable, then not: by chance or not, it takes more
    assert rows_needed(cells) > 10_000
    row = needed_rows(best, [0.25, 0.5, 1])[0]
    assert list(row.values())[1:] == ["more than 100,000", "more than 100,000", "about 30,000"]
    times = np.array([9, 9, 1, 9, 1, 1])  # usable from n = 10^4.5 on, and from 10^3.5
    best = best.sort_values(["epsilon", "n"])
    usable = best.assign(times_exact=times, is_usable=times < 3)
    assert needed_rows(usable, [0.5])[0]["ε = 0.5"] == "about 10,000"
    assert [rounded(n) for n in (10**4.5, 14_499, 950)] == [30_000, 14_000, 1_000]


def test_sentences_and_tables_say_what_the_ranking_has():
    table = with_families(ranking(), STUDY.models)
    best = best_methods(table)
    text = front_sentences(STUDY, table, best)
    assert "one private release is the best in 3 of the 6 combinations of family, n and ε." in text
    assert "No private chain is usable in any." in text
    assert "at ε = 0.25 more than 100,000; at ε = 1 about 30,000 (Noisy Newton)" in text
    rows = lookup_table(STUDY, best)
    assert [row["usable"] for row in rows] == ["no"] * 5 + ["yes"]
    assert {row["n needed"] for row in rows} == {"about 30,000", "more than 100,000"}
    assert "ε = 1: the best release is 9.0 times" in prices(table)
    of_chain = method_table(STUDY, table, best)[-1]
    assert (of_chain["method"], of_chain["best on"]) == ("DP penalty", "50%")
    assert never_usable(STUDY, table).endswith("here:** DP penalty is usable nowhere.")
    assert ties(STUDY, table).startswith("In 0 of 6 combinations")


def test_chains_that_the_study_cuts_short_are_counted_and_so_are_those_that_did_not_run():
    table = with_families(ranking(), STUDY.models)
    budgets = table[["model", "algorithm", "epsilon"]].assign(spent_epsilon=table["epsilon"])
    is_short = (budgets["algorithm"] == "chain") & (budgets["model"] == "normal-1000")
    budgets.loc[is_short, "spent_epsilon"] *= 0.8
    text = limits_of_chains(table, budgets)
    assert text.startswith("The study limits") and "2 of the 6 cells" in text and "90%" in text
    fewer = table[(table["algorithm"] == "release") | (table["epsilon"] == 1)]
    text = limits_of_chains(fewer, budgets)
    assert text.startswith("No chain ran in 3 of these") and "1 of the 3 cells" in text


def test_a_cell_where_nothing_is_closer_than_never_moving_is_grey_and_has_no_method():
    table = with_families(ranking(), STUDY.models)
    stuck = table["n"] == 1000
    table.loc[stuck, ["is_nearer", "is_usable"]] = False
    best = best_methods(table)
    assert list(best["is_nearer"]) == [False, False, True, True, True, True]
    figure = map_figure(STUDY, best)
    assert [text.get_text() for text in figure.axes[0].texts].count("none") == 2
    best = best_methods(table[(table["algorithm"] == "release") | (table["n"] < 100_000)])
    texts = [text.get_text() for text in map_figure(STUDY, best).axes[0].texts]
    assert sum("×*" in text for text in texts) == 2
    text = front_sentences(STUDY, table, best)
    assert "best in 3 of the 6 combinations of family, n and ε; in 2 nothing is closer" in text
    assert lookup_table(STUDY, best)[0]["best method"] == "none"
    nearer = table[~stuck | (table["algorithm"] == "chain")].assign(is_nearer=True)
    both = pd.concat([nearer, table[stuck & (table["algorithm"] == "release")].assign(mmd=1e-9)])
    assert set(best_methods(both)["algorithm"].iloc[:2]) == {"chain"}


def test_what_a_longer_search_gains_counts_feasible_trials_alone():
    of = {"model": "normal-1000", "algorithm": "chain"}
    trials = pd.DataFrame(
        [
            of | {"trial": trial, "mmd": mmd, "is_feasible": is_feasible}
            for trial, mmd, is_feasible in ((1, 0.5, True), (2, 0.1, False), (20, 0.2, True))
        ]
    )
    found = pd.DataFrame([of | {"own_mmd": 0.6, "best_mmd": 0.3}])
    text = gain_of_search(STUDY, trials, found, [("normal-1000", "chain")])
    assert "The best of 20 has 0.40 times the MMD of the best of the first 16" in text
    assert "0.50 times the MMD of those that the search began with" in text
    assert "MMD 0.50 after 16 trials, 0.20 after 20. In new chains 0.60 before" in text


def test_a_posterior_without_a_family_has_its_best_release_and_its_best_chain():
    table = with_families(ranking(), STUDY.models)
    others = without_family(ranking(), STUDY.models, table["algorithm"].unique())
    assert set(others["model"]) == {"alone"}
    chain = others.iloc[0].to_dict() | {"algorithm": "chain", "mmd": 0.1, "times_exact": 2.5}
    chain |= {"is_nearer": True, "is_usable": True, "is_release": False}
    both = pd.concat([others.assign(is_nearer=True), pd.DataFrame([chain])])
    (row,) = others_table(STUDY, both)
    assert (row["best release"], row["best chain"]) == ("Noisy Newton", "DP penalty")
    assert row["release: times exact"] == "120.0"
    assert row["chain: times exact"] == "2.5, usable"
    row = others_table(STUDY, others)[0]
    assert (row["best release"], row["best chain"]) == ("none", "")
    assert others_sentence(both).startswith("A release is usable in 0 of 1 combinations")
    assert others_sentence(both).endswith("Some private chain is usable in 1.")
    assert others_sentence(others).endswith("No private chain is usable in any.")


def test_a_smaller_bound_is_given_with_what_it_gains():
    found = pd.DataFrame(
        {
            "model": ["normal-1000"],
            "algorithm": "release",
            "own_mmd": 0.236,
            "best_mmd": 0.189,
            "own_settings": '{"row_radius": 5.16, "other": 1}',
            "best_settings": '{"row_radius": 3.92, "other": 1}',
        }
    )
    text = gain_of_smaller_bounds(STUDY, found, [("normal-1000", "release")])
    assert text == (
        "- Noisy Newton, Normal mean, d = 3, n = 1,000: a `row_radius` of 3.92 in place of 5.16 "
        "lowers the MMD from 0.24 to 0.19."
    )
