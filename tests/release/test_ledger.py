"""The ledger: never under-counted, whatever happens, and changed by nobody unseen."""

import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH
from pathlib import Path

import numpy as np
import pytest
from places import ENTRY, TEN, with_ledger

from dpmcmc.accounting.costs import preparation_noise
from dpmcmc.accounting.joint import gaussian_delta
from dpmcmc.files import JobError
from dpmcmc.release import budget as budgets
from dpmcmc.release import ledger as ledgers
from dpmcmc.release import lines as lines_on_disk
from dpmcmc.release import owner
from dpmcmc.release.launcher import Drawn
from dpmcmc.release.plan import plan
from dpmcmc.release.reading import read_part


@pytest.fixture
def data(tmp_path):
    """Ten rows with a ledger."""
    return with_ledger(tmp_path)


def contents_with_two_releases(data):
    for _ in range(2):
        ledgers.admit(data, ENTRY)
    return ledgers.path_of(data).read_bytes()


def test_spent_adds_up_and_a_release_that_does_not_fit_is_told_what_is_left(data):
    budget = ledgers.read(data).budget
    assert gaussian_delta(budget.mu_squared**0.5, 2.0 - budgets.RESERVE) <= 1e-5
    assert budget.mu_squared == pytest.approx(0.25155, abs=1e-5)
    for count in (1, 2):
        _, found = ledgers.admit(data, ENTRY)
        assert found.spent("mu_squared") == pytest.approx(0.1 * count)
    before = ledgers.path_of(data).read_bytes()
    with pytest.raises(JobError, match=r"of epsilon 2 at delta 1e-05, 1.7\d+ is spent.*0.8\d+$"):
        ledgers.admit(data, ENTRY)
    assert ledgers.path_of(data).read_bytes() == before
    left = ledgers.read(data).left_epsilon
    mu_squared = budget.mu_squared - 0.2
    assert gaussian_delta(mu_squared**0.5, left + 1e-5) <= 1e-5


def test_all_of_the_budget_can_be_spent_at_once(data):
    mu_squared = ledgers.read(data).budget.mu_squared
    _, found = ledgers.admit(data, ENTRY | {"mu_squared": mu_squared})
    assert found.spent_epsilon <= 2.0
    assert found.left_epsilon == 0.0


def test_batches_need_a_share_of_delta_that_was_set_aside(data, tmp_path):
    entry = ENTRY | {"delta0": 1e-6}
    with pytest.raises(JobError, match="draws batches"):
        ledgers.admit(data, entry)
    other = tmp_path / "other.csv"
    other.write_text(TEN + "11\n")
    owner.new(other, 4.0, 1e-5, "any", 10)
    for _ in range(5):
        ledgers.admit(other, entry | {"mu_squared": 1e-4})
    with pytest.raises(JobError, match="of delta for batches"):
        ledgers.admit(other, entry | {"mu_squared": 1e-4})


def test_there_are_no_more_releases_than_the_reserve_is_for(data):
    ledgers.admit(data, ENTRY | {"slack": 0.99 * budgets.RESERVE})
    ledgers.admit(data, ENTRY | {"mu_squared": 0.0, "slack": 0.01 * budgets.RESERVE})
    with pytest.raises(JobError, match="as many releases as one ledger may have"):
        ledgers.admit(data, ENTRY | {"mu_squared": 0.0})


def test_a_release_that_never_looked_at_the_data_is_void_and_others_never_are(data):
    first, _ = ledgers.admit(data, ENTRY)
    second, _ = ledgers.admit(data, ENTRY)
    ledgers.note(data, "void", first["id"])
    ledgers.note(data, "finished", second["id"])
    found = ledgers.read(data)
    assert [line["id"] for line in found.releases] == [second["id"]] == list(found.finished)


def test_a_ledger_is_made_once_and_for_its_owner_alone(data):
    with pytest.raises(JobError, match="exists already"):
        owner.new(data, 100.0, 1e-2, "any", 10)
    assert ledgers.path_of(data).stat().st_mode & 0o777 == 0o600
    assert {path.name for path in data.parent.iterdir()} == {"data.csv", "data.csv.ledger"}
    with pytest.raises(JobError, match="there is no ledger"):
        ledgers.read(data.with_name("other.csv"))


def test_another_budget_counts_on(data):
    ledgers.admit(data, ENTRY)
    found = owner.change(data, "the board agreed", epsilon=3.0)
    assert found.budget.epsilon == 3.0 and found.budget.delta == 1e-5
    assert found.spent("mu_squared") == 0.1
    assert "the board agreed" in ledgers.path_of(data).read_text()


@pytest.mark.parametrize("kinds", list(budgets.KINDS))
def test_one_budget_holds_from_the_first_release_on(data, kinds):
    """The Proposition needs M and d that no result has a part in: M may be taken as the last."""
    owner.change(data, "mistyped", epsilon=80.0, delta=1e-6, kinds=kinds)
    owner.change(data, "mistyped", epsilon=2.0, delta=1e-5)
    _, before = ledgers.admit(data, ENTRY)
    for change, expected in (
        ({"delta": 1e-6}, r"--delta: cannot change after the first release; it is 1e-05\. --eps"),
        ({"delta": 1e-4}, "--delta: cannot change"),
        ({"epsilon": 1.9}, "--epsilon: cannot become less than 2 after the first release"),
    ):
        with pytest.raises(JobError, match=expected):
            owner.change(data, "another", **change)
    assert ledgers.read(data) == before
    after = owner.change(data, "more", epsilon=2.5)
    assert after.budget.mu_squared > before.budget.mu_squared
    assert after.budget.delta0 == before.budget.delta0
    assert after.damage is None


@pytest.mark.parametrize("change", [{"delta": 1e-6}, {"epsilon": 1.0}])
def test_a_ledger_whose_budget_does_not_hold_releases_no_more(data, monkeypatch, change):
    """Earlier versions let it change."""
    ledgers.admit(data, ENTRY)
    with monkeypatch.context() as patched:
        patched.setattr(budgets.Budget, "why_not_after", lambda *_: None)
        owner.change(data, "another", **change)
    with pytest.raises(JobError, match="its budget does not hold for all releases"):
        ledgers.admit(data, ENTRY | {"mu_squared": 1e-6})


def entry_on_all_rows(epsilon, delta):
    """What the ledger notes of noisy Newton or noisy statistics with that epsilon."""
    ideal = epsilon - budgets.RESERVE, delta * (1 - budgets.DELTA_RESERVE)
    return ENTRY | {"mu_squared": preparation_noise(10, *ideal) ** -2}


def test_a_release_of_what_is_left_is_accepted_and_no_larger_one(data):
    """For budgets and histories at random, by the number that `show` prints."""
    rng = random.Random(1)
    shown = []
    for _ in range(60):
        kinds = rng.choice(list(budgets.KINDS))
        epsilon = min(100.0, round(10 ** rng.uniform(-2, 2), rng.randrange(1, 6)) + 0.01)
        delta = 10 ** -rng.uniform(2, 20)
        line = owner.budget_line(data, epsilon, delta, kinds, 10, "00")
        found = ledgers.Ledger(ledgers.path_of(data), [line])
        for i in range(rng.randrange(5)):
            entry = ENTRY | {"mu_squared": rng.uniform(0, 0.6) * found.left_mu_squared}
            entry |= {"delta0": rng.uniform(0, 0.5) * (found.budget.delta0 - found.spent("delta0"))}
            assert found.refusal(entry) is None
            found.lines.append({"kind": "release", "id": str(i)} | entry)
        left = float(f"{found.left_epsilon:g}")
        assert left == found.left_epsilon
        shown.append(left)
        if left:
            assert found.refusal(entry_on_all_rows(left, delta)) is None
        more = 1.0001 * left + 2e-5 if left else 1.01e-3
        refusal = found.refusal(entry_on_all_rows(more, delta))
        assert refusal.endswith(f"may spend epsilon {left:g}")
    assert sum(left > 0 for left in shown) > 40


@pytest.mark.parametrize("kinds", list(budgets.KINDS))
def test_what_is_shown_of_a_budget_holds(data, kinds):
    """By the Proposition: epsilon at which delta_M(epsilon) + d is the budget's delta."""
    delta = 1e-5
    line = owner.budget_line(data, 2.0, delta, kinds, 10, "00")
    found = ledgers.Ledger(ledgers.path_of(data), [line])
    d = found.budget.delta0
    for i in range(4):
        epsilon = found.spent_epsilon - found.spent("slack")
        assert gaussian_delta(found.spent("mu_squared") ** 0.5, epsilon) + d <= delta
        assert found.spent_epsilon <= 2.0
        share = 0.3 if i < 3 else 1.0
        entry = ENTRY | {"mu_squared": share * found.left_mu_squared, "delta0": d / 4}
        found.lines.append({"kind": "release", "id": str(i)} | entry)
    assert found.spent("delta0") <= d and found.refusal(ENTRY) is not None


def test_only_numbers_of_rows_that_were_declared_are_released(data):
    with pytest.raises(JobError, match=r"--rows: 9 is not declared in data.csv.ledger, but 10\. "):
        ledgers.admit(data, ENTRY | {"rows": 9})
    assert ledgers.read(data).rows_for() == 10
    found = owner.change(data, "without the tenth", rows=9)
    assert found.declared_rows == [10, 9]
    for rows in (9, 10):  # what may be known once may be known for ever
        assert ledgers.read(data).rows_for(rows) == rows
        ledgers.admit(data, ENTRY | {"rows": rows})
    with pytest.raises(JobError, match="--rows: must be given, one of 10 and 9"):
        ledgers.read(data).rows_for()


def test_kinds_of_methods_may_change_until_the_first_release(data):
    batches = ENTRY | {"delta0": 1e-6}
    with pytest.raises(JobError, match=r"`ledger change ... --for any` lets it have both"):
        ledgers.admit(data, batches)
    budget = owner.change(data, "batches too", kinds="any").budget
    assert (budget.kinds, budget.delta0) == ("any", 5e-6)
    owner.change(data, "and back", kinds="full-data")
    ledgers.admit(data, ENTRY)
    with pytest.raises(JobError, match=r"--for: cannot change after the first release"):
        owner.change(data, "batches too", kinds="any")
    with pytest.raises(JobError, match=r"that cannot change after the first release"):
        ledgers.admit(data, batches)
    assert owner.change(data, "more", kinds="full-data", epsilon=3.0).budget.epsilon == 3.0


def test_a_link_to_the_data_has_the_same_ledger(data, tmp_path):
    (tmp_path / "other").mkdir()
    link = tmp_path / "other/linked.csv"
    link.symlink_to("../data.csv")
    assert ledgers.path_of(link) == ledgers.path_of(data)
    with pytest.raises(JobError, match="exists already"):
        owner.new(link, 2.0, 1e-5, "full-data", 10)


@pytest.mark.parametrize("moved", [True, False])
def test_the_same_bytes_get_no_second_ledger_beside_the_first(data, moved):
    first, other = ledgers.path_of(data), data.with_name("other.csv")
    contents = data.read_bytes()
    data.write_text(TEN + "3\n")
    owner.change(data, "newer data")  # an earlier budget line counts as well
    first.write_bytes(first.read_bytes().replace(b'"rows": 10', b'"rows": 11'))  # a damaged one too
    other.write_bytes(contents)
    if moved:
        data.unlink()
    with pytest.raises(JobError, match=r"other\.csv is, to the byte, the data of .*data\.csv\.led"):
        owner.new(other, 2.0, 1e-5, "any", 10)
    assert not ledgers.path_of(other).exists()
    other.write_bytes(contents + b"4\n")
    owner.new(other, 2.0, 1e-5, "any", 10)
    owner.change(other, "more", epsilon=3.0)
    other.write_bytes(contents)
    with pytest.raises(JobError, match="is, to the byte, the data of"):
        owner.change(other, "without the last row")
    assert len(ledgers.read(other).lines) == 2


def test_other_files_that_are_called_ledgers_do_no_harm(data):
    other = data.with_name("other.csv")
    other.write_text(TEN + "11\n")
    lines = (
        b"notes",
        b"[1]",
        b"5",
        b"{}",
        b'{"salt": 1}',
        b'{"salt": "x", "fingerprint": 1}',
        b"\xff",
    )
    data.with_name("notes.ledger").write_bytes(b"\n".join(lines))
    data.with_name("folder.ledger").mkdir()
    owner.new(other, 2.0, 1e-5, "any", 10)


@pytest.mark.parametrize("name", ["data.txt", "."])
def test_data_that_no_model_can_read_get_no_ledger(tmp_path, name):
    (tmp_path / "data.txt").write_text(TEN + "11\n")
    with pytest.raises(JobError, match=r"ends in \.csv, \.parquet, \.npy, not "):
        owner.new(tmp_path / name, 2.0, 1e-5, "any", 10)
    with pytest.raises(JobError, match=r"ends in \.csv, \.parquet, \.npy, not "):
        ledgers.read(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    for missing in ("missing.csv", "folder.csv"):
        with pytest.raises(JobError, match="must be a file that can be read"):
            owner.new(tmp_path / missing, 2.0, 1e-5, "any", 10)
    assert not list(tmp_path.glob("*.ledger"))


def test_no_digest_of_the_data_is_in_it_that_a_guess_could_be_held_against(data, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere/data.csv"
    other.write_bytes(data.read_bytes())
    owner.new(other, 2.0, 1e-5, "full-data", 10)
    prints = {ledgers.read(path).budget.fingerprint for path in (data, other)}
    assert len(prints) == 2  # by another salt


def test_every_edit_is_found(data):
    contents = contents_with_two_releases(data)
    path = ledgers.path_of(data)
    rng = random.Random(1)
    for i in range(len(contents)):
        others = [*b"\n x0", rng.randrange(256)]
        for byte in {*others} - {contents[i]}:
            with pytest.raises(JobError):
                lines_on_disk.checked(contents[:i] + bytes([byte]) + contents[i + 1 :], path)
    lines = contents.splitlines(keepends=True)
    for changed in ([lines[0], lines[2]], [lines[1], lines[2]], [lines[0], lines[2], lines[1]]):
        with pytest.raises(JobError, match=r"line \d was changed|does not begin"):
            lines_on_disk.checked(b"".join(changed), path)


def test_a_line_that_is_not_whole_is_cut_off_and_one_that_is_counts(data):
    contents = contents_with_two_releases(data)
    path = ledgers.path_of(data)
    last = contents[:-1].rindex(b"\n") + 1
    for end in range(last, len(contents) + 1):
        lines, length = lines_on_disk.checked(contents[:end], path)
        is_whole = end >= len(contents) - 1
        assert (len(lines), length) == ((3, end) if is_whole else (2, last))
    path.write_bytes(contents[:-20])
    found = ledgers.read(data)
    assert (len(found.releases), found.is_torn) == (1, True)
    assert path.read_bytes() == contents[:-20]
    _, found = ledgers.admit(data, ENTRY)
    assert (len(found.releases), found.is_torn) == (2, False)
    assert path.read_bytes().startswith(contents[:last] + b'{"kind": "release"')
    path.write_bytes(contents[:-1])
    found = ledgers.read(data)
    assert (len(found.releases), found.is_torn) == (2, False)
    ledgers.note(data, "finished", found.releases[-1]["id"])
    assert path.read_bytes().startswith(contents) and not ledgers.read(data).is_torn


@pytest.mark.parametrize("contents", [b"notes", b"{}", b"{}\n", b'{"kind": "release", "id": "'])
def test_a_file_that_is_no_ledger_is_kept(data, contents):
    path = ledgers.path_of(data)
    path.write_bytes(contents)
    with pytest.raises(JobError, match="exists already"):
        owner.new(data, 2.0, 1e-5, "any", 10)
    with pytest.raises(JobError, match=r"is not a ledger|was changed"):
        ledgers.read(data)
    assert path.read_bytes() == contents


@pytest.mark.parametrize("call", ["ftruncate", "write", "fsync", "rename"])
def test_making_a_ledger_can_be_repeated_wherever_the_system_fails(data, monkeypatch, call):
    genuine, path = getattr(os, call), ledgers.path_of(data)
    for fatal in range(5):
        left = iter([True] * fatal)

        def failing(*arguments, left=left):
            if not next(left, False):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return genuine(*arguments)

        path.unlink(missing_ok=True)
        with monkeypatch.context() as patched:
            patched.setattr(os, call, failing)
            try:
                owner.new(data, 2.0, 1e-5, "any", 10)
                break
            except JobError as error:
                assert "cannot be written (Input/output error)" in str(error)
        if not path.exists():  # it is never there in part
            owner.new(data, 2.0, 1e-5, "any", 10)
        assert {file.name for file in data.parent.iterdir()} == {"data.csv", "data.csv.ledger"}
        assert ledgers.read(data).budget.epsilon == 2.0
    assert fatal > 0


def test_nothing_is_read_or_written_before_the_lock(data, monkeypatch):
    other = data.with_name("other.csv")
    other.write_text(TEN + "11\n")
    events = []
    for module, call in (
        (lines_on_disk.fcntl, "flock"),
        (os, "read"),
        (os, "write"),
        (os, "ftruncate"),
    ):
        genuine = getattr(module, call)

        def noted(*arguments, call=call, genuine=genuine):
            events.append((call, arguments[1]) if call == "flock" else (call,))
            return genuine(*arguments)

        monkeypatch.setattr(module, call, noted)
    ledgers.read(data)
    assert events == [("flock", LOCK_SH | LOCK_NB), ("read",), ("read",)]
    for act in (
        lambda: ledgers.admit(data, ENTRY),
        lambda: owner.change(data, "more", epsilon=3.0),
        lambda: owner.new(other, 2.0, 1e-5, "any", 10, in_git=True),  # git is read from
    ):
        events.clear()
        act()
        assert events[0] == ("flock", LOCK_EX | LOCK_NB)
        assert [call for call, *_ in events].count("flock") == 1 and events[-1] == ("write",)


def test_of_two_who_make_a_ledger_at_once_one_does(tmp_path):
    def attempt(epsilon):
        try:
            return owner.new(data, epsilon, 1e-5, "any", 10) and epsilon
        except JobError:
            return None

    for i in range(20):
        data = tmp_path / f"{i}.csv"
        data.write_text(f"{TEN}{i}\n")
        with ThreadPoolExecutor(4) as pool:
            made = [one for one in pool.map(attempt, [1.0, 2.0, 3.0, 4.0]) if one]
        assert made == [ledgers.read(data).budget.epsilon]


def test_a_file_system_without_hard_links_has_ledgers_and_one_without_locks_says_so(
    data, monkeypatch
):
    def unavailable(*_, **__):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    ledgers.path_of(data).unlink()
    monkeypatch.setattr(os, "link", unavailable)
    monkeypatch.setattr(os, "symlink", unavailable)
    owner.new(data, 2.0, 1e-5, "any", 10)
    ledgers.admit(data, ENTRY)
    monkeypatch.setattr(lines_on_disk.fcntl, "flock", unavailable)
    for opens in (ledgers.read, lambda path: owner.new(path, 2.0, 1e-5, "any", 10)):
        with pytest.raises(
            JobError, match=r"has no locks .Operation not permitted.\. Two releases"
        ):
            opens(data)


@pytest.mark.parametrize("rounds", [5, pytest.param(50, marks=pytest.mark.torture)])
def test_of_several_at_once_as_many_are_admitted_as_fit(tmp_path, rounds):
    def attempt(data):
        try:
            return ledgers.admit(data, ENTRY | {"mu_squared": 0.2})[0]["id"]
        except JobError:
            return None

    for i in range(rounds):
        data = tmp_path / f"{i}.csv"
        data.write_text(f"{TEN}{i}\n")
        owner.new(data, 2.0, 1e-5, "full-data", 10)
        with ThreadPoolExecutor(4) as pool:
            admitted = [one for one in pool.map(attempt, [data] * 4) if one]
        assert len(admitted) == 1 == len(ledgers.read(data).releases)


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_disk_that_fails_starts_nothing(data, monkeypatch, call):
    def failing(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, failing)
        with pytest.raises(ledgers.Unsure, match=r"cannot be written .No space left on device."):
            ledgers.admit(data, ENTRY)
    assert len(ledgers.read(data).releases) == (call == "fsync")  # it may be on disk: it counts


def test_half_a_line_on_a_full_disk_is_no_release(data, monkeypatch):
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda file, text: write(file, text[:50]))
        with pytest.raises(JobError, match="is the disk full"):
            ledgers.admit(data, ENTRY)
    assert not ledgers.read(data).releases


# -- Whole releases --------------------------------------------------------------------------------


def test_the_line_is_on_disk_before_the_data_are_opened(place, monkeypatch):
    """The process that opens them starts after the last fsync of the ledger."""
    from dpmcmc.release import command

    place.ledger()
    events = []
    admit, run, start = ledgers.admit, command.run_data_process, subprocess.Popen
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (events.append("fsync"), fsync(file))[1])

    def noted(*arguments):
        line = admit(*arguments)
        events.append("admitted")
        return line

    def of_data(planned, budget):
        if budget:  # without one no data are read
            events.append("run")
            assert len(ledgers.read("data.csv").releases) == 1
        return run(planned, budget)

    def started(*arguments, **more):
        if "dpmcmc.release.data_process" in arguments[0]:
            events.append("started")
        return start(*arguments, **more)

    monkeypatch.setattr(command.ledgers, "admit", noted)
    monkeypatch.setattr(command, "run_data_process", of_data)
    monkeypatch.setattr(subprocess, "Popen", started)
    assert place.release() == 0
    admitted = events.index("admitted")
    assert events[admitted - 1 : admitted + 3] == ["fsync", "admitted", "run", "started"]


@pytest.mark.parametrize("call", ["write", "fsync", "rename", "ftruncate", "utime"])
def test_wherever_the_system_fails_what_started_is_counted(place, monkeypatch, call):
    """At each call in turn; draws are made up, so that it is quick."""
    from dpmcmc.release import command

    place.ledger(100)
    genuine, started = getattr(os, call), []

    def inside(planned, budget):
        if budget:  # without one no data are read
            started.append(len(ledgers.read("data.csv").releases))
        return None, Drawn(np.zeros((1, planned.kept, 1)))

    monkeypatch.setattr(command, "run_data_process", inside)
    monkeypatch.setattr("dpmcmc.release.own_code.check_own_code", lambda _: None)
    for fatal in range(100):
        left = iter([True] * fatal)

        def failing(*arguments, left=left, **more):
            if not next(left, False):
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return genuine(*arguments, **more)

        before = len(ledgers.read("data.csv").releases)
        started.clear()
        with monkeypatch.context() as patched:
            patched.setattr(os, call, failing)
            status = place.release("newton", 0.5, f"out{fatal}", "--draws", "5")
        counted = len(ledgers.read("data.csv").releases) - before
        output = place.folder / f"out{fatal}"
        assert all(count == before + 1 for count in started)
        assert counted >= len(started)
        assert status in (0, 1, 3, 4)
        assert counted == 0 if status == 1 else started or call in ("write", "fsync")
        if output.exists():
            assert len(list(output.iterdir())) == 4
        if status == 0:
            break
    assert status == 0 and (place.folder / f"out{fatal}").exists()


def test_a_plan_opens_no_data(place, capsys):
    place.ledger()
    (place.folder / "data.csv").unlink()
    before = (place.folder / "data.csv.ledger").read_bytes()
    assert place.release("newton", 1, "out", "--plan") == 0
    assert "cost: epsilon 1 at delta 0.001" in capsys.readouterr().out
    assert (place.folder / "data.csv.ledger").read_bytes() == before
    assert not (place.folder / "out").exists()


def test_what_was_spent_is_shown_without_the_data(place, capsys):
    place.ledger()
    ledgers.admit("data.csv", ENTRY | {"algorithm": "newton", "rows": 60})
    (place.folder / "data.csv").unlink()
    capsys.readouterr()
    assert place.run("ledger", "show", "data.csv") == 0
    shown = capsys.readouterr().out
    assert "there is no file data.csv now" in shown
    assert "newton on 60 rows  spent; not noted as published" in shown and "left:" in shown


def test_the_whole_history_is_shown_and_nothing_is_written(place, capsys, monkeypatch):
    place.ledger(2)
    ledgers.admit("data.csv", ENTRY | {"algorithm": "newton", "rows": 60})
    for change in (("--epsilon", 50), ("--rows", 59), ()):
        reason = f"reason {len(change)} {change[:1]}"
        assert place.run("ledger", "change", "data.csv", "--reason", reason, *change) == 0
    file = place.folder / "data.csv.ledger"
    file.write_bytes(file.read_bytes() + b'{"kind": "rel')
    before = file.read_bytes()
    opened, genuine = [], os.open
    capsys.readouterr()
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", lambda *all_: (opened.append(all_), genuine(*all_))[1])
        assert place.run("ledger", "show", "data.csv") == 0
    assert [flags for path, flags, *_ in opened if Path(path) == Path(file.name)] == [
        os.O_RDONLY | os.O_NONBLOCK
    ]
    head, *lines = (line.split("  ") for line in capsys.readouterr().out.splitlines())
    assert head[0].endswith("may spend epsilon 50 at delta 0.001, by methods on rows or batches")
    assert lines[0][-1] == "public numbers of rows: 60 and 59"
    assert [line[3] for line in lines[1:-2]] == [
        "budget: epsilon 2, delta 0.001, for any, rows 60",
        "epsilon 1 at delta 1e-05",
        "changed: epsilon 50 (reason 2 ('--epsilon',))",
        "changed: rows 59 (reason 2 ('--rows',))",
        "changed: data recorded (reason 0 ())",
    ]
    assert lines[-2][-1].startswith("the last line is not whole")
    assert lines[-1][-1].startswith("spent: epsilon 0.8")
    assert file.read_bytes() == before


def test_what_is_left_can_be_planned(place, capsys):
    """By the command, at the default of --for, and with a release before."""
    place.ledger(1)
    for epsilon in (None, 0.5):
        if epsilon:
            ledgers.admit("data.csv", planned_entry(epsilon))
        capsys.readouterr()
        assert place.run("ledger", "show", "data.csv") == 0
        left = re.search(r"left: (\S+) for one release", capsys.readouterr().out)[1]
        assert place.release("newton", left, "out", "--plan") == 0
        assert place.release("newton", 1.0002 * float(left), "out", "--plan") == 1


def planned_entry(epsilon):
    return plan(read_part("study.yaml", "mine", "newton", 60), epsilon, 1e-3).entry


def test_other_data_than_the_ledger_s_are_not_used(place, capsys):
    place.ledger()
    place.write("Plain", place.lines(seed=2))
    assert place.release() == 1
    assert "nothing is spent" in capsys.readouterr().err
    assert not ledgers.read("data.csv").releases
    assert place.run("ledger", "show", "data.csv") == 0
    assert "has changed" in capsys.readouterr().out
    assert place.run("ledger", "change", "data.csv", "--reason", "row 3 was mistyped") == 0
    assert place.release() == 0


SLOW = """
from leaking import *
from pathlib import Path

class Slow(Plain):
    def leak(self, rows):
        Path(f"started-{os.getpgrp()}").touch()  # the group of all that reads data in a release
"""


def killed_releases(place, kills, seed):
    """Kill a release in each stretch of its time; what there is must fit together after each."""
    (place.folder / "slow.py").write_text(SLOW)
    study = place.folder / "study.yaml"
    study.write_text(study.read_text().replace("leaking.py:Plain", "slow.py:Slow"))
    place.ledger(100)
    rng, ended = random.Random(seed), 0
    command = [sys.executable, "-m", "dpmcmc", "release", "study.yaml", "--model", "mine"]
    command += ["--unchecked"]
    command += ["--algorithm", "newton", "--epsilon", "0.3", "--output"]
    clean = time.monotonic()
    subprocess.run([*command, "whole"], check=True, cwd=place.folder, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - clean
    for i in range(kills):
        process = subprocess.Popen(
            [*command, f"out{i}"], cwd=place.folder, stdout=subprocess.DEVNULL, stderr=-3
        )
        try:
            process.wait((0.3 + 0.9 * (i + rng.random()) / kills) * seconds)
            ended += 1
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        found = ledgers.read(place.folder / "data.csv")
        counted = {line["hash"] for line in found.releases}
        started = list(place.folder.glob("started-*"))
        assert len(started) <= len(counted)
        for output in [place.folder / "whole", *place.folder.glob("out*")]:
            names = {file.name for file in output.iterdir()}
            assert names == {"chain.csv", "chain.nc", "statement.json", "statement.txt"}
            facts = json.loads((output / "statement.json").read_text())
            assert facts["ledger_head"] in counted
            assert (output / "chain.csv").read_text().count("\n") == 4001
    outputs = [place.folder / "whole", *place.folder.glob("out*")]
    return ended, len(started), len(counted), len(outputs)


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.torture)])
def test_killed_runs_count_and_leave_nothing_that_looks_whole(place, kills):
    ended, started, counted, outputs = killed_releases(place, kills, kills)
    assert outputs <= started <= counted <= kills + 1
    assert ended < kills


def test_a_reader_of_data_ends_with_the_process_that_started_it(place):
    """So a run that was killed does not go on unseen."""
    (place.folder / "slow.py").write_text(SLOW + "        import time; time.sleep(60)\n")
    study = place.folder / "study.yaml"
    study.write_text(study.read_text().replace("leaking.py:Plain", "slow.py:Slow"))
    place.ledger()
    command = [sys.executable, "-m", "dpmcmc", "release", "study.yaml", "--model", "mine"]
    command += ["--unchecked"]
    command += ["--algorithm", "newton", "--epsilon", "1", "--output", "out"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (started := list(place.folder.glob("started-*"))) and time.monotonic() < deadline:
        time.sleep(0.1)
    reader = int(started[0].name.removeprefix("started-"))
    process.kill()
    process.wait()
    while is_running(reader) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(reader)
    assert not (place.folder / "out").exists()


def is_running(process):
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
