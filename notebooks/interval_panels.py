"""Coverage and width of credible intervals, and ranks of the true theta: maps of strips."""

import matplotlib.pyplot as plt
from matplotlib.colors import LogNorm, TwoSlopeNorm

from dpmcmc.evaluation.coverage import RANKS
from dpmcmc_studies.reporting.figures.strips import epsilons_text, scale_bar, strip_map
from dpmcmc_studies.reporting.words import number

EXACT = "exact"  # column of the exact posterior
SHADES = "RdYlBu"  # red where intervals are too short


def coverage_map(study, intervals, level=90):
    """Coverage of intervals, a row a model, a column an algorithm and a strip an epsilon.

    Parameters
    ----------
    study : StudyResults
    intervals : DataFrame
        Table `intervals` of the study.
    level : int
        Of the intervals, in percent: 50 or 90.
    """
    name, share = f"coverage_{level}", level / 100
    least = max(0, 1 - 5 * (1 - share))
    norm = TwoSlopeNorm(share, least, 1)
    figure = interval_map(
        study, intervals, lambda row: row[name], norm, "{:.2f}", lambda row: row[f"exact_{name}"]
    )
    ticks = {least: f"{least:g} or less", share: f"{share:g} (as stated)", 1: "1"}
    label = f"Coverage of {level} % intervals; in each cell, ε grows from left to right"
    return scale_bar(figure, norm, SHADES, ticks, label)


def width_map(study, intervals):
    """Width of 90 % intervals over that of the exact posterior, likewise."""
    norm = LogNorm(0.25, 4, clip=True)
    figure = interval_map(study, intervals, lambda row: row["width_90"], norm, "{:.2f}")
    ticks = {0.25: "0.25 or less", 1: "1 (as wide)", 4: "4 or more"}
    label = "Width over the exact posterior's; in each cell, ε grows from left to right"
    return scale_bar(figure, norm, SHADES, ticks, label)


def rank_map(study, intervals):
    """Ranks of the true theta at the smallest epsilon, a strip a tenth: flat where calibrated."""
    least = intervals[intervals["epsilon"] == intervals["epsilon"].min()]
    norm = LogNorm(0.25, 4, clip=True)
    shades = plt.get_cmap(f"{SHADES}_r")
    rows, columns = labels_of(study, least)
    strips = {
        (row["model"], row["algorithm"]): [
            (shades(norm(RANKS * row[f"rank_{i}"])), f"{RANKS * row[f'rank_{i}']:.1f}", False)
            for i in range(RANKS)
        ]
        for row in least.to_dict("records")
    }
    figure, _ = strip_map(rows, columns, strips)
    label = "Density of the rank; from left to right, none to all of the draws are below the true θ"
    ticks = {0.25: "0.25 or less", 1: "1 (uniform)", 4: "4 or more"}
    return scale_bar(figure, norm, f"{SHADES}_r", ticks, label)


def labels_of(study, intervals):
    """Labels of the rows and columns of a map, by id."""
    rows = {
        model: f"{study.model_label(model)}\n{epsilons_text(sorted(cells['epsilon'].unique()))}"
        for model, cells in intervals.groupby("model", sort=False)
    }
    names = intervals["algorithm"].unique()
    return rows, {name: study.algorithm_label(name) for name in names}


def interval_map(study, intervals, value, norm, spec, exact=None):
    """A map of a value of each row of the table and, in a last column, of the exact posterior."""
    shades = plt.get_cmap(SHADES)

    def strip(number):
        return shades(norm(number)), spec.format(number), False

    rows, columns = labels_of(study, intervals)
    strips = {}
    for (model, algorithm), cells in intervals.groupby(["model", "algorithm"], sort=False):
        ordered = cells.sort_values("epsilon").to_dict("records")
        strips[model, algorithm] = [strip(value(row)) for row in ordered]
    if exact:
        columns[EXACT] = "Exact"
        for model, cells in intervals.groupby("model", sort=False):
            strips[model, EXACT] = [strip(exact(cells).mean())]
    return strip_map(rows, columns, strips)[0]


def coverage_text(study, intervals):
    """Coverage of 90 % intervals of each algorithm, and where it is worst: a list in Markdown.

    Parameters
    ----------
    study : StudyResults
    intervals : DataFrame
        Table `intervals` of the study.
    """
    lines = []
    for algorithm, cells in intervals.groupby("algorithm", sort=False):
        covers, exact = cells["coverage_90"], cells["exact_coverage_90"]
        line = f"- {study.algorithm_label(algorithm)}: between {covers.min():.1%} and "
        line += f"{covers.max():.1%}."
        gaps = (covers - exact).abs().dropna()
        if len(gaps):
            worst = cells.loc[gaps.idxmax()]
            line += (
                " The largest difference from the exact posterior is on "
                f"{study.model_label(worst['model'])} at ε = {worst['epsilon']:g}: "
                f"{worst['coverage_90']:.1%} in place of {worst['exact_coverage_90']:.1%}."
            )
        lines.append(line)
    return "\n".join(lines)


def interval_table(study, cells):
    """Table of coverages with standard errors, widths and moments: a list of dict.

    Parameters
    ----------
    study : StudyResults
    cells : DataFrame
        Rows of the table `intervals`.
    """
    return [
        {
            "algorithm": study.algorithm_label(row["algorithm"]),
            "ε": f"{row['epsilon']:g}",
            "covers, 50 %": f"{row['coverage_50']:.1%} ± {row['coverage_50_se']:.1%}",
            "covers, 90 %": f"{row['coverage_90']:.1%} ± {row['coverage_90_se']:.1%}",
            "exact, 90 %": number(row["exact_coverage_90"], ".1%"),
            "width": number(row["width_90"], ".2f"),
            "mean error": number(row["mean_error"], ".2f"),
            "sd ratio": number(row["sd_ratio"], ".2f"),
        }
        for row in cells.to_dict("records")
    ]
