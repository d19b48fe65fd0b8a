"""What the owner does with a ledger: no second budget, no secret in git, no text that forges."""

import os
import subprocess

import pytest
from conftest import ROOT
from places import ENTRY, TEN, with_ledger

from dpmcmc.files import JobError
from dpmcmc.release import ledger as ledgers
from dpmcmc.release import lines as lines_on_disk
from dpmcmc.release import owner

# -- A ledger that was emptied ---------------------------------------------------------------------


@pytest.fixture
def data(tmp_path):
    """Ten rows with a ledger."""
    return with_ledger(tmp_path)


def test_a_ledger_without_a_whole_line_was_emptied_and_gives_no_second_budget(data):
    path = ledgers.path_of(data)
    contents = path.read_bytes()
    assert contents.startswith(lines_on_disk.BEGINNING)
    for end in range(len(contents) + 1):  # without its last byte, a line break, it is whole
        assert lines_on_disk.has_no_line(contents[:end]) == (end < len(contents) - 1)
    for end in (len(contents) - 1, len(contents)):
        path.write_bytes(contents[:end])
        for set_aside in (False, True):
            with pytest.raises(JobError, match="exists already"):
                owner.new(data, 3.0, 1e-5, "any", 10, set_aside=set_aside)
        assert ledgers.read(data).budget.epsilon == 2.0
    for end in (0, 1, len(lines_on_disk.BEGINNING), len(contents) - 2):
        path.write_bytes(contents[:end])
        for opens in (
            ledgers.read,
            lambda path: ledgers.admit(path, ENTRY),
            lambda path: owner.new(path, 3.0, 1e-5, "any", 10),
        ):
            what = "has no whole line" if end else "is empty"
            with pytest.raises(JobError, match=f"{what}, so what was spent is not known: a ledger"):
                opens(data)
        assert path.read_bytes() == contents[:end]


def test_only_by_an_explicit_word_is_a_ledger_made_where_one_was_emptied(data):
    path = ledgers.path_of(data)
    path.write_bytes(b"")
    owner.new(data, 3.0, 1e-5, "any", 10, set_aside=True)
    assert ledgers.read(data).budget.epsilon == 3.0
    assert ledgers.read(data).budgets[0]["set_aside"] is True
    assert path.with_name("data.csv.ledger.aside").read_bytes() == b""
    path.write_bytes(b"")
    with pytest.raises(JobError, match=r"aside exists already, so"):
        owner.new(data, 3.0, 1e-5, "any", 10, set_aside=True)
    path.unlink()
    owner.new(data, 3.0, 1e-5, "any", 10, set_aside=True)  # there is nothing to set aside
    assert "set_aside" not in ledgers.read(data).budgets[0]


def test_a_shell_that_empties_the_ledger_gives_no_second_budget(place, capsys):
    """As by `ledger show data.csv > data.csv.ledger`."""
    place.ledger()
    (place.folder / "data.csv.ledger").write_bytes(b"")
    capsys.readouterr()
    budget = "--epsilon", 1, "--delta", 1e-3, "--rows", 60
    for arguments in (("show", "data.csv"), ("new", "data.csv", *budget)):
        assert place.run("ledger", *arguments) == 1
        said = capsys.readouterr().err
        assert "is empty, so what was spent is not known" in said and said.count("\n") == 1
        assert "ledger new ... --set-aside" in said and "cut off" not in said
    assert place.run("ledger", *arguments, "--set-aside") == 0
    assert "(a ledger without a line was set aside)" in capsys.readouterr().out


# -- What is known of the data, and texts ----------------------------------------------------------


def test_a_file_with_fewer_rows_than_are_declared_gets_no_ledger(data):
    other = data.with_name("other.csv")
    other.write_text(TEN.replace("1", "2"))
    for act in (
        lambda: owner.new(other, 2.0, 1e-5, "any", 11),
        lambda: owner.change(data, "more", rows=11),
    ):
        with pytest.raises(JobError, match=r"--rows: must be at most 10, as .* rows, not 11$"):
            act()
    assert not ledgers.path_of(other).exists()
    assert len(ledgers.read(data).lines) == 1
    owner.new(other, 2.0, 1e-5, "any", 10)


def test_a_delta_that_allows_publishing_a_row_is_refused(data):
    refused = r"--delta: must be below 1 / rows, 0\.1, not {}, .* 0\.1 / rows is 0\.01$"
    with pytest.raises(JobError, match=refused.format(r"0\.1")):
        owner.change(data, "larger", delta=0.1)
    assert len(ledgers.read(data).lines) == 1
    ledgers.path_of(data).unlink()
    with pytest.raises(JobError, match=refused.format(r"0\.5")):
        owner.new(data, 2.0, 0.5, "any", 10)
    assert not ledgers.path_of(data).exists()
    owner.new(data, 2.0, 0.099, "any", 9)
    owner.change(data, "larger", delta=0.11)
    with pytest.raises(JobError, match=refused.format(r"0\.11")):
        owner.change(data, "more rows", rows=10)


def test_columns_are_known_by_digests(data):
    """So a misspelt one is refused before anything is spent, and no first row is in the ledger."""
    ledgers.read(data).require_columns(["x"])
    with pytest.raises(
        JobError, match=r"columns: y, z: data\.csv has no .*; `ledger change` records"
    ):
        ledgers.read(data).require_columns(["y", "x", "z"])
    data.write_text(TEN.replace("x", "secret-name"))
    owner.change(data, "another name")
    ledgers.read(data).require_columns(["secret-name"])
    assert b"secret-name" not in ledgers.path_of(data).read_bytes()
    found = ledgers.read(data)
    for line in found.lines:  # as earlier versions wrote it
        line.pop("columns")
    found.require_columns(["y"])


@pytest.mark.parametrize("text", ["", " ", "a\nb", "a\rb", "\x1b[2J", "relev\udce9", "\u202ea"])
def test_a_reason_or_an_owner_is_one_line_of_text(data, text):
    """It is shown, and a reason is published: neither a line of that nor its end can be forged."""
    with pytest.raises(JobError, match="--reason: must be one line of text"):
        owner.change(data, text, epsilon=3.0)
    assert len(ledgers.read(data).lines) == 1
    ledgers.path_of(data).unlink()
    with pytest.raises(JobError, match="--owner: must be one line of text"):
        owner.new(data, 2.0, 1e-5, "any", 10, owner=text)
    assert not ledgers.path_of(data).exists()


def test_a_reason_of_earlier_versions_forges_nothing_either(place, capsys, monkeypatch):
    from dpmcmc.release import statement

    place.ledger()
    monkeypatch.setattr(owner, "require_text", lambda *_: None)
    owner.change("data.csv", "relev\udce9\n\x1b    2026-01-01  published", epsilon=20.0)
    capsys.readouterr()
    assert place.run("ledger", "show", "data.csv") == 0
    shown = capsys.readouterr().out
    assert "changed: epsilon 20 (relev\ufffd \ufffd 2026-01-01 published)\n" in shown
    said = statement.changed(statement.history(ledgers.read("data.csv")))
    assert "because: relev\ufffd \ufffd 2026-01-01 published\n" in said
    said.encode()


def test_a_pipe_that_is_called_a_ledger_is_not_waited_for(data):
    other, piped = data.with_name("other.csv"), data.with_name("pipe.csv")
    other.write_text(TEN + "11\n")
    piped.write_text(TEN + "12\n")
    os.mkfifo(ledgers.path_of(piped))
    owner.new(other, 2.0, 1e-5, "any", 10)
    with pytest.raises(JobError, match="is no file, so it can be no ledger"):
        ledgers.read(piped)
    with pytest.raises(JobError, match="exists already"):
        owner.new(piped, 2.0, 1e-5, "any", 10)


# -- Git -------------------------------------------------------------------------------------------


def test_git_does_not_get_a_ledger(data, monkeypatch):
    ledgers.path_of(data).unlink()
    git = ["git", "-C", str(data.parent)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    with pytest.raises(JobError, match=r"write the line \*\.ledger into the file \.gitignore of"):
        owner.new(data, 2.0, 1e-5, "any", 10)
    assert not ledgers.path_of(data).exists()
    owner.new(data, 2.0, 1e-5, "any", 10, in_git=True)
    ledgers.path_of(data).unlink()
    (data.parent / ".gitignore").write_text("*.ledger\n")
    owner.new(data, 2.0, 1e-5, "any", 10)
    status = subprocess.run([*git, "status", "--short", "-uall"], capture_output=True, text=True)
    assert "ledger" not in status.stdout
    ledgers.path_of(data).unlink()
    (data.parent / ".gitignore").unlink()
    (data.parent / ".git").rename(data.parent / "git")
    monkeypatch.setenv("PATH", "")  # without git, and without a repository, nothing happens
    owner.new(data, 2.0, 1e-5, "any", 10)


def test_the_ledger_of_the_documented_example_is_ignored():
    owner.require_ignored(ledgers.path_of(ROOT / "examples/radon.csv"))


def test_where_git_cannot_say_there_is_no_ledger(data, monkeypatch):
    """Without git; or in a repository of somebody else, of which it says nothing."""
    ledgers.path_of(data).unlink()
    subprocess.run(["git", "-C", str(data.parent), "init", "--quiet"], check=True)
    (data.parent / ".gitignore").write_text("*.ledger\n")
    for name, value in (("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1"), ("PATH", "")):
        with monkeypatch.context() as patched:
            patched.setenv(name, value)
            with pytest.raises(JobError, match="of which git does not say whether it would take"):
                owner.new(data, 2.0, 1e-5, "any", 10)
            assert not ledgers.path_of(data).exists()
            owner.new(data, 2.0, 1e-5, "any", 10, in_git=True)
        ledgers.path_of(data).unlink()


def test_a_ledger_that_git_has_already_is_no_secret(data):
    git = ["git", "-C", str(data.parent)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "data.csv.ledger"], check=True)
    (data.parent / ".gitignore").write_text("*.ledger\n")
    ledgers.path_of(data).unlink()
    with pytest.raises(JobError, match=r"git has it: take it out by `git rm --cached data\.csv\.l"):
        owner.new(data, 2.0, 1e-5, "any", 10)
    subprocess.run([*git, "rm", "--quiet", "--cached", "data.csv.ledger"], check=True)
    owner.new(data, 2.0, 1e-5, "any", 10)
