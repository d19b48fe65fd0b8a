"""A leapfrog trajectory in successive frames: figure 4.1."""

import numpy as np
from matplotlib.lines import Line2D

from dpmcmc.reporting.figures.posteriors import (
    START_COLOUR,
    draw_posterior,
    handles,
    padded_range,
    plane_grid,
    posterior_density,
)
from dpmcmc.reporting.figures.style import legend_below


def trajectory_figure(target, reference, positions, colour, num_frames=6):
    """Figure 4.1.

    Parameters
    ----------
    target : Target
        A 2-dimensional model.
    reference : (size, 2) array
        Reference sample.
    positions : (L + 1, 2) array
        Start and the position after each leapfrog step.
    colour : str
        Of the path.
    num_frames : int
    """
    num_steps = len(positions) - 1
    frames = np.linspace(0, num_steps, num_frames + 1).round().astype(int)[1:]
    columns = 3
    rows = -(-num_frames // columns)
    figure, axes = plane_grid(rows, columns, size=(2.3, 2.3), margin=(0.2, 0.3))
    density = posterior_density(target, reference, positions)
    (left, right), (low, high) = (padded_range(part) for part in positions.T)
    half = max(right - left, high - low) / 2  # of a square around the path
    centre = (left + right) / 2, (low + high) / 2
    for axis, j in zip(axes.flat, frames, strict=True):
        draw_posterior(axis, density)
        axis.plot(*positions[: j + 1].T, ".-", color=colour, linewidth=1.2, markersize=4)
        axis.scatter(*positions[0], s=22, color=START_COLOUR, zorder=3)
        axis.set_title(f"After {j} steps", pad=3)
        axis.set(xlim=(centre[0] - half, centre[0] + half))
        axis.set(ylim=(centre[1] - half, centre[1] + half))
        axis.set_aspect("equal")
        axis.grid(False)
    figure.tight_layout()
    path = Line2D([], [], color=colour, label="Path of the leapfrog steps")
    legend_below(figure, [*handles("Start"), path], 3)
    return figure
