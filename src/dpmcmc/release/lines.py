"""Lines of a ledger on disk: appended whole under a lock, each with the digest of the one before.

A ledger gets its name when its first line is on disk. So a file without a whole line was emptied or
damaged, and nothing is known of what it had.
"""

import errno
import fcntl
import hashlib
import hmac
import json
import os
import shlex
import stat
import sys
from contextlib import contextmanager
from datetime import date

from dpmcmc.files import JobError

BEGINNING = b'{"kind": "budget", "format": '  # of each ledger


def fingerprint(contents, salt):
    """HMAC-SHA256 of bytes."""
    return hmac.new(bytes.fromhex(salt), contents, hashlib.sha256).hexdigest()


@contextmanager
def locked(path, flags, lock=fcntl.LOCK_EX):
    """A descriptor of the file of that name, and its bytes, while no other process may write it.

    Another file may get the name while this waits for the lock: then that one is opened.
    """
    while True:
        try:
            descriptor = os.open(path, flags | os.O_NONBLOCK, 0o600)  # a pipe would be waited for
        except FileNotFoundError:
            raise JobError(f"there is no ledger {path}; {how_to_make(path)}") from None
        except OSError as error:
            raise JobError(f"{path} cannot be opened ({error.strerror})") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise JobError(f"{path} is no file, so it can be no ledger")
            wait_for_lock(descriptor, path, lock)
            if has_name(descriptor, path):
                yield descriptor, contents_of(descriptor)
                return
        finally:
            os.close(descriptor)


def wait_for_lock(descriptor, path, lock):
    """Lock a file; who has to wait is told so."""
    try:
        try:
            fcntl.flock(descriptor, lock | fcntl.LOCK_NB)  # unlike lockf, of this descriptor
        except BlockingIOError:
            print(f"{path}: another process uses it; waiting for that ...", file=sys.stderr)
            fcntl.flock(descriptor, lock)
    except OSError as error:
        raise JobError(
            f"{path}: its file system has no locks ({error.strerror}). Two releases at once "
            "could spend the same budget; move the data to another file system"
        ) from None


def contents_of(descriptor):
    """Bytes of an open file."""
    return b"".join(iter(lambda: os.read(descriptor, 2**20), b""))


def has_name(descriptor, path):
    """True if a path is still that of an open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def how_to_make(path):
    """Advice for who has no ledger."""
    command = f"python -m dpmcmc ledger new {shlex.quote(str(path.with_suffix('')))}"
    return f"its owner makes one with: {command} --epsilon E --delta D --rows N --for full-data"


def has_no_line(contents):
    """True if there is no whole line, and what there is may be the beginning of a ledger."""
    begun = contents[: len(BEGINNING)] == BEGINNING[: len(contents)]
    return begun and b"\n" not in contents and not begins_with_json(contents)


def aside(path):
    """Path that a ledger without a whole line gets, if its owner says so."""
    return path.with_name(f"{path.name}.aside")


def lost(path, contents):
    """Message for a ledger without a whole line."""
    return (
        f"{path} {'has no whole line' if contents else 'is empty'}, so what was spent is not "
        "known: a ledger gets its name with its first line in it. Put a copy of it back. Only if "
        f"nothing was ever released, `ledger new ... --set-aside` renames it to "
        f"{aside(path).name} and makes a new one"
    )


def checked(contents, path):
    """Lines of a ledger, and how many bytes they have; raises a JobError if one was changed."""
    if has_no_line(contents):
        raise JobError(lost(path, contents))
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


def printable(text):
    """A text in one line, without control characters or what is no text: it forges no other."""
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def today():
    """The day, and no more of the time."""
    return date.today().isoformat()
