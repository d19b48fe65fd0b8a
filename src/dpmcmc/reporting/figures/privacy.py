"""Epsilon by several accountants, beside what a publication prints."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D

from dpmcmc.reporting.figures.style import NEUTRAL, legend_below


def accountant_panels(panels):
    """Epsilon against one thing or another: a line an accountant, and what is printed as crosses.

    Parameters
    ----------
    panels : dict of str to tuple
        By what is on the horizontal axis, which is logarithmic: x, (k,); a dict from accountants
        to epsilons, (k,); and a dict from some of them to printed ones.
    """
    names = list(dict.fromkeys(name for _, ours, _ in panels.values() for name in ours))
    colours = dict(zip(names, sns.color_palette("colorblind", len(names)), strict=True))
    figure, axes = plt.subplots(1, len(panels), figsize=(0.4 + 3.9 * len(panels), 3.3))
    for axis, (label, (x, ours, printed)) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        for name, epsilons in ours.items():
            axis.plot(x, epsilons, "o-", markersize=3, color=colours[name])
        for name, epsilons in printed.items():
            axis.plot(x, epsilons, "x", markersize=8, color=colours[name], markeredgewidth=1.5)
        axis.set(xlabel=label, ylabel="ε", xscale="log", ylim=(0, None))
    figure.tight_layout()
    handles = [Line2D([], [], marker="o", markersize=3, color=colours[n], label=n) for n in names]
    handles.append(Line2D([], [], marker="x", linestyle="", color=NEUTRAL, label="Thesis"))
    legend_below(figure, handles, 2)
    return figure
