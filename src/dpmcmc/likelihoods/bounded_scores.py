"""Bounded scores of rows with mean zero, and their slopes, summed so that one row moves little.

A row that moves a sum by at most a bound must have a bounded score. A gradient that is cut to a
length has a mean that is not zero at the true theta, unless errors are symmetric, and that bias
does not shrink with the number of rows. So a model bounds its scores itself, in a way that keeps
the mean zero, and tells the slope of what it has bounded (docs/accounting.md has the proofs):

- by a weight that knows the covariates of a row and theta, but not its outcome;
- by a clip of the outcome, less the mean of the clipped outcome.

With g the score of a row, h its slope, a sum of outer products, and t >= 0 the mean of |g|^2, the
rows together release the sum of (g, b h, b t / 2). Where 2 |g|^2 + b^2 (|h|^2 + t^2 / 4) <= 2 B^2,
another row in place of one moves this by at most 2 B: |g_1 - g_2|^2 <= 2 |g_1|^2 + 2 |g_2|^2, and
|h_1 - h_2|^2 <= |h_1|^2 + |h_2|^2 as the inner product of positive semidefinite matrices is not
negative; likewise for t.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpmcmc.likelihoods.information import upper_triangle

if TYPE_CHECKING:
    from dpmcmc.models.model import Model

BLOCK = 2**18  # numbers of the roots of as many rows as are held at once
HALVINGS = 14


class Scores(NamedTuple):
    """Scores of k rows at theta, by `Model.bounded_scores`."""

    scores: np.ndarray  # (k, d); of mean zero where outcomes are drawn at theta
    largest: np.ndarray  # (k,), not below the length of the score, whatever the outcome of the row
    # (k, r, d): the sum of r outer products is the slope of the score, E score gradient'.
    roots: np.ndarray
    squares: np.ndarray  # (k,), mean of |score|^2; at most the trace of the slope


# Modules of base classes, whose scores are gradients that are cut.
BASES = tuple(f"dpmcmc.models.{name}" for name in ("exponential_family", "jax", "model", "rows"))
SQUARES_RATIO = 0.5  # of squares to the information, in what is released


class Sums(NamedTuple):
    """Sums over the rows; `released` of another row in place of one moves by 2 B at most."""

    gradient: np.ndarray  # (d,)
    information: np.ndarray  # (d (d + 1) / 2,), as of `dpmcmc.likelihoods.information`
    squares: float
    num_weighted: int  # rows with a weight below 1, or whose numbers are not finite: these count 0


def bounded_sums(
    model: "Model", theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
) -> Sums:
    """Sums of the bounded scores, their slopes and their mean squares.

    All of a row has one weight w = min(1, B / sqrt(l^2 + b^2 (|h|^2 + t^2 / 4) / 2)), where l is
    the largest length of its score and |h| the Frobenius norm of its slope; w^2 for the squares.
    The bound holds whatever the model returns: a score longer than `largest` counts by its length.

    Parameters
    ----------
    model : Model
    theta : (d,) array
    rows : (n, p) array
        Of a data set of an exponential family, its transpose.
    bound : float
        B.
    ratio : float
        b, in units of 1 / length of a score.

    Raises
    ------
    ValueError
        If the model returns arrays of another shape.
    """
    d = len(theta)
    gradient, information, total, num_weighted = np.zeros(d), np.zeros((d, d)), 0.0, 0
    size = max(1, BLOCK // (d * d))
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        found, weights = weighted(model, theta, some, bound, ratio)
        num_weighted += len(some) - int(np.count_nonzero(weights == 1))
        gradient += found.scores.sum(axis=0)
        flat = found.roots.reshape(-1, d)
        information += flat.T @ flat
        total += float(found.squares.sum())
    i, j, factors = upper_triangle(d)
    return Sums(gradient, information[i, j] * factors, total, num_weighted)


def weighted(
    model: "Model", theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
) -> tuple[Scores, np.ndarray]:
    """Scores of rows with their weights, of finite ones alone, and these weights.

    Parameters and errors as for `bounded_sums`.
    """
    with np.errstate(all="ignore"):
        scores, largest, roots, squares = model.bounded_scores(theta, rows, bound, ratio)
        check_shapes(model, len(rows), len(theta), scores, largest, roots, squares)
        lengths = np.maximum(largest, np.sqrt(np.einsum("kd,kd->k", scores, scores)))
        squares = np.maximum(squares, 0)
        second = np.hypot(norms(roots), SQUARES_RATIO * squares)
        sizes = np.hypot(lengths, ratio / math.sqrt(2) * second)
    is_finite = sizes < math.inf
    w = bound / np.maximum(sizes[is_finite], bound)
    found = Scores(
        w[:, None] * scores[is_finite],
        w * largest[is_finite],
        np.sqrt(w)[:, None, None] * roots[is_finite],
        w * w * squares[is_finite],
    )
    return found, w


def norms(roots: np.ndarray) -> np.ndarray:
    """Frobenius norms of the sums of outer products of roots (k, r, d), (k,)."""
    if roots.shape[1] == 1:
        return np.einsum("krd,krd->k", roots, roots)
    products = roots @ roots.transpose(0, 2, 1)
    return np.sqrt(np.einsum("krs,krs->k", products, products))


def check_shapes(
    model: "Model",
    k: int,
    d: int,
    scores: np.ndarray,
    largest: np.ndarray,
    roots: np.ndarray,
    squares: np.ndarray,
) -> None:
    """Refuse arrays of another shape: the bound must see each row by itself."""
    shapes = scores.shape, largest.shape, roots.shape, squares.shape
    if shapes != ((k, d), (k,), (k, roots.shape[1], d), (k,)):
        raise ValueError(
            f"{type(model).__name__}.bounded_scores: must return arrays of shapes ({k}, {d}), "
            f"({k},), ({k}, r, {d}) and ({k},) for {k} rows"
        )


def are_cut(model: "Model") -> bool:
    """Whether scores are gradients that are cut, as a model has no bounded scores of its own."""
    return type(model).bounded_scores.__module__ in BASES


def plain_scores(gradients: np.ndarray) -> Scores:
    """Scores of gradients (k, d) of which nothing is known: cut to a length.

    The slope of a score w g is E w g g'. The mean is zero where errors are symmetric, or nothing is
    cut.
    """
    lengths = np.sqrt(np.einsum("kd,kd->k", gradients, gradients))
    return Scores(gradients, lengths, gradients[:, None, :], lengths**2)


def largest_clip(
    size: Callable[[np.ndarray], np.ndarray], bound: float, most: np.ndarray
) -> np.ndarray:
    """Largest c in [0, most] with size(c) <= bound, where size increases; of each row, (k,)."""
    low, high = np.zeros_like(most), most.copy()
    low = np.where(size(high) <= bound, high, low)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_within = size(middle) <= bound
        low, high = np.where(is_within, middle, low), np.where(is_within, high, middle)
    return low
