"""The ledger of a file of data: what was spent of its budget, on disk, before anything is read.

`DATA.ledger` lies beside the data: a line of JSON for each event, append-only. Each line has the
digest of the one before and of itself, so edits and lines taken out are found. That lines are
missing at the end, or that the file is another, cannot be seen from the file: each statement
publishes the digest of its line, which proves it. So the ledger is a tool for an honest owner.

A release is admitted by two numbers, mu^2 and delta0, which add up whoever chose it and why
(`dpmcmc.accounting.joint`). It counts from the moment when its line is on disk: a run that is
killed is spent, and never goes on.

All releases of a ledger together, later ones included, have the (epsilon, delta) of the budget in
force, by the Proposition of docs/release.md with M = `Budget.mu_squared`^(1/2) and d =
`Budget.delta0`. It needs M and d that no result has a part in. So from the first release on, delta
and its division are fixed, and epsilon can only grow: M is then the largest that has been in force.
Whether the owner would have raised epsilon as much, whatever the results were, only the owner
knows; so each statement publishes all budgets.

A ledger needs appending, `fsync` and `flock` of its file system, and no more.
"""

import fcntl
import json
import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dpmcmc.data_files import READERS
from dpmcmc.files import JobError
from dpmcmc.release.budget import Budget
from dpmcmc.release.lines import append, checked, fingerprint, locked, sealed, today, writing
from dpmcmc.release.streams import SLACK

FORMAT = 1
RELATION = "one of the rows that a model keeps is replaced by another, in its place"


class Unsure(JobError):
    """A line may be on disk, or not: the ledger says so when it is read again."""


class Ledger(NamedTuple):
    """Lines of a ledger, checked."""

    path: Path
    lines: list
    is_torn: bool = False  # whether a last line that was cut off follows them, and counts nothing

    @property
    def budget(self):
        """The budget as it is now."""
        return budget_of(self.budgets[-1])

    @property
    def budgets(self):
        """Lines of all budgets."""
        return [line for line in self.lines if line["kind"] == "budget"]

    @property
    def declared_rows(self):
        """Numbers of rows that the owner has declared public, in the order of the ledger."""
        return list(dict.fromkeys(line["rows"] for line in self.budgets))

    def rows_for(self, asked=None):
        """Number of rows of a release; a JobError if it must be said which.

        Parameters
        ----------
        asked : int, optional
        """
        declared = self.declared_rows
        if asked is None and len(declared) > 1:
            raise JobError(f"--rows: must be given, one of {listed(declared)}")
        return asked or declared[0]

    def require_columns(self, columns):
        """Raise a JobError for columns that the file does not have, as its owner has recorded it.

        Parameters
        ----------
        columns : list of str
        """
        line = self.budgets[-1]  # without names for an array, and of earlier versions
        known = line.get("columns")
        missing = [
            name
            for name in columns
            if known and fingerprint(name.encode(), line["salt"]) not in known
        ]
        if missing:
            raise JobError(
                f"columns: {', '.join(missing)}: {self.path.stem} has no such columns, or no line "
                "of names, as its ledger has recorded it; `ledger change` records a changed file"
            )

    @property
    def releases(self):
        """Lines of releases that count: all but those that never looked at the data."""
        void = {line["id"] for line in self.lines if line["kind"] == "void"}
        of_kind = [line for line in self.lines if line["kind"] == "release"]
        return [line for line in of_kind if line["id"] not in void]

    @property
    def finished(self):
        """Ids of releases whose result was written."""
        return {line["id"] for line in self.lines if line["kind"] == "finished"}

    def spent(self, field):
        """Sum of a number over the releases: mu_squared, delta0 or slack."""
        return sum(line[field] for line in self.releases)

    @property
    def spent_epsilon(self):
        """Epsilon of all releases so far together, as `Budget.epsilon_of` has it."""
        return self.budget.epsilon_of(self.spent("mu_squared"), self.spent("slack"))

    @property
    def left_mu_squared(self):
        """mu^2 that is left; 0 if there can be no more releases."""
        if self.budget.exceeded({"slack": self.spent("slack") + SLACK}):
            return 0.0
        return max(0.0, self.budget.mu_squared - self.spent("mu_squared"))

    @property
    def left_epsilon(self):
        """Largest epsilon, at the budget's delta, of one more release on all rows.

        `refusal` accepts this number, and one that is larger by more than rounding does not fit.
        """
        return self.budget.left_epsilon(self.left_mu_squared)

    @property
    def damage(self):
        """Reason why no budget holds for all releases, in one line; None if the last one does.

        Earlier versions let delta change, and epsilon become less, after the first release.
        """
        releases, old = {line["id"] for line in self.releases}, None
        has_released = False
        for line in self.lines:
            if line["kind"] == "budget":
                new = budget_of(line)
                if has_released and new.why_not_after(old):
                    return (
                        f"{self.path.name}: delta was changed, or epsilon lowered, after the first "
                        "release, so that its budget does not hold for all releases. No more can "
                        "be made with it"
                    )
                old = new
            has_released |= line.get("id") in releases
        return None

    def refusal(self, entry):
        """Reason why a release does not fit, in one line; None if it does."""
        if self.damage:
            return self.damage
        budget, name = self.budget, self.path.name
        if entry["delta0"] and not budget.delta0:
            advice = "`ledger change ... --for any` lets it have both"
            if self.releases:
                advice = "that cannot change after the first release"
            return f"{name} is for methods that read all rows, and this one draws batches; {advice}"
        if (rows := entry["rows"]) not in (declared := self.declared_rows):
            return (
                f"--rows: {rows} is not declared in {name}, but {listed(declared)}. A release "
                f"publishes it; `ledger change ... --rows {rows} --reason ...` declares that it "
                "may be known"
            )
        over = budget.exceeded(
            {field: self.spent(field) + entry[field] for field in ("mu_squared", "delta0", "slack")}
        )
        if not over:
            return None
        if over == ["slack"]:
            return f"{name} has as many releases as one ledger may have"
        more = f", and {budget.delta0 - self.spent('delta0'):.3g} of delta for batches"
        return (
            f"{name} does not allow it: of epsilon {budget.epsilon:g} at delta {budget.delta:g}, "
            f"{self.spent_epsilon:g} is spent. One release on all rows may spend epsilon "
            f"{self.left_epsilon:g}{more * bool(entry['delta0'])}"
        )


def budget_of(line):
    """The budget of a line."""
    return Budget(*(line[field] for field in Budget._fields))


def listed(counts):
    """Numbers as a text."""
    return " and ".join(map(str, counts))


def path_of(data):
    """Path of the ledger of a file of data; links to the file have no other.

    Raises
    ------
    JobError
        If no model can read such a file.
    """
    data = real_path(data)
    if data.suffix not in READERS:
        raise JobError(f"data: must be a file that ends in {', '.join(READERS)}, not {data}")
    return data.with_name(f"{data.name}.ledger")


def real_path(data):
    """Path of a file, or of what it links to."""
    return Path(os.path.relpath(Path(data).resolve()))


def require_readable(data):
    """Raise a JobError unless a path is that of a file, which is not opened."""
    if not (os.path.isfile(data) and os.access(data, os.R_OK)):
        raise JobError(f"data: must be a file that can be read, not {data}")


def read(data):
    """The ledger of a file of data, as it is now; nothing is written."""
    path = path_of(data)
    with locked(path, os.O_RDONLY, fcntl.LOCK_SH) as (_, contents):
        lines, length = checked(contents, path)
        return Ledger(path, lines, length < len(contents))


def admit(data, entry):
    """Append a release, if the budget allows it; returns its line, which is on disk then.

    Parameters
    ----------
    data : path
    entry : dict
        `mu_squared`, `delta0` and `slack`, and what else is to be noted.

    Raises
    ------
    JobError
        If it does not fit: then nothing is written.
    Unsure
        If the line cannot be written: then nothing may start either.
    """
    with opened_to_write(path_of(data)) as (ledger, descriptor):
        if problem := ledger.refusal(entry):
            raise JobError(problem)
        line = {"kind": "release", "id": secrets.token_hex(8)} | entry | {"date": today()}
        try:
            return write(ledger, descriptor, line), ledger
        except JobError as error:
            raise Unsure(str(error)) from None


def note(data, kind, release):
    """Append that a release is `finished`, or `void` as it never looked at the data.

    Raises
    ------
    JobError
        If the ledger has no such release, or it cannot be written.
    """
    with opened_to_write(path_of(data)) as (ledger, descriptor):
        if release not in {line["id"] for line in ledger.releases}:
            raise JobError(replaced(ledger.path))
        write(ledger, descriptor, {"kind": kind, "id": release, "date": today()})


def require_counted(data, line):
    """Raise a JobError unless the ledger has the line of a release: it may have been replaced."""
    path = path_of(data)
    if not path.exists() or line not in read(data).lines:
        raise JobError(replaced(path))


def replaced(path):
    """Message for a ledger that no longer has a line that was written to it."""
    return (
        f"{path} was removed or replaced while this ran, and does not have the line of this "
        "release: look for the copy that has it"
    )


@contextmanager
def opened_to_write(path):
    """The ledger, and a descriptor to append to, while no other process may read or write it.

    A last line that is not whole was never on disk for certain, so its release never started: it
    is cut off.
    """
    with locked(path, os.O_RDWR | os.O_APPEND) as (descriptor, contents):
        lines, length = checked(contents, path)
        with writing(path):
            if length < len(contents):
                os.ftruncate(descriptor, length)
                os.fsync(descriptor)
            elif not contents.endswith(b"\n"):  # the line is whole, and counts
                append(descriptor, b"\n")
        yield Ledger(path, lines), descriptor


def write(ledger, descriptor, line):
    """Append a line, on disk when this returns; returns it with its digest.

    Its day is not before that of the line before, whatever the clock says.
    """
    last = ledger.lines[-1]
    contents = sealed(line | {"date": max(line["date"], last["date"])}, last["hash"])
    with writing(ledger.path):
        append(descriptor, contents)
    ledger.lines.append(json.loads(contents))
    return ledger.lines[-1]
