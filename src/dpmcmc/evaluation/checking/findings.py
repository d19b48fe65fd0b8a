"""Findings of checks, of whatever object.

A check is a function whose docstring begins with what it tries, in one line. It returns an
`Outcome`; `find` makes a `Finding` of it, and of what the function raises.
"""

import math
import sysconfig
import traceback
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

LIBRARIES = [Path(__file__).parents[2]]
LIBRARIES += [Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib")]
FALSE_ALARM = 1e-5  # chance that a statistical check fails of what is right


class Outcome(NamedTuple):
    """One finding: the value, what is allowed, and whether it passes."""

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


def find_all(calls, is_secret=False):
    """The `Finding` of each call in turn: tuples of a check and its arguments.

    An exception is a check that failed. It names the place where the user's code raised it; another
    check that ends in the same one says so.

    Parameters
    ----------
    calls : iterable of tuple
    is_secret : bool
        Whether the checks look at data of somebody's own: then no message of an exception is shown,
        since it may quote them.
    """
    raised = set()
    for check, *arguments in calls:
        tried = (check.__doc__ or check.__name__).partition("\n")[0].removesuffix(".")
        try:
            with np.errstate(all="ignore"):
                finding = Finding(tried, *check(*arguments))
        except NotTried as why:
            finding = Finding(tried, f"not tried: {why}", "", None)
        except Exception as error:  # of the user's code, which may raise anything
            text = in_a_line(error, is_secret)
            found = "the same exception" if text in raised else text
            raised.add(text)
            finding = Finding(tried, found, "no exception", False)
        yield finding


def in_a_line(error, is_secret=False):
    """An exception and its place, as one line: its message has at most 200 characters, or none."""
    kind, frames = type(error).__name__, traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if is_of_user(f.filename)]
    if is_secret:
        frame = (own or frames)[-1]
        return f"{kind} ({Path(frame.filename).name}, line {frame.lineno})"
    text = " ".join(f"{kind}: {error}".split())
    text = text if len(text) <= 200 else f"{text[:197]}..."
    return f"{text} ({own[-1].filename}, line {own[-1].lineno})" if own else text


def is_of_user(file):
    """True if a file is neither the package's nor a library's."""
    path = Path(file).resolve()
    return path.exists() and not any(path.is_relative_to(library) for library in LIBRARIES)


def optional(function, *arguments):
    """Call an optional member of a class; `NotTried` if it is missing."""
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
    allowed = -NormalDist().inv_cdf(FALSE_ALARM / 2 / np.size(z))
    return Outcome(
        f"|z| = {largest:.1f}{remark}", f"|z| <= {allowed:.1f}", bool(largest <= allowed)
    )


def relative(errors, sizes):
    """Largest of the errors in units of sizes, inf where these are 0 and NaN if one is NaN."""
    errors, sizes = np.broadcast_arrays(np.abs(errors), sizes)
    units = np.divide(errors, sizes, np.full(errors.shape, math.inf), where=sizes != 0)
    return float(np.where(errors == 0, 0.0, units).max(initial=0.0))
