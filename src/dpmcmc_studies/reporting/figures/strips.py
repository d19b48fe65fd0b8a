"""Maps of strips: a row for each posterior, a column for each algorithm, a strip for each value.

One figure so shows what would take a panel for each posterior. Times exact, the MMD over that of
exact samples, has one scale of colours in all figures: blue up to 3, red above. Studies without a
table `worth` call a sample *usable* by it.
"""

from collections.abc import Callable
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpmcmc_studies.analysis.ranking import MOST_TIMES_EXACT
from dpmcmc_studies.reporting.figures.style import ink_on, legend_below
from dpmcmc_studies.reporting.worth import HONEST

SHADES = "RdYlBu_r"  # of times exact; the colour-blind tell its ends apart
TIMES_EXACT = LogNorm(MOST_TIMES_EXACT / 10, MOST_TIMES_EXACT * 10, clip=True)
TICKS = {0.3: "0.3", 1: "1", MOST_TIMES_EXACT: "3", 10: "10", 30: "30 or more"}
USABLE = {MOST_TIMES_EXACT: f"{MOST_TIMES_EXACT:g} (usable)"}
WORTH, WORTH_SHADES = Normalize(0, 1, clip=True), "YlGnBu"
NOT_CLOSER = "#B8B8B8"  # no closer than never moving
EDGE = "#FFFFFF"
MOST_COLUMNS = 8  # of one map
WIDTH = 5.6  # of all columns together, in inches
STRIP = 0.45  # the widest, in inches
GAP = 0.12  # between columns, over the strips of a column
BETWEEN_MAPS = 1.3  # in inches: headings may be turned
LETTERS_PER_INCH = 12  # of a label
LEAST_WIDTH = 0.27  # of a strip that holds a number


def strip_map(rows, columns, strips, height=0.36, most_columns=MOST_COLUMNS):
    """Strips of colour in cells, with a number each where there is room.

    Of many columns several maps are drawn, one below the other, each with the rows that it needs.

    Parameters
    ----------
    rows, columns : dict of str to str
        Labels by id; rows from top to bottom.
    strips : dict of (str, str) to list of (colour, text, bool)
        By row and column, from left to right; the last says whether it is marked. A colour may be
        None, of a strip that stays empty.
    height : float
        Of a row, in inches.
    most_columns : int
        Of one map.

    Returns
    -------
    figure, axes
    """
    maps = []
    for names in np.array_split(list(columns), -(-len(columns) // most_columns)):
        of_map = {name: columns[name] for name in names.tolist()}
        needed = {row: label for row, label in rows.items() if is_drawn(row, of_map, strips)}
        maps.append((needed or rows, of_map))
    heights = [height * len(of_rows) for of_rows, _ in maps]
    whole = sum(heights) + BETWEEN_MAPS * (len(maps) - 1)
    widths = [map_size(of_columns, strips)[0] for _, of_columns in maps]
    figure = plt.figure(figsize=(max(widths), whole))
    top, axes = whole, []
    for (of_rows, of_columns), tall, width in zip(maps, heights, widths, strict=True):
        # Labels and legends lie beyond the figure's own edges.
        place = [0, (top - tall) / whole, width / max(widths), tall / whole]
        axes.append(figure.add_axes(place))
        draw_map(axes[-1], of_rows, of_columns, strips)
        top -= tall + BETWEEN_MAPS
    return figure, axes


def is_drawn(row, columns, strips):
    """True if a row has a strip with a colour in any of some columns."""
    return any(colour is not None for name in columns for colour, *_ in strips.get((row, name), []))


def map_size(columns, strips):
    """Width of a map in inches, strips in each column, and between two columns."""
    sizes = [max(len(cell) for (_, of), cell in strips.items() if of == name) for name in columns]
    gap = GAP * max(sizes)
    return min(WIDTH, STRIP * (sum(sizes) + gap * (len(sizes) - 1))), sizes, gap


def draw_map(axis, rows, columns, strips):
    """Draw one map; parameters as for `strip_map`."""
    width, sizes, gap = map_size(columns, strips)
    total = sum(sizes) + gap * (len(sizes) - 1)
    left = np.cumsum([0, *(size + gap for size in sizes[:-1])])
    has_texts = width / total >= LEAST_WIDTH
    for y, row in enumerate(rows):
        for x0, size, column in zip(left, sizes, columns, strict=True):
            cell = strips.get((row, column), [])
            for i, (colour, text, is_marked) in enumerate(cell):
                if colour is None:
                    continue
                share = size / len(cell)
                place = (x0 + (i + 0.5) * share, y)
                axis.bar(place[0], 0.86, share, y - 0.43, color=colour, edgecolor=EDGE, lw=0.5)
                ink = ink_on(colour)
                if has_texts and text:
                    weight = "bold" if is_marked else "normal"
                    axis.text(
                        *place, text, ha="center", va="center", color=ink, size=7, weight=weight
                    )
                elif is_marked:
                    axis.plot(*place, "o", color=ink, markersize=2)
    axis.set(xlim=(-0.05, total + 0.05), ylim=(len(rows) - 0.5, -0.5))
    axis.set_yticks(range(len(rows)), rows.values())
    centres = [x0 + size / 2 for x0, size in zip(left, sizes, strict=True)]
    rooms = [LETTERS_PER_INCH * width * (size + gap) / total for size in sizes]
    turned = {}
    if any(len(label) > room for label, room in zip(columns.values(), rooms, strict=True)):
        turned = {"rotation": 30, "ha": "left", "rotation_mode": "anchor"}
    axis.set_xticks(centres, columns.values(), **turned)
    axis.xaxis.tick_top()
    axis.tick_params(length=0, labelsize="small")
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)


class Measure(NamedTuple):
    """What a map of cells shows."""

    strip: Callable  # from a row of the table, or None, and the shades: colour, text, mark
    norm: Normalize
    shades: str  # name of the colours
    ticks: dict[float, str]
    label: str  # of the scale
    example: str  # a marked number, in the legend
    mark: str  # what a mark means
    grey: str  # what a grey strip means


def times_exact_map(study, ranking, most_columns=MOST_COLUMNS):
    """Distance of each algorithm from each posterior: times exact, a strip for each epsilon.

    Parameters
    ----------
    study : StudyResults
    ranking : DataFrame
        Table `ranking` of the study.
    most_columns : int
        Algorithms beside each other.
    """
    has_worth = "worth" in study.tables
    measure = Measure(
        times_exact_strip,
        TIMES_EXACT,
        SHADES,
        TICKS if has_worth else TICKS | USABLE,
        "MMD over that of exact samples",
        "1.2",
        f"At most {MOST_TIMES_EXACT:g}, and chains agree" if has_worth else "Usable",
        "No closer than never moving",
    )
    return cells_map(study, ranking, measure, most_columns)


def worth_map(study, worth, most_columns=MOST_COLUMNS):
    """Worth of each algorithm on each posterior, in percent: a strip for each epsilon.

    Bold numbers are of honest methods. A cell without a rank has no number.

    Parameters
    ----------
    study : StudyResults
    worth : DataFrame
        Table `worth` of the study.
    most_columns : int
        Algorithms beside each other.
    """
    measure = Measure(
        worth_strip,
        WORTH,
        WORTH_SHADES,
        {0: "0", 0.25: "25", 0.5: "50", 0.75: "75", 1: "100"},
        "Worth in percent of the rows",
        "90",
        "Honest",
        "Stopped early, or without intervals",
    )
    return cells_map(study, worth, measure, most_columns)


def cells_map(study, table, measure, most_columns):
    """A measure of cells: a row a posterior, a column an algorithm, a strip for each epsilon."""
    shades = plt.get_cmap(measure.shades)
    rows, strips = {}, {}
    for model, of_model in table.groupby("model", sort=False):
        epsilons = sorted(of_model["epsilon"].unique())
        rows[model] = f"{study.model_label(model)}\n{epsilons_text(epsilons)}"
        for algorithm, cells in of_model.groupby("algorithm", sort=False):
            at = {row["epsilon"]: row for row in cells.to_dict("records")}
            strips[model, algorithm] = [measure.strip(at.get(one), shades) for one in epsilons]
    present = set(table["algorithm"])
    columns = {name: study.algorithm_label(name) for name in study.algorithms if name in present}
    figure, axes = strip_map(rows, columns, strips, most_columns=most_columns)
    label = f"{measure.label}; in each cell, ε grows from left to right"
    scale_bar(figure, measure.norm, measure.shades, measure.ticks, label)
    marker = {"marker": "o", "markersize": 3}
    if any(axis.texts for axis in axes):
        example = f"$\\mathbf{{{measure.example}}}$"
        marker = {"marker": example, "markersize": 12, "markeredgewidth": 0}
    handles = [
        Line2D([], [], linestyle="", color="black", **marker, label=measure.mark),
        Patch(color=NOT_CLOSER, label=measure.grey),
        Patch(facecolor="white", edgecolor="#999999", label="No sample"),
    ]
    legend_below(figure, handles, 3, -0.7 / figure.get_size_inches()[1])
    return figure


def worth_strip(row, shades):
    """Colour, text and mark of a row of the table `worth`."""
    if row is None:
        return None, "", False
    if np.isnan(row["rank"]):
        return NOT_CLOSER, "", False
    return shades(0.85 * WORTH(row["worth"])), f"{100 * row['worth']:.0f}", row["honest"] == HONEST


def closest_algorithms(ranking, problem, count=MOST_COLUMNS):
    """Ids of the algorithms that lie least behind the best of each problem, in the median.

    Parameters
    ----------
    ranking : DataFrame
        Rows of the table `ranking`.
    problem : list of str
        Its columns that say what is compared.
    count : int
        Of these ids, at most.

    Returns
    -------
    list of str
        In the order of the table.
    """
    of_best = ranking.groupby(problem)["mmd"].transform("min")
    behind = (ranking["mmd"] / of_best).groupby(ranking["algorithm"]).median()
    closest = behind.nsmallest(count).index
    return [name for name in ranking["algorithm"].unique() if name in closest]


def epsilons_text(epsilons):
    """The values of epsilon of a row, in few letters."""
    if len(epsilons) == 1:
        return f"ε = {epsilons[0]:g}"
    return f"ε = {epsilons[0]:g} to {epsilons[-1]:g}"


def times_exact_strip(row, shades):
    """Colour, text and mark of a row of the ranking."""
    if row is None or np.isnan(row["mmd"]):
        return None, "", False
    ratio = row["times_exact"]
    colour = shades(TIMES_EXACT(ratio)) if row["is_nearer"] else NOT_CLOSER
    return colour, f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}", bool(row["is_usable"])


def scale_bar(figure, norm, shades, ticks, label):
    """The figure with a scale of colours below it.

    Parameters
    ----------
    figure : Figure
        A map.
    norm, shades : matplotlib's norm, and the name of its colours
    ticks : dict of float to str
        Labels of the numbers that are shown.
    label : str
    """
    height = figure.get_size_inches()[1]
    place = figure.add_axes([0, -0.25 / height, 1, 0.12 / height])
    bar = figure.colorbar(ScalarMappable(norm, shades), cax=place, orientation="horizontal")
    bar.set_ticks(list(ticks), labels=list(ticks.values()))
    bar.ax.tick_params(labelsize="small")
    bar.ax.minorticks_off()
    bar.set_label(label, fontsize="small")
    return figure
