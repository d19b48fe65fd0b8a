"""Public laws of a column whose standard deviation is not known; see `dpmcmc.samplers.row_laws`.

Values are in the units that `dpmcmc.samplers.column_scale` finds, about the place that it finds. So
skewed or heavy-tailed values have a standard deviation other than 1, and a mean other than 0.
"""

from functools import cache
from typing import Any

import numpy as np

from dpmcmc.samplers.column_scale import (
    Place,
    bins_of,
    clipped_sums,
    counts,
    first_place,
    last_place,
)
from dpmcmc.samplers.row_laws import (
    EDGES,
    ENTRIES,
    OFFSETS,
    SEED,
    Draw,
    Family,
    Laws,
    Moments,
    RowLaws,
    families,
    grown,
    shares_beyond,
    skew_switch,
    slope,
)

FIRST = 0.5  # standard deviations from the middle of the first bins to the mean
REACH = 4.0  # of these bins
# Of shells: the last one has what no radius holds.
COLUMN_EDGES = np.append(EDGES, OFFSETS[-1])
MOST_SD = 8.0  # of a law in its units: beyond, these are the width of a peak


@cache
def laws_of_columns(breadth: RowLaws) -> Laws:
    """Laws of a column: families, with mixtures between neighbours."""
    radii, edges, switch = 1 + OFFSETS, 1 + COLUMN_EDGES, skew_switch(1)
    slopes = np.array([slope(1, radius) for radius in radii])

    def known(rows: np.ndarray, family: Family) -> tuple[Any, ...]:
        """Skew, tails, biases and moments of a law by its rows (1, k)."""
        values = (rows[0] - rows.mean()) / rows.std()
        place = place_of(values)
        values = (values - place.mean) / place.sd
        mean, lengths, signs = values.mean(), np.abs(values), np.sign(values)
        far = signs * np.where(lengths > switch, 1.0, -1.0)
        tails, log_sd = shares_beyond(lengths, edges), np.log(values.std())
        clipped = signs * np.minimum(lengths, radii[:, None]) / slopes[:, None]
        side = -1.0 if far.mean() < 0 else 1.0  # of the longer tail
        skew, biases = side * far.mean(), side * (clipped.mean(axis=1) - mean)
        if family.is_symmetric:
            skew, biases = 0.0, np.zeros(len(radii))
        centred, far = clipped - clipped.mean(axis=1)[:, None], far - far.mean()
        squares, signed = (centred**2).mean(axis=1), centred @ far / len(far)
        of_log_sd = ((values - mean) ** 2).var() / (4 * values.var() ** 2)
        return skew, tails, biases, squares, signed, (far * far).mean(), log_sd, of_log_sd

    rng = np.random.default_rng(SEED)
    skew, tails, biases, *moments = grown(rng, 1, ENTRIES, [*families(1, breadth), flat()], known)
    of_all = Moments(*moments)
    is_used = of_all.log_sds < np.log(MOST_SD)
    of_used = Moments(*(values[is_used] for values in of_all))
    return Laws(skew[is_used], tails[is_used], biases[is_used], of_used)


def flat() -> Family:
    """From the normal law to the uniform one."""

    def beta(a: float) -> Draw:
        return lambda rng, m, k: rng.beta(a, a, (m, k))

    return Family([beta(a) for a in (8, 4, 2, 1.5, 1)], is_symmetric=True)


def place_of(values: np.ndarray) -> Place:
    """Where a release would find values of mean 0 and variance 1, without its noise."""
    bins = bins_of(REACH)
    place = first_place(counts(values + FIRST, bins.edges) / len(values), 0.0, bins)

    def moments(_: int, place: Place) -> tuple[float, float]:
        first, second = clipped_sums(values, place)
        return first / len(values), second / len(values)

    return last_place(Place(place.mean - FIRST, place.sd), moments)[0]
