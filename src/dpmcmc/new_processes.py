"""Functions of a model of one's own in new processes, which have seen no rows before.

A module may keep something of the rows that it saw first, as a fitted scaler does. That shows only
in a process that has seen other rows first. `called` makes such processes, and `row_dependence`
uses them to find out whether `prepare` treats each row by itself.

As `python -m dpmcmc.new_processes` this module is one of the processes. It reads a pickle from its
standard input and writes one to its standard output.
"""

import os
import pickle
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np

from dpmcmc import registry
from dpmcmc.machine import ONE_THREAD

ROUNDING = 1e-12  # of the largest value of a column: what another order of additions may change


class Raised(Exception):
    """An exception of the model's code in such a process: its kind and place, not its message."""


def called(model, series):
    """Results of series of calls, each series in a new process.

    Parameters
    ----------
    model : Model
    series : list of list of tuple
        Each call is a function of a module of the package, and its arguments but for the model,
        which is the first.

    Returns
    -------
    list of list of array

    Raises
    ------
    Raised
        If a call raises an exception, or ends its process.
    """
    # By its settings alone: without what it has cached, and whatever its module is called here.
    state = {f.name: getattr(model, f.name) for f in fields(model)} if is_dataclass(model) else {}
    inputs = [pickle.dumps((sys.path, reference(type(model)), state, calls)) for calls in series]
    with ThreadPoolExecutor(len(series)) as pool:
        return list(pool.map(in_a_process, inputs))


def reference(cls):
    """Place of a class, for `registry.load`: a file of one's own, or a module of a package."""
    module = cls.__module__
    is_file = "." not in module or module.endswith(".py")
    # A class that a function has made need not have the name that the module gives it.
    names = (name for name, value in vars(sys.modules[module]).items() if value is cls)
    name = next(names, cls.__qualname__)
    return f"{sys.modules[module].__file__ if is_file else module}:{name}"


def in_a_process(payload):
    """Results of one series of calls."""
    process = subprocess.run(
        [sys.executable, "-P", "-m", "dpmcmc.new_processes"],
        input=payload,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | ONE_THREAD | {"PYTHONHASHSEED": "0"},  # the same bits each time
    )
    try:
        results = pickle.loads(process.stdout)
    except (EOFError, pickle.UnpicklingError):
        raise Raised("its process ended without an answer") from None
    if isinstance(results, str):
        raise Raised(results)
    return results


def main():
    """Make the calls that standard input says."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # of what the model prints
    try:
        results = answer(sys.stdin.buffer)
    except Exception as error:  # its message may quote data
        frame = traceback.extract_tb(error.__traceback__)[-1]
        results = f"{type(error).__name__} ({Path(frame.filename).name}, line {frame.lineno})"
    with answers:
        pickle.dump(results, answers)
    os._exit(0)  # whatever threads the model has started


def answer(file):
    """Results of the calls in a file."""
    sys.path[:], of_class, state, calls = pickle.load(file)
    model = object.__new__(registry.load(of_class))
    vars(model).update(state)
    return [np.asarray(function(model, *arguments)) for function, *arguments in calls]


# -- Rows that look at others ----------------------------------------------------------------------


def row_dependence(model, tables):
    """Find out how what `prepare` makes of a row depends on other rows; None if it does not.

    The same goes for `is_outcome`. `prepare` is called on a table, on its
    rows in reverse order, on its halves in both orders, and with one half replaced by rows of the
    other half. Each of three processes begins with other rows: with the table, its first half, its
    second half. A row that was not replaced must come out the same to the last bit where as many
    rows come out: this is the relation of neighbours that privacy rests on, and the same
    computation on as many rows rounds alike. Elsewhere a row must be the same up to `ROUNDING`,
    because a matrix product of another number of rows may add in another order.

    The result holds for these calls. A dependence that needs other values or more rows to come up,
    or that goes through a file, is not seen.

    Parameters
    ----------
    model : Model
    tables : list of (n, p) array
        Columns of a file; n at least 2.

    Returns
    -------
    str or None

    Raises
    ------
    Raised
        If `prepare` raises an exception on any of these.
    """
    series = [], [], []
    for rows in tables:
        half = -(-len(rows) // 2)
        first, second = rows[:half], rows[half:]
        series[0].extend([rows, rows[::-1]])
        series[1].extend([first, second, np.concatenate([first, first[: len(second)]])])
        series[2].extend([second, first, np.concatenate([np.resize(second, first.shape), second])])
    calls = [[(prepare, np.ascontiguousarray(rows)) for rows in of_one] for of_one in series]
    found = [iter(results) for results in called(model, calls)]
    for _ in tables:
        if problem := compared(
            *([next(f) for _ in range(k)] for f, k in zip(found, (2, 3, 3), strict=True))
        ):
            return problem
    return None


def prepare(model, rows):
    """Rows of a model of those of a file, and last whether it takes the outcome, as a call."""
    made = np.asarray(model.prepare(rows))
    if made.ndim != 2:
        return made
    return np.column_stack([made, np.asarray(model.is_outcome(made[:, 0]), dtype=bool)])


def compared(of_whole, of_first, of_second):
    """Name of the first difference between results for one table; None if they are the same."""
    whole, backwards = of_whole
    first, second, with_first = of_first
    second_alone, first_after, with_second = of_second
    if any(part.ndim != 2 for part in (*of_whole, *of_first, *of_second)):
        return "does not return rows"
    if not alike(backwards[::-1], whole):
        return "makes other rows of the same rows in reverse order"
    for one, other in ((first, second), (first_after, second_alone)):
        if len(one) + len(other) != len(whole) or not (
            alike(one, whole[: len(one)]) and alike(other, whole[len(one) :])
        ):
            return "makes other rows of half the rows"
    # Of the second half from the end, since rows before may have been left out.
    for replaced, of_all, count in (
        (with_first, whole, len(first)),
        (with_second[::-1], whole[::-1], len(second)),
    ):
        is_as_long = len(replaced) == len(whole)
        if not alike(replaced[:count], of_all[:count], to_the_bit=is_as_long):
            return "makes other rows of some where the others are replaced"
    return None


def alike(found, expected, to_the_bit=False):
    """True if two arrays (k, ...) are the same, to the last bit or up to `ROUNDING`."""
    if found.shape != expected.shape:
        return False
    found, expected = (np.asarray(array, dtype=float) for array in (found, expected))
    if to_the_bit:
        return np.array_equal(found, expected, equal_nan=True)
    sizes = np.where(np.isfinite(expected), abs(expected), 0).max(axis=0, initial=0)
    return np.isclose(found, expected, rtol=0, atol=ROUNDING * sizes, equal_nan=True).all()


if __name__ == "__main__":
    main()
