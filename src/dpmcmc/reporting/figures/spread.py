"""How wide samples are, along the axes of the posterior."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from dpmcmc.reporting.figures.style import NEUTRAL, legend_below

LEAST_ESS = 40  # of a sample, to tell a standard deviation by, to 11 % or so
FEW = 3  # axes, each of which has its tick


def spread_panels(study, table):
    """Standard deviations over those of the posterior: a row a model, a column a step size.

    Parameters
    ----------
    study : Study
    table : DataFrame
        From `dpmcmc.reporting.spread.spreads`, of one model or several.
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
        figsize=(0.6 + 3.0 * columns, 0.6 + 2.5 * len(models)),
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
        Line2D([], [], color=NEUTRAL, linestyle="--", label="Square root of the temperature"),
        Line2D([], [], color=NEUTRAL, label="In theory, at this step"),
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
