"""The radius of the last ball, for rows that need not follow the model.

A clip moves the mean of skewed rows, however many there are. So a little of the budget goes into
two statistics: how skewed the rows are, and how many are far out. They say which public laws fit
(`dpmcmc.samplers.row_laws`). Under these laws each radius has a bias, of which a part follows from
the skewness and is taken away; the largest that is left counts as error. docs/accounting.md has the
derivation.

Rows are in public units z, in which the model's have covariance I. About a centre that is itself
known with an error they have the variance s^2 = 1 + error, and all radii are times s.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from dpmcmc.samplers.row_laws import EDGES, OFFSETS, Laws, Moments, skew_switch, slope

ROWS_AT_ONCE = 4096
SKEW_SENSITIVITY = 2.0  # of a sum of signed unit vectors
SHELLS_SENSITIVITY = math.sqrt(2)  # a row leaves one shell and enters another
TOLERANCE = 0.2  # relative, of skewness and tails: the rows follow none of the laws exactly
MOST_OFF = 4.0  # of chi^2 above the least: laws that are so near fit, too
LEAST_BIAS = 0.25  # of the part of the bias that follows from the skewness, that may be left
FEW = 1e-6  # weight of an expansion for small skewness
MARGIN = 1.03  # of the least error, with which a larger radius is taken
POINTS, BEYOND = 20_000, 9.0  # of an integral over the length of a normal row


class FarRows(NamedTuple):
    """What is released of rows about a centre, as means over rows."""

    skew: np.ndarray  # (m,): mean direction, with the other sign for rows that are near
    skew_sd: float  # standard deviation of the noise in each of its components
    tails: np.ndarray  # (k,): share of the rows farther than s (sqrt(m) + edges)
    shell_sd: float  # of the noise in the share of each shell
    centre_error: float  # mean variance of a component of the centre


class Radius(NamedTuple):
    """What a clip does to normal rows of length r, E over them."""

    radius: float
    slope: float  # a, of the clipped mean in the mean
    square: float  # of g = min(r, radius) / a
    signed: float  # of g with the sign of the skew vector
    expanded: float  # bias over skew vector, at small skewness


class SafeRadius(NamedTuple):
    """The last ball, and what its clipped mean is corrected by; for rows of variance 1."""

    radius: float  # of rows with s = 1
    slope: float  # a
    ratio: float  # rho: times the skew vector, which is taken away
    rows_variance: float  # of a component, over the number of rows
    ratio_variance: float  # by the noise of the skew vector
    bias: float  # the largest that is left, of a component
    misfit: float  # how far the nearest law is, in standard deviations
    # Of rows of one entry, by the laws that fit: ln of their standard deviation, and what clipped
    # rows lack of it; and the largest that each may be off by.
    log_sd: float = 0.0
    log_sd_off: float = 0.0
    log_lack: float = 0.0
    log_lack_off: float = 0.0
    log_sd_rows: float = 0.0  # variance of ln sd by chance of the rows, times their number


def sums_of_far_rows(
    data: np.ndarray,
    centre: np.ndarray,
    whiten: np.ndarray,
    spread: float,
    edges: np.ndarray = EDGES,
) -> tuple[np.ndarray, np.ndarray]:
    """Sum (m,) of signed directions, and number of rows in each shell of far ones, (k,).

    Parameters
    ----------
    data : (m, n) array
        t(x) of all rows. A row that is not finite counts nowhere.
    centre : (m,) array
    whiten : (m, m) array
        W.
    spread : float
        s.
    edges : (k,) array
        Of the shells, beyond sqrt(m), for s = 1.
    """
    m = len(whiten)
    switch, edges = spread * skew_switch(m), spread * (math.sqrt(m) + edges)
    total, beyond = np.zeros(m), np.zeros(len(edges))
    for first in range(0, data.shape[1], ROWS_AT_ONCE):
        with np.errstate(all="ignore"):
            z = whiten @ (data[:, first : first + ROWS_AT_ONCE] - centre[:, None])
            lengths, directions = polar(np.where(np.isfinite(z).all(axis=0), z, 0.0))
        total += directions @ np.where(lengths > switch, 1.0, -1.0)
        beyond += (lengths > edges[:, None]).sum(axis=1)
    return total, -np.diff([*beyond, 0.0])


def polar(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths (k,) and directions (m, k) of columns z, whose squares may overflow or vanish."""
    largest = np.abs(z).max(axis=0, initial=0.0)
    unit = z / np.where(largest > 0, largest, 1.0)
    lengths = np.sqrt((unit * unit).sum(axis=0))
    return largest * lengths, unit / np.maximum(lengths, 1.0)  # at least 1 but for z = 0


def safe_radius(far: FarRows, laws: Laws, num_rows: int, power: float, noise: float) -> SafeRadius:
    """The radius for which variance and bias are least under the laws that fit.

    Parameters
    ----------
    far : FarRows
    laws : Laws
    num_rows : int
        n.
    power : float
        T of the likelihood.
    noise : float
        Standard deviation over the sensitivity of the last sum.
    """
    m, n = len(far.skew), num_rows
    variance = far.skew_sd**2 + 1 / (n * m)  # of a component of the skew vector
    square = far.skew @ far.skew / m - variance  # that of its mean, without bias
    usual = math.sqrt(max(square, 0.0)) + math.sqrt(variance / m)
    largest = float(np.abs(far.skew).max()) - math.sqrt(2 * variance * math.log(2 * m))
    component = max(usual, largest) if m > 1 else usual

    squares = laws.skew**2
    off = (square - squares) ** 2 / (
        2 * variance**2 / m + 4 * squares * variance / m + (TOLERANCE * squares) ** 2
    )
    of_tails = off_by_tails(far, laws, n)
    off = off + of_tails
    fits = off <= off.min() + MOST_OFF
    skew, biases, weights = laws.skew[fits], laws.biases[fits], np.exp(-(off - off.min())[fits] / 2)

    # In lengths, which are nearly normal, where squares are not. Rows of another spread than the
    # model's turn the error of the centre into a skew vector of up to its length.
    best = int(off.argmin())
    length, expected = math.sqrt(far.skew @ far.skew), math.sqrt(m * (squares[best] + variance))
    of_length = variance + far.centre_error + m * TOLERANCE**2 * squares[best]
    misfit = math.sqrt((length - expected) ** 2 / of_length + of_tails[best])

    tried = []
    for j, radius in enumerate(radii_of(m)):
        # Least squares, which at small skewness lead to the expansion of Edgeworth.
        fitted = float(weights @ (biases[:, j] * skew) + FEW * radius.expanded)
        fitted /= float(weights @ skew**2) + FEW
        for ratio in (fitted, 0.0):
            left = float(np.abs(biases[:, j] - ratio * skew).max())
            bias = max(left, LEAST_BIAS * abs(ratio) * component)
            rows = largest_variance(radius, laws.moments, fits, j, ratio) / m / power
            of_ratio = (ratio * far.skew_sd) ** 2
            of_noise = (2 * radius.radius * noise / (n * radius.slope)) ** 2
            error = rows / n + of_noise + of_ratio + bias**2
            found = radius.radius, radius.slope, ratio, rows, of_ratio, bias, misfit
            tried.append((error, j, SafeRadius(*found)))
    most = MARGIN * min(error for error, *_ in tried)
    j, chosen = [(j, found) for error, j, found in tried if error <= most][-1]
    return chosen._replace(**sds_of(laws, fits, weights, j, radii_of(m)[j]))


def largest_variance(
    radius: Radius, moments: Moments | None, fits: np.ndarray, j: int, ratio: float
) -> float:
    """Variance of g - ratio times the skew vector, of a row: the largest over laws that fit."""
    if moments is None:
        return radius.square - 2 * ratio * radius.signed + ratio**2
    squares, signed = moments.squares[fits, j], moments.signed[fits, j]
    return float((squares - 2 * ratio * signed + ratio**2 * moments.skews[fits]).max())


def sds_of(
    laws: Laws, fits: np.ndarray, weights: np.ndarray, j: int, radius: Radius
) -> dict[str, float]:
    """What laws that fit say of the rows' standard deviation, where it is their own."""
    if laws.moments is None:
        return {}
    log_sds = laws.moments.log_sds[fits]
    of_clipped = np.log(radius.slope**2 * laws.moments.squares[fits, j]) / 2
    found = {"log_sd_rows": float(laws.moments.of_log_sds[fits].max())}
    for name, logs in (("log_sd", log_sds), ("log_lack", log_sds - of_clipped)):
        mean = float(weights @ logs / weights.sum())
        off = max(float(np.abs(logs - mean).max()), LEAST_BIAS * abs(mean))
        found |= {name: mean, f"{name}_off": off}
    return found


def off_by_tails(far: FarRows, laws: Laws, num_rows: int) -> np.ndarray:
    """How far the tails are from those of each law, (L,): a sum of squares in its variances."""
    of_noise = far.shell_sd**2 * np.arange(len(far.tails), 0, -1)
    of_rows = laws.tails * (1 - laws.tails) / num_rows
    of_laws = (TOLERANCE * laws.tails) ** 2
    return ((far.tails - laws.tails) ** 2 / (of_noise + of_rows + of_laws)).sum(axis=1)


@cache
def radii_of(size: int) -> list[Radius]:
    """All radii that are tried, for rows with m = `size` entries."""
    from scipy.special import gammaln

    step = (math.sqrt(size) + BEYOND) / POINTS
    lengths = (np.arange(POINTS) + 0.5) * step
    logs = (size - 1) * np.log(lengths) - lengths**2 / 2 - (size / 2 - 1) * math.log(2)
    weights = np.exp(logs - gammaln(size / 2)) * step
    weights /= weights.sum()
    signs = np.where(lengths > skew_switch(size), 1.0, -1.0)
    # By skewness 1 of a component, at small skewness: the mean of that of the skew vector.
    alpha = float(weights @ (signs * lengths**3)) / (2 * size * (size + 2))
    found = []
    for radius in (math.sqrt(size) + OFFSETS).tolist():
        along = slope(size, radius)
        terms = np.minimum(lengths, radius) / along
        beta = (float(weights @ (terms * lengths**3)) / (size * (size + 2)) - 1) / 2
        square, signed = float(weights @ terms**2), float(weights @ (terms * signs))
        found.append(Radius(radius, along, square, signed, beta / alpha))
    return found
