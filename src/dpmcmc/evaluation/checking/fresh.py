"""Checks of a model in new processes, which have seen no rows before.

A module or a model that keeps something of the rows that it saw first treats all later rows alike,
so that no replaced row shows it. It shows where other rows came first.
"""

from contextlib import suppress

import numpy as np

from dpmcmc.evaluation.checking.cases import (
    SOME_ROWS,
    row_axis,
    row_gradients,
    row_ratios,
    with_rows,
)
from dpmcmc.evaluation.checking.findings import NotTried, Outcome
from dpmcmc.evaluation.checking.row_independence import VALUES
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.in_blocks import in_blocks
from dpmcmc.models.model import Model
from dpmcmc.new_processes import Raised, alike, called, prepare, row_dependence

ROWS = 300  # of a simulated table, and of the first that a model prepares
MOST_ROWS, MOST_NUMBERS = 100_000, 2 * 10**6  # of a table that has as many rows as the model
CODES = 10  # a column may have, 0 to 9
DRAWS = 3  # of the prior
LARGE = 1e6  # in every other row that is replaced; the rest become rows of the first half
ALIKE = 1e-9  # of the largest entry of a row: what another order of additions may change


def rows_prepared_alone(case, rng):
    """prepare and is_outcome: each row by itself, in new processes."""
    model, allowed = case.configured, "each by itself"
    cls = type(model)
    if cls.prepare is Model.prepare and cls.is_outcome is Model.is_outcome:
        return Outcome("rows as they are", allowed, True)
    raised, tried, most = None, 0, 0
    for rows in tables(case, rng):
        size = max(ROWS, min(case.configured.num_rows, MOST_ROWS, MOST_NUMBERS // rows.shape[1]))
        several = [rows, sorted_by_first(rows)]  # whose halves differ
        several += [resized(rows, size)] * (size > len(rows))
        try:
            problem = row_dependence(model, several)
        except Raised as error:  # of rows that are not as it expects
            raised = error
            continue
        if problem:
            return Outcome(problem, allowed, False)
        tried, most = tried + len(several), max(most, size)
    if not tried:
        raise NotTried(f"it raises {raised} on simulated rows; check its data by the study's file")
    if problem := unlike_alone(model, list(tables_with_values(case, rng))):
        return Outcome(problem, allowed, False)
    return Outcome(f"no row moves in {tried} tables of up to {most:,} rows", allowed, True)


def tables(case, rng):
    """Simulated columns of a file, (n, p): normal, whole numbers, and rows that fit the columns."""
    width = len(case.configured.columns) or getattr(case.configured, "row_length", 0)
    if not width:
        raise NotTried("the model names no columns")
    yield rng.standard_normal((ROWS, width))
    for codes in (CODES, 2):
        yield rng.integers(codes, size=(ROWS, width)).astype(float)
    try:
        rows = np.moveaxis(case.target.data, row_axis(case.model), 0)[:ROWS]
    except NotTried:
        return
    if rows.shape[1:] == (width,):
        yield np.array(rows)


def tables_with_values(case, rng):
    """Tables in which a value stands in a row and in one entry of others: far, or a code."""
    for rows in tables(case, rng):
        for value in filter(np.isfinite, VALUES):
            table = rows.copy()
            table[0] = value
            for j, row in enumerate(rng.integers(1, len(rows), size=rows.shape[1])):
                table[row, j] = value
            yield table


def unlike_alone(model, several):
    """How rows of tables come out otherwise than each alone, as a release prepares them; or None.

    Tables on which `prepare` raises an exception are passed over.
    """
    calls = [[(as_raised, function, rows) for rows in several] for function in (prepare, alone)]
    for at_once, one_by_one in zip(*called(model, calls), strict=True):
        if at_once.ndim == 2 and one_by_one.ndim != 2:
            return "raises an exception on a row alone"
        if at_once.ndim == 2 and not alike_by_row(one_by_one, at_once):
            return "makes other rows of some beside others than alone"
    return None


def as_raised(model, function, rows):
    """What a function makes of rows; a number if it raises an exception, as a call."""
    try:
        return function(model, np.array(rows))
    except Exception:
        return np.nan


def alone(model, rows):
    """Rows as a release prepares them, one by one, as `prepare` makes them, as a call."""
    return prepare(in_blocks(model), rows)


def alike_by_row(found, expected):
    """True if rows (n, p) are the same, up to rounding of their largest entries."""
    if found.shape != expected.shape:
        return False
    found, expected = (np.asarray(rows, dtype=float) for rows in (found, expected))
    sizes = np.where(np.isfinite(expected), abs(expected), 0).max(axis=1, initial=0)[:, None]
    return bool(np.isclose(found, expected, rtol=0, atol=ALIKE * sizes, equal_nan=True).all())


def sorted_by_first(rows):
    """Rows in the order of their first column."""
    return rows[np.argsort(rows[:, 0], kind="stable")]


def resized(rows, size):
    """Repeat the given rows up to a number, sorted by their first column."""
    return sorted_by_first(np.resize(rows, (size, rows.shape[1])))


def others_stay_in_new_processes(case, rng):
    """Half replaced, in new processes: the terms of all others stay."""
    model, (a, b), data = case.model, case.pairs[2], np.array(case.target.data)
    half = -(-case.target.num_rows // 2)
    some = rng.permutation(half)[:SOME_ROWS]
    changed = data.copy()
    rows = np.moveaxis(changed, row_axis(model), 0)
    rows[half:] = rows[: len(rows) - half]
    rows[half::2] = LARGE
    series = [[(terms, array, a, b, some)] for array in (data, changed)]
    (expected,), (found,) = called(case.plain, series)
    moved = sum(not alike(*pair) for pair in zip(found, expected, strict=True))
    return Outcome(f"{moved} of {len(some)} others move", "0 others", moved == 0)


def others_first_in_new_processes(case, rng):
    """Other rows first, in new processes: terms, prior and its draws stay, to the last bit."""
    model, (a, b), data = case.model, case.pairs[2], np.array(case.target.data)
    rows = np.moveaxis(data, row_axis(model), 0)
    half = -(-len(rows) // 2)
    order = np.argsort(rows[:, 0], kind="stable")
    some = rng.permutation(len(rows))[:SOME_ROWS]
    try:
        files = list(tables(case, rng))
    except NotTried:
        files = []
    calls = [
        (terms, data, a, b, some),
        (prior, a, b),
        (draws_of_prior,),
        (simulated_rows, a),
        (power,),
        (outcomes, np.r_[np.arange(CODES), rows[some, 0]]),
    ]
    series = []
    for part, rank in ((order[:half], 0), (order[half:], 1)):
        other = np.moveaxis(np.resize(rows[part], rows.shape), 0, row_axis(model))
        seen = [np.array_split(sorted_by_first(table), 2)[rank] for table in files]
        series.append([(see, seen, np.ascontiguousarray(other), a, b), *calls])
    results = called(case.plain, series)
    moved = [
        function.__name__.replace("_", " ")
        for (function, *_), one, other in zip(calls, *(found[1:] for found in results), strict=True)
        if not (one.shape == other.shape and np.array_equal(one, other, equal_nan=True))
    ]
    return Outcome(f"other {', '.join(moved)}" if moved else "the same", "the same", not moved)


def see(model, files, data, a, b):
    """Prepare columns of files, where it takes them, and sum over the rows of a data set."""
    for rows in files:
        with suppress(Exception):
            model.prepare(np.array(rows))
    sums(Target(in_blocks(model), data, "clip"), a, b)
    return ()


def sums(target, a, b):
    """Ask for sums over all rows."""
    target.clipped_log_likelihood_ratio(a, b, 1.0)
    target.clipped_gradient(a, 1.0)


def prior(model, a, b):
    """Ratio and gradient of the prior, (1 + d,), as a call."""
    return np.r_[model.log_prior_ratio(a, b), model.grad_log_prior(a)]


def draws_of_prior(model):
    """Draws of the prior by a seed, (k, d), as a call; empty if it has none."""
    rng = np.random.default_rng(0)
    try:
        return np.array([model.sample_prior(rng) for _ in range(DRAWS)], dtype=float)
    except NotImplementedError:
        return np.empty(0)


def simulated_rows(model, a):
    """Data at a position by a seed, as a call; empty if it makes none."""
    try:
        return with_rows(model, SOME_ROWS).simulate(np.random.default_rng(0), a)
    except NotImplementedError:
        return np.empty(0)


def power(model):
    """The likelihood's power, as a call."""
    return model.likelihood_power


def outcomes(model, values):
    """Outcomes that the model takes, as a call."""
    return model.is_outcome(values)


def terms(model, data, a, b, some):
    """Ratios and gradients of some rows, (k, 1 + d), after sums over all rows, as a call."""
    target = Target(in_blocks(model), data, "clip")
    sums(target, a, b)
    return np.column_stack([row_ratios(target, a, b, some), row_gradients(target, a, some)])
