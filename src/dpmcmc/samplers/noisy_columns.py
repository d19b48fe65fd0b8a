"""Means of columns whose standard deviations are unknown, each column by itself.

A column with a public range is released by its sum and the sum of its squares
(`dpmcmc.samplers.column_range`). Of any other, counts in public bins find the place, at any scale
(`dpmcmc.samplers.column_scale`), and `dpmcmc.samplers.one_column` does the rest. Nothing is assumed
of how columns go together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.model import Model
from dpmcmc.models.normal_columns import NormalColumns
from dpmcmc.samplers.column_range import InRange, PublicRange, released_in_range
from dpmcmc.samplers.column_scale import (
    COUNTS_SENSITIVITY,
    bins_of,
    counts,
    first_place,
)
from dpmcmc.samplers.one_column import Column, released_column
from dpmcmc.samplers.one_shot import OneShot
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise

# Of mu^2 of a column; of a round for the sum and for the squares.
COUNTS_SHARE = 0.03
ROUND_SHARES = [(0.01, 0.02), (0.01, 0.02), (0.02, 0.05)]

PRIOR_REACH = 4.0  # standard deviations of the prior, within which a column is looked for
MOST_NOISE = 0.03  # standard deviation of the noise of a count, over the number of rows
DRAWS_AT_ONCE = 1000


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
        """Release a column; the share of the values that the last sum clips comes second."""
        n, bins = model.num_rows, bins_of(PRIOR_REACH * math.sqrt(model.prior_variance))
        sd = COUNTS_SENSITIVITY * noise / math.sqrt(COUNTS_SHARE)
        shares = rng.add_noise(counts(values, bins.edges), COUNTS_SENSITIVITY, sd) / n
        place = first_place(shares, sd / n, bins)
        power = model.likelihood_power
        return released_column(
            rng, values, place, ROUND_SHARES, COUNTS_SHARE, self.row_laws, power, noise
        )

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


def checked(model: Model) -> NormalColumns:
    """The model; a ValueError for one without columns of their own."""
    if not isinstance(model, NormalColumns):
        raise ValueError(f"model: must be NormalColumns, not {type(model).__name__}")
    return model
