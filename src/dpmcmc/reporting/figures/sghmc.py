"""Densities of components of theta, and what a sweep over steps and friction gives."""

import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D
from scipy.stats import gaussian_kde, rankdata

from dpmcmc.reporting.figures.style import legend_below, panel_grid

PLACES = 300  # of a density
SHOWN = 0.002, 0.998  # quantiles of the first sample that the axis holds, with as much again


def density_panels(panels, names):
    """Densities of some components of samples, one colour a component, one panel a sample.

    Figures 6.6 and 6.9 of the thesis on DP SGHMC.

    Parameters
    ----------
    panels : dict of str to (k, c) array
        Samples by what heads their panel; the first of them sets the axis.
    names : list of str
        Of the c components.

    Returns
    -------
    matplotlib.figure.Figure
    """
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    figure, axes = panel_grid(len(panels), columns, size=(3.3, 2.6))
    colours = sns.color_palette("colorblind", len(names))
    low, high = np.quantile(next(iter(panels.values())), SHOWN)
    x = np.linspace(low - (high - low) / 2, high + (high - low) / 2, PLACES)
    for axis, (title, sample) in zip(axes, panels.items(), strict=True):
        for values, colour in zip(sample.T, colours, strict=True):
            if values.std() > 0:  # a chain that stands still has no density
                axis.plot(x, gaussian_kde(values)(x), color=colour, linewidth=1.2)
        axis.set(title=title, xlabel="Coefficient", ylim=(0, None), yticks=[])
    figure.tight_layout()
    handles = [Line2D([], [], color=c, label=n) for c, n in zip(colours, names, strict=True)]
    legend_below(figure, handles, len(names))
    return figure


def sweep_panels(tables):
    """Numbers over friction (down) and step size (across), as tables beside each other.

    Figure 6.7 of the thesis on DP SGHMC. A cell is the darker the higher its number ranks.

    Parameters
    ----------
    tables : dict of str to (DataFrame, str)
        By what heads the panel: numbers, an index of frictions and columns of step sizes; and the
        format of a number.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axes = panel_grid(len(tables), len(tables), size=(3.0, 2.8))
    for axis, (title, (table, spec)) in zip(axes, tables.items(), strict=True):
        table = table.sort_index().sort_index(axis=1)
        numbers = table.to_numpy(float)
        sns.heatmap(
            rankdata(numbers).reshape(numbers.shape) / numbers.size,
            annot=numbers,
            annot_kws={"color": "0.15"},
            fmt=spec,
            cmap="Blues",
            vmin=0,
            vmax=2,  # pale enough for black numbers
            cbar=False,
            linewidths=0.5,
            xticklabels=[f"{step:g}" for step in table.columns],
            yticklabels=[f"{friction:g}" for friction in table.index],
            ax=axis,
        )
        axis.grid(False)
        axis.set(title=title, xlabel="First step β", ylabel="Friction C")
    figure.tight_layout()
    return figure
