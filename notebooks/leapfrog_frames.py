"""A noisy leapfrog trajectory in successive frames: figure 4.1."""

import numpy as np
from matplotlib.lines import Line2D

from dpmcmc.random_streams import chain_streams
from dpmcmc.samplers.hmc import draw_momentum, leapfrog
from dpmcmc_studies.reporting.figures.posteriors import (
    START_COLOUR,
    draw_posterior,
    handles,
    padded_range,
    plane_grid,
    posterior_density,
)
from dpmcmc_studies.reporting.figures.style import legend_below


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


def noisy_trajectory(study, model, algorithm, num_steps):
    """Trajectory of DP HMC from the first draw of the reference sample, with its noise and clip.

    Parameters
    ----------
    study : StudyResults
    model, algorithm : str
        Ids; settings of the algorithm are those on the model.
    num_steps : int
        Leapfrog steps.

    Returns
    -------
    positions : (num_steps + 1, d) array
    clipped : list of float
        Share of the rows whose gradient was clipped, of each evaluation.
    """
    target, start = study.target(model), study.reference(model)[0]
    sampler = study.sampler(algorithm, model, num_integration_steps=num_steps)
    rng = chain_streams(study.seed, model, algorithm, "trajectory", 0)
    clipped = []

    def gradient(theta):
        found, num_clipped = sampler.noisy_gradient(rng, target, theta)
        clipped.append(num_clipped / target.num_rows)
        return found

    mass = sampler.inverse_mass_matrix
    momentum = draw_momentum(rng, start.size, mass)
    path = leapfrog(start, momentum, gradient, sampler.step_size, num_steps, mass)
    return np.array([start, *(theta for theta, _ in path)]), clipped


def path_length(positions):
    """Length of the path through positions, (k, d)."""
    return np.linalg.norm(np.diff(positions, axis=0), axis=1).sum()
