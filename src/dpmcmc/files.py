"""Files of a study: written whole or not at all; a damaged one is named by its reader."""

import errno
import json
import os
from contextlib import contextmanager
from pathlib import Path

DAMAGE_ERRNOS = {None, errno.EINVAL}  # of a damaged file; others are of disk or permission


class JobError(Exception):
    """An error with one clear line for the person who runs the workflow."""


@contextmanager
def replacing(path):
    """Open a temporary file beside `path` for writing; on success, it takes that name.

    Raises JobError where it cannot be written, for instance because the disk is full.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(temporary, "wb") as file:
                yield file
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise JobError(f"{path} cannot be written ({error.strerror or error})") from error


@contextmanager
def reading(path):
    """Turn whatever a damaged file raises into a JobError that names the file."""
    try:
        yield
    except (JobError, FileNotFoundError):
        raise
    except Exception as error:  # a wrong bit may lead NumPy and zipfile anywhere
        is_of_file = not isinstance(error, MemoryError | Warning)  # which may be raised as an error
        if not is_of_file or getattr(error, "errno", None) not in DAMAGE_ERRNOS:
            raise JobError(f"{path} cannot be read ({error})") from error
        raise JobError(f"{path} is damaged ({error}); delete it and run again") from error


def read_npy(path):
    """Memory-mapped array of a .npy file, so that parallel jobs share its pages."""
    import numpy as np

    with reading(path):
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def read_npz(path):
    """Arrays of an .npz file, by name; never unpickles."""
    import numpy as np

    with reading(path), np.load(path, allow_pickle=False) as contents:
        return dict(contents)


def read_json(path):
    """Contents of a JSON file."""
    with reading(path):
        return json.loads(Path(path).read_text(encoding="utf-8"))


def write_json(contents, path):
    """Write a JSON file."""
    with replacing(path) as file:
        file.write(json.dumps(contents, indent=1).encode())
