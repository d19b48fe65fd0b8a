"""What privacy costs, in rows: families of posteriors, the best method, what n rows are worth."""

import json
from itertools import cycle
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator, PercentFormatter

from dpmcmc.evaluation.scores import LEAST_COVERAGE
from dpmcmc_studies.analysis.worth import HONEST, LEAST_SPENT
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.reporting.figures.style import NEUTRAL, ink_on, panel_grid
from dpmcmc_studies.reporting.recommendation import with_seconds
from dpmcmc_studies.reporting.words import listing
from dpmcmc_studies.reporting.worth import share, sure, verdict, with_error

SEARCHES = Path(__file__).with_name("tuning")  # what `snakemake tune` found
CELL = ["family", "n", "epsilon"]  # what is compared
MOST_CHAINS = 3  # of a panel
NONE = "none is surely honest"
MARKERS = "os^vD<>p"
SHADES = "YlGnBu"  # of worth
HALF = 0.5
LABELS_APART = 0.085  # in units of worth
DEFINED = (
    "Private rows are *worth* the number of rows from which an exact posterior would be as good. A "
    f"method is *honest* if its 90 % intervals hold at least {LEAST_COVERAGE:.0%} of the exact "
    "posterior on average, which is sure at 95 % confidence. By the best honest method:"
)
HOLDS = (
    "All this holds for rows that follow the model, since the data here are simulated from it. A "
    "method that is honest here can miss where rows do not follow the model: where they are "
    "skewed, say, or some lie far out."
)


# -- Tables that the others are made from ----------------------------------------------------------


def families(models):
    """Labels of families by model: those whose entries differ by the number of rows alone.

    Parameters
    ----------
    models : dict of str to dict
        Of `study.json`.

    Returns
    -------
    dict of str to str
        In the order of the study; only of families with several numbers of rows.
    """
    groups = {}
    for name, model in models.items():
        same = {key: value for key, value in model.entry.items() if key != "num_rows"}
        groups.setdefault(json.dumps(same, sort_keys=True), []).append(name)
    labels = {}
    for names in groups.values():
        if len(names) > 1:
            first = models[names[0]].label
            labels |= dict.fromkeys(names, first.rpartition(", n = ")[0] or first)
    return labels


def worth_of_cells(study):
    """Table `worth` with `seconds`, and `is_release`: whether the algorithm makes no chain."""
    table = with_seconds(study.table("worth"), study.table("timings"))
    is_release = {name: entry.has_free_steps for name, entry in study.algorithms.items()}
    return table.assign(is_release=table["algorithm"].map(is_release))


def worth_of_families(study):
    """`worth_of_cells` of the models that have a family, with `family` and `n`.

    By family, in the order of the study, and then by n.
    """
    table = with_families(study, worth_of_cells(study))
    place = table["family"].map({name: i for i, name in enumerate(table["family"].unique())})
    table = table.assign(place=place).sort_values(["place", "n"], kind="stable")
    return table.drop(columns="place").reset_index(drop=True)


def with_families(study, table):
    """The rows of a table whose model has a family, with `family` and `n`."""
    labels = families(study.models)
    table = table[table["model"].isin(list(labels))]
    return table.assign(
        family=table["model"].map(labels),
        n=table["model"].map({name: model.num_rows for name, model in study.models.items()}),
    )


def worth_of_others(study, methods):
    """`worth_of_cells` of some methods on models without a family, as if each were one."""
    table = worth_of_cells(study)
    is_other = ~table["model"].isin(list(families(study.models)))
    table = table[is_other & table["algorithm"].isin(list(methods))]
    return table.assign(
        family=table["model"].map(study.model_label),
        n=table["model"].map({name: model.num_rows for name, model in study.models.items()}),
    ).reset_index(drop=True)


def best_methods(table):
    """The honest method of the first rank for each family, n and epsilon: rows of the table.

    Where no honest method is ranked, the algorithm is an empty text. `has_chain` says whether a
    chain ran there to the end of its budget.
    """
    rows = []
    for keys, cells in table.groupby(CELL, sort=False):
        honest = cells[(cells["honest"] == HONEST) & cells["rank"].notna()]
        row = dict(zip(CELL, keys, strict=True)) | {"algorithm": ""}
        if len(honest):
            row = honest.loc[honest["score_ratio"].idxmin()].to_dict()
        has_chain = (~cells["is_release"] & cells["rank"].notna()).any()
        rows.append(row | {"has_chain": has_chain})
    return pd.DataFrame(rows)


def rows_for_half(best):
    """n at which rows are worth half of their number, by the best honest method.

    Between two n of the study, worth is taken as a straight line in log n. The ends of the interval
    are the n at which worth plus or minus two standard errors is a half.

    Parameters
    ----------
    best : DataFrame
        Rows of `best_methods` of one family and epsilon.

    Returns
    -------
    (float, float, float)
        n and its interval; 0 where all n of the study are enough, infinite where no n is.
    """
    best = best.sort_values("n")
    values, errors = best["worth"].fillna(0).to_numpy(), best["worth_se"].fillna(0).to_numpy()
    logs = np.log(best["n"].to_numpy(dtype=float))
    return tuple(crossing(logs, values + k * errors) for k in (0, 2, -2))


def crossing(logs, values):
    """exp of where values first stay above HALF."""
    below = np.flatnonzero(values < HALF)
    if not len(below):
        return 0.0
    last = below[-1]
    if last == len(values) - 1:
        return np.inf
    return float(np.exp(np.interp(HALF, values[last : last + 2], logs[last : last + 2])))


# -- Figures ---------------------------------------------------------------------------------------


def worth_figure(study, table, epsilon):
    """Worth against n at one epsilon: a panel a family, thick lines for releases, thin for chains.

    Hollow marks are cells that are not surely honest. Of chains, a panel has a few, the honest
    ones first; only cells that spend their budget are drawn.
    """
    names = list(table["family"].unique())
    figure, axes = panel_grid(len(names), len(names), size=(3.1, 2.5), margin=(0.2, 0.5))
    for axis, family in zip(axes, names, strict=True):
        draw_worth(axis, study, table[(table["family"] == family) & (table["epsilon"] == epsilon)])
        name, _, dimension = family.partition(", d = ")
        axis.set_title(f"{name}\n{dimension} parameters", loc="left")
        axis.set_yticklabels([] if axis is not axes[0] else axis.get_yticklabels())
    figure.legend(
        handles=[
            Line2D([], [], color=NEUTRAL, lw=2.6, marker="o", label="one private release"),
            Line2D([], [], color=NEUTRAL, lw=1, marker="o", ms=4, label="a private chain"),
            Line2D(
                [], [], ls="", marker="o", color=NEUTRAL, mfc="white", label="not sure to cover"
            ),
            Line2D([], [], ls="", marker="|", ms=12, color=NEUTRAL, label="± 2 standard errors"),
        ],
        loc="upper center",
        bbox_to_anchor=(0.5, 0.02),
        ncols=4,
        frameon=False,
    )
    figure.tight_layout()
    return figure


def draw_worth(axis, study, cells):
    """Lines of one panel, with names at their ends."""
    cells = cells.dropna(subset="rank")
    sizes, ends = sorted(cells["n"].unique()), []
    marks = dict(zip(study.algorithms, cycle(MARKERS), strict=False))
    for i, name in enumerate(drawn_methods(cells)):
        line = cells[cells["algorithm"] == name].sort_values("n")
        colour, is_release = study.algorithm_colour(name), line["is_release"].iloc[0]
        x = np.log10(line["n"].to_numpy()) + 0.04 * (i - 1.5)
        y, error = line["worth"].to_numpy(), 2 * line["worth_se"].to_numpy()
        axis.errorbar(x, y, error, color=colour, lw=2.6 if is_release else 1, elinewidth=0.8)
        for at, row in zip(x, line.to_dict("records"), strict=True):
            face = colour if row["honest"] == HONEST else "white"
            size = 6 if is_release else 4.5
            axis.plot(at, row["worth"], marks[name], color=colour, mfc=face, ms=size, zorder=3)
        ends.append((y[-1], x[-1], f"{y[-1]:.0%} {study.algorithm_label(name)}", colour))
    ends.sort(reverse=True)
    for (y, x, text, colour), place in zip(ends, label_places([y for y, *_ in ends]), strict=True):
        axis.text(np.log10(sizes[-1]) + 0.2, place, text, va="center", size=8.5)
        axis.plot([x, np.log10(sizes[-1]) + 0.18], [y, place], color=colour, lw=0.6)
    axis.plot(np.log10([sizes[0], sizes[-1]]), [1, 1], color=NEUTRAL, lw=1, ls="--")
    axis.xaxis.set(major_locator=FixedLocator(np.log10(sizes)), minor_locator=NullLocator())
    axis.set_xticklabels(
        [rows_text(n).replace(" million", "M").replace(",000", "k") for n in sizes]
    )
    axis.set(xlim=(np.log10(sizes[0]) - 0.2, np.log10(sizes[-1]) + 1.6), ylim=(0, 1.08))
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axis.yaxis.set_major_formatter(PercentFormatter(1))
    axis.set_xlabel("Rows n")
    axis.grid(visible=False, axis="x")
    axis.spines[["top", "right"]].set_visible(False)


def label_places(heights):
    """Places of labels near descending heights: from above, none over another or the axis."""
    places, count = [], len(heights)
    for height in heights:
        places.append(min([height, *(place - LABELS_APART for place in places[-1:])]))
    least = [0.4 * LABELS_APART + LABELS_APART * (count - 1 - i) for i in range(count)]
    return [max(pair) for pair in zip(places, least, strict=True)]


def drawn_methods(cells):
    """All releases of some cells, and a few chains: those with the most honest worth at any n.

    Where too few chains are honest, the rest are those that are worth most.
    """
    releases = cells.loc[cells["is_release"], "algorithm"].unique()
    chains = cells[~cells["is_release"]]
    chains = chains.assign(sure=chains["worth"].where(chains["honest"] == HONEST, 0))
    most = chains.groupby("algorithm", sort=False)[["sure", "worth"]].max()
    first = most.sort_values(["sure", "worth"], ascending=False, kind="stable")
    return [*releases, *first.index[:MOST_CHAINS]]


def map_figure(study, best):
    """A map for each family: n across, epsilon up; the best honest method and its worth."""
    names = list(best["family"].unique())
    figure, axes = panel_grid(len(names), 1, size=(5.0, 2.2), margin=(0.6, 0.4))
    shades = plt.get_cmap(SHADES)
    for axis, family in zip(axes, names, strict=True):
        cells = best[best["family"] == family]
        sizes, epsilons = sorted(cells["n"].unique()), sorted(cells["epsilon"].unique())
        for row in cells.to_dict("records"):
            x, y = sizes.index(row["n"]), epsilons.index(row["epsilon"])
            colour, text = "#D0D0D0", NONE
            if row["algorithm"]:
                colour = shades(0.85 * row["worth"])
                text = f"{row['worth']:.0%}\n{study.algorithm_label(row['algorithm'])}"
            text += "" if row["has_chain"] else "*"
            axis.add_patch(plt.Rectangle((x - 0.5, y - 0.5), 1, 1, fc=colour, ec="white"))
            axis.text(x, y, text, ha="center", va="center", color=ink_on(colour), size=8)
        axis.set_xticks(range(len(sizes)), [rows_text(n) for n in sizes])
        axis.set_yticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
        axis.set(xlim=(-0.5, len(sizes) - 0.5), ylim=(-0.5, len(epsilons) - 0.5))
        axis.set(title=family, ylabel="Privacy bound ε")
        axis.grid(visible=False)
    axes[-1].set_xlabel("Rows n")
    figure.tight_layout()
    return figure


# -- In words and tables ---------------------------------------------------------------------------


def rows_text(n):
    """A number of rows in few letters."""
    return f"{n:,}" if n < 10**6 else f"{n / 10**6:g} million"


def front_sentences(best, n, epsilon):
    """What n rows are worth at one epsilon: a sentence a family, as items of Markdown."""
    lines = []
    for row in best[(best["n"] == n) & (best["epsilon"] == epsilon)].to_dict("records"):
        name, _, dimension = row["family"].partition(", ")
        what = f"At ε = {epsilon:g}, {n:,} rows of a {name.lower()} ({dimension})"
        if not row["algorithm"]:
            lines.append(f"- {what}: no method is surely honest.")
            continue
        low, high = interval(row)
        lines.append(
            f"- {what} are worth about **{rounded(n * row['worth']):,}** (95 % interval "
            f"{rounded(n * low):,} to {rounded(n * high):,})."
        )
    return "\n".join(lines)


def interval(row):
    """95 % interval of the worth in a row, within 0 and 1."""
    half = 1.96 * row["worth_se"]
    return max(0.0, row["worth"] - half), min(1.0, row["worth"] + half)


def rounded(n):
    """n to two digits."""
    return int(float(f"{n:.2g}"))


def chain_sentences(table, posterior="a family, n"):
    """How many chains are honest, and what they are worth beside one release; as Markdown."""
    chains = table[~table["is_release"]]
    ran = chains.dropna(subset="rank")
    honest = ran[ran["honest"] == HONEST]
    half = is_half(honest).sum()
    releases = table[table["is_release"] & (table["honest"] == HONEST)]
    best_release = releases.groupby(CELL)["worth"].max().rename("release")
    both = honest.merge(best_release, left_on=CELL, right_index=True)
    beside = (both["worth"] / both["release"]).median()
    return (
        f"Of {len(chains)} combinations of a chain, {posterior} and ε, {len(ran)} run to the end "
        f"of their budget and have intervals. {len(honest)} of these are honest, and {half} "
        "of the honest ones are surely worth half of their rows. "
    ) + (
        f"In {len(both)} combinations the chain and a release are both honest. There the chain is "
        f"worth {beside:.0%} of what the best release is worth, in the median."
        if len(both)
        else ""
    )


def best_sentence(best):
    """Where a method is honest, and what the best one is worth there; as Markdown."""
    is_there = best["algorithm"] != ""
    least, most = best.loc[is_there, "worth"].min(), best.loc[is_there, "worth"].max()
    text = (
        f"In {is_there.sum()} of {len(best)} combinations of posterior and ε a method is surely "
        f"honest. The best one is worth {least:.0%} to {most:.0%} of the rows."
    )
    without = best.loc[~is_there, "family"].unique()
    return f"{text} No method is surely honest on: {listing(without)}." if len(without) else text


def is_half(cells):
    """True for cells that are surely worth half of their rows."""
    return cells["worth"] - 2 * cells["worth_se"] >= HALF


def honest_chains(study, table):
    """Honest chains at each epsilon: rows of a table."""
    chains = table[~table["is_release"]].dropna(subset="rank")
    rows = []
    for (family, n), cells in chains.groupby(["family", "n"], sort=False):
        row = {"posterior": family, "n": f"{n:,}"}
        for epsilon, at in cells.groupby("epsilon"):
            honest = at[at["honest"] == HONEST].sort_values("worth", ascending=False)
            texts = [
                f"{study.algorithm_label(one['algorithm'])} {one['worth']:.0%}"
                for one in honest.to_dict("records")
            ]
            row[f"ε = {epsilon:g}"] = listing(texts) if texts else "none"
        rows.append(row)
    return rows


def lookup_table(study, best):
    """The best honest method for each family, n and epsilon: rows of a table."""
    rows = []
    for row in best.to_dict("records"):
        texts = {"posterior": row["family"], "n": f"{row['n']:,}", "ε": f"{row['epsilon']:g}"}
        if not row["algorithm"]:
            rows.append(texts | {"method": NONE} | dict.fromkeys(("worth", "rows"), "–"))
            rows[-1] |= dict.fromkeys(("covers", "width"), "–")
            continue
        rows.append(
            texts
            | {
                "method": study.algorithm_label(row["algorithm"]),
                "worth": with_error(row["worth"], row["worth_se"]),
                "rows": f"{rounded(row['n'] * row['worth']):,}",
                "covers": share(row["coverage"]),
                "width": f"{row['width']:.2f}",
            }
        )
    return rows


def half_table(best):
    """n whose rows are worth half: rows of a table, one a family."""
    rows = []
    for family, cells in best.groupby("family", sort=False):
        row = {"posterior": family}
        for epsilon, at in cells.groupby("epsilon"):
            text = between_text(at.sort_values("n")) or half_text(*rows_for_half(at), at["n"])
            row[f"ε = {epsilon:g}"] = text
        rows.append(row)
    return rows


def between_text(best):
    """Two n between which worth passes a half, where no honest method says what the less is worth.

    A line from no worth to that of the larger n would look more exact than it is. Empty elsewhere.
    """
    below = np.flatnonzero(best["worth"].fillna(0) < HALF)
    if not len(below) or below[-1] == len(best) - 1 or best["algorithm"].iloc[below[-1]]:
        return ""
    less, more = best["n"].iloc[below[-1] : below[-1] + 2]
    return f"between {less:,} and {more:,}"


def half_text(n, low, high, sizes):
    """n with its interval, in words."""
    if not n:
        return f"fewer than {sizes.min():,}"
    if np.isinf(n):
        return f"more than {sizes.max():,}"
    least = f"{rounded(low):,}" if low else "fewer"
    most = f"{rounded(high):,}" if high < np.inf else "more"
    return f"{rounded(n):,} ({least} to {most})"


def method_table(study, table):
    """Each method over all cells that it ran to its end: rows of a table, by honest cells."""
    rows = []
    for name, cells in table.groupby("algorithm", sort=False):
        ran = cells.dropna(subset="rank")
        honest = ran[ran["honest"] == HONEST]
        rows.append(
            {
                "method": study.algorithm_label(name),
                "cells": len(cells),
                "run to the end": len(ran),
                "honest": len(honest),
                "not honest": int((ran["honest"] == "not honest").sum()),
                "worth half": int(is_half(honest).sum()),
                "first": int((ran["rank"] == 1).sum()),
                "covers": share(ran["coverage"].mean()) if len(ran) else "–",
                "seconds at most": f"{cells['seconds'].max():.1f}",
            }
        )
    return sorted(rows, key=lambda row: -row["honest"])


def searched(study):
    """What the committed searches found on the families: a row for each chain, n and epsilon."""
    return with_families(study, read_csv(SEARCHES / "summary.csv"))


def search_sentence(table, found):
    """On which families chains have settings of a former search; empty if on none."""
    names = [name for name in table["family"].unique() if name not in set(found["family"])]
    if not names:
        return ""
    families_text = listing([f"the {name.partition(', ')[0].lower()}" for name in names])
    return (
        f"Chains on {families_text} have settings that were found at ε = 1 alone, so they may be "
        "worth more than is shown here."
    )


def gain_of_search(found):
    """What settings of their own bring, by n and epsilon: rows of a table.

    Worth is that of the median score ratio on twins that had no part in the search; a chain without
    intervals is worth nothing.

    Parameters
    ----------
    found : DataFrame
        From `searched`.
    """
    rows = []
    for (n, epsilon), searches in found.groupby(["n", "epsilon"]):
        before, after = (
            (1 / searches[f"{whose}_score_ratio"] ** 2).fillna(0) for whose in ("own", "best")
        )
        rows.append(
            {
                "n": f"{n:,}",
                "ε": f"{epsilon:g}",
                "searches": len(searches),
                "worth before": share(before.median()),
                "worth after": share(after.median()),
                "better": int((after > before).sum()),
                "no settings found": int(searches["best_settings"].isna().sum()),
            }
        )
    return rows


def settings_table(study, found):
    """Settings that the searches found: rows of a table.

    Parameters
    ----------
    study : StudyResults
    found : DataFrame
        From `searched`, of one family.
    """
    rows = []
    for row in found.dropna(subset="best_settings").to_dict("records"):
        settings = json.loads(row["best_settings"])
        settings.pop("start", None)  # said on the page
        rows.append(
            {
                "n": f"{row['n']:,}",
                "method": study.algorithm_label(row["algorithm"]),
                "ε": f"{row['epsilon']:g}",
                "settings": ", ".join(f"{key}: {value:g}" for key, value in settings.items()),
            }
        )
    return rows


def limits_of_chains(table, posterior="a family, n"):
    """How many chains stop before their budget is spent, or have no intervals: sentences."""
    chains = table[~table["is_release"]]
    short = chains[chains["spent"] < LEAST_SPENT]
    honest = short[short["honest"] == HONEST]
    ends = chains[chains["spent"] >= LEAST_SPENT]
    none = (ends["not_scored"] == ends["samples"]).sum()
    some = (ends["not_scored"] > 0).sum() - none
    return (
        f"{len(short)} of the {len(chains)} combinations of a chain, {posterior} and ε stop before "
        f"{LEAST_SPENT:.0%} of ε is spent, as the study limits the length of chains. "
        f"{len(honest)} of these are honest as they are, and {is_half(honest).sum()} of the honest "
        f"ones are surely worth half of their rows. In {none} no sample has intervals, and in "
        f"{some} some samples have none: they have fewer than two draws, or diverge. None of these "
        "combinations has a rank."
    )


def cells_table(study, cells):
    """Table of all cells of a family, by number of rows, epsilon and rank: a list of dict."""
    return [
        {
            "n": f"{row['n']:,}",
            "ε": f"{row['epsilon']:g}",
            "method": study.algorithm_label(row["algorithm"]),
            "rank": "–" if pd.isna(row["rank"]) else f"{row['rank']:.0f}" + "=" * row["is_tied"],
            "verdict": verdict(row),
            "worth": sure(row, "worth"),
            "widened": with_error(row["widened_worth"], row["widened_worth_se"]),
            "covers": with_error(row["coverage"], row["coverage_se"]),
            "width": f"{row['width']:.2f}",
            "energy": f"{row['energy_ratio']:.2f}",
            "data sets": row["samples"],
            "iterations": row["iterations"],
            "ε spent": share(row["spent"]),
            "seconds": f"{row['seconds']:.1f}",
        }
        for row in cells.sort_values(["n", "epsilon"], kind="stable").to_dict("records")
    ]
