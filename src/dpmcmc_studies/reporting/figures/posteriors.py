"""Posterior densities of 2-dimensional models, with start points and trajectories."""

from typing import NamedTuple

import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpmcmc_studies.reporting.figures.style import legend_below, panel_grid

START_COLOUR = "#D55E00"


def handles(starts):
    """Entries of a legend: the density, and start points, named."""
    return [
        Patch(facecolor="#AAAAAA", label="Posterior density"),
        Line2D([], [], marker="o", linestyle="", color=START_COLOUR, label=starts),
    ]


def plane_grid(rows, columns, size, margin):
    """A figure and its panels of the plane (θ₁, θ₂), on common axes; sizes in inches."""
    figure, axes = panel_grid(rows * columns, columns, size, margin, sharex=True, sharey=True)
    axes = axes.reshape(rows, columns)
    for axis in axes[-1]:
        axis.set_xlabel("θ₁")
    for axis in axes[:, 0]:
        axis.set_ylabel("θ₂")
    return figure, axes


def start_points_figure(study, targets, references, starts):
    """Figure 5.1: posterior densities of the 2-dimensional models, with the start points.

    Parameters
    ----------
    study : StudyResults
    targets : dict of str to Target
        By model id.
    references : dict of str to (size, 2) array
        Reference samples.
    starts : dict of str to (seeds, 2) array
        Where the chains start.
    """
    figure, axes = panel_grid(
        len(targets), min(3, len(targets)), size=(3.1, 2.7), margin=(0.4, 0.5)
    )
    for axis, (name, target) in zip(axes, targets.items(), strict=True):
        draw_posterior(axis, posterior_density(target, references[name], starts[name]))
        axis.scatter(
            *starts[name].T, s=14, color=START_COLOUR, edgecolor="white", linewidth=0.4, zorder=3
        )
        axis.set(title=study.model_label(name), xlabel="θ₁", ylabel="θ₂")
        axis.locator_params(nbins=5)
        if target.model.posterior_mean is not None:
            axis.set_aspect("equal")
    figure.tight_layout()
    label = f"{len(next(iter(starts.values())))} start points"
    legend_below(figure, handles(label), 2)
    return figure


def draw_posterior(axis, density):
    """Filled contours of a posterior density, darker where it is higher.

    Of a Gaussian, they lie at each half standard deviation from its mean, up to 3.5.
    """
    levels = -0.5 * np.arange(3.5, -0.1, -0.5) ** 2
    shades = sns.color_palette("Greys", 15)[1:8]
    axis.contourf(*density.grid, levels=levels, colors=shades).set_rasterized(True)
    style = dict(colors="#888888", linewidths=0.15, linestyles="solid")
    axis.contour(*density.grid, levels=levels[:-1], **style).set_rasterized(True)
    axis.set(xlim=density.x_limits, ylim=density.y_limits)


class Density(NamedTuple):
    """A posterior density to draw, and the limits of the axes."""

    grid: tuple  # x, y and log density, each (size, size)
    x_limits: tuple
    y_limits: tuple


def posterior_density(target, reference, positions):
    """`Density` on axes that hold the reference sample (size, 2) and the positions (count, 2)."""
    if reference.shape[1] != 2:
        raise ValueError(
            f"a posterior of dimension {reference.shape[1]} cannot be drawn, only of 2"
        )
    shown = np.vstack([reference, positions])
    x_limits, y_limits = padded_range(shown[:, 0]), padded_range(shown[:, 1])
    return Density(posterior_grid(target, reference, x_limits, y_limits), x_limits, y_limits)


def posterior_grid(target, reference, x_limits, y_limits, size=200):
    """Log posterior density of a 2-dimensional model on a grid, 0 at its highest point.

    The grid follows the posterior where its shape is known, since a straight one would step over
    a narrow ridge: it is spanned by the principal axes of the reference sample, which a banana
    has in its straightened coordinates. A circle is wide enough for a straight grid.

    Returns
    -------
    x, y, log_density : (size, size) arrays
    """
    model = target.model
    if model.posterior_mean is not None:
        grid = np.stack(
            np.meshgrid(np.linspace(*x_limits, size), np.linspace(*y_limits, size)), axis=-1
        )
    else:
        straighten = getattr(model, "straighten", np.asarray)
        bend = getattr(model, "bend", np.asarray)
        straight = straighten(reference)
        span = np.linspace(-4, 4, size)
        axes = np.linalg.cholesky(np.cov(straight, rowvar=False))
        grid = bend(straight.mean(axis=0) + np.stack(np.meshgrid(span, span), axis=-1) @ axes.T)
    origin = reference[0]
    log_density = np.array(
        [[target.log_density_ratio(origin, theta) for theta in row] for row in grid]
    )
    return grid[..., 0], grid[..., 1], log_density - log_density.max()


def padded_range(values, padding=0.12):
    """Limits around the values."""
    low, high = np.min(values), np.max(values)
    return low - padding * (high - low), high + padding * (high - low)


def draw_sample(axis, density, draws, colour, title):
    """Draws (k, 2) on the shaded density of `posterior_density`."""
    draw_posterior(axis, density)
    axis.scatter(*draws.T, s=2, color=colour, alpha=0.4, linewidth=0, rasterized=True)
    axis.grid(False)
    axis.set_title(title, pad=3)
