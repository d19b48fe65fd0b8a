"""What single chains say of the mean and the width of a normal posterior in one dimension."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from dpmcmc.evaluation.diagnostics import effective_sample_size
from dpmcmc.evaluation.intervals import bootstrap, median_contrast
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.reporting.draws import run_of, sample_draws

FARTHEST = 1.0  # of a mean from the posterior's, in standard deviations of that
WIDEST = 2.0  # times the posterior's standard deviation, or one so many times smaller
ENDLESS = 1e150  # stands for what is not finite, of chains that diverge


class Moments(NamedTuple):
    """Of what is kept of each of m chains; arrays of shape (m,)."""

    mean: np.ndarray
    sd: np.ndarray
    ess: np.ndarray  # effective sample size
    kept: int  # draws of a chain


class Cell(NamedTuple):
    """An algorithm in one setting."""

    algorithm: str  # id
    settings: dict
    iterations: int
    moments: Moments
    clip_fraction: float  # median share of the rows whose gradients were clipped; NaN without


def cells(study, chains, model, algorithms):
    """Cells of algorithms on a model in one dimension, those of sweeps included.

    Parameters
    ----------
    study : Study
    chains : DataFrame
        Table `chains` of the study.
    model : str
        Id.
    algorithms : list of str
        Ids, in whose order the cells come.
    """
    found = []
    for algorithm in algorithms:
        entry = study.algorithms[algorithm]["entries"][model]
        of = chains[(chains["model"] == model) & (chains["algorithm"] == algorithm)]
        swept = [key for key in of if key in entry and of[key].notna().any()]
        for _, cell in of.groupby([*swept, "iterations"], sort=False, dropna=False):
            row = cell.iloc[0]
            run = run_of(study, row)
            draws = [sample_draws(study, model, algorithm, run, r) for r in sorted(cell["seed"])]
            varied = {key: row[key] for key in swept if pd.notna(row[key])}
            share = cell["gradient_clip_fraction"].median()
            length, of_chains = int(row["iterations"]), moments(np.concatenate(draws))
            found.append(Cell(algorithm, entry | varied, length, of_chains, share))
    return found


def normal_posterior(target):
    """Mean and standard deviation of a posterior that is normal, in one dimension, exactly.

    Parameters
    ----------
    target : Target
        Of a model with such a posterior: two gradients determine it.
    """
    at_zero, at_one = (float(target.gradient(np.array([theta]))[0]) for theta in (0.0, 1.0))
    precision = at_zero - at_one
    return at_zero / precision, precision**-0.5


def batch_noise(target, theta, batch_size, bound):
    """Variance of the gradient of the log posterior by a batch drawn without replacement.

    Times half of the step size it is what friction must be at least to take away again what energy
    batches bring (Chen, Fox and Guestrin 2014, section 3).

    Parameters
    ----------
    target : Target
        In one dimension.
    theta : float
    batch_size : int
    bound : float
        Largest absolute value of one row's gradient.
    """
    n, theta = target.num_rows, np.array([theta])
    rows = [target.clipped_batch_gradient(theta, bound, np.array([i]))[0] for i in range(n)]
    share = batch_size / n
    return float(
        (n * target.likelihood_power) ** 2 / batch_size * (1 - share) * np.var(rows, ddof=1)
    )


def moments(draws):
    """Moments of chains in one dimension; ENDLESS for those of chains that diverge.

    Parameters
    ----------
    draws : (m, k, 1) array
        What is kept of the chains.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, sd = draws.mean(axis=(1, 2)), draws.std(axis=(1, 2), ddof=1)
    is_finite = np.isfinite(mean) & np.isfinite(sd)
    return Moments(
        np.where(is_finite, mean, ENDLESS),
        np.where(is_finite, sd, ENDLESS),
        np.array(
            [
                effective_sample_size(chain[None]) if is_known else math.nan
                for chain, is_known in zip(draws, is_finite, strict=True)
            ]
        ),
        draws.shape[1],
    )


def root_mean_square(labels, errors):
    """Root of the mean square of errors (m,), an `Estimate` with its 95 % bootstrap interval."""

    def statistic(values, axis=-1):
        largest = np.abs(values).max(axis=axis, keepdims=True)
        scaled = np.sqrt(np.square(values / largest).mean(axis=axis, keepdims=True))
        return (largest * scaled).squeeze(axis)

    return bootstrap(labels, statistic, [errors])


def distances(found, mean, sd):
    """How far means are off, and by what factor widths, (m,) each, both over their limits.

    Parameters
    ----------
    found : Moments
    mean, sd : float
        Of the posterior.
    """
    off = np.abs(found.mean - mean) / sd / FARTHEST
    with np.errstate(divide="ignore"):  # of chains that never move
        width = np.abs(np.log(found.sd / sd)) / math.log(WIDEST)
    return off, np.minimum(width, ENDLESS)


def fails(labels, found, mean, sd):
    """Whether a sampler fails: "fails", "does not" or "undecided".

    It fails where the median over the chains of either distance lies above its limit, with all of
    the 95 % interval, and does not where both lie below, with all of theirs; parameters as for
    `distances`, and labels of the resampling.
    """
    estimates = [
        median_contrast((*labels, number), [distance])
        for number, distance in enumerate(distances(found, mean, sd))
    ]
    if any(estimate.low > 1 for estimate in estimates):
        return "fails"
    return "does not" if all(estimate.high <= 1 for estimate in estimates) else "undecided"


def runaway(sampler, iterations):
    """Mean and standard deviation of the later half of a chain that a constant force drives off.

    The force is the clip bound, which a gradient far from the mode has: towards it, or, with the
    wrong sign, away. From rest each trajectory goes h^2 J (J + 1) / 2 times the force, and further
    each time, as nothing turns it.

    Parameters
    ----------
    sampler : SubsampledHMC
        With a gradient clip bound, taken for that of the batch.
    iterations : int
    """
    J = sampler.num_integration_steps
    steps = np.array([sampler.step_size_of(t) for t in range(1, iterations + 1)])
    ends = np.cumsum(sampler.gradient_clip_bound * steps**2 * J * (J + 1) / 2)
    kept = kept_draws(ends)
    return float(kept.mean()), float(kept.std(ddof=1))
