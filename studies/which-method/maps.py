"""Which method for which n and epsilon: families of posteriors, a map, and rows that it takes."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dpmcmc
from dpmcmc.evaluation.analysis import MOST_TIMES_EXACT
from dpmcmc.reporting.figures.strips import SHADES, TICKS, TIMES_EXACT
from dpmcmc.reporting.figures.style import NEUTRAL, ink_on, legend_below, panel_grid

TUNED_ROWS = 10_000  # n of the models whose settings others take
CELL = ["family", "n", "epsilon"]  # what is compared


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
        same = {key: value for key, value in model["entry"].items() if key != "num_rows"}
        groups.setdefault(json.dumps(same, sort_keys=True), []).append(name)
    labels = {}
    for names in groups.values():
        if len(names) > 1:
            first = models[names[0]]["label"]
            labels |= dict.fromkeys(names, first.rpartition(", n = ")[0] or first)
    return labels


def with_families(ranking, models):
    """The ranking of models that have a family, with `family`, `n` and `d`."""
    labels = families(models)
    table = ranking[ranking["model"].isin(list(labels))]
    sizes = {name: model["num_rows"] for name, model in models.items()}
    dimensions = {name: model["dimension"] for name, model in models.items()}
    return table.assign(
        family=table["model"].map(labels),
        n=table["model"].map(sizes),
        d=table["model"].map(dimensions),
    )


def without_family(ranking, models, methods):
    """The ranking of some methods on the models that have no family."""
    alone = ~ranking["model"].isin(list(families(models)))
    return ranking[alone & ranking["algorithm"].isin(list(methods))]


def best_methods(table):
    """The method with the lowest median MMD for each family, n and epsilon: rows of the table."""
    ranked = table.dropna(subset="mmd")
    best = ranked.loc[ranked.groupby(["family", "n", "epsilon"], sort=False)["mmd"].idxmin()]
    return best.sort_values(["family", "n", "epsilon"], kind="stable")


def rows_needed(cells):
    """n from which on the best method is usable, about; infinite where no n of the study is enough.

    Between the last n that is not and the first that is, it is interpolated on logarithmic scales.

    Parameters
    ----------
    cells : DataFrame
        Rows of `best_methods` of one family and epsilon.

    Returns
    -------
    float
        The least n of the study where that is enough.
    """
    cells = cells.sort_values("n")
    times, sizes = cells["times_exact"].to_numpy(), cells["n"].to_numpy(dtype=float)
    not_usable = np.flatnonzero(times > MOST_TIMES_EXACT)
    if not len(not_usable):
        return sizes[0]
    last = not_usable[-1]
    if last == len(sizes) - 1:
        return np.inf
    logs = np.log([times[last + 1], times[last]])
    place = np.interp(np.log(MOST_TIMES_EXACT), logs, np.log([sizes[last + 1], sizes[last]]))
    return float(np.exp(place))


def needed_table(best):
    """`rows_needed` of every family and epsilon: a row each, with the method at that n."""
    rows = []
    for (family, epsilon), cells in best.groupby(["family", "epsilon"], sort=False):
        usable = cells[cells["times_exact"] <= MOST_TIMES_EXACT]
        method = usable["algorithm"].iloc[0] if len(usable) else None
        rows.append([family, epsilon, rows_needed(cells), method])
    return pd.DataFrame(rows, columns=["family", "epsilon", "n", "algorithm"])


def needed_rows(best, epsilons):
    """Rows that the best method needs at each epsilon: rows of a table, one a family.

    At an epsilon that the study lacks it is interpolated between the two beside it, on logarithmic
    scales.
    """
    table = []
    for family, cells in needed_table(best).groupby("family", sort=False):
        known = dict(zip(cells["epsilon"], cells["n"], strict=True))
        largest = best.loc[best["family"] == family, "n"].max()
        least = best.loc[best["family"] == family, "n"].min()
        logs = np.log(list(known)), np.log(list(known.values()))
        row = {"posterior": family}
        for epsilon in epsilons:
            n = known.get(epsilon, float(np.exp(np.interp(np.log(epsilon), *logs))))
            if not np.isfinite(n):
                text = f"more than {largest:,}"
            else:
                text = f"{least:,} or fewer" if n <= least else f"about {rounded(n):,}"
            row[f"ε = {epsilon:g}"] = text
        table.append(row)
    return table


def map_figure(study, best):
    """A map for each family: n across, epsilon up, the best method and its times exact in a cell.

    Colours are times exact on a logarithmic scale. A thick frame is around what is usable.
    """
    names = list(best["family"].unique())
    figure, axes = panel_grid(len(names), len(names), size=(4.3, 2.9), margin=(0.9, 0.9))
    shades, image = plt.get_cmap(SHADES), None
    for axis, family in zip(axes, names, strict=True):
        cells = best[best["family"] == family]
        sizes, epsilons = sorted(cells["n"].unique()), sorted(cells["epsilon"].unique())
        times = np.full((len(epsilons), len(sizes)), np.nan)
        for row in cells.to_dict("records"):
            x, y = sizes.index(row["n"]), epsilons.index(row["epsilon"])
            times[y, x] = row["times_exact"]
            label = study.algorithm_label(row["algorithm"]).replace(" ", "\n", 1)
            ink = ink_on(shades(TIMES_EXACT(times[y, x])))
            text = f"{label}\n{row['times_exact']:.1f}×"
            axis.text(x, y, text, ha="center", va="center", color=ink)
            if row["is_usable"]:
                axis.add_patch(
                    plt.Rectangle((x - 0.47, y - 0.47), 0.94, 0.94, fill=False, lw=2.5, ec="black")
                )
        image = axis.imshow(times, norm=TIMES_EXACT, cmap=SHADES, origin="lower", aspect="auto")
        axis.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
        axis.set_yticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
        axis.set_title(family)
        axis.set_xlabel("Rows n")
        axis.grid(visible=False)
    axes[0].set_ylabel("Privacy bound ε")
    figure.tight_layout()
    bar = figure.colorbar(image, ax=list(axes), pad=0.01, fraction=0.02)
    bar.set_label("MMD over that of exact samples")
    bar.set_ticks(list(TICKS), labels=list(TICKS.values()))
    return figure


def curves_figure(study, table, epsilon):
    """Times exact against n at one epsilon, a panel a family and a line a method."""
    names = list(table["family"].unique())
    figure, axes = panel_grid(len(names), len(names), size=(3.6, 3.0), sharey=True)
    markers = dict(zip(table["algorithm"].unique(), "os^vDPX*<>hp" * 2, strict=False))
    for axis, family in zip(axes, names, strict=True):
        cells = table[(table["family"] == family) & (table["epsilon"] == epsilon)]
        for name, line in cells.groupby("algorithm", sort=False):
            line = line.sort_values("n")
            axis.plot(
                line["n"],
                line["times_exact"],
                marker=markers[name],
                color=study.algorithm_colour(name),
                label=study.algorithm_label(name),
                linewidth=2.2 if is_one_release(study, name) else 1.0,
            )
        axis.axhline(MOST_TIMES_EXACT, color=NEUTRAL, linestyle="--", label="usable below")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(family)
        axis.set_xlabel("Rows n")
    axes[0].set_ylabel("MMD over that of exact samples")
    figure.tight_layout()
    handles = {}
    for axis in axes:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    legend_below(figure, list(handles.values()), 4)
    return figure


def is_one_release(study, algorithm):
    """Whether an algorithm makes no chain: its steps release nothing."""
    return not hasattr(getattr(dpmcmc, study.algorithms[algorithm]["sampler"]), "mechanism")


# -- In words and tables ---------------------------------------------------------------------------


def front_sentences(study, table, best):
    """What to use and how many rows it takes, as Markdown: an item a family."""
    chains = [name for name in table["algorithm"].unique() if not is_one_release(study, name)]
    usable = table[table["algorithm"].isin(chains) & table["is_usable"]][CELL].drop_duplicates()
    num_releases = (~best["algorithm"].isin(chains)).sum()
    headline = "Release once; run no chain." if num_releases > len(best) / 2 else "Run a chain."
    lines = [
        f"**{headline}** {share(num_releases, len(best))} a method that makes one private release "
        f"is the best. {share(len(usable), len(best))} some private chain is usable.",
        "\nRows that the best method needs to be usable:\n",
    ]
    needed = needed_table(best)
    for family, rows in needed.groupby("family", sort=False):
        parts = [about_rows(study, row, best) for row in rows.to_dict("records")]
        lines.append(f"- **{family}**: " + "; ".join(parts) + ".")
    return "\n".join(lines)


def share(count, total):
    """The beginning of a sentence."""
    return f"In {count} of the {total} combinations of family, n and ε"


def about_rows(study, row, best):
    """Rows that are needed at one epsilon, in words."""
    at = f"at ε = {row['epsilon']:g} "
    sizes = best.loc[best["family"] == row["family"], "n"]
    if not np.isfinite(row["n"]):
        return f"{at}more than {sizes.max():,} rows"
    label = study.algorithm_label(row["algorithm"])
    if row["n"] <= sizes.min():
        return f"{at}{sizes.min():,} rows or fewer ({label})"
    return f"{at}about {rounded(row['n']):,} ({label})"


def rounded(n):
    """n to one digit, or two where the first is 1."""
    digits = 1 if str(int(n))[0] != "1" else 2
    return int(float(f"{n:.{digits}g}"))


def lookup_table(study, best):
    """The best method for each family, n and epsilon: rows of a table."""
    needed = needed_table(best).set_index(["family", "epsilon"])["n"]
    rows = []
    for row in best.to_dict("records"):
        n = needed[row["family"], row["epsilon"]]
        rows.append(
            {
                "posterior": row["family"],
                "n": f"{row['n']:,}",
                "ε": f"{row['epsilon']:g}",
                "best method": study.algorithm_label(row["algorithm"]),
                "times exact": f"{row['times_exact']:.1f}",
                "covers": f"{row['coverage']:.0%}",
                "sd ratio": f"{row['sd_ratio']:.2f}",
                "usable": "yes" if row["is_usable"] else "no",
                "n needed": f"about {rounded(n):,}" if np.isfinite(n) else "more than here",
            }
        )
    return rows


def others_table(study, others):
    """The best release and the best chain on each posterior without a family: rows of a table."""
    rows = []
    for (model, epsilon), cells in others.dropna(subset="mmd").groupby(
        ["model", "epsilon"], sort=False
    ):
        is_release = cells["algorithm"].map(lambda name: is_one_release(study, name))
        row = {"posterior": study.model_label(model), "ε": f"{epsilon:g}"}
        for kind, of_kind in (("release", cells[is_release]), ("chain", cells[~is_release])):
            if of_kind.empty:
                row |= {f"best {kind}": "", f"{kind}: times exact": ""}
                continue
            best = of_kind.loc[of_kind["mmd"].idxmin()]
            times = f"{best['times_exact']:.1f}" + ", usable" * bool(best["is_usable"])
            label = study.algorithm_label(best["algorithm"])
            row |= {f"best {kind}": label, f"{kind}: times exact": times}
        rows.append(row)
    return rows


def others_sentence(study, others):
    """On how many posteriors without a family a release, or a chain, is usable; as Markdown."""
    is_release = others["algorithm"].map(lambda name: is_one_release(study, name))
    problems = others.groupby(["model", "epsilon"]).ngroups
    counts = [
        others[kind & others["is_usable"]].groupby(["model", "epsilon"]).ngroups
        for kind in (is_release, ~is_release)
    ]
    return (
        f"A release is usable in {counts[0]} of {problems} combinations of posterior and ε, some "
        f"private chain in {counts[1]}."
    )


def prices(study, table):
    """What privacy and what a chain cost, in words: medians over the cells of each epsilon."""
    is_release = table["algorithm"].map(lambda name: is_one_release(study, name))
    lines = []
    for epsilon, cells in table.groupby("epsilon"):
        lowest = (
            cells.dropna(subset="mmd").groupby([is_release, "family", "n"])["times_exact"].min()
        )
        release, chain = lowest[True], lowest[False]
        both = (chain / release).dropna()
        lines.append(
            f"- ε = {epsilon:g}: the best release is {release.median():.1f} times as far from the "
            f"posterior as exact samples, the best chain {chain.median():.1f} times (medians over "
            f"families and n). The chain is farther than the release in {(both > 1).sum()} of "
            f"{len(both)} combinations, and {both.median():.1f} times as far in the median."
        )
    return "\n".join(lines)


def method_table(study, table, best):
    """Each method over all cells: rows of a table, the best first."""
    of_best = best.set_index(CELL)["mmd"]
    behind = table["mmd"] / table.set_index(CELL).index.map(of_best)
    wins = best["algorithm"].value_counts()
    rows = []
    for name, cells in table.assign(behind=behind).groupby("algorithm", sort=False):
        largest = cells[cells["n"] == cells["n"].max()]
        rows.append(
            {
                "method": study.algorithm_label(name),
                "best on": f"{wins.get(name, 0) / len(cells):.0%}",
                "usable at": f"{cells['is_usable'].mean():.0%}",
                "behind the best": f"{cells['behind'].median():.1f}",
                "covers": f"{cells['coverage'].mean():.0%}",
                "sd ratio": f"{cells['sd_ratio'].median():.2f}",
                "seconds": f"{largest['seconds'].max():.1f}",
            }
        )
    return sorted(rows, key=lambda row: float(row["behind the best"]))


def never_usable(study, table):
    """Which methods are usable at no n and epsilon of any family, as a sentence."""
    is_usable = table.groupby("algorithm", sort=False)["is_usable"].any()
    names = [study.algorithm_label(name) for name in is_usable.index[~is_usable]]
    if not names:
        return "Every method is usable somewhere."
    verb = "is" if len(names) == 1 else "are"
    return f"**Nobody should use these here:** {', '.join(names)} {verb} usable nowhere."


def ties(study, table):
    """How many first ranks are shared, and how many data sets would tell methods apart."""
    first = table[table["rank"] == 1]
    shared = first[first["is_tied"]]
    cells, total = shared[CELL].drop_duplicates(), table[CELL].drop_duplicates()
    text = f"In {len(cells)} of {len(total)} combinations two or more methods share the first rank"
    if shared.empty:
        return f"{text}."
    counts = []
    for _, group in shared.groupby(CELL):
        a, b = group.sort_values("mmd").iloc[:2].to_dict("records")
        width = max(a["mmd_high"] - a["mmd_low"], b["mmd_high"] - b["mmd_low"]) / 2
        gap = b["mmd"] - a["mmd"]
        counts.append((width / gap) ** 2 if gap > 0 else np.inf)
    times = float(np.median(counts))
    more = f"about {times:.0f} times as many" if np.isfinite(times) else "far more"
    return (
        f"{text}: the intervals of their differences include 0. To tell the first two of them "
        f"apart would take {more} data sets, in the median."
    )


def settings_table(study):
    """Settings of the models that others take them from: rows of a table."""
    labels, rows = families(study.models), []
    for name, algorithm in study.algorithms.items():
        for model, settings in algorithm["settings"].items():
            if study.models[model]["num_rows"] == TUNED_ROWS and model in labels:
                text = ", ".join(f"{key}: {value}" for key, value in settings.items())
                row = {"posterior": labels[model], "method": study.algorithm_label(name)}
                rows.append(row | {"settings": text or "defaults"})
    return sorted(rows, key=lambda row: row["posterior"])
