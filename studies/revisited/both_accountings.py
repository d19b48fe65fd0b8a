"""Published and certified accounting side by side, and algorithms against their rivals."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.lines import Line2D

from dpmcmc.evaluation.intervals import median_contrast
from dpmcmc.reporting.figures.metrics import (
    METRICS,
    algorithm_handles,
    draw_metric,
    left_out,
    line_handles,
)
from dpmcmc.reporting.figures.style import NEUTRAL, add_note, legend_below, panel_grid


def accounting_comparison(study, published, certified, metric, models, baselines, starts):
    """Box plots against epsilon, a row a model, the two kinds of accounting side by side.

    Parameters
    ----------
    study : Study
    published, certified : DataFrame
        Chains by either, with the same ids of algorithms.
    metric : str
    models : list of str
    baselines, starts : DataFrame
        Tables of the study.
    """
    figure, axes = plt.subplots(
        len(models), 2, figsize=(8.4, 0.8 + 2.4 * len(models)), squeeze=False, sharey="row"
    )
    kinds = {"published": published, "certified": certified}
    for row, model in zip(axes, models, strict=True):
        tops = []
        for axis, (kind, chains) in zip(row, kinds.items(), strict=True):
            draw_metric(study, axis, chains, metric, model, baselines, starts)
            axis.set(title=f"{study.model_label(model)}: {kind}", ylabel="")
            tops.append(axis.get_ylim()[1])  # at once: the next panel sets the limits of both
        row[0].set(ylabel=METRICS[metric], ylim=(0, max(tops)))
    handles = algorithm_handles(study, published[published["model"].isin(models)])
    handles += line_handles([metric], baselines, starts)
    figure.tight_layout()
    legend_below(figure, handles, 3)
    notes = (
        f"With {kind} accounting, no box: {note.removeprefix('No box: ')}"
        for kind, chains in kinds.items()
        if (note := left_out(study, chains[chains["model"].isin(models)], [metric]))
    )
    add_note(figure, "; ".join(notes), -(-len(handles) // 3))
    return figure


def certified_iterations_panels(study, certified):
    """Iterations of the published settings by either accountant, on a log scale, a panel a model.

    Parameters
    ----------
    study : Study
    certified : DataFrame
        Table `certified` of the study.
    """
    models = list(certified["model"].unique())
    figure, axes = panel_grid(len(models), min(2, len(models)))
    for axis, model in zip(axes, models, strict=True):
        cells = certified[certified["model"] == model]
        for algorithm, curve in cells.sort_values("epsilon").groupby("algorithm", sort=False):
            for column, style in (("allowed_iterations", "o--"), ("certified_iterations", "o-")):
                axis.plot(
                    curve["epsilon"],
                    curve[column].where(curve[column] > 0),  # a log scale has no place for none
                    style,
                    markersize=3,
                    color=study.algorithm_colour(algorithm),
                )
        axis.set(title=study.model_label(model), yscale="log")
        axis.set(xlabel="Privacy bound ε", ylabel="Iterations allowed")
    figure.tight_layout()
    handles = [
        *algorithm_handles(study, certified),
        Line2D([], [], color=NEUTRAL, linestyle="--", label="Published accountant"),
        Line2D([], [], color=NEUTRAL, label="Certified accountant"),
    ]
    legend_below(figure, handles, 3)
    return figure


def standing(chains, algorithms, rivals):
    """Algorithms against the best of their rivals, in each cell of model and epsilon.

    Parameters
    ----------
    chains : DataFrame
        Table `chains` of the study.
    algorithms, rivals : list of str
        The best rival is the one with the lowest median MMD in the cell.

    Returns
    -------
    DataFrame
        One row a model, epsilon and algorithm: its median MMD less that of the best rival, with
        its interval, and where it stands: ahead or behind, if the interval excludes 0, else even.
    """
    rows = []
    for (model, epsilon), group in chains.groupby(["model", "epsilon"], sort=False):
        cells = {name: cell["mmd"] for name, cell in group.groupby("algorithm", sort=False)}
        cells = {name: mmd for name, mmd in cells.items() if mmd.notna().all()}
        medians = {name: cells[name].median() for name in rivals if name in cells}
        best = min(medians, key=medians.get, default=None)
        for name in algorithms:
            if best is not None and name in cells:
                labels = ("standing", model, epsilon, best, name)
                gap = median_contrast(labels, [cells[name]], [cells[best]])
                place = "ahead" if gap.high < 0 else "behind" if gap.low > 0 else "even"
                rows.append([model, epsilon, name, best, *gap, place])
    columns = ["model", "epsilon", "algorithm", "rival", "difference", "low", "high", "place"]
    return pd.DataFrame(rows, columns=columns)
