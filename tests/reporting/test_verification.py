"""`make verify` says what differs from committed tables, and nothing where nothing does."""

import json
import shutil

import pandas as pd
import pytest

from dpmcmc.files import JobError
from dpmcmc.jobs.reports import verify as job
from dpmcmc.reporting.verification import verify

CHAINS = pd.DataFrame(
    {
        "model": ["flat"] * 4,
        "algorithm": ["penalty", "penalty", "hmc", "hmc"],
        "epsilon": [1.0, 1.0, 1.0, None],
        "seed": [0, 1, 0, 0],
        "mmd": [0.25, 0.5, None, 0.125],
    }
)
RANKING = pd.DataFrame(
    {"model": "flat", "algorithm": ["penalty", "hmc"], "rank": [1, 2], "mmd": [0.25, 0.5]}
)
CLAIMS = pd.DataFrame({"claim": [1, 2], "for": [3, 0], "verdict": ["confirmed", "undecided"]})
RECORD = {"source": "abc", "config": {"seed": 1}, "digits": {"numpy": "2.4.6", "libm": "glibc"}}


@pytest.fixture
def docs(tmp_path):
    """A study that was committed."""
    (tmp_path / "docs/tables").mkdir(parents=True)
    for name, table in (("chains", CHAINS), ("ranking", RANKING), ("claims", CLAIMS)):
        table.to_csv(tmp_path / f"docs/tables/{name}.csv", index=False)
    (tmp_path / "docs/tables/timings.csv").write_text("seed,cpu_seconds\n0,1.5\n")
    (tmp_path / "docs/provenance.json").write_text(json.dumps(RECORD))
    return tmp_path / "docs"


@pytest.fixture
def results(docs, tmp_path):
    """The same, as it has run here."""
    return shutil.copytree(docs, tmp_path / "results")


def written(results, name, table):
    table.to_csv(results / f"tables/{name}.csv", index=False)


def test_the_same_tables_are_identical_whatever_they_took(results, docs, capsys):
    (results / "tables/timings.csv").write_text("seed,cpu_seconds\n0,2.5\n")
    assert verify(results, docs) == ([], [])
    job(results, docs)
    assert "identical" in capsys.readouterr().out


def test_a_last_digit_is_found_and_measured(results, docs, capsys):
    changed = CHAINS.copy()
    changed.loc[1, "mmd"] = 0.5000000000000001
    written(results, "chains", changed)
    lines, _ = verify(results, docs)
    assert lines == [
        "chains.csv: 1 of 4 rows differ",
        "chains.csv: mmd differs in 1 rows, by at most 1.11e-16",
    ]
    with pytest.raises(SystemExit) as end:
        job(results, docs)
    assert end.value.code == 1 and "not the same" in capsys.readouterr().out


def test_a_value_that_went_missing_is_found(results, docs):
    changed = CHAINS.copy()
    changed.loc[0, "mmd"] = None
    written(results, "chains", changed)
    assert verify(results, docs)[0][1] == "chains.csv: mmd differs in 1 rows"


def test_ranks_that_change_are_named_though_their_rows_stand_elsewhere(results, docs):
    changed = RANKING.assign(rank=[2, 1], mmd=[0.5, 0.25]).iloc[::-1]
    written(results, "ranking", changed)
    lines, _ = verify(results, docs)
    assert "ranking.csv: rank of model flat, algorithm penalty: 1 -> 2" in lines
    assert "ranking.csv: rank of model flat, algorithm hmc: 2 -> 1" in lines


def test_verdicts_that_change_are_named(results, docs):
    written(results, "claims", CLAIMS.assign(verdict=["confirmed", "confirmed"]))
    assert "claims.csv: verdict of claim 2: undecided -> confirmed" in verify(results, docs)[0]


def test_rows_columns_and_tables_that_are_not_there_are_named(results, docs):
    written(results, "chains", CHAINS.iloc[:3].rename(columns={"mmd": "distance"}))
    (results / "tables/ranking.csv").unlink()
    written(results, "models", RANKING)
    assert verify(results, docs)[0] == [
        f"ranking.csv is in {docs} alone",
        f"models.csv is in {results} alone",
        "chains.csv: column mmd is not there",
        "chains.csv: column distance is new",
        "chains.csv: 1 rows are gone",
    ]


def test_the_same_rows_in_another_order_are_not_identical(results, docs):
    written(results, "ranking", RANKING.iloc[::-1])
    (line,) = verify(results, docs)[0]
    assert "another order" in line


def test_what_was_another_there_is_told(results, docs):
    other = RECORD | {"source": "def", "digits": {"numpy": "2.5", "libm": "glibc"}}
    (results / "provenance.json").write_text(json.dumps(other))
    assert verify(results, docs) == (
        [],
        ["the source was abc, and is def", "numpy was 2.4.6, and is 2.5"],
    )


def test_a_study_that_has_not_finished_is_refused_in_one_line(results, docs):
    (results / "provenance.json").unlink()
    with pytest.raises(JobError, match=r"results has no provenance\.json") as error:
        job(results, docs)
    assert "\n" not in str(error.value)
