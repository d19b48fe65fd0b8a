"""Whether noisy sums would give the mean of data of one's own, if they had no noise.

Rows that are unlike all laws that the method knows can bias its answer. For the owner, who
may see the data: findings have shares and ratios, and no value.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpmcmc.accounting.costs import for_budget
from dpmcmc.evaluation.checking.findings import Finding
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.model import Model
from dpmcmc.models.normal_columns import NormalColumns
from dpmcmc.samplers.noisy_columns import NoisyColumns
from dpmcmc.samplers.noisy_statistics import NoisyStatistics, is_mean
from dpmcmc.samplers.one_column import Column
from dpmcmc.samplers.one_shot import MOST_MISFIT
from dpmcmc.samplers.streams import Streams

EPSILON = 1.0
MOST_OFF = 0.5  # stated standard deviations of a component: 90 % intervals then cover 86 %
MOST_SPREAD = 1.5  # standard deviation of the rows over the model's, or the reverse
ADVICE = "; the rows are unlike all laws that the method knows"


class Noiseless(Streams):
    """Streams that add no noise to a release."""

    def add_noise(self, statistic: Any, sensitivity: float, sd: float) -> Any:
        """The statistic itself."""
        return np.array(statistic)


def check_clip(model: Model, data: np.ndarray) -> Iterator[Finding]:
    """Findings about the rows of a data set, for means.

    Parameters
    ----------
    model : Model
        `NormalColumns`, or an `ExponentialFamily` with a constant covariance of t(x), else there
        are none.
    data : (m, n) array
        t(x) of every row.
    """
    if isinstance(model, NormalColumns):
        yield from columns_off_without_noise(model, data)
    if not (isinstance(model, ExponentialFamily) and is_mean(model)):
        return
    sampler = for_budget(NoisyStatistics(), model.num_rows, EPSILON)
    if sampler.plan(model).is_safe:
        yield from off_without_noise(sampler, model, data)
    z = np.linalg.solve(sampler.scale(model), data - data.mean(axis=1)[:, None])
    yield spread(z)


def off_without_noise(
    sampler: NoisyStatistics, model: ExponentialFamily, data: np.ndarray
) -> Iterator[Finding]:
    """How far the answer is from the mean of the rows, with a budget but without its noise."""
    state, info = sampler.prepare(noiseless_streams(), Target(model, data, "clip"))
    released = state.memory[0]
    found, variance = released.mean
    exact = released.ball.whiten @ (data.mean(axis=1) - released.ball.centre)
    off = float(np.abs(found - exact).max()) / math.sqrt(variance)
    yield off_by(f"Noisy statistics at epsilon {EPSILON:g}, without noise", off)
    yield far_rows("Noisy statistics", info.misfit)


def columns_off_without_noise(model: NormalColumns, data: np.ndarray) -> Iterator[Finding]:
    """How far the answer is from the mean of each column without a public range."""
    sampler = for_budget(NoisyColumns(), model.num_rows, EPSILON)
    try:
        sampler.chosen_settings(model)
    except ValueError:
        yield Finding(
            f"Means of columns at epsilon {EPSILON:g}, without noise",
            "columns without a range are too many for so few rows",
            f"at most {MOST_OFF:g}",
            None,
        )
        return
    state, _ = sampler.prepare(noiseless_streams(), Target(model, data, "clip"))
    means = data[: model.num_columns].mean(axis=1)
    for name, exact, column in zip(model.variables, means, state.memory[0], strict=True):
        if isinstance(column, Column):
            off = abs(column.mean.mean - float(exact)) / math.sqrt(column.mean.variance)
            yield off_by(f"Column {name}: noisy mean at epsilon {EPSILON:g}, without noise", off)
            yield far_rows(f"Column {name}", column.misfit)


def noiseless_streams() -> Streams:
    """Streams that add no noise."""
    return Noiseless(*(np.random.default_rng([i, 0]) for i in range(3)))


def off_by(what: str, off: float) -> Finding:
    """How far an answer is from the mean, in standard deviations that it states."""
    return Finding(
        f"{what}: off from the mean",
        f"by {off:.1f} of its sds{ADVICE if off > MOST_OFF else ''}",
        f"at most {MOST_OFF:g}",
        off <= MOST_OFF,
    )


def far_rows(what: str, misfit: float) -> Finding:
    """How far the shares of far rows are from those of the law that is nearest."""
    return Finding(
        f"{what}: far rows, from those of the nearest law",
        f"{misfit:.1f} sds{ADVICE if misfit > MOST_MISFIT else ''}",
        f"at most {MOST_MISFIT:g}",
        misfit <= MOST_MISFIT,
    )


def spread(z: np.ndarray) -> Finding:
    """Standard deviation of the rows (m, n) in public units, where the model's have 1."""
    ratio = float(np.sqrt((z * z).mean()))
    is_fine = 1 / MOST_SPREAD <= ratio <= MOST_SPREAD
    return Finding(
        "Noisy statistics: spread of the rows, over the model's",
        f"{ratio:.2g}" + ("" if is_fine else "; correct the model's covariance"),
        f"{1 / MOST_SPREAD:.2g} to {MOST_SPREAD:g}",
        is_fine,
    )
