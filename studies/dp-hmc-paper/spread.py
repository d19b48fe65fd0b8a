"""Figures and tables of samples and their standard deviations along the axes of the posterior."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from dpmcmc_studies.reporting import words
from dpmcmc_studies.reporting.figures.posteriors import draw_sample, plane_grid, posterior_density
from dpmcmc_studies.reporting.figures.style import NEUTRAL, legend_below

LEAST_ESS = 40  # of a sample, to tell a standard deviation by, to 11 % or so
FEW = 3  # axes, each of which has its tick


def spread_table(study, table):
    """Ratios of the narrowest and the widest axis that mix, by model, temperature and step size.

    Parameters
    ----------
    study : StudyResults
    table : DataFrame
        From `kept_temperature.spreads`, of one model or several.

    Returns
    -------
    list of dict
    """
    rows = []
    keys = ["model", "temperature", "step_size"]
    for (model, temperature, step), cell in table.groupby(keys, sort=False):
        mixed = cell[cell["ess"] >= LEAST_ESS].sort_values("variance")
        ends = {"narrowest of these": mixed[:1], "widest of these": mixed[-1:]}
        rows.append(
            {
                "model": study.model_label(model),
                "temperature": f"{temperature:g}",
                "step size": f"{step:g}",
                "square root of the temperature": f"{temperature**0.5:.3f}",
                "axes that mix": f"{len(mixed)} of {len(cell)}",
            }
            | {
                name: words.interval(*axis[["ratio", "low", "high"]].iloc[0]) if len(axis) else "–"
                for name, axis in ends.items()
            }
        )
    return rows


def spread_panels(study, table):
    """Standard deviations over those of the posterior: a row a model, a column a step size.

    Parameters
    ----------
    study : StudyResults
    table : DataFrame
        From `kept_temperature.spreads`, of one model or several.
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
    study : StudyResults
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
