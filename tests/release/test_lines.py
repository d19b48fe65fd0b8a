"""Lines on disk: of the file that has the name, under its lock, in the order of days."""

import errno
import os
from fcntl import LOCK_NB, LOCK_SH

import pytest
from places import ENTRY, with_ledger

from dpmcmc.files import JobError
from dpmcmc.release import ledger as ledgers
from dpmcmc.release import lines as lines_on_disk


@pytest.fixture
def data(tmp_path):
    """Ten rows with a ledger."""
    return with_ledger(tmp_path)


def test_a_ledger_that_is_replaced_before_it_is_locked_is_opened_again(data, monkeypatch):
    """As by a restored backup, or by whoever made it at the same time."""
    path, other = ledgers.path_of(data), data.with_name("copy")
    older = path.read_bytes()
    ledgers.admit(data, ENTRY)
    genuine, times = lines_on_disk.fcntl.flock, []

    def replacing(*arguments):
        if not times:
            other.write_bytes(older)
            os.replace(other, path)
        times.append(arguments)
        return genuine(*arguments)

    monkeypatch.setattr(lines_on_disk.fcntl, "flock", replacing)
    line, found = ledgers.admit(data, ENTRY)
    assert len(times) == 2 and found.releases == [line]
    assert ledgers.read(data).releases == [line]  # it is in the file that has the name


def test_a_note_for_a_release_that_the_ledger_does_not_have_is_refused(data):
    path = ledgers.path_of(data)
    older = path.read_bytes()
    line, _ = ledgers.admit(data, ENTRY)
    ledgers.require_counted(data, line)
    path.write_bytes(older)
    with pytest.raises(
        JobError, match="was removed or replaced while this ran, and does not have the line"
    ):
        ledgers.require_counted(data, line)
    for kind in ("finished", "void"):
        with pytest.raises(
            JobError, match="was removed or replaced while this ran, and does not have"
        ):
            ledgers.note(data, kind, line["id"])
    assert path.read_bytes() == older


def test_a_day_is_never_before_that_of_the_line_before(data, monkeypatch):
    first = ledgers.read(data).lines[0]["date"]
    for today, expected in (("1999-01-01", first), ("2999-01-01", "2999-01-01")):
        monkeypatch.setattr(ledgers, "today", lambda today=today: today)
        line, _ = ledgers.admit(data, ENTRY)
        assert line["date"] == expected


def test_who_waits_for_a_ledger_is_told(data, monkeypatch, capsys):
    genuine, held = lines_on_disk.fcntl.flock, []

    def flock(descriptor, how):
        if how & LOCK_NB:
            raise BlockingIOError(errno.EAGAIN, "held")
        held.append(how)
        return genuine(descriptor, how)

    monkeypatch.setattr(lines_on_disk.fcntl, "flock", flock)
    ledgers.read(data)
    assert held == [LOCK_SH]
    assert "data.csv.ledger: another process uses it; waiting for that" in capsys.readouterr().err
