"""Sums over batches: their distributions, and how far they are from normal."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D
from scipy.stats import norm

from dpmcmc.evaluation.batch_sums import distribution
from dpmcmc.reporting.figures.style import NEUTRAL, legend_below, panel_grid

X = np.linspace(-3, 3, 601)


def distribution_panels(rows, sizes):
    """Clipped ratios of rows (left), and distribution functions of sums over batches of them.

    Parameters
    ----------
    rows : list of tuple
        A row of the figure each: title, n and the clipped ratios (k,) for each of the sizes.
    sizes : list of int
        Of batches, a column each; the ratios on the left are those of the last one.
    """
    figure, axes = plt.subplots(
        len(rows),
        1 + len(sizes),
        figsize=(0.6 + 2.4 * (1 + len(sizes)), 0.4 + 2.1 * len(rows)),
        squeeze=False,
    )
    colour = sns.color_palette("colorblind")[0]
    for row, (title, n, by_size) in zip(axes, rows, strict=True):
        row[0].hist(by_size[-1], bins=60, density=True, color=colour)
        row[0].set(title=title, xlabel="Clipped ratio of a row", yticks=[])
        row[0].locator_params(axis="x", nbins=3)
        for axis, b, values in zip(row[1:], sizes, by_size, strict=True):
            axis.plot(X, distribution(values, b, n, X) - norm.cdf(X), color=colour, linewidth=1)
            axis.set(title=f"b = {b:,}", xlabel="Standardised sum")
            axis.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
        row[1].set_ylabel("Less the normal one")
    figure.tight_layout()
    return figure


def distance_panels(study, table):
    """Distance of the sums from the normal distribution against b, a panel an algorithm.

    Parameters
    ----------
    study : Study
    table : DataFrame
        From `dpmcmc.reporting.clt.normality`.
    """
    models = list(table["model"].unique())
    colours = dict(zip(models, sns.color_palette("colorblind", len(models)), strict=True))
    algorithms = list(table["algorithm"].unique())
    figure, axes = panel_grid(len(algorithms), min(2, len(algorithms)), size=(3.9, 3.0))
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
        axis.set(xscale="log", yscale="log", xlabel="Rows of a batch")
        axis.set(ylabel="Distance from normal", title=study.algorithm_label(algorithm))
    figure.tight_layout()
    handles = [Line2D([], [], color=colours[m], label=study.model_label(m)) for m in models]
    handles += [
        Line2D([], [], marker="o", linestyle="", color=NEUTRAL, label="The setting's own"),
        Line2D([], [], linestyle="--", color=NEUTRAL, label="Skewness alone: φ(0) |skewness| / 6"),
        Line2D([], [], linestyle=":", color=NEUTRAL, label="Bound of Berry and Esseen"),
    ]
    legend_below(figure, handles, 2)
    return figure
