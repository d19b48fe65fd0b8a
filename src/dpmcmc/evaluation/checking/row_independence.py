"""A check of models that compute many rows at once: no row may move the terms of the others.

Privacy rests on it, to the last bit: a sum of clipped terms moves by its sensitivity when one row
is replaced, if all other terms stay as they are. Other checks allow for rounding, this one for
nothing. Rows are as many as in a release, and as many as a study computes at once.
"""

from typing import Any, NamedTuple

import numpy as np

from dpmcmc.evaluation.checking.cases import row_axis
from dpmcmc.evaluation.checking.findings import NotTried, Outcome
from dpmcmc.evaluation.checking.rows import HOSTILE_VALUES
from dpmcmc.likelihoods.bounded_scores import BLOCK as OF_SCORES
from dpmcmc.likelihoods.bounded_scores import are_cut
from dpmcmc.likelihoods.information import rows_at_once
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.in_blocks import BLOCK
from dpmcmc.models.rows import RowsModel
from dpmcmc.samplers.far_outcomes import ROWS_AT_ONCE as ROWS_OF_TAILS
from dpmcmc.samplers.far_outcomes import has_tails

CODES = (-1.0, -9.0, -99.0, -999.0, -9999.0, 9.0, 99.0, 999.0, 9999.0, 0.5)  # of missing values
VALUES = (*HOSTILE_VALUES, *CODES)
FEW = (1e6, -999.0)  # where rows are many
PLACES = 4  # rows that are replaced, one at a time, by each of the values
LEAST_ROWS = 256  # of statistics
MOST_ROWS = 100_000  # likewise, since a study takes those of all rows at once


def other_rows_stay(case, rng):
    """Replaced row: the terms of all others stay, to the last bit."""
    moved = []
    for terms, rows, sizes in functions_of_rows(case, rng):
        for size in sizes:
            some = np.resize(rows, (size, rows.shape[1]))
            is_small = size == min(sizes)
            places = rng.integers(size, size=PLACES if is_small else 1)
            moved.append(most_moved(terms, some, places, VALUES if is_small else FEW, rng))
    return Outcome(f"{max(moved)} others move", "0 others", max(moved) == 0)


def most_moved(terms, rows, places, values, rng):
    """Largest number of rows (n, p) whose terms move as one is replaced, or all their companions.

    A row that is replaced, as a whole or in one entry, may itself become one that looks at others,
    as one that is taken to be missing does. So its companions are then exchanged.
    """
    moved = []
    before = bits(terms(rows))
    for place in places:
        own = rows[place].copy()
        for value in (*values, rows[place - 1].copy()):
            for entries in (slice(None), rng.integers(len(own))):
                rows[place] = own
                rows[place, entries] = value if np.ndim(value) == 0 else value[entries]
                found = bits(terms(rows))
                is_moved = (found != before).any(axis=1)
                is_moved[place] = False
                others = bits(terms(exchanged(rows, place % 2)))
                is_other = (others != found).any(axis=1) & is_at_home(rows, place % 2)
                moved += [is_moved.sum(), is_other.sum()]
        rows[place] = own
    return int(max(moved))


def exchanged(rows, parity):
    """Rows (n, p), but for those of one parity; in place of each other one stands its neighbour.

    So each that stays is at its place, and among others.
    """
    return np.where(is_at_home(rows, parity)[:, None], rows, np.roll(rows, 1, axis=0))


def is_at_home(rows, parity):
    """Mask (n,) of the rows that `exchanged` leaves in their place."""
    return np.arange(len(rows)) % 2 == parity


class Function(NamedTuple):
    """A function of rows of a model."""

    terms: Any  # (n, p) -> (n, ...)
    rows: np.ndarray  # (n, p), of which as many are taken, or repeated, as it is to see
    sizes: list[int]


def functions_of_rows(case, rng):
    """Each `Function` of a case's model, a list.

    Of a model with functions of rows these are its ratios and gradients, as it is asked for them;
    of an exponential family its statistics, since all else is the package's; of any its scores, if
    it bounds them itself. Their rows are as many as a release gives to code of one's own, and as
    many as a study does.
    """
    model, (a, b), functions = case.plain, case.pairs[2], []
    n = case.configured.num_rows
    if isinstance(model, ExponentialFamily):
        functions.append(Function(lambda x: model.statistics(x).T, columns(model, rng), sizes(n)))
    elif isinstance(model, RowsModel):
        most = sizes(n, max(case.target.likelihood.block, rows_at_once(len(a))))
        functions += [
            Function(lambda rows: model.log_likelihood_ratio(a, b, rows), case.target.data, most),
            Function(lambda rows: model.gradient(a, rows), case.target.data, most),
        ]
    elif hasattr(model, "log_likelihood_row"):
        from dpmcmc.likelihoods.jax import BLOCK as OF_JAX
        from dpmcmc.likelihoods.jax import jax

        of_row, x, y = model.log_likelihood_row, jax.numpy.asarray(a), jax.numpy.asarray(b)
        ratios = jax.jit(jax.vmap(lambda row: of_row(y, row) - of_row(x, row)))
        gradients = jax.jit(jax.vmap(lambda row: jax.grad(of_row)(x, row)))
        functions += [Function(one, case.target.data, [OF_JAX]) for one in (ratios, gradients)]
    if not are_cut(model):
        rows = np.moveaxis(case.target.data, row_axis(model), 0)
        most = sizes(n, OF_SCORES // len(a) ** 2)
        functions.append(Function(lambda rows: scores(model, a, rows), rows, most))
    if has_tails(model):
        rows = np.moveaxis(case.target.data, row_axis(model), 0)
        most = sizes(n, ROWS_OF_TAILS)
        functions.append(Function(lambda rows: model.tail_probabilities(a, rows), rows, most))
    if not functions:
        raise NotTried("check does not know which of its functions read rows")
    return functions


def sizes(num_rows, most=MOST_ROWS):
    """As many rows as in a release, and as in a study of n rows that gives at most so many."""
    return sorted({BLOCK, min(most, max(BLOCK, num_rows))})


def columns(model, rng):
    """Rows of a file of which `statistics` are taken, (n, p)."""
    rows = rng.standard_normal((LEAST_ROWS, len(model.columns) or model.num_statistics))
    try:
        model.statistics(rows)
    except Exception:
        if model.columns:
            raise
        raise NotTried("it names no columns that statistics takes") from None
    return rows


def scores(model, theta, rows):
    """Bounded scores of rows and all that belongs to them, (n, k)."""
    found = model.bounded_scores(theta, rows, 1.0, 0.3)
    return np.column_stack([np.reshape(part, (len(rows), -1)) for part in found])


def bits(terms):
    """Terms (n, ...) as whole numbers (n, m), which are the same where all bits are."""
    terms = np.array(terms, dtype=np.float64, order="C")
    return terms.reshape(len(terms), -1).view(np.int64)
