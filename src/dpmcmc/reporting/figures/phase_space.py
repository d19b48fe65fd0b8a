"""Orbits and the ends of trajectories in phase space, and energy errors against the step size."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D

from dpmcmc.reporting.figures.style import NEUTRAL, legend_below, panel_grid

ALL_ROWS, BATCH = "#d62728", "#0173b2"


def orbit_panels(potential, panels):
    """Orbits on batches over that on all rows, a panel each, all with the same axes.

    Parameters
    ----------
    potential : Quadratic
        In whose units an orbit is a circle.
    panels : dict of str to dict
        By title: `all_rows`, the positions and momenta (q, p) of an orbit, and `batches`, a list
        of such pairs.
    """
    figure, axes = panel_grid(len(panels), min(2, len(panels)), size=(3.4, 3.4))
    for axis, (title, orbits) in zip(axes, panels.items(), strict=True):
        for q, p in orbits["batches"]:
            axis.plot(q, p, ".", markersize=2.5, color=BATCH, alpha=0.6)
        axis.plot(*orbits["all_rows"], ".", markersize=2.5, color=ALL_ROWS)
        axis.set_title(title)
    farthest = max(
        extent(potential, *one)
        for orbits in panels.values()
        for one in [orbits["all_rows"], *orbits["batches"]]
    )
    for axis in axes:
        set_limits(axis, potential, 1.05 * farthest)
    figure.tight_layout()
    legend_below(figure, handles("One batch"), 2)
    return figure


def end_panels(potential, energy, panels):
    """Ends of trajectories, and the circle of the energy they started with; own axes each.

    Parameters
    ----------
    potential : Quadratic
    energy : float
    panels : dict of str to dict
        Rows of the figure, by name: ends (q, p) by what heads a panel.
    """
    columns = max(map(len, panels.values()))
    figure, axes = plt.subplots(
        len(panels),
        columns,
        figsize=(0.4 + 2.5 * columns, 0.3 + 2.6 * len(panels)),
        squeeze=False,
    )
    angle = np.linspace(0, 2 * np.pi, 201)
    radius = np.sqrt(2 * energy)
    circle = (
        potential.centre + radius / np.sqrt(potential.curvature) * np.cos(angle),
        radius * np.sin(angle),
    )
    for row, (name, ends) in zip(axes, panels.items(), strict=True):
        for axis, (title, (q, p)) in zip(row, ends.items(), strict=True):
            axis.plot(q, p, ".", markersize=2.5, color=BATCH, alpha=0.6)
            axis.plot(*circle, color=ALL_ROWS, linewidth=1.5)
            axis.set_title(f"{name}\n{title}", fontsize="small")
            set_limits(axis, potential, 1.1 * max(radius, extent(potential, q, p)))
    figure.tight_layout()
    legend_below(figure, handles("End of a trajectory"), 2)
    return figure


def extent(potential, q, p):
    """Largest distance from the centre in either direction, in units of the momentum."""
    along = np.sqrt(potential.curvature) * np.abs(np.asarray(q) - potential.centre)
    return max(along.max(), np.abs(p).max())


def set_limits(axis, potential, half_width):
    """Axes on which an orbit on all rows is a circle, centred."""
    scale = 1 / np.sqrt(potential.curvature)
    axis.set_xlim(potential.centre - scale * half_width, potential.centre + scale * half_width)
    axis.set_ylim(-half_width, half_width)
    axis.set_box_aspect(1)
    axis.locator_params(nbins=4)
    axis.set(xlabel="q", ylabel="p")


def handles(of_batches):
    """Legend of points on batches, and of all rows in red."""
    style = {"marker": ".", "linestyle": ""}
    return [
        Line2D([], [], color=ALL_ROWS, label="All rows", **style),
        Line2D([], [], color=BATCH, label=of_batches, **style),
    ]


def energy_error_figure(steps, all_rows, one_batch, each_step, simulated):
    """Energy errors against the step size, over the energy of the start.

    Parameters
    ----------
    steps : (k,) array
    all_rows : (k,) array
    one_batch, each_step : dict of int to (k,) array
        By the rows of a batch.
    simulated : dict of (str, int) to (steps, errors)
        By "one_batch" or "each_step" and the rows of a batch.
    """
    figure, axis = plt.subplots(figsize=(5.6, 4.2))
    axis.plot(steps, all_rows, color=ALL_ROWS)
    colours = dict(zip(one_batch, sns.color_palette("viridis", len(one_batch)), strict=True))
    for b, colour in colours.items():
        axis.plot(steps, one_batch[b], color=colour)
        axis.plot(steps, each_step[b], "--", color=colour)
    markers = {"one_batch": "o", "each_step": "s"}
    for (kind, b), (at, errors) in simulated.items():
        axis.plot(at, errors, markers[kind], color=colours[b], markersize=3.5)
    axis.set(xscale="log", yscale="log", xlabel="Step size", ylabel="Energy error / energy")
    figure.tight_layout()
    key = [Line2D([], [], color=ALL_ROWS, label="All rows")]
    key += [Line2D([], [], color=colours[b], label=f"Batches of {b:,}") for b in colours]
    key += [
        Line2D([], [], color=NEUTRAL, marker="o", markersize=3.5, label="One batch"),
        Line2D(
            [], [], color=NEUTRAL, marker="s", markersize=3.5, linestyle="--", label="New each step"
        ),
    ]
    legend_below(figure, key, 3)
    return figure
