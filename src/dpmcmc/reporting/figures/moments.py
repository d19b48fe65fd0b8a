"""How far means and widths of single chains are from those of the posterior."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpmcmc.reporting.figures.style import NEUTRAL, legend_below
from dpmcmc.reporting.moments import ENDLESS, FARTHEST, WIDEST


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
    figure, axes = plt.subplots(1, 2, figsize=(9.4, 0.9 + 0.42 * len(rows)), sharey=True)
    for axis, limits in zip(axes, ((0, FARTHEST), (1 / WIDEST, WIDEST)), strict=True):
        axis.axvspan(*limits, color=NEUTRAL, alpha=0.12, linewidth=0)
        axis.set(xscale="log")
    for y, (_, colour, found, printed) in enumerate(rows):
        for axis, values in zip(axes, (np.abs(found.mean - mean), found.sd), strict=True):
            shown = values[values < ENDLESS] / sd
            axis.plot(shown, np.full(len(shown), y), "o", color=colour, markersize=4, alpha=0.6)
            if len(shown) < len(values):
                text = f"{len(values) - len(shown)} without end \N{RIGHTWARDS ARROW}"
                place = {"transform": axis.get_yaxis_transform(), "ha": "right", "va": "center"}
                axis.text(0.99, y, text, **place)
        if printed:
            axes[0].plot(abs(printed[0] - printed_mean) / sd, y, "x", color="black", markersize=7)
            axes[1].plot(printed[1] / sd, y, "x", color="black", markersize=7)
    axes[0].set(
        xlabel="Error of the mean over the\nstandard deviation of the posterior",
        yticks=range(len(rows)),
        ylim=(len(rows) - 0.5, -0.5),
    )
    axes[0].set_yticklabels([label for label, *_ in rows])
    axes[1].set_xlabel("Standard deviation over\nthat of the posterior")
    figure.tight_layout()
    handles = [
        Line2D([], [], marker="o", linestyle="", color=NEUTRAL, label="A chain"),
        Line2D([], [], marker="x", linestyle="", color="black", label="Thesis"),
        Patch(color=NEUTRAL, alpha=0.12, label="Within the limits"),
    ]
    legend_below(figure, handles, 3)
    return figure
