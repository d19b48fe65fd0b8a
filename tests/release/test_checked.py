"""A release needs a check of its model and data as they are now; roles that see less."""

import pytest

from dpmcmc.release import checked, ledger, statement
from dpmcmc.release.budget import upward
from dpmcmc.release.command import main
from dpmcmc.release.reading import read_part

OF = ("study.yaml", "--model", "mine", "--algorithm", "newton", "--epsilon", "1")


def noted(place):
    """Note a check of the model as it is."""
    part = read_part("study.yaml", "mine", "newton", 60)
    found = ledger.read("data.csv")
    checked.note("data.csv", "mine", checked.digest(found.budget, part.model.spec, part.columns))
    return checked.is_checked(ledger.read("data.csv"), part)


def is_checked():
    return checked.is_checked(
        ledger.read("data.csv"), read_part("study.yaml", "mine", "newton", 60)
    )


def test_without_a_check_nothing_starts_and_the_message_has_the_command(place, capsys):
    place.ledger()
    assert main("release", [*OF, "--output", "out"]) == 1
    said = capsys.readouterr().err
    assert "mine was not checked as it is now" in said and "--unchecked" in said
    assert "`python -m dpmcmc check study.yaml mine`" in said
    assert not ledger.read("data.csv").releases and not (place.folder / "out").exists()
    assert main("release", [*OF, "--output", "out", "--plan"]) == 0


def edited(place, file, old, new):
    text = (place.folder / file).read_text()
    assert old in text
    (place.folder / file).write_text(text.replace(old, new))


def imports_another(place):
    """Make the model's file import one beside it, when a function is called."""
    (place.folder / "below").mkdir()
    for name, text in {"__init__": "", "helper": "OFFSET = 0\n"}.items():
        (place.folder / f"below/{name}.py").write_text(text)
    edited(place, "leaking.py", "return -theta\n", "from below import helper; return -theta\n")


CHANGES = {
    "its entry": lambda place: edited(
        place, "study.yaml", "leaking.py:Plain", "leaking.py:TakesTheMean"
    ),
    "its file": lambda place: edited(place, "leaking.py", "Models and", "Changed models and"),
    "a file that it imports": lambda place: edited(place, "below/helper.py", "0", "1"),
    "the data": lambda place: (
        place.write_data(place.lines(seed=2)),
        place.run("ledger", "change", "data.csv", "--reason", "new rows"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_check_counts_until_something_changes(place, change):
    imports_another(place)
    place.ledger()
    assert not is_checked() and noted(place)
    CHANGES[change](place)
    assert not is_checked()


def test_what_has_no_part_in_a_check_needs_no_other(place, capsys):
    place.ledger()
    assert noted(place) and noted(place)
    (place.folder / "script.py").write_text("import leaking\n")
    edited(place, "study.yaml", "proposal_scale: 0.3", "proposal_scale: 0.4")
    assert place.run("ledger", "change", "data.csv", "--epsilon", 12, "--reason", "more") == 0
    assert is_checked()
    capsys.readouterr()
    assert place.run("ledger", "show", "data.csv") == 0
    assert capsys.readouterr().out.count("checked: mine with its data") == 1


def test_a_statement_says_whether_there_was_a_check():
    assert "The owner has checked" in statement.fit({"is_checked": True})
    assert "Nobody has checked" in statement.fit({"is_checked": False})


def test_what_is_promised_is_rounded_up():
    assert upward(1.00000049) == "1.00001" and upward(2.0) == "2" and upward(1e-5) == "1e-05"
    assert statement.bound({"epsilon": 1 / 3, "delta": 2e-5}).startswith("epsilon = 0.3333333334 ")


# -- Who may read what -----------------------------------------------------------------------------


def test_who_may_not_read_the_data_sees_the_ledger(place, capsys, monkeypatch):
    place.ledger()
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert place.run("ledger", "show", "data.csv") == 0
    said = capsys.readouterr().out
    assert "data.csv cannot be read here, so whether it has changed is not known" in said
    assert "spent: epsilon 0" in said


def test_who_may_not_read_the_ledger_rehearses_with_rows_and_delta(place, capsys, monkeypatch):
    place.ledger()

    def refused(data):
        raise PermissionError("the ledger")

    monkeypatch.setattr(ledger, "read", refused)
    rehearsed = ("rehearse", *OF, "--twins", 2)
    assert place.run(*rehearsed, "--rows", 60, "--delta", 1e-3) == 0
    assert place.run(*rehearsed, "--rows", 60) == 1
    assert "the ledger" in capsys.readouterr().err
