"""What a model of one's own says of each row: as it is, and where all rows beside it are others.

The first is asked of the process of a release when its chains have ended; the second of a process
that has seen no row before. If they differ, the model looks at other rows, or keeps something of
them. So do draws and density of the prior, simulated rows and the power, which know of no row.
"""

import numpy as np

from dpmcmc.evaluation.checking import fresh
from dpmcmc.evaluation.checking.row_independence import exchanged, is_at_home, scores
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.in_blocks import BLOCK, in_blocks, own_functions
from dpmcmc.models.rows import RowsModel

ROWS_AT_ONCE = 64 * BLOCK
NEAR = 0.01  # relative, of a second position to a start


def said(model, data, start, are_others=False):
    """Numbers of every row, and below them those that know of no row: (n + k, m).

    Parameters
    ----------
    model : Model
        The array is empty for one of the package.
    data : array
        Data set.
    start : str or list of float
        Of the chain: "prior", "preparation" or numbers.
    are_others : bool
        Whether rows stand beside others than in the data.
    """
    if not own_functions(type(model)):
        return np.empty((0, 0))
    model = in_blocks(model)
    a, b = positions(model, start)
    functions = functions_of_rows(model, a, b)
    rows = data.T if isinstance(model, ExponentialFamily) else data
    of_rows = np.empty((len(rows) if functions else 0, max(1, len(functions))))
    for parity in (0, 1) if are_others else (None,):
        for first in range(0, len(of_rows), ROWS_AT_ONCE):
            some = rows[first : first + ROWS_AT_ONCE]
            is_asked = np.full(len(some), True)
            if parity is not None:
                some, is_asked = exchanged(some, parity), is_at_home(some, parity)
            with np.errstate(all="ignore"):
                found = np.column_stack([numbers(function(some)) for function in functions])
            of_rows[first : first + ROWS_AT_ONCE][is_asked] = found[is_asked]
    others = [fresh.prior(model, a, b), [fresh.power(model)]]
    others += [np.ravel(fresh.draws_of_prior(model)), np.ravel(fresh.simulated_rows(model, a))]
    return np.vstack([of_rows, np.repeat(np.concatenate(others)[:, None], of_rows.shape[1], 1)])


def is_same(found, expected):
    """True if two results of `said` are the same, up to rounding."""
    return fresh.alike_by_row(found, expected)


def positions(model, start):
    """Two public positions, (d,): draws of the prior, or near a start."""
    rng = np.random.default_rng(0)
    try:
        return model.sample_prior(rng), model.sample_prior(rng)
    except NotImplementedError:
        a = np.zeros(model.dimension) if isinstance(start, str) else np.array(start)
        return a, a + NEAR * (1 + abs(a))


def functions_of_rows(model, a, b):
    """Functions of rows (k, p), which return (k, ...)."""
    functions = []
    if isinstance(model, RowsModel):
        functions.append(lambda rows: model.log_likelihood_ratio(a, b, rows))
        functions.append(lambda rows: model.gradient(a, rows))
    if "bounded_scores" in own_functions(type(model)):
        functions.append(lambda rows: scores(model, a, rows))
    if "tail_probabilities" in own_functions(type(model)):
        functions.append(lambda rows: model.tail_probabilities(a, rows))
    return functions


def numbers(terms):
    """A number of each row: its terms (k, ...) along a fixed direction, (k,)."""
    terms = np.asarray(terms, dtype=float).reshape(len(terms), -1)
    return terms @ np.random.default_rng(0).standard_normal(terms.shape[1])
