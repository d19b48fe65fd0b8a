"""Checks of data of one's own: codes, and what a model declares of bounds, ranges and units.

They are for the owner, who may see the data: they show shares of rows and orders of magnitude, and
no value.
"""

import math
from dataclasses import replace

import numpy as np

from dpmcmc.evaluation.checking.findings import Finding
from dpmcmc.models.covariates import INTERCEPT, CovariateModel
from dpmcmc.models.normal_columns import NormalColumns
from dpmcmc.models.poisson_regression import PoissonRegression
from dpmcmc.models.regression import LogisticRegression
from dpmcmc.models.softmax_regression import SoftmaxRegression

MOST_SCALED = 0.5  # of the rows, before a bound is called wrong
UNBOUNDED = 1e300
MOST_BEYOND = 1e-3  # of the values of a column, before a range is called wrong
USUAL = 3.0  # size of covariates in public units, where the model has no bound
MOST_CODES = 0.01  # of the values of a column, before a value far from all others is called a code
FAR_OFF = 5.0  # standard deviations of the others, between it and the nearest of them
LEAST_VALUES = 3  # of the others: flags have no codes
MOST_LEVELS = 3  # codes at one end
DISCRETE = LogisticRegression, SoftmaxRegression, PoissonRegression  # kinds of their outcomes
MOST_DECIDED = 0.01  # of the rows, before a flag is said to decide their outcome


def check_data(model, rows, columns):
    """Findings about the rows of a file, a list.

    Parameters
    ----------
    model : Model
        Regressions declare bounds, and columns ranges; other models are asked for codes alone. A
        model that leaves out rows of the file may leave out those with codes, so it is not asked.
    rows : (n, p) array
        Columns of the file, which the model takes.
    columns : list of str
    """
    keeps_all = len(model.prepare(rows)) == len(rows)
    codes = [with_codes(rows, columns)] if keeps_all else []
    if isinstance(model, NormalColumns):
        return [*codes, *(beyond_range(model, rows, name) for name in model.ranges or {})]
    if not isinstance(model, CovariateModel):
        return codes
    prepared = replace(model, covariate_bound=UNBOUNDED).prepare(rows)
    outcomes, covariates = prepared[:, 0], prepared[:, 1:]
    names = covariate_names(model, columns)
    bound = model.covariate_bound if model.covariate_bound < UNBOUNDED else USUAL
    return [
        *codes,
        *([decided(model, names, covariates, outcomes)] if isinstance(model, DISCRETE) else []),
        *([scaled_back(model, rows)] if model.covariate_bound < UNBOUNDED else []),
        *(in_bounds(*one, bound) for one in zip(names, covariates.T, strict=True)),
        intercept(names, covariates),
        apart(covariates),
    ]


def with_codes(rows, columns):
    """Which columns have a code, as -999 for a missing value: a far value that many rows share."""
    found = [name for name, values in zip(columns, rows.T, strict=True) if has_code(values)]
    advice = "; if it stands for a missing value, leave out these rows" if found else ""
    return Finding(
        f"Columns in which more than {MOST_CODES:.0%} have one value, far from all others",
        (", ".join(found) or "none") + advice,
        "none",
        not found,
    )


def has_code(values):
    """Whether up to three values at an end are far from others, and many rows share one of them."""
    for from_end in (values, -values):
        levels, counts = np.unique(from_end, return_counts=True)
        for k in range(1, min(MOST_LEVELS, len(levels) - LEAST_VALUES) + 1):
            others = from_end[from_end >= levels[k]]
            is_shared = counts[:k].max() > max(1, MOST_CODES * len(values))
            if is_shared and levels[k] - levels[k - 1] > FAR_OFF * others.std():
                return True
    return False


def decided(model, names, covariates, outcomes):
    """Which flags decide the outcome: rows with one of their values all have one label, or all 0.

    The likelihood of labels, and of counts that are all 0, then grows as the flag's coefficient
    does, without end (Albert and Anderson 1984). The prior alone ends it, and the posterior is not
    nearly normal.
    """
    if isinstance(model, PoissonRegression):  # counts above 0 decide nothing, so none are alike
        outcomes = np.where(outcomes > 0, 1 + np.arange(len(outcomes)), 0)
    found = [
        name
        for name, values in zip(names, covariates.T, strict=True)
        if share_decided(values, outcomes) > MOST_DECIDED
    ]
    advice = "; leave out the rows that it decides, and then the flag" if found else ""
    return Finding(
        f"Flags that decide the outcome of more than {MOST_DECIDED:.0%} of the rows",
        (", ".join(found) or "none") + advice,
        "none",
        not found,
    )


def share_decided(values, outcomes):
    """Largest share of rows with one of two values of a flag, if all have the same outcome."""
    levels = np.unique(values)
    if len(levels) != 2:
        return 0.0
    masks = [values == level for level in levels]
    return max((mask.mean() for mask in masks if np.ptp(outcomes[mask]) == 0), default=0.0)


def beyond_range(model, rows, name):
    """Share of a column's values that are beyond its range."""
    (least, greatest), values = model.ranges[name], rows[:, model.variables.index(name)]
    share = ((values < least) | (values > greatest)).mean()
    advice = (
        "" if share <= MOST_BEYOND else "; say a wider range, or leave out codes of missing values"
    )
    return Finding(
        f"Column {name}: values beyond its range, which count as the end of it",
        f"{share:.2%}{advice}",
        f"at most {MOST_BEYOND:.1%}",
        bool(share <= MOST_BEYOND),
    )


def covariate_names(model, columns):
    """Names of the covariates of a row of the model, the intercept among them."""
    return [INTERCEPT] * model.intercept + list(columns[1:])


def scaled_back(model, rows):
    """Share of rows that are longer than the bound."""
    unbounded = replace(model, covariate_bound=UNBOUNDED).prepare(rows)
    share = (model.prepare(rows)[:, 1:] != unbounded[:, 1:]).any(axis=1).mean()
    advice = "" if share <= MOST_SCALED else "; subtract public centres, divide by public scales"
    return Finding(
        "Rows longer than covariate_bound, which are scaled back to it",
        f"{share:.0%} of the rows{advice}",
        f"at most {MOST_SCALED:.0%}",
        bool(share <= MOST_SCALED),
    )


def in_bounds(name, values, bound):
    """The size of a covariate, in order of magnitude."""
    size = np.median(abs(values)) / bound
    found = "within the bound"
    if size > 1:
        found = f"about 10^{round(math.log10(size))} times the bound" if size > 3 else "beyond it"
    return Finding(f"Covariate {name}: its usual size", found, "within the bound", bool(size <= 1))


def intercept(names, covariates):
    """Which covariates are constant: one of them is an intercept."""
    constant = [name for name, one in zip(names, covariates.T, strict=True) if np.ptp(one) == 0]
    found = ", ".join(constant) or "none: there is no intercept"
    return Finding("Covariates that are constant", found, "at most 1", len(constant) <= 1)


def apart(covariates):
    """True if some covariates are a combination of others."""
    lengths = np.linalg.norm(covariates, axis=0)
    rank = np.linalg.matrix_rank(covariates / np.where(lengths > 0, lengths, 1))
    is_full = rank == covariates.shape[1]
    found = f"{rank} of {covariates.shape[1]}"
    return Finding("Covariates that are no combination of others", found, "all", bool(is_full))
