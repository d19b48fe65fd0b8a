"""The process that reads the data: it returns draws or one of a few fixed error codes.

It is started by the command `release` when the ledger's line is on disk, as `python -P -m
dpmcmc.release.data_process`, with its output closed: whatever a model prints, warns or raises stays
inside. A line of JSON says what to do. It answers through a pipe by two lines: whether the data
are those of the ledger, which it says before any code of one's own runs, and how it ended. Draws
follow as doubles. When the process that started it ends, so does this one, and all that it started.

Before that line is written, it is started once on a twin, which are simulated data, and does the
same. Only then does it say what an exception says.
"""

import dpmcmc.pinned  # noqa: F401 before NumPy, since it chooses the machine code

# isort: split
import builtins
import csv
import ctypes
import io
import json
import math
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
from dpmcmc.data_files import DataFile, prepared
from dpmcmc.evaluation.checking.fresh import alike_by_row
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.in_blocks import in_blocks, own_functions
from dpmcmc.precomputed import with_precomputed
from dpmcmc.release.beside_others import is_same, said
from dpmcmc.release.libraries import OF_NOISE, OF_NUMBERS, require_installed
from dpmcmc.release.lines import fingerprint
from dpmcmc.release.noise import require_noise
from dpmcmc.release.replay import NotedSecretStreams, is_function_of_releases, planned_chain
from dpmcmc.release.rows import RowByRow, in_file_order
from dpmcmc.release.running import message_of, with_noise
from dpmcmc.release.streams import Allowance, SecretStreams

PACKAGE = Path(__file__).parents[1]
PR_SET_DUMPABLE = 4  # of prctl(2)
FAILED, NO_MEMORY = 1, 2  # exit statuses of the process that prepares the rows
SAME, CHANGED = b"same\n", b"changed\n"  # whether the data are those of the ledger


class Contents(DataFile):
    """A `DataFile` of bytes that have been read."""

    def __init__(self, path, contents):
        self.path = Path(path)
        self._read(contents)


class Backwards(Contents):
    """`Contents` whose last row is the first."""

    def rows(self, columns):
        """Same as in `DataFile`."""
        return super().rows(columns)[::-1]


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
        is_same = spec["data"] is None or contents is not None
        pipe.write(SAME if is_same else CHANGED)
        pipe.flush()
        if not is_same:
            return
        answer, draws = answered(spec, contents)
        pipe.write(json.dumps(answer).encode() + b"\n")
        if draws is not None:
            pipe.write(np.asarray(draws, float).tobytes())
    os._exit(0)  # nothing of a model's runs any more


def answered(spec, contents):
    """Answer and draws, as of `work`, also where that fails."""
    try:
        answer, draws = work(spec, contents)
        return answer | {"shape": np.shape(draws)}, draws
    except BaseException as error:
        answer = {"end": "failed", **kind_and_place(error, spec["files"])}
        if spec["data"] is None:
            answer["message"] = message_of(error)
        return answer, None


def end_with(parent):
    """Standard input ends when the process that started this one does: so do all of its group."""
    while os.read(parent, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def contents_of(spec):
    """Bytes of the data; None for a twin, and if they are not those of the ledger."""
    try:
        contents = Path(spec["data"] or "").read_bytes()
    except OSError:
        return None
    return contents if fingerprint(contents, spec["salt"]) == spec["fingerprint"] else None


def work(spec, contents):
    """Answer, and draws (chains, kept, d) where there are any."""
    require_installed(*OF_NOISE, *OF_NUMBERS)  # before any code of one's own is imported
    require_noise()
    if contents is None:
        data = apart(simulated, spec)
        if data is None:
            data = simulated(spec)  # to raise here what it raises
    else:
        data = apart(data_of, spec, contents)
        if data is None:
            return {"end": "data"}, None
        if not apart(is_the_same_at_once, spec, contents, data):
            return {"end": "alone"}, None
    expected = apart(beside_others, spec, data)
    sampler = with_noise(with_precomputed(registry.build(spec["sampler"])), spec["noise_scale"])
    model = in_blocks(registry.build(spec["model"]))
    try:
        num_rows = data.shape[isinstance(model, ExponentialFamily)]
        if contents is not None and num_rows != model.num_rows:
            return {"end": "rows"}, None
        target = RowByRow(model, data, "clip")
    except Exception:
        if contents is None:
            raise
        return {"end": "data"}, None
    chains = [one_chain(spec, sampler, target) for _ in range(spec["chains"])]
    if any(chain is None for chain in chains):
        return {"end": "released"}, None
    draws = np.stack([chain.positions for chain in chains])
    if contents is None and not np.isfinite(draws).all():
        raise ArithmeticError("draws are not finite")
    found = said(model, data, spec["start"])
    if expected is None or not is_same(found, expected):
        return {"end": "alone"}, None
    prepared = [chain.preparation for chain in chains if chain.preparation]
    misfit = max((one.misfit for one in prepared), default=math.nan)
    far = [far for one in prepared for far in one.far]
    return {"end": "finished", "misfit": misfit, "far": far}, draws


def apart(function, *arguments):
    """Array that a function returns in a process of its own, or None if it fails.

    The process is a fork, made before any code of one's own is imported. Only the array comes back,
    in memory that no file names. So whatever `prepare` keeps of the rows, in a module or a model,
    is out of reach of likelihood, prior and sampler. The fork is in the same group, and like this
    process it leaves no core file.

    Raises
    ------
    MemoryError
        If the process was killed, or had too little memory.
    """
    with os.fdopen(os.memfd_create("rows"), "r+b") as memory:
        if not (child := os.fork()):
            status = FAILED
            try:
                np.save(memory, np.asarray(function(*arguments), dtype=float), allow_pickle=False)
                memory.flush()
                status = 0
            except MemoryError:
                status = NO_MEMORY
            finally:
                os._exit(status)
        # Whatever else the child has started is not waited for.
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == NO_MEMORY:
            raise MemoryError
        if status:
            return None
        memory.seek(0)
        try:
            return np.load(memory, allow_pickle=False)
        except (ValueError, EOFError):  # it ended before it had written
            return None


def data_of(spec, contents):
    """Data set of the contents of a file: `prepare` of one's own sees one row at a time."""
    model = in_blocks(registry.build(spec["model"]))
    rows = prepared(model, Contents(spec["data"], contents), spec["columns"])
    return in_file_order(model, rows)


def is_the_same_at_once(spec, contents, data):
    """Whether all rows at once, from the last to the first, make the data set, too."""
    model = registry.build(spec["model"])
    if not own_functions(type(model)):
        return True
    rows = prepared(model, Backwards(spec["data"], contents), spec["columns"])[::-1]
    pair = data, in_file_order(model, rows)
    is_turned = isinstance(model, ExponentialFamily)
    return alike_by_row(*(array.T if is_turned else array for array in pair))


def beside_others(spec, data):
    """What a model that has seen no row says of rows beside others."""
    return said(registry.build(spec["model"]), data, spec["start"], are_others=True)


def one_chain(spec, sampler, target):
    """A chain by new streams.

    None if its positions depend on more than what it released, which is tried for samplers of one's
    own.
    """
    is_own = registry.is_own(spec["sampler"])
    streams = NotedSecretStreams if is_own else SecretStreams
    rng = streams(target.num_rows, Allowance(**spec["allowed"]), spec["chains"])
    chain = planned_chain(spec, sampler, target, rng)
    return None if is_own and not is_function_of_releases(spec, chain, rng) else chain


# -- A twin ----------------------------------------------------------------------------------------

MADE_UP_ROWS = 100
# Rows of a file, of which a model's `prepare` must take at least those of one kind.
MADE_UP = (
    lambda shape: np.random.default_rng(0).standard_normal(shape),
    lambda shape: np.random.default_rng(0).random(shape),
    np.ones,
    np.zeros,
)


def simulated(spec):
    """Simulated data set, if a file with the columns would make data of that shape.

    Raises whatever the model raises.
    """
    model = in_blocks(registry.build(spec["model"]))
    require_shape(spec, model)
    return model.simulate(np.random.default_rng(0))


def require_shape(spec, model):
    """Raise unless made-up rows of a file, as many as are declared, make data for the model."""
    name, rows = type(model).__name__, np.asarray(prepared_made_up(spec, model))
    if rows.ndim != 2:
        raise ValueError(f"{name}.prepare: must return rows (k, p), not of shape {rows.shape}")
    data = in_file_order(model, np.resize(rows, (model.num_rows, rows.shape[1])))
    if data.shape != tuple(model.data_shape):
        raise ValueError(
            f"columns: {', '.join(spec['columns'])} make data of shape {data.shape}, and {name} "
            f"takes {tuple(model.data_shape)}"
        )
    RowByRow(model, data, "clip")


def prepared_made_up(spec, model):
    """Rows that the model makes of a file of made-up numbers, of the kind of the data's file."""
    names, problem = list(dict.fromkeys(spec["columns"])), None
    for make in MADE_UP:
        contents = WRITERS[spec["suffix"]](names, make((MADE_UP_ROWS, len(names))))
        file = Contents(f"made-up{spec['suffix']}", contents)
        rows = file.rows(spec["columns"])
        try:
            return model.prepare(rows)
        except Exception as error:
            problem = problem or error
    raise problem


def as_csv(names, rows):
    """Bytes of a .csv file."""
    file = io.StringIO()
    csv.writer(file).writerows([names, *rows.tolist()])
    return file.getvalue().encode()


def as_parquet(names, rows):
    """Bytes of a .parquet file."""
    import pyarrow
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pyarrow.table(dict(zip(names, rows.T, strict=True))), file)
    return file.getvalue()


def as_npy(names, rows):
    """Bytes of a .npy file, whose columns have no names."""
    file = io.BytesIO()
    np.save(file, rows)
    return file.getvalue()


WRITERS = {".csv": as_csv, ".parquet": as_parquet, ".npy": as_npy}


# -- An exception ----------------------------------------------------------------------------------


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
