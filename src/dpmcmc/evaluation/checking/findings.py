"""What a check finds, whatever it is of.

A check is a function whose docstring begins with what it tries, in one line. It returns an
`Outcome`; `find` makes a `Finding` of it, and of what the function raises.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

FALSE_ALARM = 1e-5  # chance that a statistical check fails of what is right


class Outcome(NamedTuple):
    """What a check found, what it allows, and whether that is so."""

    found: str
    allowed: str
    passed: bool


class Finding(NamedTuple):
    """One row of the table."""

    tried: str
    found: str
    allowed: str
    passed: bool | None  # None if it could not be tried


class NotTried(Exception):
    """A check that cannot be tried; the message says why."""


def find(check, *arguments):
    """The `Finding` of a check with such arguments; an exception is one that failed."""
    tried = check.__doc__.partition("\n")[0].removesuffix(".")
    try:
        with np.errstate(all="ignore"):
            return Finding(tried, *check(*arguments))
    except NotTried as why:
        return Finding(tried, f"not tried: {why}", "", None)
    except Exception as error:  # of the user's code, which may raise anything
        return Finding(tried, in_a_line(error), "no exception", False)


def in_a_line(error):
    """An exception, as one line of at most 200 characters."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def optional(function, *arguments):
    """What an optional member of a class returns; `NotTried` where it is not there."""
    try:
        return function(*arguments)
    except NotImplementedError as error:
        raise NotTried(error) from None


def at_most(value, allowed, unit="", where=""):
    """Outcome of a number that must not be larger; NaN is."""
    return Outcome(
        f"{value:.2g}{unit}{where}", f"at most {allowed:g}{unit}", bool(value <= allowed)
    )


def z_scores(values, floor=0.0):
    """Standard errors between the mean of values (n, ...) and 0, by component.

    The deviation is taken about 0, so that no far value alone makes a large score.

    Parameters
    ----------
    values : (n, ...) array
        Independent, of mean 0 if all is well.
    floor : float or (...) array
        Least standard deviation: smaller values are rounding errors.
    """
    values = np.asarray(values, dtype=float)
    deviation = np.sqrt((values**2).mean(axis=0) + np.square(floor))
    mean = values.mean(axis=0)
    return np.sqrt(len(values)) * np.divide(mean, deviation, np.zeros_like(mean), where=mean != 0)


def near_zero(z, remark=""):
    """Outcome of z-scores that should be Normal(0, 1), of all of them together (Bonferroni)."""
    largest = np.abs(z).max()
    allowed = norm.isf(FALSE_ALARM / 2 / np.size(z))
    return Outcome(
        f"|z| = {largest:.1f}{remark}", f"|z| <= {allowed:.1f}", bool(largest <= allowed)
    )


def relative(errors, sizes):
    """Largest of the errors in units of sizes, inf where these are 0 and NaN if one is NaN."""
    errors, sizes = np.broadcast_arrays(np.abs(errors), sizes)
    units = np.divide(errors, sizes, np.full(errors.shape, math.inf), where=sizes != 0)
    return float(np.where(errors == 0, 0.0, units).max(initial=0.0))
