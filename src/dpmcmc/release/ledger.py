"""The ledger of a file of data: what was spent of its budget, on disk, before anything is read.

`DATA.ledger` lies beside the data: a line of JSON for each event, append-only. Each line has the
digest of the one before and of itself, so edits and lines taken out are found. That lines are
missing at the end, or that the file is another, cannot be seen from the file: each statement
publishes the digest of its line, which proves it. So the ledger is a tool for an honest owner.

A release is admitted by two numbers, mu^2 and delta0, which add up whoever chose it and why
(`dpmcmc.accounting.joint`). It counts from the moment when its line is on disk: a run that is
killed is spent, and never goes on.
"""

import fcntl
import hashlib
import hmac
import json
import math
import os
import secrets
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import NamedTuple

from dpmcmc.accounting.gaussian import epsilon as gaussian_epsilon
from dpmcmc.accounting.joint import largest_mu
from dpmcmc.accounting.mechanisms import GaussianMechanism
from dpmcmc.accounting.search import rounded_up
from dpmcmc.files import JobError
from dpmcmc.study.data_files import READERS

# Of epsilon, kept back for what floating point and exact noise differ from the ideal: `SLACK` of
# `dpmcmc.release.streams` for each release, so a hundred of them.
RESERVE = 1e-5
DELTA_RESERVE = 1e-5  # likewise, of delta, relative
KINDS = {"any": 0.5, "full-data": 0.0}  # share of delta that is kept for methods on batches
FORMAT = 1
RELATION = "one of the rows that a model keeps is replaced by another, in its place"


class Unsure(JobError):
    """A line may be on disk, or not: the ledger says so when it is read again."""


class Budget(NamedTuple):
    """What the owner allows for all releases together."""

    epsilon: float
    delta: float
    kinds: str  # a key of KINDS
    rows: int  # that a model keeps of the data, unless a release says so itself; public
    salt: str
    fingerprint: str  # of the data, by the salt; neither is ever published

    @property
    def delta0(self):
        """What methods on batches may take of delta."""
        return KINDS[self.kinds] * self.delta

    @property
    def mu_squared(self):
        """What all releases may take of mu^2."""
        return largest_mu(self.epsilon - RESERVE, self.of_gaussian) ** 2

    @property
    def of_gaussian(self):
        """Delta of what mu^2 stands for."""
        return self.delta * (1 - DELTA_RESERVE) - self.delta0

    def epsilon_of(self, mu_squared, slack):
        """Epsilon of some releases at the budget's delta, rounded up."""
        if mu_squared <= 0:
            return 0.0
        mechanism = GaussianMechanism(mu_squared**0.5)
        return rounded_up(gaussian_epsilon(mechanism, 1, self.of_gaussian) + slack)


class Ledger(NamedTuple):
    """Lines of a ledger, checked."""

    path: Path
    lines: list

    @property
    def budget(self):
        """The budget as it is now."""
        line = [line for line in self.lines if line["kind"] == "budget"][-1]
        return Budget(*(line[field] for field in Budget._fields))

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
        """Epsilon of all releases together, at the budget's delta."""
        return self.budget.epsilon_of(self.spent("mu_squared"), self.spent("slack"))

    @property
    def left_mu_squared(self):
        """mu^2 that is left."""
        return max(0.0, self.budget.mu_squared - self.spent("mu_squared"))

    @property
    def left_epsilon(self):
        """Epsilon at the budget's delta of one more release that reads all rows, rounded down."""
        if not self.left_mu_squared:
            return 0.0
        return math.floor(1e5 * self.budget.epsilon_of(self.left_mu_squared, RESERVE)) / 1e5

    def refusal(self, entry):
        """Why a release does not fit, in one line; None if it does."""
        budget = self.budget
        if entry["delta0"] and not budget.delta0:
            advice = "`ledger change ... --for any` lets it have both"
            if self.releases:
                advice = "that cannot change after the first release"
            return (
                f"{self.path.name} is for methods that read all rows, and this one draws batches; "
                f"{advice}"
            )
        over = [
            field
            for field, most in (
                ("mu_squared", budget.mu_squared),
                ("delta0", budget.delta0 * (1 + 1e-9)),
                ("slack", RESERVE * (1 + 1e-9)),
            )
            if self.spent(field) + entry[field] > most
        ]
        if not over:
            return None
        if over == ["slack"]:
            return f"{self.path.name} has as many releases as one ledger may have"
        more = f", and {budget.delta0 - self.spent('delta0'):.3g} of delta for batches"
        return (
            f"{self.path.name} does not allow it: of epsilon {budget.epsilon:g} at delta "
            f"{budget.delta:g}, {self.spent_epsilon:g} is spent. One release on all rows may "
            f"spend epsilon {self.left_epsilon:g}{more * bool(entry['delta0'])}"
        )


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


def new(data, epsilon, delta, kinds, rows, owner=None):
    """Make the ledger of a file; returns its path.

    Raises
    ------
    JobError
        If there is one, or it cannot be written, or the data are no file that a model can take.
    """
    path = path_of(data)
    require_readable(data)
    line = sealed(budget_line(data, epsilon, delta, kinds, rows, owner=owner), "")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with writing(path):
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                append(descriptor, line)
            finally:
                os.close(descriptor)
            os.link(temporary, path)  # where there is none
        except FileExistsError:
            raise JobError(
                f"{path} exists already: what was spent stays spent. `ledger change` sets "
                "another budget, or records other data"
            ) from None
        finally:
            temporary.unlink(missing_ok=True)
        fsync_folder(path.parent)
    return path


def change(data, reason, epsilon=None, delta=None, kinds=None, rows=None):
    """Append a budget line, with the fingerprint of the data as they are now; returns the ledger.

    Parameters
    ----------
    reason : str
        Of the owner's.
    epsilon, delta, kinds, rows : optional
        By default as they were.

    Raises
    ------
    JobError
        For other kinds of methods after a release: who has seen it could choose the reserve of
        delta by it, and the budget would not bound that.
    """
    require_readable(data)
    with locked(path_of(data)) as (ledger, descriptor):
        old = ledger.budget
        if kinds not in (None, old.kinds) and ledger.releases:
            raise JobError(f"--for: cannot change after the first release; it is {old.kinds}")
        given = epsilon or old.epsilon, delta or old.delta, kinds or old.kinds, rows or old.rows
        line = budget_line(data, *given, reason=reason)
        write(ledger, descriptor, line)
    return ledger


def budget_line(data, epsilon, delta, kinds, rows, **more):
    """A budget line for the data as they are now."""
    salt = secrets.token_hex(32)
    line = {"kind": "budget", "format": FORMAT, "epsilon": epsilon, "delta": delta}
    line |= {"kinds": kinds, "rows": rows, "relation": RELATION, "salt": salt}
    line |= {"fingerprint": fingerprint(Path(data).read_bytes(), salt)}
    more = {key: value for key, value in more.items() if value is not None}
    return line | more | {"date": today()}


def fingerprint(contents, salt):
    """HMAC-SHA256 of bytes."""
    return hmac.new(bytes.fromhex(salt), contents, hashlib.sha256).hexdigest()


def read(data):
    """The ledger of a file of data, as it is now."""
    with locked(path_of(data)) as (ledger, _):
        return ledger


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
    with locked(path_of(data)) as (ledger, descriptor):
        if problem := ledger.refusal(entry):
            raise JobError(problem)
        line = {"kind": "release", "id": secrets.token_hex(8)} | entry | {"date": today()}
        try:
            return write(ledger, descriptor, line), ledger
        except JobError as error:
            raise Unsure(str(error)) from None


def note(data, kind, release):
    """Append that a release is `finished`, or `void` as it never looked at the data."""
    with locked(path_of(data)) as (ledger, descriptor):
        write(ledger, descriptor, {"kind": kind, "id": release, "date": today()})


# -- Lines on disk ---------------------------------------------------------------------------------


@contextmanager
def locked(path):
    """The ledger and a descriptor to append to, which nobody else has meanwhile.

    A last line that is not whole was never on disk for certain, so its release never started: it
    is cut off.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        raise JobError(
            f"there is no ledger {path}; its owner makes one with: python -m dpmcmc ledger new "
            f"{path.with_suffix('')} --epsilon E --delta D --rows N"
        ) from None
    except OSError as error:
        raise JobError(f"{path} cannot be opened ({error.strerror})") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # of this descriptor, unlike that of lockf
        contents = b"".join(iter(lambda: os.read(descriptor, 2**20), b""))
        lines, length = checked(contents, path)
        with writing(path):
            if length < len(contents):
                os.ftruncate(descriptor, length)
                os.fsync(descriptor)
            elif not contents.endswith(b"\n"):  # the line is whole, and counts
                append(descriptor, b"\n")
        yield Ledger(path, lines), descriptor
    finally:
        os.close(descriptor)


def checked(contents, path):
    """Lines of a ledger, and how many bytes they have; raises a JobError if one was changed."""
    *whole, tail = contents.split(b"\n")
    lines, before = [], ""
    for number, text in enumerate(whole, 1):
        line = opened(text, before)
        if line is None:
            raise JobError(
                f"{path}: line {number} was changed, or does not follow the line "
                "before. Nothing is released with a ledger that was changed"
            )
        lines.append(line)
        before = line["hash"]
    length = len(contents) - len(tail)
    if tail:
        line = opened(tail, before)
        if line is not None:
            lines.append(line)
            length = len(contents)
        elif begins_with_json(tail):  # so it was whole once
            raise JobError(f"{path}: what follows line {len(lines)} was changed")
    if not lines or lines[0]["kind"] != "budget":
        raise JobError(f"{path}: is not a ledger: it does not begin with a budget")
    return lines, length


def begins_with_json(text):
    """Whether a text begins with a JSON object that is whole."""
    try:
        json.JSONDecoder().raw_decode(text.decode("utf-8", errors="replace"))
    except ValueError:
        return False
    return True


def sealed(line, before):
    """Bytes of a line that follows the one with that digest."""
    body = json.dumps(line | {"before": before})
    digest = hashlib.sha256(body.encode()).hexdigest()
    return f'{body[:-1]}, "hash": "{digest}"}}\n'.encode()


def opened(text, before):
    """The line that a text is, as a dict; None if it was changed or does not follow."""
    try:
        line = json.loads(text)
        body = {key: value for key, value in line.items() if key != "hash"}
        is_whole = sealed(body, line["before"]) == text + b"\n"
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    body.pop("before", None)
    if not is_whole or line["before"] != before:
        return None
    return line


def write(ledger, descriptor, line):
    """Append a line, on disk when this returns; returns it with its digest."""
    contents = sealed(line, ledger.lines[-1]["hash"])
    with writing(ledger.path):
        append(descriptor, contents)
    ledger.lines.append(json.loads(contents))
    return ledger.lines[-1]


def append(descriptor, contents):
    """Write bytes, all at once or not, and wait until they are on disk."""
    if os.write(descriptor, contents) != len(contents):
        raise OSError("a line could not be written in full: is the disk full?")
    os.fsync(descriptor)


@contextmanager
def writing(path):
    """Turn what the system says into one line."""
    try:
        yield
    except OSError as error:
        raise JobError(f"{path} cannot be written ({error.strerror or error})") from None


def fsync_folder(folder):
    """Wait until the names in a folder are on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def today():
    """The day, and no more of the time."""
    return date.today().isoformat()
