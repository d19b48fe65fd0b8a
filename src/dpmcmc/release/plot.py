"""Picture of a rehearsal: worth and coverage by epsilon, for each number of rows and each law."""

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from dpmcmc.evaluation.scores import LEAST_COVERAGE, LEVEL

KEYS = {"worth": "worth, of the rows", "coverage": f"coverage of {LEVEL:.0%} intervals"}


def draw(rows, path):
    """Draw rows of `rehearsal` to a file, each law in panels of its own.

    A point is hollow where intervals are not shown honest: its worth is not to be relied on.

    Parameters
    ----------
    rows : list of dict
    path : path
        Its ending says the format.
    """
    laws = list(dict.fromkeys(row["law"] for row in rows))
    sizes = sorted({row["rows"] for row in rows})
    epsilons = sorted({row["epsilon"] for row in rows})
    figure = Figure(figsize=(8, 0.6 + 2.8 * len(laws)), layout="constrained")
    panels = figure.subplots(len(laws), len(KEYS), sharex=True, sharey="col", squeeze=False)
    for law, of_law in zip(laws, panels, strict=True):
        for (key, label), axes in zip(KEYS.items(), of_law, strict=True):
            for i, size in enumerate(sizes):
                # Points of several sizes at one epsilon stand beside each other.
                shift = 1.03 ** (i - (len(sizes) - 1) / 2)
                of_size = [row for row in rows if (row["law"], row["rows"]) == (law, size)]
                draw_line(axes, of_size, key, f"C{i}", shift)
            if len(laws) > 1:
                axes.set_title(law, fontsize="medium", loc="left")
            axes.set_ylabel(label)
            axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
            axes.yaxis.set_major_formatter(PercentFormatter(1))
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_xscale("log")
            axes.set_xticks(epsilons, [f"{epsilon:.4g}" for epsilon in epsilons])
            axes.minorticks_off()
        of_law[1].axhline(LEVEL, color="0.6", lw=0.8, zorder=0)
        of_law[1].axhline(LEAST_COVERAGE, color="0.6", lw=0.8, ls=":", zorder=0)
    for axes in panels[-1]:
        axes.set_xlabel("epsilon")
    panels[0, 0].set_ylim(bottom=0)
    for i, size in enumerate(sizes):
        panels[0, 0].plot([], [], "o-", color=f"C{i}", label=f"{size:,} rows")
    panels[0, 0].legend(frameon=False)
    figure.suptitle(
        f"Mean over {rows[0]['samples']} twins ± standard error. Hollow: not shown honest "
        f"({LEAST_COVERAGE:.0%}, dotted)",
        fontsize="medium",
    )
    figure.savefig(path, dpi=150)


def draw_line(axes, rows, key, color, shift):
    """Draw worth or coverage by epsilon; rows without intervals have neither."""
    found = sorted(
        (row for row in rows if row["not_scored"] < row["samples"]), key=lambda row: row["epsilon"]
    )
    places = [row["epsilon"] * shift for row in found]
    values, errors = [row[key] for row in found], [row[f"{key}_se"] for row in found]
    axes.errorbar(places, values, errors, color=color, capsize=3)
    for place, value, row in zip(places, values, found, strict=True):
        inside = color if row["honest"] == "honest" else "white"
        axes.plot(place, value, "o", color=color, mfc=inside)
