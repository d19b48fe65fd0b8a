"""Rows near each other, in blocks: what can be known of many rows without reading them."""

import math

import numpy as np

from dpmcmc.kernels.blocks import BOX

SAMPLE = 16 * BOX  # rows
CONDITION = 1e6  # largest condition number of a Jacobian that gives coordinates


class Blocks:
    """One data set of two statistics or more, in blocks of rows that are next to each other.

    The rows of `arranged` data are near each other, in coordinates u that are the gradients at
    some position (J0 its Jacobian), but for a shift: t = centre + factor u with factor = J0^-T.
    A block is a box of the first two coordinates, and for the others the largest length r of
    them. The coordinates decide about speed alone.

    Parameters
    ----------
    statistics : (m, n) array
        t(x) of every row.
    jacobian : (m, d) array
        J0; any other would do, if it cannot be inverted the identity does.

    Attributes
    ----------
    statistics : (m, n) array
    centre : (m,) array
    factor : (m, m) array
    middles, widths : (2, k) arrays
        Middle and half width of the boxes. Not finite where a row is not.
    lengths : (k,) array
        r of every block; not finite where a row is not.
    reaches : (k,) array
        Largest |t - centre| of a row; not finite where its square is not.
    sums : (m + 1, k) array
        Sum of t - centre over the rows of a block, and how many they are.
    """

    def __init__(self, statistics, jacobian):
        self.statistics = statistics
        self.centre, self.factor = centre_and_factor(statistics, jacobian)
        low, high, self.lengths, self.reaches, self.sums = joined(self._summaries())
        self.middles, self.widths = (low + high) / 2, (high - low) / 2

    def _summaries(self):
        """Least and largest boxed coordinates, lengths, reaches and sums, part by part."""
        for some in parts(self.statistics):
            boxed, lengths = boxed_coordinates(some, self.centre, self.factor)
            starts = np.arange(0, len(lengths), BOX)
            sizes = np.diff(starts, append=len(lengths))
            with np.errstate(all="ignore"):  # what is not finite stays so
                deviations = some - self.centre[:, None]
                reaches = np.sqrt((deviations**2).sum(axis=0))
                sums = np.add.reduceat(deviations, starts, axis=1)
            yield (
                np.minimum.reduceat(boxed, starts, axis=1),
                np.maximum.reduceat(boxed, starts, axis=1),
                np.maximum.reduceat(lengths, starts),
                np.maximum.reduceat(reaches, starts),
                np.vstack([sums, sizes]),
            )


def arranged(statistics, jacobian):
    """Data with rows near each other next to each other, for `Blocks`, (m, n).

    Rows are exchangeable: no algorithm heeds their order. Parameters as for `Blocks`.
    """
    if len(statistics) == 1:
        return np.sort(statistics)
    coordinates = centre_and_factor(statistics, jacobian)
    boxed, lengths = joined(boxed_coordinates(some, *coordinates) for some in parts(statistics))
    order = order_of_blocks([*boxed, lengths] if len(statistics) > 2 else boxed)
    return statistics.take(order, axis=1)


def centre_and_factor(statistics, jacobian):
    """Centre, (m,), and factor, (m, m), of the coordinates u in t = centre + factor u.

    The centre is the mean of the data or, where far rows have moved that, about the median; 0 if
    that is not finite.
    """
    sample = statistics[:, :: -(-statistics.shape[1] // SAMPLE)]
    quarters = [i * sample.shape[1] // 4 for i in (1, 2, 3)]
    low, median, high = np.partition(sample, quarters)[:, quarters].T
    with np.errstate(all="ignore"):
        mean = statistics.mean(axis=1)
    centre = np.where((low <= mean) & (mean <= high), mean, median)
    factor = np.eye(len(statistics))
    if jacobian.shape == factor.shape and np.linalg.cond(jacobian) < CONDITION:
        factor = np.linalg.inv(jacobian).T
    return np.where(np.isfinite(centre), centre, 0.0), factor


def parts(statistics):
    """The data in parts of whole blocks, small enough to compute with all at once."""
    return (statistics[:, i : i + SAMPLE] for i in range(0, statistics.shape[1], SAMPLE))


def joined(results):
    """Arrays made part by part, put together."""
    return map(np.hstack, zip(*results, strict=True))


def boxed_coordinates(statistics, centre, factor):
    """The first two coordinates u of every row, (2, n), and the length of the others, (n,)."""
    with np.errstate(all="ignore"):  # what is not finite stays so
        u = np.linalg.inv(factor) @ (statistics - centre[:, None])
        return u[:2], np.sqrt((u[2:] ** 2).sum(axis=0))


def order_of_blocks(coordinates, rows=None):
    """An order of the rows in which those of a block have nearly the same coordinates.

    Sorted by the first into slices of whole blocks, then each slice by the others.
    """
    rows = np.arange(len(coordinates[0])) if rows is None else rows
    rows = rows[coordinates[0][rows].argsort(kind="stable")]
    if len(coordinates) == 1:
        return rows
    num_blocks = len(rows) / BOX
    size = BOX * math.ceil(num_blocks ** (1 - 1 / len(coordinates)))
    slices = (rows[start : start + size] for start in range(0, len(rows), size))
    return np.concatenate([order_of_blocks(coordinates[1:], some) for some in slices])
