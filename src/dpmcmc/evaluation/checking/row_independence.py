"""A check of models that compute many rows at once: no row may move the terms of the others.

Privacy rests on it, to the last bit: a sum of clipped terms moves by its sensitivity when one row
is replaced, if all other terms stay as they are. Other checks allow for rounding, this one for
nothing.
"""

import numpy as np

from dpmcmc.evaluation.checking.cases import row_axis
from dpmcmc.evaluation.checking.findings import NotTried, Outcome
from dpmcmc.evaluation.checking.rows import HOSTILE_VALUES
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.rows import RowsModel

PLACES = 4  # rows that are replaced, one at a time, by each of the values
LEAST_ROWS = 256  # of statistics


def other_rows_stay(case, rng):
    """Replaced row: the terms of all others stay, to the last bit."""
    moved = []
    for rows, terms in functions_of_rows(case, rng):
        rows = np.array(rows)  # in one place, lest the computation depend on where it is
        before = bits(terms(rows))
        for place in rng.integers(len(rows), size=PLACES):
            own = rows[place].copy()
            for value in (*HOSTILE_VALUES, rows[place - 1]):
                rows[place] = value
                is_moved = (bits(terms(rows)) != before).any(axis=1)
                is_moved[place] = False
                moved.append(int(is_moved.sum()))
            rows[place] = own
    return Outcome(f"{max(moved)} others move", "0 others", max(moved) == 0)


def functions_of_rows(case, rng):
    """Pairs of rows (n, p) and a function of them to their terms, an array (n, ...): a list.

    Of a model with functions of rows these are its ratios and gradients, as it is asked for them;
    of an exponential family its statistics, since all else is the package's.
    """
    model, (a, b) = case.model, case.pairs[2]
    rows = np.moveaxis(case.target.data, row_axis(model), 0)
    if isinstance(model, ExponentialFamily):
        length = len(model.columns) or model.num_statistics
        rows = rng.standard_normal((max(LEAST_ROWS, len(rows)), length))
        try:
            model.statistics(rows)
        except Exception:
            if model.columns:
                raise
            raise NotTried("it names no columns that statistics takes") from None
        return [(rows, lambda rows: model.statistics(rows).T)]
    if isinstance(model, RowsModel):
        rows = rows[: case.target.likelihood.block]  # that are computed at once
        return [
            (rows, lambda rows: model.log_likelihood_ratio(a, b, rows)),
            (rows, lambda rows: model.gradient(a, rows)),
        ]
    if hasattr(model, "log_likelihood_row"):
        from dpmcmc.likelihoods.jax import BLOCK, jax

        of_row, (a, b) = model.log_likelihood_row, map(jax.numpy.asarray, (a, b))
        ratios = jax.jit(jax.vmap(lambda row: of_row(b, row) - of_row(a, row)))
        gradients = jax.jit(jax.vmap(lambda row: jax.grad(of_row)(a, row)))
        return [(rows[:BLOCK], ratios), (rows[:BLOCK], gradients)]
    raise NotTried("check does not know which of its functions read rows")


def bits(terms):
    """Terms (n, ...) as whole numbers (n, m), which are the same where all bits are."""
    terms = np.array(terms, dtype=np.float64, order="C")
    return terms.reshape(len(terms), -1).view(np.int64)
