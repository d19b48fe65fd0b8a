"""The process that reads the data: all that comes out of it are draws, or one of a few words.

It is started by the command `release` when the ledger's line is on disk, as `python -m
dpmcmc.release.inside`, with its output closed: whatever a model prints, warns or raises stays
inside. A line of JSON says what to do. It answers through a pipe by two lines: whether the data
are those of the ledger, which it says before any code of one's own runs, and how it ended. Draws
follow as doubles. When the process that started it ends, so does this one, and all that it started.
"""

import dpmcmc.jobs  # noqa: F401 before NumPy, since it chooses the machine code

# isort: split
import builtins
import ctypes
import json
import os
import resource
import signal
import sys
import threading
import traceback
import warnings
from pathlib import Path

import numpy as np

from dpmcmc import registry
from dpmcmc.jobs.samplers import with_needed
from dpmcmc.release.ledger import fingerprint
from dpmcmc.release.plan import with_noise
from dpmcmc.release.rows import RowByRow, in_file_order
from dpmcmc.release.streams import SecretStreams
from dpmcmc.samplers.chain import run_chain
from dpmcmc.study.data_files import READERS, DataFile, prepared

PACKAGE = Path(__file__).parents[1]
PR_SET_DUMPABLE = 4  # of prctl(2)
SAME, CHANGED = b"same\n", b"changed\n"  # whether the data are those of the ledger


class Contents(DataFile):
    """A `DataFile` of bytes that have been read."""

    def __init__(self, path, contents):
        self.path = Path(path)
        self.names, self._table = READERS[self.path.suffix](contents)
        self.num_rows = len(self._table)


def main():
    """Do what the line on standard input says, and answer."""
    spec = json.loads(sys.stdin.buffer.readline())
    parent = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # a model that asks for input gets none
    threading.Thread(target=end_with, args=[parent], daemon=True).start()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # nor may others look into its memory
    warnings.simplefilter("ignore")
    with os.fdopen(spec["answers"], "wb") as pipe:
        contents = contents_of(spec)
        pipe.write(CHANGED if contents is None else SAME)
        pipe.flush()
        if contents is None:
            return
        try:
            answer, draws = work(spec, contents)
            answer["shape"] = np.shape(draws)
        except BaseException as error:
            answer, draws = {"end": "failed", **kind_and_place(error, spec["files"])}, None
        pipe.write(json.dumps(answer).encode() + b"\n")
        if draws is not None:
            pipe.write(np.asarray(draws, float).tobytes())
    os._exit(0)  # nothing of a model's runs any more


def end_with(parent):
    """Standard input ends when the process that started this one does: so do all of its group."""
    while os.read(parent, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def contents_of(spec):
    """Bytes of the data; None if they are not those of the ledger."""
    try:
        contents = Path(spec["data"]).read_bytes()
    except OSError:
        return None
    return contents if fingerprint(contents, spec["salt"]) == spec["fingerprint"] else None


def work(spec, contents):
    """Answer, and draws (chains, kept, d) where there are any."""
    sampler = with_noise(with_needed(registry.build(spec["sampler"])), spec["noise_scale"])
    model = registry.build(spec["model"])
    try:
        rows = prepared(model, Contents(spec["data"], contents), spec["columns"])
        if len(rows) != model.num_rows:
            return {"end": "rows"}, None
        target = RowByRow(model, in_file_order(model, rows), "clip")
    except Exception:
        return {"end": "data"}, None
    draws = [one_chain(spec, sampler, model, target) for _ in range(spec["chains"])]
    return {"end": "finished"}, np.stack(draws)


def one_chain(spec, sampler, model, target):
    """Positions of a chain, by new streams: (kept, d)."""
    rng = SecretStreams(target.num_rows, spec["least_noise"], spec["chains"])
    start = spec["start"]
    if start in ("prior", "preparation"):
        start = model.sample_prior(rng.proposal) if start == "prior" else None
    return run_chain(sampler, target, rng, start, spec["iterations"], spec["draws"]).positions


def kind_and_place(error, own_files):
    """Kind of an exception, of Python's own, and the line of code where it came up.

    Both are of fixed lists: nothing that a model makes up, as a name, is in them.
    """
    kinds = (cls.__name__ for cls in type(error).__mro__)
    kind = next(name for name in kinds if getattr(builtins, name, None) in type(error).__mro__)
    known = {str(Path(file).resolve()): Path(file).name for file in own_files}
    place = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file in known:
            place = [known[file], line]
        elif Path(file).is_relative_to(PACKAGE):
            place = [f"dpmcmc/{Path(file).relative_to(PACKAGE).as_posix()}", line]
    return {"kind": kind, "place": place}


if __name__ == "__main__":
    main()
