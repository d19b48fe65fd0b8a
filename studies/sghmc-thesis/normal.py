"""Mean and width of single chains on a normal posterior in one dimension: when a sampler fails."""

import math
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpmcmc.evaluation.claims import side, verdict
from dpmcmc.evaluation.diagnostics import effective_sample_size
from dpmcmc.evaluation.intervals import bootstrap, median_contrast
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.reporting.draws import run_of, sample_draws
from dpmcmc.reporting.figures.style import NEUTRAL, legend_below

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


def runs(study, chains, model, algorithms):
    """Algorithms on a model in one dimension, in all their settings: those of sweeps included.

    Parameters
    ----------
    study : Study
    chains : DataFrame
        Table `chains` of the study.
    model : str
        Id.
    algorithms : list of str
        Ids, in whose order the runs come.

    Yields
    ------
    algorithm, run : str
        Run as it stands in paths.
    settings : dict
    cell : DataFrame
        Rows of the table.
    """
    for algorithm in algorithms:
        entry = study.algorithms[algorithm]["entries"][model]
        of = chains[(chains["model"] == model) & (chains["algorithm"] == algorithm)]
        swept = [key for key in of if key in entry and of[key].notna().any()]
        for _, cell in of.groupby([*swept, "iterations"], sort=False, dropna=False):
            row = cell.iloc[0]
            varied = {key: row[key] for key in swept if pd.notna(row[key])}
            yield algorithm, run_of(study, row), entry | varied, cell


def moments_of_runs(study, chains, model, algorithms):
    """Moments of the chains of `runs`, whose parameters these are: a data frame, a row a chain."""
    tables = []
    for algorithm, run, _, cell in runs(study, chains, model, algorithms):
        draws = [sample_draws(study, model, algorithm, run, r) for r in sorted(cell["seed"])]
        of_chains = moments(np.concatenate(draws))._asdict()
        tables.append(pd.DataFrame({"algorithm": algorithm, "run": run} | of_chains))
    return pd.concat(tables)


def cells(study, chains, model, algorithms, of_chains):
    """Cells of `runs`, with their moments from `moments_of_runs`."""
    found = []
    for algorithm, run, settings, cell in runs(study, chains, model, algorithms):
        is_cell = (of_chains["algorithm"] == algorithm) & (of_chains["run"] == run)
        mean, sd, ess, kept = (of_chains.loc[is_cell, key].to_numpy() for key in Moments._fields)
        share, length = cell["gradient_clip_fraction"].median(), int(cell["iterations"].iloc[0])
        of_cell = Moments(mean, sd, ess, int(kept[0]))
        found.append(Cell(algorithm, settings, length, of_cell, share))
    return found


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
    sides = [
        side(median_contrast((*labels, number), [distance]), below=1)
        for number, distance in enumerate(distances(found, mean, sd))
    ]
    said = verdict(sides, share=1, one_refutes=True)
    return {"confirmed": "does not", "not confirmed": "fails"}.get(said, said)


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


def moment_panels(rows, mean, sd, printed_mean):
    """Errors of the mean (left) and standard deviations (right) of chains, a row a sampler.

    Both are over the standard deviation of the posterior, on logarithmic scales.

    Parameters
    ----------
    rows : list of tuple
        Label, colour, `Moments`, and the mean and standard deviation that a publication prints, or
        None.
    mean, sd : float
        Of the posterior.
    printed_mean : float
        Of the posterior of the publication, which is as wide.
    """
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 0.9 + 0.42 * len(rows)), sharey=True)
    for axis, limits in zip(axes, ((0, FARTHEST), (1 / WIDEST, WIDEST)), strict=True):
        axis.axvspan(*limits, color=NEUTRAL, alpha=0.12, linewidth=0)
        axis.set(xscale="log")
    for y, (_, colour, found, printed) in enumerate(rows):
        for axis, values in zip(axes, (np.abs(found.mean - mean), found.sd), strict=True):
            shown = values[values < ENDLESS] / sd
            axis.plot(shown, np.full(len(shown), y), "o", color=colour, markersize=4, alpha=0.6)
            if len(shown) < len(values):
                text = f"{len(values) - len(shown)} diverged \N{RIGHTWARDS ARROW}"
                place = {"transform": axis.get_yaxis_transform(), "ha": "right", "va": "center"}
                axis.text(0.99, y, text, **place)
        if printed:
            axes[0].plot(abs(printed[0] - printed_mean) / sd, y, "x", color="black", markersize=7)
            axes[1].plot(printed[1] / sd, y, "x", color="black", markersize=7)
    axes[0].set(
        xlabel="Error of the mean\n(posterior sds)",
        yticks=range(len(rows)),
        ylim=(len(rows) - 0.5, -0.5),
    )
    axes[0].set_yticklabels([label for label, *_ in rows])
    axes[1].set_xlabel("Standard deviation\n(posterior sds)")
    figure.tight_layout()
    handles = [
        Line2D([], [], marker="o", linestyle="", color=NEUTRAL, label="A chain"),
        Line2D([], [], marker="x", linestyle="", color="black", label="Thesis"),
        Patch(color=NEUTRAL, alpha=0.12, label="Within the limits"),
    ]
    legend_below(figure, handles, 3)
    return figure
