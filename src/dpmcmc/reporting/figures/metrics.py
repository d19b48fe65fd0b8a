"""Metrics of chains, as box plots against epsilon or the clip bound."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpmcmc.reporting.figures.style import NEUTRAL, add_note, legend_below, panel_grid

METRICS = {
    "mmd": "MMD to the posterior",
    "mean_error": "Distance of the mean\nfrom the posterior mean",
    "accuracy": "Accuracy on held-out rows",
    "clip_fraction": "Clipped log-likelihood\nratios (% of rows)",
    "gradient_clip_fraction": "Clipped gradients\n(% of rows)",
    "acceptance_rate": "Acceptance rate",
    "r_hat": "Split R-hat of a sample",
    "sd_ratio": "Standard deviations over\nthose of the posterior",
}


def metric_panels(study, chains, metrics, models, baselines=None, starts=None, columns=2):
    """Box plots over the seeds against epsilon, one colour an algorithm, one panel a model.

    Parameters
    ----------
    study : Study
        Whose labels and colours are taken.
    chains : DataFrame
        Rows of the table `chains` that have an epsilon.
    metrics : list of str
        Columns of `chains`, keys of METRICS; a panel for each, beside each other, if there is one
        model, else one metric.
    models : list of str
        Panels; models without chains are left out.
    baselines, starts : DataFrame, optional
        Tables of the study, for lines of exact samples and of never moving in panels of the MMD and
        the mean error.
    columns : int
        Panels in a row.

    Returns
    -------
    matplotlib.figure.Figure
    """
    models = [model for model in models if (chains["model"] == model).any()]
    panels = [(model, metric) for model in models for metric in metrics]
    columns = max(1, min(columns, len(panels)))
    figure, axes = panel_grid(len(panels), columns)
    for axis, (model, metric) in zip(axes, panels, strict=True):
        draw_metric(study, axis, chains, metric, model, baselines, starts)
        axis.set(title=study.model_label(model), ylabel=METRICS.get(metric, metric))
    present = chains[chains["model"].isin(models)]
    handles = [*algorithm_handles(study, present), *line_handles(metrics, baselines, starts)]
    figure.tight_layout()
    columns_of_legend = max(1, min(len(handles), columns + 1))
    legend_below(figure, handles, columns_of_legend)
    lines_of_legend = -(-len(handles) // columns_of_legend)
    add_note(figure, left_out(study, present, metrics), lines_of_legend)
    return figure


def clipping_panels(study, chains, baselines):
    """Figure 6.2: MMD against clip bound (top) and clip fraction (bottom), a model a column.

    Parameters
    ----------
    study : Study
    chains, baselines : DataFrame
        Rows of the table `chains` that have a clip bound, and the table `baselines`.
    """
    models = list(chains["model"].unique())
    algorithms = list(chains["algorithm"].unique())
    figure, axes = plt.subplots(
        2, len(models), figsize=(0.6 + 3.9 * len(models), 5.8), squeeze=False, sharey="col"
    )
    for (top, bottom), model in zip(axes.T, models, strict=True):
        of_model = chains[chains["model"] == model]
        draw_boxes(study, top, of_model, "mmd", by="clip_bound")
        for algorithm in algorithms:
            of_algorithm = of_model[of_model["algorithm"] == algorithm]
            bottom.scatter(
                100 * of_algorithm["clip_fraction"],
                of_algorithm["mmd"],
                s=9,
                alpha=0.7,
                linewidth=0,
                color=study.algorithm_colour(algorithm),
            )
        for axis in (top, bottom):
            draw_exact(axis, values_of(baselines, "mmd", model))
            axis.set(ylabel=METRICS["mmd"], ylim=(0, 1.05 * of_model["mmd"].max()))
        top.set(title=study.model_label(model), xlabel="Clip bound (times the length of the step)")
        bottom.set_xlabel(METRICS["clip_fraction"].replace("\n", " "))
    figure.tight_layout()
    legend_below(figure, [*algorithm_handles(study, chains), EXACT], 3)
    return figure


def draw_metric(study, axis, chains, metric, model, baselines=None, starts=None):
    """Box plots of one metric on one model, with lines of exact samples and of never moving."""
    of_model = chains[chains["model"] == model]
    exact, unmoved = (values_of(table, metric, model) for table in (baselines, starts))
    lines = [*exact, *([np.median(unmoved)] if unmoved else [])]
    draw_boxes(study, axis, of_model, metric)
    draw_exact(axis, exact)
    if unmoved:
        axis.axhline(lines[-1], **UNMOVED_LINE, zorder=3)
    highest = scale_of(metric) * max([0, *of_model[metric].dropna(), *lines])
    axis.set(xlabel="Privacy bound ε", ylim=(0, 1.08 * highest if highest > 0 else 1))


def values_of(table, metric, model):
    """A metric of samples of a model; empty for a table that is not there, or has it not."""
    if table is None or metric not in table:
        return []
    return table.loc[table["model"] == model, metric].tolist()


EXACT = Line2D([], [], color=NEUTRAL, linewidth=0.8, label="Exact samples of the posterior")
UNMOVED_LINE = {"color": NEUTRAL, "linewidth": 1.2, "linestyle": (0, (5, 2))}
UNMOVED = Line2D([], [], **UNMOVED_LINE, label="Never moving (median)")


def draw_exact(axis, values):
    """A line for the metric of each exact posterior sample."""
    for value in values:
        axis.axhline(value, color=NEUTRAL, linewidth=0.6, alpha=0.7, zorder=3)


def algorithm_handles(study, chains):
    """Entries of a legend: the algorithms."""
    return [
        Patch(facecolor=study.algorithm_colour(algorithm), label=study.algorithm_label(algorithm))
        for algorithm in chains["algorithm"].unique()
    ]


def line_handles(metrics, baselines, starts):
    """Entries of a legend: the lines that panels of the metrics have."""
    return [
        line
        for table, line in ((baselines, EXACT), (starts, UNMOVED))
        if table is not None and any(metric in table for metric in metrics)
    ]


def scale_of(metric):
    """Factor that a metric is drawn with: fractions are shown in percent."""
    return 100 if metric.endswith("fraction") else 1


def draw_boxes(study, axis, chains, metric, by="epsilon"):
    """Box plots of one metric on one model against a column, in percent if it is a fraction."""
    order = [f"{value:g}" for value in sorted(chains[by].unique())]
    table = chains.assign(
        value=scale_of(metric) * chains[metric], group=chains[by].map("{:g}".format)
    ).dropna(subset="value")
    if table.empty:
        axis.set_xticks(range(len(order)), order)
        return
    algorithms = list(table["algorithm"].unique())
    sns.boxplot(
        table,
        x="group",
        y="value",
        hue="algorithm",
        order=order,
        hue_order=algorithms,
        palette={algorithm: study.algorithm_colour(algorithm) for algorithm in algorithms},
        saturation=1,
        linewidth=0.6,
        fliersize=1.5,
        gap=0.15,
        legend=False,
        ax=axis,
    )
    # A box may be as thin as a line: let its outline show the algorithm too.
    for boxes, algorithm in zip(axis.containers, algorithms, strict=True):
        for box in boxes.boxes:
            box.set(edgecolor=study.algorithm_colour(algorithm), linewidth=1.8)


def left_out(study, chains, metrics):
    """Which cells have no box, because no chain in them has a value of the metrics.

    But for clip fractions, which not all algorithms have.
    """
    cells = chains.groupby(["model", "algorithm", "epsilon"], sort=False)
    notes = []
    for (model, algorithm, epsilon), cell in cells:
        of_algorithm = chains[chains["algorithm"] == algorithm]
        never = of_algorithm[metrics].isna().all() & (of_algorithm["iterations"].max() > 0)
        never &= never.index.str.endswith("clip_fraction")
        if (cell[metrics].isna().all() & ~never).any():
            notes.append(
                f"{study.model_label(model)}: {study.algorithm_label(algorithm)} "
                f"at ε = {epsilon:g} (iterations allowed: {cell['iterations'].iloc[0]})"
            )
    return "No box: " + "; ".join(notes) if notes else ""
