"""Coverage and width of credible intervals against epsilon, and ranks of the true theta."""

import numpy as np

from dpmcmc.evaluation.coverage import RANKS
from dpmcmc.reporting.figures.style import NEUTRAL, panel_grid


def coverage_panels(study, intervals, level=90):
    """Coverage against epsilon, a panel a model and a line an algorithm, with standard errors.

    Parameters
    ----------
    study : Study
    intervals : DataFrame
        Table `intervals` of the study.
    level : int
        Of the intervals, in percent: 50 or 90.
    """
    name = f"coverage_{level}"

    def draw(axis, cells, colour, label):
        axis.errorbar(
            cells["epsilon"], cells[name], 2 * cells[f"{name}_se"], color=colour, label=label
        )

    figure, axes = panels(study, intervals, draw)
    for axis, (_, cells) in zip(axes, intervals.groupby("model", sort=False), strict=False):
        axis.axhline(level / 100, color=NEUTRAL, linestyle="--", label="as they should")
        axis.axhline(
            cells[f"exact_{name}"].mean(), color="black", linestyle=":", label="exact posterior"
        )
        axis.set_ylim(0, 1.02)
    return finished(figure, axes, f"Coverage of {level} % intervals")


def width_panels(study, intervals):
    """Width of 90 % intervals over that of the exact posterior, likewise."""

    def draw(axis, cells, colour, label):
        axis.plot(cells["epsilon"], cells["width_90"], "o-", color=colour, label=label)

    figure, axes = panels(study, intervals, draw)
    for axis in axes:
        axis.axhline(1.0, color="black", linestyle=":", label="exact posterior")
        axis.set_ylim(bottom=0)
    return finished(figure, axes, "Width over the exact posterior's")


def rank_panels(study, intervals):
    """Ranks of the true theta at the smallest epsilon: flat where the posterior is honest."""
    least = intervals[intervals["epsilon"] == intervals["epsilon"].min()]

    def draw(axis, cells, colour, label):
        shares = cells[[f"rank_{i}" for i in range(RANKS)]].to_numpy()[0]
        axis.stairs(RANKS * shares, np.linspace(0, 1, RANKS + 1), color=colour, label=label)

    figure, axes = panels(study, least, draw)
    for axis in axes:
        axis.axhline(1.0, color=NEUTRAL, linestyle="--", label="as it should")
        axis.set_ylim(bottom=0)
        axis.set_xlabel("Share of draws below the true θ")
    return finished(figure, axes, "Density", is_log=False)


def panels(study, intervals, draw):
    """A panel a model; `draw(axis, cells, colour, label)` for each algorithm."""
    models = list(intervals["model"].unique())
    figure, axes = panel_grid(len(models), min(4, len(models)), size=(2.6, 2.4), margin=(0.4, 0.6))
    for axis, model in zip(axes, models, strict=False):
        of_model = intervals[intervals["model"] == model]
        for algorithm, cells in of_model.groupby("algorithm", sort=False):
            label = study.algorithm_label(algorithm)
            draw(axis, cells, study.algorithm_colour(algorithm), label)
        axis.set_title(study.model_label(model))
    return figure, axes


def finished(figure, axes, quantity, is_log=True):
    """The figure with labels and one legend below."""
    for axis in axes:
        axis.set_ylabel(quantity)
        if is_log:
            axis.set_xscale("log")
            axis.set_xlabel("Privacy bound ε")
    figure.tight_layout()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False
    )
    return figure
