"""Iterations that accountants allow, against epsilon: figure 6.1."""

import matplotlib.pyplot as plt

from dpmcmc.reporting.figures.style import panel_grid
from dpmcmc.reporting.words import accountant_label

# Lines of accountants: dashed by way of a Rényi divergence.
STYLES = dict.fromkeys(("gaussian", "published-pld", "certified"), "-")
STYLES |= dict.fromkeys(("zcdp", "rdp", "barker-rdp"), "--")


def accounting_panels(study, curves):
    """Figure 6.1: iterations against epsilon, one panel an algorithm, one line an accountant.

    Parameters
    ----------
    study : Study
    curves : DataFrame
        Table `accounting` of the study; algorithms with one accountant are left out beside others.
    """
    counts = curves.groupby("algorithm", sort=False)["accountant"].nunique()
    algorithms = list(counts.index[counts > 1]) or list(counts.index)
    figure, axes = panel_grid(
        len(algorithms), len(algorithms), size=(2.4, 3.1), margin=(0.4, 0), sharey=True
    )
    for axis, algorithm in zip(axes, algorithms, strict=True):
        draw_curves(study, axis, curves[curves["algorithm"] == algorithm], by="accountant")
        axis.set_ylabel("Iterations allowed" if axis is axes[0] else "")
        axis.set_title(study.algorithm_label(algorithm))
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), frameon=False)
    axes[0].set_ylim(bottom=0)  # of all, which share it
    figure.tight_layout()
    return figure


def best_accounting_figure(study, curves):
    """Iterations against epsilon on a log scale, an algorithm by its most generous accountant."""
    totals = curves.groupby(["algorithm", "accountant"], sort=False)["iterations"].sum()
    best = {pair for _, pair in totals.groupby("algorithm", sort=False).idxmax().items()}
    pairs = zip(curves["algorithm"], curves["accountant"], strict=True)
    figure, axis = plt.subplots(figsize=(5.6, 3.4))
    draw_curves(study, axis, curves[[pair in best for pair in pairs]], by="algorithm")
    axis.set_yscale("log")
    figure.tight_layout()
    figure.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)
    return figure


def draw_curves(study, axis, curves, by):
    """Iterations against epsilon, a line for each algorithm and accountant, labelled by one."""
    for (algorithm, accountant), curve in curves.groupby(["algorithm", "accountant"], sort=False):
        name, style = accountant_label(accountant), STYLES.get(accountant, ":")
        label = name if by == "accountant" else f"{study.algorithm_label(algorithm)}: {name}"
        # A log scale has no place for a budget that allows nothing.
        shown = curve if by == "accountant" else curve[curve["iterations"] > 0]
        axis.plot(
            shown["epsilon"],
            shown["iterations"],
            style,
            color=study.algorithm_colour(algorithm),
            label=label,
        )
    axis.set(xlabel="Privacy bound ε", ylabel="Iterations allowed")
