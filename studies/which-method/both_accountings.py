"""Iterations by published and by certified accounting, side by side."""

from matplotlib.lines import Line2D

from dpmcmc.accounting.search import rounded_up
from dpmcmc_studies.reporting.figures.metrics import algorithm_handles
from dpmcmc_studies.reporting.figures.style import NEUTRAL, legend_below, panel_grid
from dpmcmc_studies.reporting.words import among

LINES = {"published": ("allowed_iterations", "--"), "certified": ("certified_iterations", "-")}


def iterations_figure(study, certified):
    """Iterations of the published settings by either accountant, on a log scale, a panel a model.

    Parameters
    ----------
    study : StudyResults
    certified : DataFrame
        Table `certified` of the study.
    """
    models = list(certified["model"].unique())
    figure, axes = panel_grid(len(models), min(2, len(models)))
    for axis, model in zip(axes, models, strict=True):
        cells = certified[certified["model"] == model].sort_values("epsilon")
        for algorithm, curve in cells.groupby("algorithm", sort=False):
            for column, line in LINES.values():
                axis.plot(
                    curve["epsilon"],
                    curve[column].where(curve[column] > 0),  # a log scale has no place for none
                    line,
                    marker="o",
                    color=study.algorithm_colour(algorithm),
                )
        axis.set(title=study.model_label(model), yscale="log")
        axis.set(xlabel="Privacy bound ε", ylabel="Iterations allowed")
    figure.tight_layout()
    handles = algorithm_handles(study, certified)
    handles += [
        Line2D([], [], color=NEUTRAL, linestyle=line, label=f"{kind.capitalize()} accountant")
        for kind, (_, line) in LINES.items()
    ]
    legend_below(figure, handles, 2)
    return figure


def gains(study, certified):
    """How many times the published iterations each algorithm gets: items of Markdown."""
    some = certified[certified["allowed_iterations"] > 0]
    times = some["certified_iterations"] / some["allowed_iterations"]
    return [
        f"- {study.algorithm_label(name)}: {among(ratios, ',.1f')} times the iterations."
        for name, ratios in times.groupby(some["algorithm"], sort=False)
    ]


def iterations_table(study, certified):
    """Both numbers of iterations, and the epsilon that the published one really costs: rows."""
    return [
        {
            "posterior": study.model_label(row["model"]),
            "algorithm": study.algorithm_label(row["algorithm"]),
            "ε": f"{row['epsilon']:g}",
            "published": row["allowed_iterations"],
            "certified": row["certified_iterations"],
            "ε spent": rounded_up(row["certified_epsilon"], 2),
        }
        for row in certified.to_dict("records")
    ]


# Columns of the table of audits, and their headings.
AUDITED = {
    "case": "case",
    "epsilon_at_most": "accountant",
    "epsilon_by_values": "noisy values",
    "epsilon_by_positions": "positions",
    "mu_at_most": "μ, accountant",
    "mu_by_values": "μ, noisy values",
    "noise_variance": "variance of the noise",
}


def audit_table(audit):
    """Table of audits for a page: costs by the accountant, rounded up, and bounds from below.

    Parameters
    ----------
    audit : DataFrame
        Table `audit` of the study.

    Returns
    -------
    DataFrame
        With the headings AUDITED.
    """
    at_most = audit["epsilon_at_most"].map(lambda cost: rounded_up(cost, 2))
    return audit.assign(epsilon_at_most=at_most)[[*AUDITED]].rename(columns=AUDITED)
