"""Samples, their standard deviations along the axes of the posterior, and what theory says."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from dpmcmc.evaluation.diagnostics import effective_sample_size
from dpmcmc.evaluation.intervals import median_contrast
from dpmcmc.evaluation.metrics import principal_axes
from dpmcmc.reporting.draws import run_of, sample_draws
from dpmcmc.reporting.figures.posteriors import draw_sample, plane_grid, posterior_density
from dpmcmc.reporting.figures.style import NEUTRAL, legend_below
from dpmcmc.study.streams import generator

EXACT_DRAWS = 100_000
LEAST_ESS = 40  # of a sample, to tell a standard deviation by, to 11 % or so
FEW = 3  # axes, each of which has its tick


def spreads(study, model, algorithm, swept):
    """Standard deviations of a sampler of Langevin dynamics over those of the posterior, by axis.

    Axes are the principal ones of an exact sample, in coordinates in which the posterior is normal
    (`straighten` of a model that has it).

    Parameters
    ----------
    study : Study
    model, algorithm : str
        Ids; the model has exact draws.
    swept : DataFrame
        Rows of the table `chains` that are of this model and algorithm, in a sweep over `step_size`
        and `temperature` with `batch_size` fixed.

    Returns
    -------
    DataFrame
        One row a temperature, step size and axis: `variance` of the posterior along it; `ratio`,
        the median over the samples, with its interval; `ess` of a sample, in the median; and
        `expected`, of the posterior to the power 1 / temperature, at that step on a normal
        posterior without clipping, NaN on others.
    """
    target = study.target(model)
    straighten = getattr(target.model, "straighten", np.asarray)
    rng = generator(0, "spread", model)
    exact = straighten(target.model.sample_posterior(rng, target.data, EXACT_DRAWS))
    deviations, axes = principal_axes(exact)
    settings = study.algorithms[algorithm]["settings"][model]
    keys = [key for key in swept if key in settings]
    rows = []
    for values, cell in swept.groupby([*keys, "iterations"], sort=False):
        varied = dict(zip(keys, values, strict=False))
        run = run_of(study, cell.iloc[0])
        samples = [
            straighten(sample_draws(study, model, algorithm, run, sample)) @ axes
            for sample in sorted(cell["seed"])
        ]
        sampler = study.sampler(algorithm, model, **varied)
        expected = np.full(len(deviations), np.nan)
        if not hasattr(target.model, "straighten"):
            expected = in_theory(sampler, target.num_rows, deviations**2)
        for j, deviation in enumerate(deviations):
            ratios = [sample[..., j].std(ddof=1) / deviation for sample in samples]
            estimate = median_contrast(("spread", model, *values, j), [ratios])
            ess = np.median([effective_sample_size(sample[..., j : j + 1]) for sample in samples])
            rows.append(
                varied
                | {"variance": deviation**2, "ratio": estimate.value}
                | {"low": estimate.low, "high": estimate.high, "ess": ess}
                | {"expected": expected[j]}
            )
    return pd.DataFrame(rows).assign(model=model)


def in_theory(sampler, num_rows, variances):
    """Those ratios for DP-SGLD on a normal posterior, in the long run, where nothing is clipped.

    Along an axis of variance v it is an autoregression of order 1, with noise of variance
    temperature h + (h / 2)^2 (n / b) (1 - q) / v, the second part of the batch.

    Parameters
    ----------
    sampler : DPSGLD
    num_rows : int
        n.
    variances : (d,) array
        Of the posterior along its axes; the prior is flat.
    """
    h, n, b = sampler.step_size, num_rows, sampler.batch_size
    noise = sampler.temperature + h / 4 * n / b * (1 - b / n) / variances
    decay = 1 - h / (4 * variances)
    with np.errstate(invalid="ignore"):  # where the step is too long to be stable
        return np.sqrt(noise / np.where(decay > 0, decay, np.nan))


def spread_panels(study, table):
    """Standard deviations over those of the posterior: a row a model, a column a step size.

    Parameters
    ----------
    study : Study
    table : DataFrame
        From `spreads`, of one model or several.
    """
    models = list(table["model"].unique())
    steps = {m: sorted(table.loc[table["model"] == m, "step_size"].unique())[::-1] for m in models}
    columns = max(map(len, steps.values()))
    temperatures = sorted(table["temperature"].unique())
    palette = sns.color_palette("colorblind", len(temperatures))
    colours = dict(zip(temperatures, palette, strict=True))
    figure, axes = plt.subplots(
        len(models),
        columns,
        figsize=(0.6 + 2.3 * columns, 0.6 + 2.4 * len(models)),
        squeeze=False,
    )
    for row, model in zip(axes, models, strict=True):
        for axis in row[len(steps[model]) :]:
            axis.remove()
        of_model = table[table["model"] == model]
        for axis, step in zip(row, steps[model], strict=False):
            for temperature, colour in colours.items():
                is_cell = of_model["step_size"] == step
                is_cell &= of_model["temperature"] == temperature
                draw_spread(axis, of_model[is_cell], colour)
                axis.axhline(np.sqrt(temperature), color=colour, linewidth=1, linestyle="--")
            variances = sorted(of_model["variance"].unique())
            axis.set(
                title=f"{study.model_label(model)}, h = {step:g}",
                xscale="log",
                xlabel="Posterior variance along an axis",
                ylim=(0, None),
            )
            axis.xaxis.set_minor_formatter(NullFormatter())
            if len(variances) <= FEW:
                axis.set_xticks(variances, [f"{variance:.2g}" for variance in variances])
                axis.set_xlim(0.8 * variances[0], 1.25 * variances[-1])
        row[0].set_ylabel("Standard deviation over\nthat of the posterior")
    figure.tight_layout()
    handles = [
        Line2D([], [], marker="o", color=colours[t], label=f"Temperature {t:g}")
        for t in temperatures
    ]
    handles += [
        Line2D([], [], color=NEUTRAL, linestyle="--", label="√temperature"),
        Line2D([], [], color=NEUTRAL, label="Theory at this step size"),
        Line2D([], [], marker="o", linestyle="", markerfacecolor="white", color=NEUTRAL),
    ]
    handles[-1].set_label(f"Effective sample size below {LEAST_ESS}")
    legend_below(figure, handles, 3)
    return figure


def draw_spread(axis, cell, colour):
    """Ratios with intervals of one cell, hollow where chains have mixed too little, and theory."""
    cell = cell.sort_values("variance")
    axis.plot(cell["variance"], cell["expected"], color=colour, linewidth=1, zorder=1)
    for row in cell.itertuples():
        axis.plot([row.variance] * 2, [row.low, row.high], color=colour, linewidth=1.2, zorder=2)
        axis.plot(
            row.variance,
            row.ratio,
            marker="o",
            markersize=4.5,
            color=colour,
            markerfacecolor=colour if row.ess >= LEAST_ESS else "white",
            zorder=3,
        )


def samples_figure(study, target, reference, samples):
    """Samples of a 2-dimensional posterior beside each other, a panel an algorithm.

    Parameters
    ----------
    study : Study
    target : Target
    reference : (size, 2) array
        Reference sample.
    samples : dict of str to (str, (k, 2) array)
        By algorithm id: what is said of a sample, and its draws.
    """
    rows = -(-len(samples) // 2)
    figure, axes = plane_grid(rows, 2, size=(3.0, 2.2), margin=(0.6, 0.4))
    density = posterior_density(target, reference, reference)
    for axis, (algorithm, (said, draws)) in zip(axes.flat, samples.items(), strict=False):
        title = f"{study.algorithm_label(algorithm)}\n{said}"
        draw_sample(axis, density, draws, study.algorithm_colour(algorithm), title)
    for axis in axes.flat[len(samples) :]:
        axis.remove()
    figure.tight_layout()
    return figure
