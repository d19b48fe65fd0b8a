"""95 % bootstrap intervals over the seeds, which is how all that a study compares is judged.

Every interval is a percentile interval. Samples that are compared are resampled in pairs, since
chains with one seed start at one point.
"""

from typing import NamedTuple

import numpy as np

from dpmcmc.random_streams import generator

RESAMPLES = 9999


class Estimate(NamedTuple):
    """A statistic of chains with its 95 % interval."""

    value: float
    low: float
    high: float

    def columns(self, name):
        """Read a statistic and its interval from a table."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


def bootstrap(labels, statistic, samples):
    """A statistic of samples with its interval, all samples resampled together.

    Parameters
    ----------
    labels : sequence
        What the estimate is of; the resampling has a stream of its own for it.
    statistic : function
        From the samples, and `axis`, to its values along the last axis.
    samples : sequence of (seeds,) arrays

    Returns
    -------
    Estimate
        Of a single chain, the interval is infinite.
    """
    from scipy import stats

    value = float(statistic(*samples))
    if len(samples[0]) < 2:
        return Estimate(value, -np.inf, np.inf)
    interval = stats.bootstrap(
        samples,
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        method="percentile",
        random_state=generator(0, "bootstrap", *labels),
    ).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high))


def median_contrast(labels, plus, minus=()):
    """Medians of the samples in `plus` less those in `minus`, as an estimate.

    Parameters
    ----------
    labels : sequence
        As for `bootstrap`.
    plus, minus : sequence of (seeds,) arrays
        One sample a cell, in the order of the seeds. Those that others lack are left out.
    """
    fewest = min(map(len, [*plus, *minus]))
    samples = [np.asarray(sample, dtype=float)[:fewest] for sample in [*plus, *minus]]
    signs = [1] * len(plus) + [-1] * len(minus)

    def statistic(*resampled, axis=-1):
        medians = map(median_of_last_axis, resampled)
        return sum(sign * median for sign, median in zip(signs, medians, strict=True))

    return bootstrap(labels, statistic, samples)


def median_of_last_axis(samples):
    """`numpy.median`; short rows are sorted several times faster."""
    ordered = np.sort(samples, axis=-1)
    count = ordered.shape[-1]
    middle = (ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2
    return np.where(np.isnan(ordered[..., -1]), np.nan, middle)
