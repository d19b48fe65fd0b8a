"""The sum of clipped ratios over a batch: its distribution, and what a test makes of it.

DP Barker, its non-private kin and the minibatch penalty take that sum for normal, by the central
limit theorem. Here is how normal it is, for proposals of a study's chains.
"""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.lines import Line2D
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from dpmcmc.likelihoods.target import Target
from dpmcmc.random_streams import seed_sequence, three_streams
from dpmcmc.samplers.barker_correction import NOISE_VARIANCE, fit_correction
from dpmcmc.samplers.batch_ratios import batch_log_ratio
from dpmcmc.samplers.batches import batch_variance_factor, draw_batch
from dpmcmc.samplers.dp_barker import DPBarker
from dpmcmc_studies.reporting.figures.style import NEUTRAL, legend_below, panel_grid

BINS = 256  # of the rows' values
REACH = 12.0  # standard deviations, beyond which there is no probability to speak of
FREQUENCIES = 8192
CF_CUTOFF = 1e-12  # of the characteristic function, below which it counts for nothing
X = np.linspace(-6, 6, 6001)  # where distribution functions are compared
SHOWN = np.linspace(-3, 3, 601)  # where they are drawn


def skewness(values, batch_size, num_rows):
    """Skewness of the sum over a batch drawn without replacement.

    Parameters
    ----------
    values : (k,) array
        Of all rows, or of a sample of them.
    batch_size, num_rows : int
        b < n.

    Returns
    -------
    float
        NaN if all values are the same.
    """
    n, b = num_rows, batch_size
    if values.min() == values.max():
        return math.nan
    centred = values - values.mean()
    of_rows = (centred**3).mean() / (centred**2).mean() ** 1.5
    return of_rows * (n - 2 * b) / (n - 2) * math.sqrt((n - 1) / (b * (n - b)))


def distribution(values, batch_size, num_rows, x=X):
    """Distribution function of the standardised sum over a batch drawn without replacement.

    By the characteristic function, that of rows that are in the batch or not independently of each
    other, given that there are b of them (Erdos and Renyi 1959), without simulation. Rows are put
    in bins, and Lanczos' factors damp the series, which ends somewhere: a jump, as of a few rows
    that are nearly all clipped, is spread over a hundredth of a standard deviation, with as little
    as a hundredth of its height too much on either side.

    Parameters
    ----------
    values : (k,) array
        Of all rows, or of a sample of them, which then stand for all. The third moment of k rows
        is known to sqrt(6 / k), which is 0.07 sqrt(6 / (k b)) of a distance.
    batch_size, num_rows : int
        b < n.
    x : (m,) array
        In standard deviations of the sum from its mean.

    Returns
    -------
    (m,) array
        NaN if all values are the same: the sum has no standard deviation then.
    """
    n, b = num_rows, batch_size
    if values.min() == values.max():
        return np.full(len(x), np.nan)
    share = b / n
    counts, means, variances = binned(values)
    counts = counts * (n / counts.sum())
    centred = means - counts @ means / n
    sd = math.sqrt(b * (1 - share) / (n - 1) * (counts @ (centred**2 + variances)))
    standard, variances = centred / sd, variances / sd**2
    # How many rows are in the batch: frequencies at which that is told from b.
    spread = math.sqrt(b * (1 - share))
    period = min(n + 1, math.ceil(2 * REACH * spread))
    of_size = 2 * np.pi * (np.arange(period) - period // 2) / period
    of_size = of_size[np.abs(of_size) * spread <= REACH]

    def characteristic(t, shift):
        angles = of_size - shift
        of_rows = np.exp(1j * t * standard - t * t * variances / 2)
        logs = log1p(share * (np.exp(1j * angles)[:, None] * of_rows - 1)) @ counts
        return np.exp(logs - 1j * b * angles).sum()

    # Rows drawn independently tell where there is something: where most are clipped, it recurs.
    t = np.pi / REACH * np.arange(1, FREQUENCIES)
    of_row = np.array([np.exp(1j * u * standard - u * u * variances / 2) @ counts for u in t]) / n
    is_there = np.abs(of_row) ** (b * (1 - share)) > CF_CUTOFF
    t, shifts = t[is_there], np.angle(of_row[is_there])
    values_at = np.array(list(map(characteristic, t, shifts))) / characteristic(0.0, 0.0).real
    values_at *= np.sinc(t * REACH / (np.pi * FREQUENCIES))
    result = (x + REACH) / (2 * REACH)
    for u, value in zip(t, values_at / (-1j * t * REACH), strict=True):
        result = result + (value * (np.exp(-1j * u * x) - np.exp(1j * u * REACH))).real
    return result


def log1p(z):
    """ln(1 + z) of complex numbers, to the last digits for small z, as NumPy's is not.

    SciPy's is, and takes four times as long.
    """
    x, y = z.real, z.imag
    moduli = np.log1p((x * (2 + x) + y * y).clip(min=-1 + 2**-53)) / 2
    return moduli + 1j * np.arctan2(y, 1 + x)


def binned(values):
    """Numbers of values in bins, their means and variances there; the extremes have a bin each."""
    low, high = values.min(), values.max()
    bins = 1 + ((values - low) * (BINS / (high - low))).astype(int).clip(max=BINS - 1)
    bins[values == low], bins[values == high] = 0, BINS + 1
    counts = np.bincount(bins)
    is_there = counts > 0
    means = np.bincount(bins, weights=values)[is_there] / counts[is_there]
    numbers = np.cumsum(is_there)[bins] - 1
    variances = np.bincount(numbers, weights=(values - means[numbers]) ** 2) / counts[is_there]
    return counts[is_there], means, variances


def kolmogorov_distance(values, batch_size, num_rows):
    """Largest distance of that distribution function from the normal one; NaN as there."""
    return float(np.abs(distribution(values, batch_size, num_rows) - ndtr(X)).max())


def normal_bounds(values, batch_size):
    """Bounds of that distance for batches drawn independently.

    Parameters
    ----------
    values : (k,) array
    batch_size : int
        b.

    Returns
    -------
    berry_esseen, self_normalised : float
        0.4748 E|Z|^3 / sqrt(b), with Z the centred value of a row over its standard deviation
        (Berry and Esseen, with the constant of Shevtsova); and (6.4 E|Z|^3 + 2 E|Z|) / sqrt(b), for
        sums over their own estimate of the standard deviation, which Seita et al. (2017) use. NaN
        if all values are the same.
    """
    if values.min() == values.max():
        return math.nan, math.nan
    z = np.abs(values - values.mean()) / values.std()
    berry_esseen = float(0.4748 * (z**3).mean() / math.sqrt(batch_size))
    return berry_esseen, self_normalised_bound(z, batch_size)


def printed_bound(values, batch_size, num_rows, likelihood_power):
    """The latter with Z as Heikkila et al. (2019, Theorem 3) print it: n T times the centred value.

    It goes with the length of the step, and so bounds nothing where that is short.

    Parameters
    ----------
    values, batch_size
        As for `normal_bounds`.
    num_rows : int
        n.
    likelihood_power : float
        T, by which tempering scales the ratios.
    """
    z = num_rows * likelihood_power * np.abs(values - values.mean())
    return self_normalised_bound(z, batch_size)


def self_normalised_bound(z, batch_size):
    """(6.4 E|Z|^3 + 2 E|Z|) / sqrt(b) of absolute values |Z| (k,)."""
    return float((6.4 * (z**3).mean() + 2 * z.mean()) / math.sqrt(batch_size))


def barker_error(rng, target, sampler, correction, theta, theta_new, batches):
    """Acceptance probability of DP Barker less what it would be were the sum normal.

    Parameters
    ----------
    rng : Streams
        Batches are drawn from its noise.
    target : Target
    sampler : DPBarker
    correction : Correction
    theta, theta_new : (d,) arrays
    batches : int
        Over which the mean is taken.

    Returns
    -------
    probability, error, standard_error : float
        The probability with a sum that is normal, with the mean and the variance that the batches
        have, and the test's own correction; the difference from it, with the standard error of its
        simulation.
    """
    n, b = target.num_rows, sampler.batch_size
    bound = sampler.row_bound(target, theta, theta_new)
    sums, variances = simulated(rng, target, sampler, theta, theta_new, bound, batches)
    moments = exact_moments(target, sampler, theta, theta_new, bound)
    noise_sd = np.sqrt(np.maximum(NOISE_VARIANCE - variances, 1e-12))
    accepted = ndtr((sums[:, None] + correction.atoms) / noise_sd[:, None]) @ correction.weights
    sd = math.sqrt(NOISE_VARIANCE - taken_for(sampler, moments[1], b, n) + moments[1])
    probability = float(ndtr((moments[0] + correction.atoms) / sd) @ correction.weights)
    return probability, *mean_less(probability, accepted, sums, *moments)


def penalty_error(rng, target, sampler, theta, theta_new, batches):
    """Acceptance probability of the minibatch penalty less what it would be were the sum normal.

    Parameters and what is returned are as for `barker_error`; there is no correction, but the test
    takes off half of the variance that it estimates.
    """
    n, b = target.num_rows, sampler.batch_size
    bound = sampler.row_bound(target, theta, theta_new)
    sums, variances = simulated(rng, target, sampler, theta, theta_new, bound, batches)
    moments = exact_moments(target, sampler, theta, theta_new, bound)
    noise = sampler.noise_variance * sampler.sensitivity_at(target, bound) ** 2
    accepted = penalty_acceptance(sums - variances / 2 - noise / 2, noise)
    of_batch = taken_for(sampler, moments[1], b, n)
    probability = penalty_acceptance(moments[0] - of_batch / 2 - noise / 2, noise + moments[1])
    return float(probability), *mean_less(probability, accepted, sums, *moments)


def simulated(rng, target, sampler, theta, theta_new, bound, batches):
    """Log density ratios by batches, (k,), and what the test takes their variances for, (k,)."""
    n, b = target.num_rows, sampler.batch_size
    factor = batch_variance_factor(sampler.batch_variance, b, n)
    sums, variances = np.empty((2, batches))
    for i in range(batches):
        sums[i], variances[i], _ = batch_log_ratio(
            target, theta, theta_new, bound, draw_batch(rng, n, b), b, factor
        )
    return sums + target.model.log_prior_ratio(theta, theta_new), variances


def taken_for(sampler, variance, batch_size, num_rows):
    """What a sampler takes the variance of its batches' ratios for, on average."""
    factors = [
        batch_variance_factor(kind, batch_size, num_rows)
        for kind in (sampler.batch_variance, "exact")
    ]
    return variance * factors[0] / factors[1]


def exact_moments(target, sampler, theta, theta_new, bound):
    """Mean and variance of the log density ratio by a batch, over all batches."""
    n, b, T = target.num_rows, sampler.batch_size, target.likelihood_power
    R, squares, _ = target.clipped_batch_ratio(theta, theta_new, bound, np.ones(n, dtype=bool))
    mean = T * R + target.model.log_prior_ratio(theta, theta_new)
    of_rows = squares - R * R / n
    if of_rows < 1e-12 * squares:  # rounding
        of_rows = 0.0
    return mean, (n * T / b) ** 2 * b * (1 - b / n) / (n - 1) * of_rows


def penalty_acceptance(mean, variance):
    """E min(1, exp(M)) of M ~ Normal(mean, variance)."""
    sd = np.sqrt(variance)
    return ndtr(mean / sd) + np.exp(mean + variance / 2 + log_ndtr(-mean / sd - sd))


def mean_less(expected, values, covariate, mean, variance):
    """Mean of values less what is expected, with its standard error.

    The covariate, of which mean and variance are known, takes out most of the chance. NaN if it is
    constant.
    """
    if not variance > 0:
        return math.nan, math.nan
    z = (covariate - mean) / math.sqrt(variance)
    design = np.stack([np.ones_like(z), z, z * z - 1], axis=1)
    coefficients, *_ = np.linalg.lstsq(design, values, rcond=None)
    residuals = values - design @ coefficients
    return float(coefficients[0] - expected), float(residuals.std() / math.sqrt(len(values)))


class Proposal(NamedTuple):
    """A step that a chain might take."""

    model: str
    algorithm: str
    target: Target
    theta: np.ndarray
    theta_new: np.ndarray
    ratios: np.ndarray  # of all rows, not clipped


def proposals(study, model, algorithm, thetas):
    """A proposal from each of some places of a chain (k, d), as a list of `Proposal`."""
    move, target = study.sampler(algorithm, model).move, study.target(model)
    rng = three_streams(seed_sequence(study.seed, "clt-proposals", model, algorithm))
    memory = move.init(rng, thetas.shape[1])
    found = []
    for theta in thetas:
        theta_new, memory, _ = move.propose(rng, theta, memory)
        ratios, _ = target.row_ratios(theta, theta_new)
        found.append(Proposal(model, algorithm, target, theta, theta_new, ratios))
    return found


def clipped(study, proposal, batch_size=None):
    """Sampler with batches of a size, by default its own; its clip bound; clipped ratios."""
    changes = {} if batch_size is None else {"batch_size": batch_size}
    sampler = study.sampler(proposal.algorithm, proposal.model, **changes)
    bound = sampler.row_bound(proposal.target, proposal.theta, proposal.theta_new)
    return sampler, bound, proposal.ratios.clip(-bound, bound)


def normality(study, found, batches, sizes):
    """How normal the sums are that a test takes for normal, and what it does to acceptance.

    Parameters
    ----------
    study : StudyResults
    found : list of Proposal
        Of algorithms whose sampler is DP Barker or the minibatch penalty.
    batches : int
        Simulated for the acceptance probability.
    sizes : list of int
        Of batches, beside the sampler's own. DP Barker clips at a bound that goes with them.

    Returns
    -------
    DataFrame
        One row a proposal and size of batches: `model`, `algorithm`, `proposal` (number),
        `batch_size`, `skewness` and `distance` of the sum from the normal distribution,
        `clip_fraction`, and the bounds of the distance `berry_esseen`, `self_normalised` and
        `printed`. For the sampler's own size (`is_own`) also `probability` of acceptance, its
        `error` and that one's `standard_error`. Where all ratios are clipped alike the sum is
        constant, and what compares it with a normal one is NaN.
    """
    rows, correction = [], fit_correction()
    for number, proposal in enumerate(found):
        target, n = proposal.target, proposal.target.num_rows
        own = study.sampler(proposal.algorithm, proposal.model).batch_size
        for b in sorted({own, *(size for size in sizes if 2 * size <= n)}):
            sampler, bound, ratios = clipped(study, proposal, b)
            berry_esseen, self_normalised = normal_bounds(ratios, b)
            row = {
                "model": proposal.model,
                "algorithm": proposal.algorithm,
                "proposal": number,
                "batch_size": b,
                "is_own": b == own,
                "skewness": skewness(ratios, b, n),
                "distance": kolmogorov_distance(ratios, b, n),
                "clip_fraction": float((np.abs(proposal.ratios) > bound).mean()),
                "berry_esseen": berry_esseen,
                "self_normalised": self_normalised,
                "printed": printed_bound(ratios, b, n, target.likelihood_power),
            }
            if b == own:
                labels = (proposal.model, proposal.algorithm, number)
                rng = three_streams(seed_sequence(study.seed, "clt", *labels))
                step = (proposal.theta, proposal.theta_new, batches)
                if isinstance(sampler, DPBarker):
                    of_step = barker_error(rng, target, sampler, correction, *step)
                else:
                    of_step = penalty_error(rng, target, sampler, *step)
                row |= zip(("probability", "error", "standard_error"), of_step, strict=True)
            rows.append(row)
    return pd.DataFrame(rows)


def distribution_panels(rows, sizes):
    """Clipped ratios of rows (left), and distribution functions of sums over batches of them.

    Parameters
    ----------
    rows : list of tuple
        A row of the figure each: title, n and the clipped ratios (k,) for each of the sizes.
    sizes : list of int
        Of batches, a line each; the ratios on the left are those of the last one. Differences from
        the normal distribution function are multiplied by √b, as they fall with it.
    """
    figure, axes = panel_grid(2 * len(rows), 2, size=(2.9, 2.1))
    colours = sns.color_palette("colorblind", len(sizes))
    for (left, right), (title, n, by_size) in zip(axes.reshape(-1, 2), rows, strict=True):
        left.hist(by_size[-1], bins=60, density=True, color=colours[-1])
        left.set(title=title, xlabel="Clipped ratio of a row", yticks=[])
        left.locator_params(axis="x", nbins=3)
        for b, values, colour in zip(sizes, by_size, colours, strict=True):
            gap = distribution(values, b, n, SHOWN) - norm.cdf(SHOWN)
            right.plot(SHOWN, np.sqrt(b) * gap, color=colour, linewidth=1.2)
        right.set(title=title, xlabel="Standardised sum")
        right.set_ylabel("√b × difference\nfrom the normal CDF")
    figure.tight_layout()
    handles = [
        Line2D([], [], color=c, label=f"b = {b:,}") for b, c in zip(sizes, colours, strict=True)
    ]
    legend_below(figure, handles, len(sizes))
    return figure


def distance_panels(study, table):
    """Distance of the sums from the normal distribution against b, a panel an algorithm.

    Parameters
    ----------
    study : StudyResults
    table : DataFrame
        From `normality`.
    """
    models = list(table["model"].unique())
    colours = dict(zip(models, sns.color_palette("colorblind", len(models)), strict=True))
    algorithms = list(table["algorithm"].unique())
    figure, axes = panel_grid(
        len(algorithms), min(2, len(algorithms)), size=(3.3, 2.8), sharey=True
    )
    for axis, algorithm in zip(axes, algorithms, strict=True):
        of_algorithm = table[table["algorithm"] == algorithm]
        for model, steps in of_algorithm.groupby("model", sort=False):
            medians = steps.groupby("batch_size")[["distance", "berry_esseen", "skewness"]].agg(
                lambda values: values.abs().median()
            )
            b, colour = medians.index, colours[model]
            axis.plot(b, medians["distance"], color=colour)
            axis.plot(b, norm.pdf(0) / 6 * medians["skewness"], "--", color=colour, linewidth=1)
            axis.plot(b, medians["berry_esseen"], ":", color=colour)
            own = steps.loc[steps["is_own"], "batch_size"].iloc[0]
            axis.plot(own, medians["distance"][own], "o", color=colour)
        axis.set(xscale="log", yscale="log", xlabel="Batch size b")
        axis.set(ylabel="Distance from normal", title=study.algorithm_label(algorithm))
    figure.tight_layout()
    handles = [Line2D([], [], color=colours[m], label=study.model_label(m)) for m in models]
    handles += [
        Line2D([], [], marker="o", linestyle="", color=NEUTRAL, label="Published batch size"),
        Line2D([], [], linestyle="--", color=NEUTRAL, label="Skewness alone: φ(0) |skewness| / 6"),
        Line2D([], [], linestyle=":", color=NEUTRAL, label="Berry–Esseen bound"),
    ]
    legend_below(figure, handles, 2)
    return figure
