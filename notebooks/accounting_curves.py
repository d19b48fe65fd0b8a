"""Iterations that accountants allow, against epsilon: figure 6.1."""

import matplotlib.pyplot as plt

from dpmcmc_studies.reporting.figures.style import panel_grid
from dpmcmc_studies.reporting.words import accountant_label

# Lines of accountants: dashed by way of a Rényi divergence.
STYLES = dict.fromkeys(("gaussian", "published-pld", "certified"), "-")
STYLES |= dict.fromkeys(("zcdp", "rdp", "barker-rdp"), "--")


def accounting_panels(study, curves):
    """Figure 6.1: iterations against epsilon, one panel an algorithm, one line an accountant.

    Parameters
    ----------
    study : StudyResults
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


def gains(study, curves):
    """Gain of the most generous accountant of each algorithm over the least: a list in Markdown.

    Parameters
    ----------
    study : StudyResults
    curves : DataFrame
        Table `accounting` of the study; algorithms with one accountant are left out.
    """
    lines = []
    for algorithm, curve in curves.groupby("algorithm", sort=False):
        counts = by_accountant(curve).sort_index()
        totals = counts.sum().sort_values()
        tight, loose = totals.index[-1], totals.index[0]
        times = (counts[tight] / counts[loose])[counts[loose] > 0]
        if len(totals) > 1 and len(times):
            lines.append(
                f"- {study.algorithm_label(algorithm)}: {accountant_label(tight)} allows "
                f"{times.iloc[0]:.3g} times the iterations of {accountant_label(loose)} at "
                f"ε = {times.index[0]:.3g}, the smallest at which that allows any, and "
                f"{times.iloc[-1]:.3g} times at ε = {times.index[-1]:.3g}."
            )
    return "\n".join(lines)


def by_accountant(curve):
    """Iterations of an algorithm: a row an epsilon, a column an accountant."""
    return curve.pivot_table(index="epsilon", columns="accountant", values="iterations", sort=False)


def iterations_table(study, curves, columns=6):
    """Iterations at some epsilons, about as many as `columns`: a row an algorithm and accountant.

    Parameters
    ----------
    study : StudyResults
    curves : DataFrame
    columns : int
    """
    epsilons = sorted(curves["epsilon"].unique())
    table = curves[curves["epsilon"].isin(epsilons[:: max(1, len(epsilons) // columns)])]
    table = table.assign(
        algorithm=table["algorithm"].map(study.algorithm_label),
        accountant=table["accountant"].map(accountant_label),
    )
    keys = ["algorithm", "accountant"]
    table = table.pivot_table(index=keys, columns="epsilon", values="iterations", sort=False)
    table.columns = [f"ε = {epsilon:.3g}" for epsilon in table.columns]
    return table.reset_index()
