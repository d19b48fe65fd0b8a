"""A release knows what a rehearsal of it has said, and that there was none."""

import json

import pytest

from dpmcmc.release import ledger
from dpmcmc.release.command import main

OF = ("study.yaml", "--model", "mine", "--algorithm", "newton", "--draws", "200")
TWO = "rehearse", [*OF, "--epsilon", "1", "2", "--twins", "3"]


def plan(capsys, epsilon=1, *more):
    """What the plan of a release says."""
    capsys.readouterr()
    arguments = [*OF, "--epsilon", str(epsilon), "--output", "out", "--plan", *more]
    assert main("release", arguments) == 0
    return capsys.readouterr().out


def test_a_release_says_what_its_rehearsal_said(place, capsys):
    place.ledger()
    assert main(*TWO) == 0
    rows = [line for line in ledger.read("data.csv").lines if line["kind"] == "rehearsed"]
    assert [round(line["epsilon"], 3) for line in rows] == [1, 2]
    said = plan(capsys)
    (own,) = rows[0]["said"]
    assert f"rehearsed: worth {own['worth']:.0%} +- {own['worth_se']:.0%} of the rows" in said
    assert own["honest"] == "undecided"
    text = f"undecided: take --twins 10 (90 % intervals cover {own['coverage']:.0%}"
    assert f"intervals: {text}" in said
    assert place.release("newton", 1, "out", "--draws", "200") == 0
    assert json.loads((place.folder / "out/statement.json").read_text())["rehearsal"] == [own]
    text = (place.folder / "out/statement.txt").read_text()
    assert "A rehearsal said before:\n    worth" in text
    assert main("ledger", ["show", "data.csv"]) == 0
    assert f"rehearsed: newton on mine, epsilon 1: {own['honest']}" in capsys.readouterr().out


@pytest.mark.parametrize("change", [{"epsilon": 3}, {"more": ("--draws", "300")}])
def test_another_release_was_not_rehearsed(place, capsys, change):
    place.ledger()
    assert main(*TWO) == 0
    assert "rehearsed: worth" in plan(capsys)
    assert "not rehearsed" in plan(capsys, change.get("epsilon", 1), *change.get("more", ()))


def test_without_a_rehearsal_the_statement_says_so(place, capsys):
    place.ledger()
    assert "not rehearsed" in plan(capsys)
    assert place.release() == 0
    assert "It was not rehearsed" in (place.folder / "out/statement.txt").read_text()
    assert json.loads((place.folder / "out/statement.json").read_text())["rehearsal"] is None


def test_where_the_ledger_cannot_be_written_a_rehearsal_says_its_result(place, capsys, monkeypatch):
    place.ledger()

    def fails(*_):
        raise ledger.JobError("data.csv.ledger cannot be opened (Permission denied)")

    monkeypatch.setattr("dpmcmc.release.rehearsed.note", fails)
    assert main(*TWO) == 0
    printed = capsys.readouterr()
    assert "a release will not know of this rehearsal: data.csv.ledger cannot" in printed.err
    assert "verdict" in printed.out
