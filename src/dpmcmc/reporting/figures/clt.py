"""Sums over batches: their densities, and how far they are from normal."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D
from scipy.stats import norm

from dpmcmc.evaluation.batch_sums import distribution
from dpmcmc.reporting.figures.style import NEUTRAL, legend_below, panel_grid

X = np.linspace(-4, 4, 321)


def density_panels(ratios, num_rows, titles, sizes):
    """Clipped ratios of rows (left), and the standardised sums over batches beside the normal.

    Parameters
    ----------
    ratios : list of (k,) array
        Of a proposal; a row of the figure each.
    num_rows : list of int
        n, for each.
    titles : list of str
    sizes : list of int
        Of batches, a column each.
    """
    figure, axes = plt.subplots(
        len(ratios),
        1 + len(sizes),
        figsize=(0.6 + 2.4 * (1 + len(sizes)), 0.4 + 2.1 * len(ratios)),
        squeeze=False,
    )
    colour = sns.color_palette("colorblind")[0]
    for row, values, n, title in zip(axes, ratios, num_rows, titles, strict=True):
        row[0].hist(values, bins=60, density=True, color=colour)
        row[0].set(title=title, xlabel="Clipped ratio of a row", yticks=[])
        row[0].locator_params(axis="x", nbins=3)
        for axis, b in zip(row[1:], sizes, strict=True):
            density = np.gradient(distribution(values, b, n, X), X)
            axis.plot(X, norm.pdf(X), color=NEUTRAL, linewidth=3, alpha=0.4)
            axis.plot(X, density, color=colour)
            axis.set(title=f"b = {b:,}", xlabel="Standardised sum", yticks=[])
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
