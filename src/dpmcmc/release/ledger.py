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

import errno
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import shlex
import subprocess
from bisect import bisect
from contextlib import contextmanager, suppress
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from pathlib import Path
from typing import NamedTuple

from dpmcmc.accounting.gaussian import epsilon as gaussian_epsilon
from dpmcmc.accounting.joint import largest_mu
from dpmcmc.accounting.mechanisms import GaussianMechanism
from dpmcmc.data_files import READERS
from dpmcmc.files import JobError
from dpmcmc.release.streams import SLACK

# Of epsilon, kept back for what floating point and exact noise differ from the ideal: `SLACK` for
# each release, so a hundred of them.
RESERVE = 1e-5
DELTA_RESERVE = 1e-5  # likewise, of delta, relative; a hundred releases need half of it
# By so much a sum may exceed its limit, relative: for floating point. Of mu^2 it moves delta by a
# part of 3e-6 at most (delta >= 1e-100), which the other half of `DELTA_RESERVE` covers.
TOLERANCE = 1e-8
DIGITS = 6  # of an epsilon that is shown
STEPS = 10**5  # of an epsilon, in 1
LEAST_EPSILON, MOST_EPSILON = 1e-3, 100  # of a release
KINDS = {"any": 0.5, "full-data": 0.0}  # share of delta that is kept for methods on batches
FORMAT = 1
RELATION = "one of the rows that a model keeps is replaced by another, in its place"
BEGINNING = b'{"kind": "budget", "format": '  # of each ledger


class Unsure(JobError):
    """A line may be on disk, or not: the ledger says so when it is read again."""


class Budget(NamedTuple):
    """The (epsilon, delta) that the owner allows for all releases together."""

    epsilon: float
    delta: float
    kinds: str  # a key of KINDS
    rows: int  # that a model keeps of the data, unless a release says so itself; public
    salt: str
    fingerprint: str  # of the data, by the salt; neither is ever published

    @property
    def delta0(self):
        """Part of delta for methods on batches: d of the Proposition."""
        return KINDS[self.kinds] * self.delta

    @property
    def mu_squared(self):
        """Limit of the sum of mu^2: M^2 of the Proposition."""
        return mu_squared_of(self.epsilon, self.of_gaussian)

    @property
    def of_gaussian(self):
        """Rest of delta, for what mu^2 stands for."""
        return self.ideal_delta - self.delta0

    @property
    def ideal_delta(self):
        """Delta without its reserve."""
        return self.delta * (1 - DELTA_RESERVE)

    def epsilon_of(self, mu_squared, slack):
        """Epsilon at the budget's delta of releases with these sums, rounded up to `DIGITS`.

        Holds by the Proposition, with d of the budget, if the sums were fixed before the first
        release. If later releases were chosen by results, the budget's epsilon is what holds.
        """
        if mu_squared <= 0:
            return 0.0
        mechanism = GaussianMechanism(mu_squared**0.5)
        epsilon = gaussian_epsilon([(mechanism, 1)], self.of_gaussian) + slack
        epsilon = rounded(epsilon, ROUND_CEILING)
        # The search for epsilon ends a little above it.
        fits = not self.exceeded({"mu_squared": mu_squared, "slack": slack})
        return min(epsilon, self.epsilon) if fits else epsilon

    def exceeded(self, sums):
        """Names of the sums over releases that exceed their limits."""
        limits = {"mu_squared": self.mu_squared, "delta0": self.delta0, "slack": RESERVE}
        return [name for name, total in sums.items() if total > limits[name] * (1 + TOLERANCE)]

    def left_epsilon(self, mu_squared):
        """Largest epsilon at the budget's delta of one release on all rows with that mu^2.

        Rounded down to `DIGITS`; 0 if no release can be so small.
        """
        least = round(LEAST_EPSILON * STEPS)
        steps = range(least, MOST_EPSILON * STEPS + 1)
        fit = bisect(steps, mu_squared, key=lambda k: mu_squared_of(k / STEPS, self.ideal_delta))
        return rounded((least + fit - 1) / STEPS, ROUND_FLOOR) if fit else 0.0

    def why_not_after(self, old):
        """Reason why this budget cannot follow another after a release; None if it can."""
        if self.kinds != old.kinds:
            return f"--for: cannot change after the first release; it is {old.kinds}"
        if self.delta != old.delta:
            return (
                f"--delta: cannot change after the first release; it is {old.delta:g}. "
                "--epsilon can be raised"
            )
        if self.epsilon < old.epsilon:
            return (
                f"--epsilon: cannot become less than {old.epsilon:g} after the first release, "
                "because a smaller one would not hold for all releases"
            )
        return None


def mu_squared_of(epsilon, delta):
    """Largest mu^2 that costs at most epsilon, less its reserve, at that delta."""
    return largest_mu(epsilon - RESERVE, delta) ** 2


def rounded(value, rounding, digits=DIGITS):
    """A number of so many digits, so that a text may show all of it."""
    return float(Context(prec=digits, rounding=rounding).plus(Decimal(repr(float(value)))))


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


def new(data, epsilon, delta, kinds, rows, owner=None, in_git=False):
    """Make the ledger of a file; returns its path.

    Parameters
    ----------
    data : path
    epsilon, delta, kinds, rows
        As `Budget` has them.
    owner : str, optional
        Noted in the ledger.
    in_git : bool
        Allow a ledger that git does not ignore.

    Raises
    ------
    JobError
        If there is one, also one of the same bytes beside it, or it cannot be written, or the data
        are no file that a model can take, or git would take the ledger up.
    """
    path = path_of(data)
    require_readable(data)
    require_first(path, data)
    if not in_git:
        require_ignored(path)
    line = sealed(budget_line(data, epsilon, delta, kinds, rows, owner=owner), "")
    with locked(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as (descriptor, contents):
        if not is_unfinished(contents):
            raise JobError(
                f"{path} exists already: what was spent stays spent. `ledger change` sets "
                "another budget, or records other data"
            )
        with writing(path):
            os.ftruncate(descriptor, 0)
            append(descriptor, line)
            fsync_folder(path.parent)
    return path


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
    """Raise a JobError if git would take a file up, because its repository does not ignore it."""
    git = ["git", "-C", str(path.parent), "check-ignore", "--quiet", "--", path.name]
    try:
        ended = subprocess.run(git, capture_output=True, check=False)
    except OSError:  # no git
        return
    if ended.returncode == 1:  # 0 is for files that are ignored, 128 for no repository
        raise JobError(
            f"{path} is secret, and git would take it up: write the line *.ledger into the file "
            ".gitignore of this repository first (--in-git allows it)"
        )


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
        ledger beside this one.
    """
    require_readable(data)
    with opened_to_write(path_of(data)) as (ledger, descriptor):
        old = ledger.budget
        if fingerprint(Path(data).read_bytes(), old.salt) != old.fingerprint:
            require_first(ledger.path, data)
        given = epsilon or old.epsilon, delta or old.delta, kinds or old.kinds, rows or old.rows
        line = budget_line(data, *given, reason=reason)
        if ledger.releases and (problem := budget_of(line).why_not_after(old)):
            raise JobError(problem)
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
    """Append that a release is `finished`, or `void` as it never looked at the data."""
    with opened_to_write(path_of(data)) as (ledger, descriptor):
        write(ledger, descriptor, {"kind": kind, "id": release, "date": today()})


# -- Lines on disk ---------------------------------------------------------------------------------


@contextmanager
def locked(path, flags, lock=fcntl.LOCK_EX):
    """A descriptor of the ledger, and its bytes, while no other process may write it."""
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        raise JobError(f"there is no ledger {path}; {how_to_make(path)}") from None
    except OSError as error:
        raise JobError(f"{path} cannot be opened ({error.strerror})") from None
    try:
        try:
            fcntl.flock(descriptor, lock)  # of this descriptor, unlike that of lockf
        except OSError as error:
            raise JobError(
                f"{path}: its file system has no locks ({error.strerror}). Two releases at once "
                "could spend the same budget; move the data to another file system"
            ) from None
        yield descriptor, b"".join(iter(lambda: os.read(descriptor, 2**20), b""))
    finally:
        os.close(descriptor)


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


def how_to_make(path):
    """Advice for who has no ledger."""
    command = f"python -m dpmcmc ledger new {shlex.quote(str(path.with_suffix('')))}"
    return f"its owner makes one with: {command} --epsilon E --delta D --rows N"


def is_unfinished(contents):
    """True if making a ledger was cut off: its first line is not whole, so it never counted."""
    begun = contents[: len(BEGINNING)] == BEGINNING[: len(contents)]
    return begun and b"\n" not in contents and not begins_with_json(contents)


def checked(contents, path):
    """Lines of a ledger, and how many bytes they have; raises a JobError if one was changed."""
    if is_unfinished(contents):
        raise JobError(f"{path} is unfinished, because making it was cut off; {how_to_make(path)}")
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
    """True if a text begins with a JSON object that is whole."""
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
    """Wait until the names in a folder are on disk, where the file system can."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # of network file systems
            raise
    finally:
        os.close(descriptor)


def today():
    """The day, and no more of the time."""
    return date.today().isoformat()
