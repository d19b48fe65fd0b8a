"""What the page on methods says: families, the best honest method, what n rows are worth."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from msgspec.structs import replace

import maps
from dpmcmc_studies.reporting.study import StudyResults
from dpmcmc_studies.study.description import AlgorithmDescription, ModelDescription
from dpmcmc_studies.study.loading import load_study

SIZES, EPSILONS = (1000, 10_000, 100_000), (0.25, 1.0)


def model(n, kind="Normal"):
    entry = {"class": f"m:{kind}", "num_rows": n}
    label = f"{kind} mean, d = 3, n = {n:,}"
    return ModelDescription(label, 3, n, entry)


STUDY = StudyResults(
    results="",
    models={f"normal-{n}": model(n) for n in SIZES} | {"alone": model(50, "Other")},
    algorithms={
        "release": AlgorithmDescription("Noisy Newton", colour="#9911ff", has_free_steps=True),
        "chain": AlgorithmDescription("DP penalty", colour="#006699"),
    },
)


def row(n, epsilon, name, worth, **more):
    """A cell of the table; the chain stops early at 100,000 rows, and is not honest at 1,000."""
    values = {"model": f"normal-{n}", "algorithm": name, "epsilon": epsilon, "iterations": 1500}
    values |= {"samples": 20, "not_scored": 0, "score_ratio": worth**-0.5, "worth": worth}
    values |= {"worth_se": 0.02, "coverage": 0.9, "coverage_se": 0.01, "width": 1.1}
    values |= {"widened_worth": worth, "widened_worth_se": 0.02, "is_tied": False, "spent": 1.0}
    values |= {"energy_ratio": 1.05}
    values |= {"honest": "honest", "rank": 1 if name == "release" else 2}
    return values | more


def table():
    """Worth of a release, 20, 60 and 90 % at epsilon 1 and half of that below; a chain's, 10 %."""
    rows = []
    for n, worth in zip(SIZES, (0.2, 0.6, 0.9), strict=True):
        for epsilon in EPSILONS:
            rows.append(row(n, epsilon, "release", worth if epsilon == 1 else worth / 2))
            more = {"honest": "not honest"} if n == 1000 else {}
            more |= {"spent": 0.5, "rank": np.nan} if n == 100_000 else {}
            rows.append(row(n, epsilon, "chain", 0.1, **more))
    return pd.DataFrame([*rows, rows[0] | {"model": "alone"}])


@pytest.fixture
def families(monkeypatch):
    timings = table()[["model", "algorithm", "epsilon"]].assign(cpu_seconds=2.0)
    tables = {"worth": table(), "timings": timings}
    monkeypatch.setattr(StudyResults, "table", lambda self, name: tables[name])
    return maps.worth_of_families(STUDY)


def test_a_family_is_of_models_that_differ_by_their_rows_alone(families):
    assert maps.families(STUDY.models) == dict.fromkeys(
        list(STUDY.models)[:3], "Normal mean, d = 3"
    )
    assert set(families["n"]) == set(SIZES) and "alone" not in set(families["model"])
    assert set(families["seconds"]) == {2.0}


def test_the_best_method_is_honest_and_ranked(families):
    best = maps.best_methods(families)
    assert set(best["algorithm"]) == {"release"}
    # Without the release, no chain is honest at 1,000 rows, and none has a rank at 100,000.
    chains = maps.best_methods(families[families["algorithm"] == "chain"])
    assert chains["algorithm"].tolist() == ["", "", "chain", "chain", "", ""]
    assert chains["has_chain"].tolist() == [True] * 4 + [False] * 2


def test_rows_for_half_are_between_the_last_n_that_fails_and_the_first_that_does(families):
    best = maps.best_methods(families)
    of = {epsilon: at for epsilon, at in best.groupby("epsilon")}
    n, low, high = maps.rows_for_half(of[1.0])
    assert n == pytest.approx(10**3.75)  # from 20 to 60 %, half is three quarters of the way
    assert low == pytest.approx(10 ** (3 + 0.26 / 0.4)) and low < n < high
    assert maps.rows_for_half(of[0.25]) == (np.inf,) * 3  # 45 % at most
    assert maps.rows_for_half(of[1.0].assign(worth=0.9))[0] == 0
    (texts,) = maps.half_table(best)
    assert texts["ε = 1"] == "5,600 (4,500 to 7,100)"
    assert texts["ε = 0.25"] == "more than 100,000"
    unsure = best.copy()
    unsure.loc[best["n"] == 1000, ["algorithm", "worth"]] = "", np.nan
    (texts,) = maps.half_table(unsure)
    assert texts["ε = 1"] == "between 1,000 and 10,000"


def test_sentences_and_tables_say_what_the_table_has(families):
    best = maps.best_methods(families)
    text = maps.front_sentences(best, 10_000, 1)
    assert text == (
        "- At ε = 1, 10,000 rows of a normal mean (d = 3) are worth about **6,000** (95 % interval "
        "5,600 to 6,400)."
    )
    assert maps.front_sentences(best.assign(algorithm=""), 10_000, 1).endswith(
        "no method is surely honest."
    )
    text = maps.chain_sentences(families)
    assert "Of 6 combinations" in text and "4 run to the end" in text
    assert "2 of these are honest, and 0 of the honest ones are surely worth half" in text
    assert "In 2 combinations the chain and a release are both honest" in text
    assert "worth 25% of what the best release is worth" in text  # the median of 1/6 and 1/3
    text = maps.limits_of_chains(families)
    assert text.startswith("2 of the 6 combinations of a chain") and "2 of these are honest" in text
    some = families.assign(not_scored=np.where(families["n"] == 1000, 1, 0))
    assert "In 0 no sample has intervals, and in 2 some samples have none" in (
        maps.limits_of_chains(some)
    )
    rows = maps.lookup_table(STUDY, best)
    assert rows[3]["rows"] == "6,000" and rows[3]["worth"] == "60 ± 2 %"
    release, chain = maps.method_table(STUDY, families)
    assert (release["honest"], release["first"], release["worth half"]) == (6, 6, 2)
    assert (chain["run to the end"], chain["honest"], chain["not honest"]) == (4, 2, 2)
    honest = maps.honest_chains(STUDY, families)
    assert [one["ε = 1"] for one in honest] == ["none", "DP penalty 10%"]
    cells = maps.cells_table(STUDY, families)
    assert {one["rank"] for one in cells} == {"1", "2", "–"}


def test_a_figure_has_hollow_marks_where_a_chain_is_not_honest_and_no_cell_without_a_rank(families):
    (axis,) = maps.worth_figure(STUDY, families, 1).axes
    texts = [text.get_text() for text in axis.texts]
    assert texts == ["90% Noisy Newton", "10% DP penalty"]
    marks = [line for line in axis.lines if line.get_marker() in maps.MARKERS]
    assert len(marks) == 3 + 2
    assert [line.get_markerfacecolor() for line in marks[3:]] == ["white", "#006699"]
    figure = maps.map_figure(STUDY, maps.best_methods(families))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts[3] == "60%\nNoisy Newton" and texts[5].endswith("*")


def test_a_posterior_without_a_family_stands_by_its_own_name(families):
    others = maps.worth_of_others(STUDY, ["release"])
    (row,) = maps.lookup_table(STUDY, maps.best_methods(others))
    assert (row["posterior"], row["n"]) == ("Other mean, d = 3, n = 50", "50")
    assert (row["method"], row["worth"]) == ("Noisy Newton", "10 ± 2 %")
    assert "Of 0 combinations of a chain, a posterior and ε, 0 run" in (
        maps.chain_sentences(others, "a posterior")
    )
    assert not len(maps.worth_of_others(STUDY, ["chain"]))
    best = maps.best_methods(families)
    assert maps.best_sentence(best).endswith("worth 10% to 90% of the rows.")
    best.loc[best["n"] == 1000, "algorithm"] = ""
    text = maps.best_sentence(best)
    assert text.startswith("In 4 of 6 combinations") and "worth 30% to 90% of" in text
    assert text.endswith("No method is surely honest on: Normal mean, d = 3.")


def found():
    """What two searches found: one chain did not run before, the other's search found nothing."""
    of = {"algorithm": "chain", "epsilon": 1.0}
    settings = '{"clip_bound": 0.02, "start": {"gradient_clip_bound": 4}}'
    rows = [
        {"model": "normal-1000", "own_score_ratio": None, "best_score_ratio": 2.0},
        {"model": "normal-1000", "own_score_ratio": 4.0, "best_score_ratio": None},
        {"model": "alone", "own_score_ratio": 1.0, "best_score_ratio": 1.0},
    ]
    table = pd.DataFrame([of | row for row in rows])
    return maps.with_families(STUDY, table.assign(best_settings=[settings, None, settings]))


def test_families_with_settings_of_a_former_search_are_named(families):
    assert maps.search_sentence(families, found()) == ""
    assert maps.search_sentence(families, found()[:0]).startswith("Chains on the normal mean have")


def test_what_a_search_gains_counts_chains_that_do_not_run_as_worth_nothing():
    (row,) = maps.gain_of_search(found())
    assert (row["n"], row["searches"]) == ("1,000", 2)
    assert (row["better"], row["no settings found"]) == (1, 1)
    assert (row["worth before"], row["worth after"]) == ("3.1%", "12%")  # of 0 and 1/16, 1/4 and 0


def test_settings_that_were_found_are_those_that_run():
    (row,) = maps.settings_table(STUDY, found())
    assert (row["method"], row["n"], row["settings"]) == ("DP penalty", "1,000", "clip_bound: 0.02")
    study = load_study(ROOT, [ROOT / "studies/which-method/study.yaml"])
    searches = maps.read_csv(maps.SEARCHES / "summary.csv")
    for one in searches.dropna(subset="best_settings").to_dict("records"):
        algorithm = study.algorithms[one["algorithm"]]
        runs = algorithm.settings_on(one["model"], epsilon=one["epsilon"])
        assert runs == json.loads(one["best_settings"])


def test_models_of_a_family_stand_together_whatever_their_order(monkeypatch):
    models = STUDY.models | {f"other-{n}": model(n, "Other") for n in SIZES}
    names = [f"{kind}-{n}" for n in SIZES for kind in ("normal", "other")]
    cells = pd.DataFrame([row(1000, 1.0, "chain", 0.1) | {"model": name} for name in names])
    tables = {"worth": cells, "timings": cells.assign(cpu_seconds=2.0)}
    monkeypatch.setattr(StudyResults, "table", lambda self, name: tables[name])
    table = maps.worth_of_families(replace(STUDY, models=models))
    assert list(table["family"]) == 3 * ["Normal mean, d = 3"] + 3 * ["Other mean, d = 3"]
    assert list(table["n"]) == 2 * list(SIZES)


def test_labels_of_lines_lie_apart_and_above_the_axis():
    assert maps.label_places([0.9, 0.5]) == [0.9, 0.5]
    places = maps.label_places([0.8, 0.02, 0.01, 0.0])
    assert places[0] == 0.8 and places[-1] > 0
    assert (-np.diff(places) >= maps.LABELS_APART - 1e-12).all()


def test_honest_chains_are_drawn_before_others_that_are_worth_more():
    of = {"r": True, "narrow": False, "honest": False, "b": False, "c": False}
    cells = pd.DataFrame({"algorithm": of.keys(), "is_release": of.values()})
    cells["worth"] = [0.9, 0.8, 0.2, 0.7, 0.6]
    cells["honest"] = ["honest", "not honest", "honest", "undecided", "undecided"]
    assert maps.drawn_methods(cells) == ["r", "honest", "narrow", "b"]
