"""Means of columns whose standard deviations are unknown, each column by itself.

A column with a public range is released by its sum and the sum of its squares
(`dpmcmc.samplers.column_range`). Any other is released in four parts, each with a share of its
budget: counts in public bins, which find values of any scale; rounds of clipped moments, which
correct mean and standard deviation (`dpmcmc.samplers.column_scale`); how skewed the values are and
how many are far out; and one sum of clipped values, with that of their squares, with the radius and
the correction that public laws give (`dpmcmc.samplers.safe_radius`, `dpmcmc.samplers.column_laws`).
Nothing is assumed of how columns go together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.linear_regression import table_of_clips
from dpmcmc.models.model import Model
from dpmcmc.models.normal_columns import NormalColumns
from dpmcmc.samplers.column_laws import COLUMN_EDGES, laws_of_columns
from dpmcmc.samplers.column_range import InRange, Normal, PublicRange, released_in_range
from dpmcmc.samplers.column_scale import (
    CLIP,
    COUNTS_SENSITIVITY,
    SQUARES_SENSITIVITY,
    SUM_SENSITIVITY,
    Place,
    bins_of,
    clipped_sums,
    counts,
    first_place,
    last_place,
)
from dpmcmc.samplers.one_shot import OneShot
from dpmcmc.samplers.safe_radius import (
    SHELLS_SENSITIVITY,
    SKEW_SENSITIVITY,
    FarRows,
    SafeRadius,
    safe_radius,
    sums_of_far_rows,
)
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise

# Of mu^2 of a column; of a round for the sum and for the squares.
COUNTS_SHARE = 0.03
ROUND_SHARES = [(0.01, 0.02), (0.01, 0.02), (0.02, 0.05)]
SKEW_SHARE, TAILS_SHARE = 0.07, 0.08
SUM_SHARE = 1 - COUNTS_SHARE - sum(map(sum, ROUND_SHARES)) - SKEW_SHARE - TAILS_SHARE

PRIOR_REACH = 4.0  # standard deviations of the prior, within which a column is looked for
MOST_NOISE = 0.03  # standard deviation of the noise of a count, over the number of rows
USUAL_STEP = 0.1  # by which the last round moves ln sd, for most laws
LEAST_OFF = 0.01  # of ln sd: real values follow no law exactly
MOST_VARIANCE = 4.0  # of ln sd by the last sum, over that by the rounds
DRAWS_AT_ONCE = 1000


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


@dataclass(frozen=True)
class NoisyColumns(OneShot):
    """Noisy sums of each column of `NormalColumns`. Draws of the posterior are free.

    The budget is divided evenly among the columns. Means are honest for values of any of the laws
    of `row_laws`, and so are most standard deviations, whose intervals are wide for that. With too
    small a budget columns are not found: `chosen_settings`, by which a release is planned, refuses
    it. A column with a public range (`NormalColumns.ranges`) is not looked for, and its mean is
    honest for any law.

    Attributes
    ----------
    noise_scale : float, optional
        1 / mu: the noise's *standard deviation* over the sensitivity, of all columns together. By
        default it follows from the budget.
    row_laws : str
        Laws of a column for which the answer holds: "wide" or "narrow", as in `NoisyStatistics`.
    """

    normal_approximation = True

    noise_scale: Noise | None = None
    row_laws: Literal["wide", "narrow"] = "wide"

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Release all columns; the state is a draw of the posterior that they give."""
        model = checked(target.model)
        noise = self.noise * math.sqrt(model.num_columns)  # of each column
        values = target.data[: model.num_columns]
        found: list[tuple[Column | InRange, float]] = []
        for column, (low, high) in zip(values, model.limits.tolist(), strict=True):
            if math.isinf(low):
                found.append(self.release(rng, model, noise, column))
            else:
                place = PublicRange((low + high) / 2, (high - low) / 2)
                found.append(released_in_range(rng, column, place, model.likelihood_power, noise))
        columns, shares = zip(*found, strict=True)
        misfits = [
            column.misfit if isinstance(column, Column) else column.misfit(model.prior_variance)
            for column in columns
        ]
        info = Info(True, max(shares), misfit=max(misfits))
        return self.next_draw(rng, model, columns, []), info

    def release(
        self, rng: Streams, model: NormalColumns, noise: float, values: np.ndarray
    ) -> tuple[Column, float]:
        """What is released of values (n,), and the share of them that the last sum clips."""
        n = model.num_rows
        place, step = self.place(rng, model, noise, values)
        log_sd_variance = variance_of_log_sd(n, noise)
        far = self.far_values(rng, noise, values, place)
        noise /= math.sqrt(SUM_SHARE)
        found = safe_radius(far, laws_of_columns(self.row_laws), n, model.likelihood_power, noise)
        ball = PublicRange(place.mean, place.sd * found.radius)
        clipped, share = released_in_range(rng, values, ball, model.likelihood_power, noise)
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

    def place(
        self, rng: Streams, model: NormalColumns, noise: float, values: np.ndarray
    ) -> tuple[Place, Place]:
        """Where values are, and the last step to it."""
        n, bins = model.num_rows, bins_of(PRIOR_REACH * math.sqrt(model.prior_variance))
        sd = COUNTS_SENSITIVITY * noise / math.sqrt(COUNTS_SHARE)
        shares = rng.add_noise(counts(values, bins.edges), COUNTS_SENSITIVITY, sd) / n
        place = first_place(shares, sd / n, bins)

        def moments(i: int, place: Place) -> tuple[float, float]:
            of_sum, of_squares = ROUND_SHARES[i]
            total, squares = clipped_sums(values, place)
            sd = SUM_SENSITIVITY * noise / math.sqrt(of_sum)
            total = rng.add_noise(total, SUM_SENSITIVITY, sd)
            sd = SQUARES_SENSITIVITY * noise / math.sqrt(of_squares)
            squares = rng.add_noise(squares, SQUARES_SENSITIVITY, sd)
            return total / n, squares / n

        return last_place(place, moments)

    def far_values(self, rng: Streams, noise: float, values: np.ndarray, place: Place) -> FarRows:
        """How skewed values are about a place, and how many are far from it."""
        centre, whiten = np.array([place.mean]), np.array([[1 / place.sd]])
        skew, shells = sums_of_far_rows(values[None, :], centre, whiten, 1.0, COLUMN_EDGES)
        n = len(values)
        skew_sd = SKEW_SENSITIVITY * noise / math.sqrt(SKEW_SHARE)
        shell_sd = SHELLS_SENSITIVITY * noise / math.sqrt(TAILS_SHARE)
        skew = rng.add_noise(skew, SKEW_SENSITIVITY, skew_sd) / n
        shells = rng.add_noise(shells, SHELLS_SENSITIVITY, shell_sd) / n
        centre_error = (SUM_SENSITIVITY * noise) ** 2 / ROUND_SHARES[-1][0] / n**2
        tails = np.cumsum(shells[::-1])[::-1]
        return FarRows(skew, skew_sd / n, tails, shell_sd / n, centre_error)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw; it reads no row."""
        return self.next_draw(rng, target.model, *state.memory), Info(True, math.nan)

    def next_draw(
        self,
        rng: Streams,
        model: Any,
        columns: Sequence[Column | InRange],
        draws: Sequence[np.ndarray] | np.ndarray,
    ) -> State:
        """State after the first of some draws, which are made if there are none."""
        if not len(draws):
            of_columns = [
                column.draws(rng.proposal, model.prior_variance, DRAWS_AT_ONCE)
                for column in columns
            ]
            means, log_sds = zip(*of_columns, strict=True)
            draws = np.column_stack([*means, *log_sds])
        return State(draws[0], (columns, draws[1:]))

    def chosen_settings(self, model: Model) -> dict[str, Any]:
        """The laws of columns without a public range, if there are some.

        Raises
        ------
        ValueError
            If the budget is too small to find so many columns.
        """
        model = checked(model)
        noise = self.noise * math.sqrt(model.num_columns)
        if np.isfinite(model.limits).all():
            return {}
        of_count = COUNTS_SENSITIVITY * noise / math.sqrt(COUNTS_SHARE) / model.num_rows
        if of_count > MOST_NOISE:
            raise ValueError(
                f"variables: {model.num_columns} are too many for this budget and "
                f"{model.num_rows:,} rows: a noisy count would be off by {of_count:.0%} of the "
                f"rows, and with more than {MOST_NOISE:.0%} a column without a public range is not "
                "found"
            )
        return {"row_laws": self.row_laws}

    def model_of_checks(self, model: Model) -> Model:
        """Columns, as many as theta has components."""
        names = [f"x{i}" for i in range(model.dimension)]
        return NormalColumns(names, model.num_rows, 1.0, ranges={names[-1]: [-2, 1]})


def variance_of_log_sd(num_rows: int, noise: float) -> float:
    """Of ln sd as the last round finds it, if values are normal, by their number and the noise."""
    clips, *moments = table_of_clips()
    _, _, slope, variance = (float(np.interp(CLIP, clips, column)) for column in moments)
    of_noise = (SQUARES_SENSITIVITY * noise / num_rows) ** 2 / ROUND_SHARES[-1][1]
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


def checked(model: Model) -> NormalColumns:
    """The model; a ValueError for one without columns of their own."""
    if not isinstance(model, NormalColumns):
        raise ValueError(f"model: must be NormalColumns, not {type(model).__name__}")
    return model
