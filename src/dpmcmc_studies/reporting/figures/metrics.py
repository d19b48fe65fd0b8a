"""Metrics of chains, as box plots against epsilon or the clip bound."""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from dpmcmc_studies.analysis.ranking import MOST_TIMES_EXACT
from dpmcmc_studies.reporting.figures.style import (
    NEUTRAL,
    add_note,
    ink_on,
    legend_below,
    panel_grid,
)

METRICS = {
    "mmd": "MMD",
    "mean_error": "Error of the posterior mean",
    "accuracy": "Accuracy on held-out rows",
    "clip_fraction": "Clipped log-likelihood\nratios (% of rows)",
    "gradient_clip_fraction": "Clipped gradients\n(% of rows)",
    "acceptance_rate": "Acceptance rate",
    "r_hat": "Split R-hat",
    "sd_ratio": "Standard deviation over\nthat of the posterior",
}
LOGARITHMIC = ("mmd", "mean_error")
OF_THEIR_RANGE = ("accuracy",)  # whose axis need not begin at 0
LEAST_PERCENT = 0.1  # where the logarithmic axis of fractions ends; below it is linear, down to 0
MOST_PLAIN = 6  # algorithms of a figure that colours alone tell apart
HATCHES = ["", "//////", "......", "xxxxxx"]
FEW_DECADES = 3  # of an axis that has a tick between them
MEDIAN = 0.6  # of the width of its box: the colour of a box without height is seen beside it
BELOW = "▼"  # at the edge of an axis, where values lie below it
SIZE = (3.3, 2.3)  # of a panel, in inches: two in a row are as wide as a page


class Drawn(NamedTuple):
    """Values of chains that are drawn at one place of an axis."""

    place: float
    colour: str
    values: np.ndarray


def metric_panels(study, chains, metrics, models, baselines=None, starts=None, columns=2):
    """Box plots over the seeds against epsilon, one colour an algorithm, one panel a model.

    Panels of one metric have the same axis: a logarithmic one for errors, and for percentages where
    most are far below the largest. Values below the axis are marked at its edge, and counted in a
    note. Clipped ratios are drawn of algorithms that have ratios.

    Parameters
    ----------
    study : StudyResults
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
        the mean error, and for what is usable.
    columns : int
        Panels in a row.

    Returns
    -------
    matplotlib.figure.Figure
    """
    models = [model for model in models if (chains["model"] == model).any()]
    if "clip_fraction" in metrics:
        has_ratios = chains["algorithm"].map(study.clips_ratios)
        chains = chains.assign(clip_fraction=chains["clip_fraction"].where(has_ratios))
    panels = [(model, metric) for model in models for metric in metrics]
    columns = max(1, min(columns, len(panels)))
    figure, axes = panel_grid(len(panels), columns, SIZE)
    present = chains[chains["model"].isin(models)]
    tables = [table for table in (baselines, starts) if table is not None]
    tables = [table[table["model"].isin(models)] for table in tables]
    hatches = hatches_of(study, present)
    below = []
    for number, (axis, (model, metric)) in enumerate(zip(axes, panels, strict=True)):
        drawn = draw_metric(study, axis, chains, metric, model, baselines, starts, hatches)
        shown = [
            np.median(values_of(table, metric, m) or [np.nan]) for table in tables for m in models
        ]
        set_scale(axis, metric, values_of_all([present, *tables], metric), shown=shown)
        below.append(mark_below(axis, drawn, values_of(baselines, metric, model)))
        is_first = number % columns == 0 or len(metrics) > 1
        axis.set(title=study.model_label(model), ylabel=METRICS[metric] if is_first else "")
    has_values = present[[m for m in metrics if m in present]].notna().any(axis=1)
    handles = [
        *algorithm_handles(study, present[has_values], hatches),
        *line_handles(metrics, baselines, starts),
    ]
    figure.tight_layout()
    columns_of_legend = max(1, min(len(handles), columns + 1))
    legend_below(figure, handles, columns_of_legend)
    lines_of_legend = -(-len(handles) // columns_of_legend)
    notes = [left_out(study, present, metrics), about_below(below)]
    add_note(figure, "\n".join(filter(None, notes)), lines_of_legend)
    return figure


def models_figure(study, chains, metric):
    """Box plots of one metric of one algorithm, a row a model, darker for a larger epsilon.

    Parameters
    ----------
    study : StudyResults
    chains : DataFrame
        Rows of the table `chains`, of one algorithm, that have an epsilon.
    metric : str
        Key of METRICS.
    """
    (algorithm,) = chains["algorithm"].unique()
    models, epsilons = list(chains["model"].unique()), sorted(chains["epsilon"].unique())
    shades = sns.light_palette(study.algorithm_colour(algorithm), len(epsilons) + 1)[1:]
    palette = dict(zip(epsilons, shades, strict=True))
    figure, axis = plt.subplots(figsize=(5.6, 0.6 + 0.55 * len(models)))
    height = 0.8 / len(epsilons)
    for y, model in enumerate(models):
        of_model = chains[chains["model"] == model].dropna(subset=metric)
        cells = {e: cell for e, cell in of_model.groupby("epsilon") if len(cell)}
        for i, (epsilon, cell) in enumerate(cells.items()):
            boxes = axis.boxplot(
                scale_of(metric) * cell[metric],
                positions=[y + (i - (len(cells) - 1) / 2) * height],
                widths=0.9 * height,
                vert=False,
                patch_artist=True,
                flierprops={"markersize": 1.5},
            )
            colour_box(boxes["boxes"][0], boxes["medians"][0], palette[epsilon])
    set_scale(axis, metric, values_of_all([chains], metric), is_vertical=False)
    axis.set_yticks(range(len(models)), [study.model_label(model) for model in models])
    axis.set(ylim=(len(models) - 0.5, -0.5), xlabel=METRICS[metric].replace("\n", " "))
    figure.tight_layout()
    handles = [Patch(facecolor=palette[e], label=f"ε = {e:g}") for e in epsilons]
    legend_below(figure, handles, 4)
    return figure


def clipping_panels(study, chains, baselines):
    """Figure 6.2: MMD against clip bound (top) and clip fraction (bottom), a model a column.

    Parameters
    ----------
    study : StudyResults
    chains, baselines : DataFrame
        Rows of the table `chains` that have a clip bound, and the table `baselines`.
    """
    models = list(chains["model"].unique())
    algorithms = list(chains["algorithm"].unique())
    width, height = SIZE
    figure, axes = plt.subplots(
        2, len(models), figsize=(0.6 + width * len(models), 2.2 * height), squeeze=False
    )
    below = []
    for (top, bottom), model in zip(axes.T, models, strict=True):
        of_model = chains[chains["model"] == model]
        drawn = {top: draw_boxes(study, top, of_model, "mmd", by="clip_bound"), bottom: []}
        for algorithm in algorithms:
            of_algorithm = of_model[of_model["algorithm"] == algorithm]
            colour = study.algorithm_colour(algorithm)
            points = (100 * of_algorithm["clip_fraction"], of_algorithm["mmd"])
            bottom.scatter(*points, s=9, alpha=0.7, linewidth=0, color=colour)
            drawn[bottom] += [Drawn(x, colour, np.array([y])) for x, y in zip(*points, strict=True)]
        for axis in (top, bottom):
            exact = values_of(baselines, "mmd", model)
            draw_exact(axis, exact)
            draw_usable(axis, exact)
            set_scale(axis, "mmd", values_of_all([chains, baselines], "mmd"), shown=exact)
            counts = mark_below(axis, drawn[axis], exact)
            below += [counts] if axis is top else []  # the same chains again
            axis.set_ylabel(METRICS["mmd"] if model == models[0] else "")
        top.set(title=study.model_label(model), xlabel="Clip bound (times the length of the step)")
        bottom.set_xlabel(METRICS["clip_fraction"].replace("\n", " "))
    figure.tight_layout()
    legend_below(figure, [*algorithm_handles(study, chains), EXACT, USABLE], 2)
    add_note(figure, about_below(below), 2)
    return figure


def draw_metric(study, axis, chains, metric, model, baselines=None, starts=None, hatches=None):
    """Box plots of one metric on one model, with lines of exact samples and of never moving.

    Returns
    -------
    list of Drawn
        The boxes.
    """
    of_model = chains[chains["model"] == model]
    exact, unmoved = (values_of(table, metric, model) for table in (baselines, starts))
    drawn = draw_boxes(study, axis, of_model, metric, hatches=hatches)
    draw_exact(axis, exact)
    if metric == "mmd":
        draw_usable(axis, exact)
    if unmoved:
        axis.axhline(np.median(unmoved), **UNMOVED_LINE, zorder=3)
    axis.set_xlabel("Privacy bound ε")
    return drawn


def set_scale(axis, metric, values, is_vertical=True, shown=()):
    """Set scale and limits of an axis that shows values of a metric, once all of it is drawn.

    On a logarithmic one the lowest hundredth of the values may lie beyond, except `shown`:
    `mark_below` marks them.
    """
    set_axis = axis.set_ylim if is_vertical else axis.set_xlim
    scaled = axis.set_yscale if is_vertical else axis.set_xscale
    ticks = axis.yaxis if is_vertical else axis.xaxis
    values = scale_of(metric) * np.asarray(values)
    highest = values.max(initial=0)
    if metric in LOGARITHMIC and highest > 0:
        scaled("log", nonpositive="clip")
        within = [x for x in scale_of(metric) * np.asarray(shown) if x > 0]
        lowest = min([np.quantile(values[values > 0], 0.01), *within])
        set_axis(0.7 * lowest, 1.4 * highest)
        decades = np.log10(highest / lowest)
        ticks.set_major_locator(LogLocator(subs=(1, 3) if decades < FEW_DECADES else (1,)))
        ticks.set_major_formatter("{x:g}")
        ticks.set_minor_formatter(NullFormatter())
    elif metric.endswith("fraction") and np.median(values) < highest / 10:
        scaled("symlog", linthresh=LEAST_PERCENT, linscale=0.4)
        shown = [x for x in (0, 0.1, 1, 10, 100) if x <= max(1, 10 * highest)]
        ticks.set_ticks(shown, [f"{x:g}" for x in shown])
        set_axis(-0.02, max(1, 1.5 * highest))
    elif metric in OF_THEIR_RANGE and len(values):
        lowest = values.min()
        padding = 0.05 * (highest - lowest) or 0.05
        set_axis(lowest - padding, highest + padding)
    else:
        lowest = -0.03 * highest if metric.endswith("fraction") else 0  # a box at 0 is seen
        set_axis(lowest, 1.08 * highest if highest > 0 else 1)


def mark_below(axis, drawn, exact=()):
    """Mark the places where values lie below an axis whose limits are set.

    Parameters
    ----------
    axis : Axes
    drawn : list of Drawn
    exact : list of float
        Of lines across the axis, which are marked at its left edge.

    Returns
    -------
    tuple of int
        Values of chains below the axis, and all of them; lines below it, and all of them.
    """
    lowest, _ = axis.get_ylim()
    limits = axis.get_xlim()
    lines = Drawn(limits[0], NEUTRAL, np.asarray(exact))
    counts = [int((place.values < lowest).sum()) for place in (*drawn, lines)]
    for place, count in zip((*drawn, lines), counts, strict=True):
        if count:
            axis.plot(
                place.place,
                0,
                marker="v",
                markersize=4,
                color=place.colour,
                transform=axis.get_xaxis_transform(),
                clip_on=False,
                zorder=4,
            )
    axis.set_xlim(limits)
    *of_chains, of_lines = counts
    return sum(of_chains), sum(len(place.values) for place in drawn), of_lines, len(exact)


def about_below(counts):
    """Note on values below the axes of a figure, from what `mark_below` gives for each; or none."""
    chains, all_chains, lines, all_lines = np.sum(counts or [[0] * 4], axis=0)
    parts = [f"{chains:,} of {all_chains:,} chains"] if chains else []
    parts += [f"{lines:,} of {all_lines:,} exact samples"] if lines else []
    return f"{BELOW} below the axis: {', '.join(parts)}" if parts else ""


def values_of_all(tables, metric):
    """All values of a metric that are in any of some tables."""
    found = [table[metric].dropna().to_numpy() for table in tables if metric in table]
    return np.concatenate(found) if found else np.array([])


def values_of(table, metric, model):
    """A metric of samples of a model; empty for a table that is not there, or has it not."""
    if table is None or metric not in table:
        return []
    return table.loc[table["model"] == model, metric].tolist()


EXACT = Line2D([], [], color=NEUTRAL, linewidth=0.8, label="Exact samples of the posterior")
UNMOVED_LINE = {"color": NEUTRAL, "linewidth": 1.2, "linestyle": (0, (5, 2))}
UNMOVED = Line2D([], [], **UNMOVED_LINE, label="Never moving (median)")


USABLE_LINE = {"color": "#007A33", "linewidth": 1.6, "linestyle": (0, (1, 1.2))}
USABLE = Line2D([], [], **USABLE_LINE, label=f"{MOST_TIMES_EXACT} times exact")


def draw_usable(axis, exact):
    """A line at the largest median MMD of what may be usable, from the MMD of exact samples."""
    if exact:
        axis.axhline(MOST_TIMES_EXACT * np.median(exact), **USABLE_LINE, zorder=3)


def draw_exact(axis, values):
    """A line for the metric of each exact posterior sample."""
    for value in values:
        axis.axhline(value, color=NEUTRAL, linewidth=0.6, alpha=0.7, zorder=3)


def hatches_of(study, chains):
    """Hatching of the algorithms of a figure, by id: none if few, so that colours tell them."""
    present = set(chains["algorithm"])
    if len(present) <= MOST_PLAIN:
        return {}
    order = [name for name in study.algorithms if name in present]
    return {name: HATCHES[i // MOST_PLAIN % len(HATCHES)] for i, name in enumerate(order)}


def algorithm_handles(study, chains, hatches=None):
    """Entries of a legend: the algorithms."""
    return [
        Patch(
            facecolor=study.algorithm_colour(algorithm),
            edgecolor=ink_on(study.algorithm_colour(algorithm)),
            linewidth=0,
            hatch=(hatches or {}).get(algorithm),
            label=study.algorithm_label(algorithm),
        )
        for algorithm in chains["algorithm"].unique()
    ]


def line_handles(metrics, baselines, starts):
    """Entries of a legend: the lines that panels of the metrics have."""
    shown = [
        line
        for table, line in ((baselines, EXACT), (starts, UNMOVED))
        if table is not None and any(metric in table for metric in metrics)
    ]
    return [*shown, USABLE] if EXACT in shown and "mmd" in metrics else shown


def scale_of(metric):
    """Factor that a metric is drawn with: fractions are shown in percent."""
    return 100 if metric.endswith("fraction") else 1


def draw_boxes(study, axis, chains, metric, by="epsilon", hatches=None):
    """Box plots of one metric on one model against a column, in percent if it is a fraction.

    Returns
    -------
    list of Drawn
        The boxes.
    """
    order = [f"{value:g}" for value in sorted(chains[by].unique())]
    table = chains.assign(
        value=scale_of(metric) * chains[metric], group=chains[by].map("{:g}".format)
    ).dropna(subset="value")
    if table.empty:
        axis.set_xticks(range(len(order)), order)
        return []
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
    drawn = []
    for boxes, algorithm in zip(axis.containers, algorithms, strict=True):
        colour = study.algorithm_colour(algorithm)
        of_groups = dict(list(table[table["algorithm"] == algorithm].groupby("group")["value"]))
        values = [of_groups[group].to_numpy() for group in order if group in of_groups]
        for box, median, of_box in zip(boxes.boxes, boxes.medians, values, strict=True):
            drawn.append(Drawn(float(np.mean(median.get_xdata())), colour, of_box))
            colour_box(box, median, colour, (hatches or {}).get(algorithm))
    return drawn


def colour_box(box, median, colour, hatch=None):
    """Colour a box, its outline too as it may be as thin as a line, and let its median be seen.

    The median takes the middle of the box alone, so a box that is a line keeps its colour.
    """
    box.set(facecolor=colour, edgecolor=colour, linewidth=1.8)
    if hatch:
        box.set(hatch=hatch, hatchcolor=ink_on(colour))
    middle = [ends.mean() + MEDIAN * (ends - ends.mean()) for ends in np.array(median.get_data())]
    median.set(data=middle, color=ink_on(colour), linewidth=1.1, solid_capstyle="butt")


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
