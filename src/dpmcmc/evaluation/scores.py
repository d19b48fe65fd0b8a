"""Proper scores of a posterior sample, and how many rows a private posterior is worth.

The central 90 % interval [l, u] of a component has, at theta, the interval score

    (u - l) + (2 / 0.1) (max(l - theta, 0) + max(theta - u, 0))

(Gneiting and Raftery 2007, section 6.2). It is proper: no interval has a lower expected score than
that of the distribution of theta. Both needless width and a miss cost. Here theta runs over draws
of the exact posterior of the same data. Given the data, the theta that they were drawn at is such a
draw, so the expectation over data sets is the same, without the noise of one theta a data set.

The exact posterior has a score too: each of its draws is scored by the interval of all others. So
a sample of as many independent exact draws has the score ratio 1, whatever their number.

Intervals shrink as 1 / sqrt(n). So a private posterior of n rows with the score ratio r is as good
as the exact one of about n / r^2 rows: its *worth* is 1 / r^2. Where the prior says much (few rows)
an exact posterior of fewer rows is narrower than that, and the worth is a lower bound.

Intervals of components say little of a posterior with several modes, or on a curve. Such a sample
has an energy score (Gneiting and Raftery 2007, section 4.2), which is proper too, and no worth.
"""

import math

import numpy as np
from scipy.special import stdtrit

from dpmcmc.evaluation.metrics import has_diverged, kernel_pair_sum, kernel_sum, thin

LEVEL = 0.9  # of intervals
LEAST_DRAWS = 2  # of a sample that is scored
PRIOR_DRAWS = 4000
LEAST_COVERAGE = 0.87  # of honest 90 % intervals
CONFIDENCE = 0.95
LEAST_SAMPLES = 10  # from whose spread a standard error is believed


# -- One sample ------------------------------------------------------------------------------------


def interval_metrics(draws, reference, prior=None, level=LEVEL, factor=1.0):
    """Score, coverage and width of a sample's central intervals, the means over components.

    A sample that has diverged, or has fewer than `LEAST_DRAWS` draws, has no intervals. It gets
    those of the prior, which are known without data; without a prior, the whole line.

    Parameters
    ----------
    draws : (k, d) array
    reference : (l, d) array
        Draws of the exact posterior, nearly independent; l >= 2.
    prior : (m, d) array, optional
        From `prior_draws`.
    level : float
    factor : float
        By which intervals are widened about the median; infinite where no factor does it, so that
        the prior's are taken.

    Returns
    -------
    dict
        score_ratio, of the interval score to that of the exact posterior; coverage, the mass of the
        exact posterior within the interval; width, in widths of the exact posterior's interval;
        is_scored, False where intervals are the prior's.
    """
    ordered = np.sort(reference, axis=0)
    exact_low, exact_high = (quantiles_of_others(ordered, p) for p in tails(level))
    is_scored = has_draws(draws, reference) and factor < math.inf
    if is_scored:
        low, high = intervals(draws, level, factor)
    elif prior is not None:
        low, high = intervals(prior, level)
    else:
        low, high = np.full(reference.shape[1], -np.inf), np.full(reference.shape[1], np.inf)
    exact_score = interval_score(exact_low, exact_high, ordered, level)
    return {
        "score_ratio": float(np.mean(interval_score(low, high, ordered, level) / exact_score)),
        "coverage": float(np.mean((low <= ordered) & (ordered <= high))),
        "width": float(np.mean((high - low) / (exact_high - exact_low).mean(axis=0))),
        "is_scored": is_scored,
    }


def component_ratios(draws, reference, prior=None):
    """`score_ratio` of each component by itself, (d,); parameters as for `interval_metrics`."""

    def of_one(i):
        one = [None if sample is None else sample[:, [i]] for sample in (draws, reference, prior)]
        return interval_metrics(*one)["score_ratio"]

    return [of_one(i) for i in range(reference.shape[1])]


def energy_ratio(draws, reference, prior=None):
    """Energy score of a sample over that of the exact posterior.

    The score is E|X - theta| - E|X - X'| / 2 with X, X' from the sample and theta from the exact
    posterior, in standard deviations of the prior (as they are, without a prior). A sample that is
    not scored by its draws is scored by those of the prior, or infinitely.

    Parameters
    ----------
    draws : (k, d) array
        More than l draws are thinned to l, evenly.
    reference : (l, d) array
    prior : (m, d) array, optional
    """
    if not has_draws(draws, reference):
        draws = prior
    if draws is None:
        return math.inf
    scale = 1.0 if prior is None else prior.std(axis=0, ddof=1)
    count, centre = len(reference), reference.mean(axis=0)
    x, theta = ((sample - centre) / scale for sample in (thin(draws, count), reference))
    between = kernel_sum(x, theta, distances) / (len(x) * count)
    within = 2 * kernel_pair_sum(x, distances) / len(x) ** 2
    # Each exact draw is scored by all others.
    exact_score = kernel_pair_sum(theta, distances) / (count - 1) ** 2
    return float((between - within / 2) / exact_score)


def has_draws(draws, reference):
    """True if a sample has enough draws, and has not diverged."""
    return len(draws) >= LEAST_DRAWS and not has_diverged(draws, reference)


def tails(level):
    """Probabilities below the two ends of a central interval."""
    return (1 - level) / 2, (1 + level) / 2


def intervals(draws, level=LEVEL, factor=1.0):
    """Ends of the central intervals of draws (k, d), widened about the median, (d,) each."""
    low, high = np.quantile(draws, tails(level), axis=0)
    if factor != 1:
        middle = np.median(draws, axis=0)
        low, high = middle + factor * (low - middle), middle + factor * (high - middle)
    return low, high


def interval_score(low, high, theta, level=LEVEL):
    """Interval score of ends, (d,) or (l, d), the mean over theta (l, d): (d,)."""
    missed = np.maximum(low - theta, 0) + np.maximum(theta - high, 0)
    return (high - low + 2 / (1 - level) * missed).mean(axis=0)


def quantiles_of_others(ordered, probability):
    """Quantile of all draws but one, for each that is left out.

    Parameters
    ----------
    ordered : (l, d) array
        Draws, each component in ascending order.
    probability : float

    Returns
    -------
    (l, d) array
        In the order of what is left out.
    """
    ranks = np.arange(len(ordered))
    place = probability * (len(ordered) - 2)  # among the others
    below = int(place)
    left, right = (ordered.take(i + (ranks <= i), axis=0, mode="clip") for i in (below, below + 1))
    return left + (place - below) * (right - left)


def distances(x, y):
    """Euclidean distances of every x, (k, d), and y, (l, d): (k, l)."""
    values = -2 * (x @ y.T)
    values += (x * x).sum(axis=1)[:, None]
    values += (y * y).sum(axis=1)
    return np.sqrt(np.maximum(values, 0, out=values), out=values)


def prior_draws(model):
    """Draws of a model's prior, (PRIOR_DRAWS, d), always the same; None if it has no draws."""
    rng = np.random.default_rng(0)
    try:
        return np.array([model.sample_prior(rng) for _ in range(PRIOR_DRAWS)])
    except NotImplementedError:
        return None


def widening_factor(twins, level=LEVEL):
    """Factor that widens intervals until they cover, found on simulated data sets.

    It is the least factor, at least 1, with which the intervals of all samples together have so
    much mass of the exact posteriors. Where too many samples are stuck at a point it is infinite.

    Parameters
    ----------
    twins : iterable of (draws, reference)
        A sample (k, d) and exact draws (l, d) for each data set; samples that are not scored by
        their draws are left out, because the prior's intervals are not widened.
    level : float
    """
    needed = [half_widths(*twin, level) for twin in twins if has_draws(*twin)]
    if not needed:
        return math.inf
    return max(1.0, float(np.quantile(np.concatenate(needed), level, method="inverted_cdf")))


def half_widths(draws, reference, level=LEVEL):
    """Distances of exact draws (l, d) from the median, over those of the interval's end: (l, d)."""
    (low, high), middle = intervals(draws, level), np.median(draws, axis=0)
    half = np.where(reference < middle, middle - low, high - middle)
    far = np.abs(reference - middle)
    return np.divide(far, half, out=np.where(far > 0, np.inf, 0.0), where=half > 0)


# -- Many samples ----------------------------------------------------------------------------------


def summary(metrics, data_sets=None):
    """Means over the samples of a cell with standard errors, their worth, and a verdict.

    Parameters
    ----------
    metrics : dict of str to sequence
        Of each name in `interval_metrics` the values of all samples.
    data_sets : sequence, optional
        Number of each sample's data set. Samples of one data set are not independent: where there
        are several data sets, standard errors are between these. By default each sample is on its
        own.

    Returns
    -------
    dict
        samples; not_scored, how many of them are scored by the prior; score_ratio, coverage and
        width, with standard errors (`_se`); worth with its own; and honest, the verdict of
        `honesty`. A standard error from one sample alone is infinite.
    """
    names = "score_ratio", "coverage", "width"
    is_scored = np.asarray(metrics["is_scored"])
    row = {"samples": len(is_scored), "not_scored": int((~is_scored).sum())}
    for name in names:
        row[name], row[f"{name}_se"], count = mean_and_error(metrics[name], data_sets)
    row["worth"], row["worth_se"] = worth(row["score_ratio"], row["score_ratio_se"])
    verdict = honesty(row["coverage"], row["coverage_se"], count, len(is_scored))
    return row | {"honest": verdict}


def mean_and_error(values, data_sets=None):
    """Mean, its standard error, and the number of independent values that these are of."""
    values = np.asarray(values, dtype=float)
    if data_sets is not None and len(set(data_sets)) > 1:
        _, which = np.unique(data_sets, return_inverse=True)
        values = np.bincount(which, values) / np.bincount(which)
    count, mean = len(values), float(values.mean())
    if count < 2 or math.isinf(mean):
        return mean, math.inf, count
    return mean, float(values.std(ddof=1) / math.sqrt(count)), count


def worth(score_ratio, error):
    """Share of the rows that a private posterior is worth, 1 / r^2, and its standard error."""
    if math.isinf(score_ratio):
        return 0.0, 0.0
    return score_ratio**-2, 2 * error * score_ratio**-3


def honesty(coverage, error, count, samples=None):
    """Verdict on 90 % intervals from their mean coverage.

    They are `honest` if their mean coverage is at least 87 %, and so is the lower end of its
    one-sided 95 % confidence interval (Student's t). They are `not honest` if the upper end of such
    an interval is below 87 %, and else `undecided`.

    87 % is near 90 %: exact samples of 59 draws have it. The word is a promise to users, so doubt
    counts against it, and more samples remove the doubt. Masses are skewed: with few samples a
    method whose intervals now and then miss altogether looks better than it is. Of methods at 87 %
    with masses as skewed as a chi-square variable, 14 % are called honest with twenty samples
    rather than 5 %; of those that hold all or nothing, and 78 % on average, 0.5 % with twenty and
    8 % with ten. So with fewer than `LEAST_SAMPLES` samples nothing is honest. Of several samples a
    data set all count, since the doubt of few data sets is in Student's t.

    Parameters
    ----------
    coverage, error : float
        Mean and standard error.
    count : int
        Independent values that they are of: samples, or data sets.
    samples : int, optional
        All samples, where several are of a data set.
    """
    if count < 2:
        return "undecided"
    half = stdtrit(count - 1, CONFIDENCE) * error
    if coverage + half < LEAST_COVERAGE:
        return "not honest"
    is_sure = (samples or count) >= LEAST_SAMPLES and coverage - half >= LEAST_COVERAGE
    return "honest" if is_sure else "undecided"


def deciding_count(coverage, error, count):
    """Independent samples that would decide on `honesty`, if mean and spread stay; may be inf.

    Parameters
    ----------
    coverage, error : float
        Mean and standard error.
    count : int
        Samples that they are of.
    """
    gap = abs(coverage - LEAST_COVERAGE)
    if not gap or math.isinf(error):
        return math.inf
    needed = (stdtrit(max(count, LEAST_SAMPLES) - 1, CONFIDENCE) * error / gap) ** 2 * count
    return max(math.ceil(needed), LEAST_SAMPLES)
