"""Checks of a model in new processes, which have seen no rows before.

A module or a model that keeps something of the rows that it saw first treats all later rows alike,
so that no replaced row shows it. It shows where other rows came first.
"""

import numpy as np

from dpmcmc.evaluation.checking.cases import SOME_ROWS, row_axis, row_gradients, row_ratios
from dpmcmc.evaluation.checking.findings import NotTried, Outcome
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.model import Model
from dpmcmc.new_processes import Raised, alike, called, row_dependence

ROWS = 300  # of a simulated table
CODES = 10  # a column may have, 0 to 9
LARGE = 1e6  # in every other row that is replaced; the rest become rows of the first half


def rows_prepared_alone(case, rng):
    """prepare: each row by itself, in new processes."""
    model, allowed = case.configured, "each by itself"
    if type(model).prepare is Model.prepare:
        return Outcome("rows as they are", allowed, True)
    raised, tried = None, 0
    for rows in tables(case, rng):
        try:
            problem = row_dependence(model, [rows])
        except Raised as error:  # of rows that are not as it expects
            raised = error
            continue
        if problem:
            return Outcome(problem, allowed, False)
        tried += 1
    if not tried:
        raise NotTried(f"it raises {raised} on simulated rows; check its data by the study's file")
    return Outcome(f"no row moves in {tried} tables", allowed, True)


def tables(case, rng):
    """Simulated columns of a file, (n, p): normal, whole numbers, and rows that fit the columns."""
    width = len(case.configured.columns) or getattr(case.configured, "row_length", 0)
    if not width:
        raise NotTried("the model names no columns")
    yield rng.standard_normal((ROWS, width))
    yield rng.integers(CODES, size=(ROWS, width)).astype(float)
    try:
        rows = np.moveaxis(case.target.data, row_axis(case.model), 0)[:ROWS]
    except NotTried:
        return
    if rows.shape[1:] == (width,):
        yield np.array(rows)


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
    (expected,), (found,) = called(model, series)
    moved = sum(not alike(*pair) for pair in zip(found, expected, strict=True))
    return Outcome(f"{moved} of {len(some)} others move", "0 others", moved == 0)


def terms(model, data, a, b, some):
    """Ratios and gradients of some rows, (k, 1 + d), after sums over all rows, as a call."""
    target = Target(model, data, "clip")
    target.clipped_log_likelihood_ratio(a, b, 1.0)
    target.clipped_gradient(a, 1.0)
    return np.column_stack([row_ratios(target, a, b, some), row_gradients(target, a, some)])
