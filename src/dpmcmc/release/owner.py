"""What only the owner of the data does with their ledger: make it, and change its budget."""

import json
import os
import secrets
import subprocess
from contextlib import suppress
from pathlib import Path

from dpmcmc.data_files import DataError, DataFile
from dpmcmc.files import JobError
from dpmcmc.release.ledger import (
    FORMAT,
    RELATION,
    budget_of,
    opened_to_write,
    path_of,
    require_readable,
    write,
)
from dpmcmc.release.lines import (
    append,
    aside,
    fingerprint,
    fsync_folder,
    has_no_line,
    locked,
    lost,
    sealed,
    today,
    writing,
)


def new(data, epsilon, delta, kinds, rows, owner=None, in_git=False, set_aside=False):
    """Make the ledger of a file; returns its path.

    It is written under another name, and renamed when it is on disk.

    Parameters
    ----------
    data : path
    epsilon, delta, kinds, rows
        As `Budget` has them.
    owner : str, optional
        Noted in the ledger.
    in_git : bool
        Allow a ledger that git does not ignore.
    set_aside : bool
        Rename a ledger without a whole line, and note that.

    Raises
    ------
    JobError
        If there is one, also one of the same bytes beside it, or it cannot be written, or the data
        are no file that a model can take, or have fewer rows, or delta is 1 / rows or more, or git
        would take the ledger up.
    """
    path = path_of(data)
    require_readable(data)
    require_text("owner", owner)
    require_rows(data, rows)
    require_delta(delta, rows)
    require_first(path, data)
    if not in_git:
        require_ignored(path)
    unfinished = path.with_name(f".{path.name}.partial")
    with locked(unfinished, os.O_RDWR | os.O_APPEND | os.O_CREAT) as (descriptor, _):
        try:
            is_lost = require_none(path, set_aside)
            more = {"owner": owner, "set_aside": is_lost or None}
            line = budget_line(data, epsilon, delta, kinds, rows, secrets.token_hex(32), **more)
            with writing(path):
                os.ftruncate(descriptor, 0)
                append(descriptor, sealed(line, ""))
                if is_lost:
                    os.rename(path, aside(path))
                os.rename(unfinished, path)
                fsync_folder(path.parent)
        finally:
            unfinished.unlink(missing_ok=True)
    return path


def require_none(path, set_aside):
    """True if there is a ledger without a whole line, to be set aside, False if there is none.

    Raises
    ------
    JobError
        If there is another, or this may not be set aside.
    """
    if not os.path.lexists(path):
        return False
    contents = path.read_bytes() if path.is_file() else None
    if contents is None or not has_no_line(contents):
        raise JobError(
            f"{path} exists already: what was spent stays spent. `ledger change` sets "
            "another budget, or records other data"
        )
    if not set_aside:
        raise JobError(lost(path, contents))
    if os.path.lexists(aside(path)):
        raise JobError(f"{aside(path)} exists already, so {path} cannot get that name")
    return True


def require_text(name, value):
    """Raise a JobError for a text that is no line: it is shown, and may be published."""
    if value is not None and not (value.strip() and value.isprintable()):
        raise JobError(f"--{name}: must be one line of text, without control characters")


def require_rows(data, rows):
    """Raise a JobError if a file has fewer rows than are declared: no model keeps so many."""
    try:
        found = DataFile(data).num_rows
    except DataError as error:
        raise JobError(f"data: {error}") from None
    if rows > found:
        raise JobError(f"--rows: must be at most {found}, as {data} has no more rows, not {rows}")


def require_delta(delta, rows):
    """Raise a JobError for a delta at which publishing one row at random would be allowed."""
    if delta >= 1 / rows:
        raise JobError(
            f"--delta: must be below 1 / rows, {1 / rows:.3g}, not {delta:g}, as publishing a row "
            f"at random has that delta; 0.1 / rows is {0.1 / rows:.3g}"
        )


def require_first(path, data):
    """Raise a JobError if another ledger of the folder has a budget for the same bytes.

    Parameters
    ----------
    path : Path
        Of the ledger of the data.
    data : path
    """
    contents = Path(data).read_bytes()
    for other in beside(path):
        if has_budget_for(contents, other):
            raise JobError(
                f"{data} is, to the byte, the data of {other}, and the same people have one "
                "budget: use that ledger. If the file was renamed, rename that ledger likewise"
            )


def beside(path):
    """Paths of the other ledgers in the folder of a ledger."""
    return [other for other in sorted(path.parent.glob("*.ledger")) if other != path]


def has_budget_for(contents, path):
    """True if a ledger has a budget line, also one that was changed, for data of these bytes.

    It is read without a lock: its lines stay as they are.
    """
    if not path.is_file():  # a pipe would be waited for
        return False
    try:
        lines = path.read_bytes().splitlines()
    except OSError:  # of another owner
        return False
    for text in lines:
        with suppress(ValueError, KeyError, TypeError):  # no budget line
            line = json.loads(text)
            if fingerprint(contents, line["salt"]) == line["fingerprint"]:
                return True
    return False


def require_ignored(path):
    """Raise a JobError unless git leaves a file alone: its repository ignores it, or there is none.

    Where there is a repository, and git cannot be asked, that is not known.
    """
    is_tracked = git(path, "ls-files", "--error-unmatch")
    is_ignored = git(path, "check-ignore", "--quiet")
    if is_tracked == 0:
        raise JobError(
            f"{path} is secret, and git has it: take it out by `git rm --cached {path.name}` first "
            "(--in-git allows it)"
        )
    if is_ignored == 1:
        raise JobError(
            f"{path} is secret, and git would take it up: write the line *.ledger into the file "
            ".gitignore of this repository first (--in-git allows it)"
        )
    folders = path.resolve().parents
    if is_ignored != 0 and any(os.path.lexists(folder / ".git") for folder in folders):
        raise JobError(
            f"{path} is secret, and lies in a repository of which git does not say whether it "
            "would take it up: it is not installed, or the repository is of somebody else "
            "(--in-git allows it)"
        )


def git(path, *command):
    """Exit status of a command of git on a file; None without git.

    It is 0 for yes and 1 for no, and another where git sees no repository.
    """
    try:
        whole = ["git", "-C", str(path.parent), *command, "--", path.name]
        return subprocess.run(whole, capture_output=True, check=False).returncode
    except OSError:
        return None


def change(data, reason, epsilon=None, delta=None, kinds=None, rows=None):
    """Append a budget line, with the fingerprint of the data as they are now; returns the ledger.

    Parameters
    ----------
    reason : str
        Of the owner's.
    epsilon, delta, kinds, rows : optional
        By default as they were. Another number of rows is declared beside those before it.

    Raises
    ------
    JobError
        For another delta, other kinds of methods or a smaller epsilon after a release: who has seen
        it could choose them by it, and no budget would bound that. For other data, if those have a
        ledger beside this one. For a delta of 1 / rows or more, by the most rows that are declared.
    """
    require_readable(data)
    require_text("reason", reason)
    with opened_to_write(path_of(data)) as (ledger, descriptor):
        old = ledger.budget
        if fingerprint(Path(data).read_bytes(), old.salt) != old.fingerprint:
            require_first(ledger.path, data)
        require_rows(data, rows or old.rows)
        if delta or rows:
            require_delta(delta or old.delta, max(rows or old.rows, *ledger.declared_rows))
        given = epsilon or old.epsilon, delta or old.delta, kinds or old.kinds, rows or old.rows
        line = budget_line(data, *given, old.salt, reason=reason)
        if ledger.releases and (problem := budget_of(line).why_not_after(old)):
            raise JobError(problem)
        write(ledger, descriptor, line)
    return ledger


def budget_line(data, epsilon, delta, kinds, rows, salt, **more):
    """A budget line for the data as they are now; data that stay have the same fingerprint."""
    line = {"kind": "budget", "format": FORMAT, "epsilon": epsilon, "delta": delta}
    line |= {"kinds": kinds, "rows": rows, "relation": RELATION, "salt": salt}
    line |= {"fingerprint": fingerprint(Path(data).read_bytes(), salt)}
    if names := DataFile(data).names:  # as digests, because a first line may be a row
        line |= {"columns": [fingerprint(name.encode(), salt) for name in names]}
    more = {key: value for key, value in more.items() if value is not None}
    return line | more | {"date": today()}
