"""Mean and standard deviation of one column of values, safe for values of many laws.

Of values about a place three parts are released, each with a share of the budget: rounds of clipped
moments, which correct the place (`dpmcmc.samplers.column_scale`); how skewed the values are and how
many are far out; and one sum of clipped values, with that of their squares, with the radius and the
correction that public laws give (`dpmcmc.samplers.safe_radius`, `dpmcmc.samplers.column_laws`).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpmcmc.models.linear_regression import table_of_clips
from dpmcmc.samplers.column_laws import COLUMN_EDGES, laws_of_columns
from dpmcmc.samplers.column_range import InRange, Normal, PublicRange, released_in_range
from dpmcmc.samplers.column_scale import (
    CLIP,
    SQUARES_SENSITIVITY,
    SUM_SENSITIVITY,
    Place,
    clipped_sums,
    last_place,
)
from dpmcmc.samplers.row_laws import RowLaws
from dpmcmc.samplers.safe_radius import (
    SHELLS_SENSITIVITY,
    SKEW_SENSITIVITY,
    FarRows,
    SafeRadius,
    safe_radius,
    sums_of_far_rows,
)
from dpmcmc.samplers.streams import Streams

SKEW_SHARE, TAILS_SHARE = 0.07, 0.08  # of mu^2 of a column
USUAL_STEP = 0.1  # by which the last round moves ln sd, for most laws
LEAST_OFF = 0.01  # of ln sd: real values follow no law exactly
MOST_VARIANCE = 4.0  # of ln sd by the last sum, over that by the rounds

RoundShares = Sequence[tuple[float, float]]  # of mu^2, of each round: for the sum, the squares


class Column(NamedTuple):
    """What the releases of a column say of it, in units of z."""

    mean: Normal
    log_sd: Normal
    misfit: float

    def draws(
        self, rng: np.random.Generator, prior_variance: float, size: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws (size,) of the mean and of ln sd."""

        def of(known: Normal) -> np.ndarray:
            precision = 1 / known.variance + 1 / prior_variance
            noise = rng.standard_normal(size)
            return known.mean / (known.variance * precision) + noise / math.sqrt(precision)

        return of(self.mean), of(self.log_sd)


def released_column(
    rng: Streams,
    values: np.ndarray,
    place: Place,
    rounds: RoundShares,
    spent: float,
    row_laws: RowLaws,
    power: float,
    noise: float,
) -> tuple[Column, float]:
    """Release a column of values; the share of the values that the last sum clips comes second.

    Parameters
    ----------
    rng : Streams
    values : (n,) array
    place : Place
        Where values are, nearly: public, or released before.
    rounds : sequence of pairs of floats
        Shares of mu^2.
    spent : float
        Share of mu^2 that has found the place.
    row_laws : str
        Laws for which the answer holds: "wide" or "narrow".
    power : float
        T of the likelihood.
    noise : float
        1 / mu of the column.
    """
    n = len(values)

    def moments(i: int, place: Place) -> tuple[float, float]:
        of_sum, of_squares = rounds[i]
        total, squares = clipped_sums(values, place)
        sd = SUM_SENSITIVITY * noise / math.sqrt(of_sum)
        total = rng.add_noise(total, SUM_SENSITIVITY, sd)
        sd = SQUARES_SENSITIVITY * noise / math.sqrt(of_squares)
        squares = rng.add_noise(squares, SQUARES_SENSITIVITY, sd)
        return total / n, squares / n

    place, step = last_place(place, moments, len(rounds))
    of_sum, of_squares = rounds[-1]
    log_sd_variance = variance_of_log_sd(n, noise / math.sqrt(of_squares))
    centre_error = (SUM_SENSITIVITY * noise) ** 2 / of_sum / n**2
    far = far_values(rng, noise, values, place, centre_error)
    noise /= math.sqrt(1 - spent - sum(map(sum, rounds)) - SKEW_SHARE - TAILS_SHARE)
    found = safe_radius(far, laws_of_columns(row_laws), n, power, noise)
    ball = PublicRange(place.mean, place.sd * found.radius)
    clipped, share = released_in_range(rng, values, ball, power, noise)
    mean = found.radius * clipped.mean / found.slope - found.ratio * float(far.skew[0])
    of_noise = (found.radius / found.slope) ** 2 * clipped.mean_noise
    variance = found.rows_variance / n + of_noise + found.ratio_variance + found.bias**2
    of_step = abs(math.log(step.sd)) / math.sqrt(USUAL_STEP**2 + log_sd_variance)
    of_rounds = Normal(found.log_sd, log_sd_variance + found.log_sd_off**2)
    log_sd = agreed(log_sd_of(clipped, found), of_rounds)
    return Column(
        Normal(place.mean + place.sd * mean, place.sd**2 * variance),
        Normal(math.log(place.sd) + log_sd.mean, log_sd.variance),
        max(found.misfit, of_step),
    ), share


def far_values(
    rng: Streams, noise: float, values: np.ndarray, place: Place, centre_error: float
) -> FarRows:
    """How skewed values are about a place, and how many are far from it."""
    centre, whiten = np.array([place.mean]), np.array([[1 / place.sd]])
    skew, shells = sums_of_far_rows(values[None, :], centre, whiten, 1.0, COLUMN_EDGES)
    n = len(values)
    skew_sd = SKEW_SENSITIVITY * noise / math.sqrt(SKEW_SHARE)
    shell_sd = SHELLS_SENSITIVITY * noise / math.sqrt(TAILS_SHARE)
    skew = rng.add_noise(skew, SKEW_SENSITIVITY, skew_sd) / n
    shells = rng.add_noise(shells, SHELLS_SENSITIVITY, shell_sd) / n
    tails = np.cumsum(shells[::-1])[::-1]
    return FarRows(skew, skew_sd / n, tails, shell_sd / n, centre_error)


def variance_of_log_sd(num_rows: int, noise: float) -> float:
    """Of ln sd as a round finds it, if values are normal.

    Noise is the standard deviation over the sensitivity, of the sum of squares.
    """
    clips, *moments = table_of_clips()
    _, _, slope, variance = (float(np.interp(CLIP, clips, column)) for column in moments)
    of_noise = (SQUARES_SENSITIVITY * noise / num_rows) ** 2
    return (variance / num_rows + of_noise) / slope**2


def log_sd_of(clipped: InRange, found: SafeRadius) -> Normal:
    """Of ln sd, in units of the place, by clipped values and what the laws say that they lack."""
    square, noise = clipped.variance
    if square <= 0:
        return Normal(0.0, math.inf)
    mean = math.log(found.radius) + math.log(square) / 2 + found.log_lack
    of_rows = found.log_sd_rows / clipped.rows
    off = max(found.log_lack_off, found.log_sd_off)
    return Normal(mean, noise / (2 * square) ** 2 + of_rows + off**2)


def agreed(first: Normal, other: Normal) -> Normal:
    """The first, unless it is much less exact; with a variance for what the two differ by."""
    known = first if first.variance < MOST_VARIANCE * other.variance else other
    more = LEAST_OFF**2
    if math.isfinite(first.variance):
        more += max((first.mean - other.mean) ** 2 - first.variance - other.variance, 0.0)
    return Normal(known.mean, known.variance + more)
