"""Which method for which n and epsilon: families of posteriors, a map, and rows that it takes."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

import dpmcmc
from dpmcmc_studies.analysis.ranking import MOST_TIMES_EXACT
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.reporting.figures.metrics import USABLE, USABLE_LINE
from dpmcmc_studies.reporting.figures.strips import (
    NOT_CLOSER,
    SHADES,
    TICKS,
    TIMES_EXACT,
    closest_algorithms,
    scale_bar,
)
from dpmcmc_studies.reporting.figures.style import NEUTRAL, ink_on, legend_below, panel_grid
from dpmcmc_studies.reporting.words import interval, listing, number

LEAST_SPENT = 0.9  # of its budget, by a chain that is not called short
NO_CHAIN = "*"  # beside the number of a cell where no chain was tried
NONE = "none"  # in place of a method where all are no closer than never moving
FRAME = {"fill": False, "lw": 2.5, "ec": "black"}  # around what is usable
TUNED_ROWS = 10_000  # n of the models whose settings others take
SHORT_SEARCH = 16  # trials
SEARCHES = Path(__file__).with_name("tuning")  # what `snakemake tune` found
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
        same = {key: value for key, value in model.entry.items() if key != "num_rows"}
        groups.setdefault(json.dumps(same, sort_keys=True), []).append(name)
    labels = {}
    for names in groups.values():
        if len(names) > 1:
            first = models[names[0]].label
            labels |= dict.fromkeys(names, first.rpartition(", n = ")[0] or first)
    return labels


def with_kinds(study, ranking):
    """The ranking with `is_release`: whether the algorithm makes no chain.

    The steps of such an algorithm release nothing.
    """
    samplers = {name: getattr(dpmcmc, of.sampler) for name, of in study.algorithms.items()}
    is_release = {name: cls.has_free_steps for name, cls in samplers.items()}
    return ranking.assign(is_release=ranking["algorithm"].map(is_release))


def with_families(ranking, models):
    """The ranking of models that have a family, with `family`, `n` and `d`."""
    labels = families(models)
    table = ranking[ranking["model"].isin(list(labels))]
    sizes = {name: model.num_rows for name, model in models.items()}
    dimensions = {name: model.dimension for name, model in models.items()}
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
    """The method with the lowest median MMD for each family, n and epsilon: rows of the table.

    Of those that are closer than never moving; where none is, the row's `is_nearer` is false.
    They are in the order of the table. `has_chain` says whether any chain was tried there.
    """
    has_chain = (~table["is_release"]).groupby([table[key] for key in CELL]).transform("any")
    closer_first = (
        table.assign(has_chain=has_chain)
        .dropna(subset="mmd")
        .sort_values(["is_nearer", "mmd"], ascending=[False, True], kind="stable")
    )
    return closer_first.drop_duplicates(CELL).sort_index()


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
    is_usable, sizes = cells["is_usable"].to_numpy(), cells["n"].to_numpy(dtype=float)
    times = cells["times_exact"].to_numpy()
    times = np.where(is_usable, times, np.maximum(times, MOST_TIMES_EXACT))
    not_usable = np.flatnonzero(~is_usable)
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
        usable = cells[cells["is_usable"]]
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
        sizes = best.loc[best["family"] == family, "n"]
        logs = np.log(list(known)), np.log(list(known.values()))
        row = {"posterior": family}
        for epsilon in epsilons:
            n = known.get(epsilon, float(np.exp(np.interp(np.log(epsilon), *logs))))
            row[f"ε = {epsilon:g}"] = n_text(n, sizes)
        table.append(row)
    return table


def map_figure(study, best):
    """A map for each family: n across, epsilon up, the best method and its times exact in a cell.

    Colours are times exact on a logarithmic scale; grey is a cell where nothing is closer than
    never moving. A thick frame is around what is usable. An asterisk says that no chain was tried.
    """
    names = list(best["family"].unique())
    figure, axes = panel_grid(len(names), 1, size=(4.4, 2.6), margin=(0.6, 0.6))
    shades = plt.get_cmap(SHADES)
    for axis, family in zip(axes, names, strict=True):
        cells = best[best["family"] == family]
        sizes, epsilons = sorted(cells["n"].unique()), sorted(cells["epsilon"].unique())
        for row in cells.to_dict("records"):
            x, y = sizes.index(row["n"]), epsilons.index(row["epsilon"])
            colour, text = NOT_CLOSER, NONE
            mark = NO_CHAIN * (not row["has_chain"])
            if row["is_nearer"]:
                colour = shades(TIMES_EXACT(row["times_exact"]))
                label = study.algorithm_label(row["algorithm"]).replace(" ", "\n", 1)
                text = f"{label}\n{row['times_exact']:.1f}×"
            axis.add_patch(plt.Rectangle((x - 0.5, y - 0.5), 1, 1, color=colour, lw=0))
            axis.text(x, y, text + mark, ha="center", va="center", color=ink_on(colour))
            if row["is_usable"]:
                axis.add_patch(plt.Rectangle((x - 0.47, y - 0.46), 0.94, 0.92, **FRAME))
        axis.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
        axis.set_yticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
        axis.set(xlim=(-0.5, len(sizes) - 0.5), ylim=(-0.5, len(epsilons) - 0.5))
        axis.set(title=family, ylabel="Privacy bound ε")
        axis.grid(visible=False)
    axes[-1].set_xlabel("Rows n")
    figure.tight_layout()
    scale_bar(figure, TIMES_EXACT, SHADES, TICKS, "MMD over that of exact samples")
    handles = [
        Patch(**FRAME, label="Usable"),
        Patch(color=NOT_CLOSER, label="Nothing is closer than never moving"),
        Patch(alpha=0, label=f"{NO_CHAIN} No chain was tried"),
    ]
    legend_below(figure, handles, 2, -0.7 / figure.get_size_inches()[1])
    return figure


def curves_figure(study, table, epsilon):
    """Times exact against n at one epsilon, a panel a family and a line a method."""
    cells = table[table["epsilon"] == epsilon]
    drawn = closest_algorithms(cells, CELL)
    of_release = set(cells.loc[cells["is_release"], "algorithm"])
    names = list(cells["family"].unique())
    figure, axes = panel_grid(len(names), 1, size=(4.4, 2.3), sharex=True)
    markers = dict(zip(drawn, "os^vDPX*", strict=False))
    handles = {}
    for axis, family in zip(axes, names, strict=True):
        of_family = cells[cells["family"] == family].sort_values("n")
        for name in drawn:
            line = of_family[of_family["algorithm"] == name]
            (handles[name],) = axis.plot(
                line["n"],
                line["times_exact"],
                marker=markers[name],
                markeredgecolor=NEUTRAL,
                markeredgewidth=0.5,
                color=study.algorithm_colour(name),
                label=study.algorithm_label(name),
                linewidth=2.2 if name in of_release else 1.0,
            )
        axis.axhline(MOST_TIMES_EXACT, **USABLE_LINE)
        axis.set(xscale="log", yscale="log", title=family, ylabel="MMD over that\nof exact samples")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(NullFormatter())
    axes[-1].set_xlabel("Rows n")
    figure.tight_layout()
    legend_below(figure, [*handles.values(), USABLE], 3)
    return figure


# -- In words and tables ---------------------------------------------------------------------------


def front_sentences(study, table, best):
    """What to use and how many rows it takes, as Markdown: an item a family."""
    usable = table[~table["is_release"] & table["is_usable"]][CELL].drop_duplicates()
    closer = best[best["is_nearer"]]
    num_releases = closer["is_release"].sum()
    headline = "Release once; run no chain." if num_releases > len(closer) / 2 else "Run a chain."
    lines = [
        f"**{headline}** {where_releases_are_best(num_releases, len(closer), len(best))} "
        + ("No private chain is usable in any." if usable.empty else "")
        + (f"Some private chain is usable in {len(usable)}." if len(usable) else ""),
        "\nThe best method needs about this many rows to be usable. With fewer, nothing is:\n",
    ]
    needed = needed_table(best)
    for family, rows in needed.groupby("family", sort=False):
        parts = [about_rows(study, row, best) for row in rows.to_dict("records")]
        lines.append(f"- **{family}**: " + "; ".join(parts) + ".")
    return "\n".join(lines)


def where_releases_are_best(count, closer, total):
    """A sentence: in how many combinations a release is the best, and in how many nothing is."""
    best = (
        f"A method that makes one private release is the best in {count} of the {total} "
        "combinations of family, n and ε"
    )
    if closer == total:
        return f"{best}."
    return f"{best}; in {total - closer} nothing is closer than never moving."


def limits_of_chains(table, budgets):
    """Where no chain ran, and how many chains stop before their budget is spent: sentences.

    Parameters
    ----------
    table : DataFrame
        Rows of the ranking.
    budgets : DataFrame
        Table `budgets` of the study.
    """
    problem = ["model", "epsilon"]
    of_chains = table[~table["is_release"]]
    without = table.groupby(problem).ngroups - of_chains.groupby(problem).ngroups
    chains = of_chains.merge(budgets, on=[*problem, "algorithm"])
    capped = (chains["spent_epsilon"] < LEAST_SPENT * chains["epsilon"]).sum()
    missing = f"No chain ran in {without} of these combinations. " if without else ""
    return missing + (
        f"The study limits the length of chains: {capped} of the {len(chains)} cells of a chain "
        f"method, a posterior and an ε spend less than {LEAST_SPENT:.0%} of ε. Longer chains may "
        "come closer."
    )


def about_rows(study, row, best):
    """Rows that are needed at one epsilon, in words."""
    at = f"at ε = {row['epsilon']:g} "
    sizes = best.loc[best["family"] == row["family"], "n"]
    is_known = pd.notna(row["algorithm"])
    of_method = f" ({study.algorithm_label(row['algorithm'])})" if is_known else ""
    return f"{at}{n_text(row['n'], sizes)}{of_method}"


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
                "best method": best_label(study, row),
                "times exact": f"{row['times_exact']:.1f}",
                "covers": f"{row['coverage']:.0%}",
                "sd ratio": f"{row['sd_ratio']:.2f}",
                "usable": "yes" if row["is_usable"] else "no",
                "n needed": n_text(n, best.loc[best["family"] == row["family"], "n"]),
            }
        )
    return rows


def best_label(study, row):
    """Label of the method of a row of `best_methods`, or that there is none."""
    return study.algorithm_label(row["algorithm"]) if row["is_nearer"] else NONE


def n_text(n, sizes):
    """Rows that are needed, in words; of a family with these numbers of rows."""
    if not np.isfinite(n):
        return f"more than {sizes.max():,}"
    return f"{sizes.min():,} or fewer" if n <= sizes.min() else f"about {rounded(n):,}"


def others_table(study, others):
    """The best release and the best chain on each posterior without a family: rows of a table."""
    rows = []
    ranked = others.dropna(subset="mmd")
    for (model, epsilon), cells in ranked.groupby(["model", "epsilon"], sort=False):
        is_release = cells["is_release"]
        row = {"posterior": study.model_label(model), "ε": f"{epsilon:g}"}
        for kind, of_kind in (("release", cells[is_release]), ("chain", cells[~is_release])):
            if of_kind.empty:
                row |= {f"best {kind}": "", f"{kind}: times exact": ""}
                continue
            if not of_kind["is_nearer"].any():
                row |= {f"best {kind}": NONE, f"{kind}: times exact": ""}
                continue
            best = of_kind.loc[of_kind["mmd"].where(of_kind["is_nearer"]).idxmin()]
            times = f"{best['times_exact']:.1f}" + ", usable" * bool(best["is_usable"])
            label = study.algorithm_label(best["algorithm"])
            row |= {f"best {kind}": label, f"{kind}: times exact": times}
        rows.append(row)
    return rows


def others_sentence(others):
    """On how many posteriors without a family a release, or a chain, is usable; as Markdown."""
    problem, usable = ["model", "epsilon"], others[others["is_usable"]]
    problems = others.groupby(problem).ngroups
    counts = [
        usable[usable["is_release"] == kind].groupby(problem).ngroups for kind in (True, False)
    ]
    chains = f"Some private chain is usable in {counts[1]}."
    return f"A release is usable in {counts[0]} of {problems} combinations of posterior and ε. " + (
        chains if counts[1] else "No private chain is usable in any."
    )


def prices(table):
    """What privacy and what a chain cost, in words: medians over the cells of each epsilon."""
    lines = []
    for epsilon, cells in table.groupby("epsilon"):
        found = cells.dropna(subset="mmd")
        lowest = found.groupby(["is_release", "family", "n"])["times_exact"].min()
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
    wins = best.loc[best["is_nearer"], "algorithm"].value_counts()
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
    return f"**Nobody should use these here:** {listing(names)} {verb} usable nowhere."


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


def searched(study):
    """The committed searches on the families: tables of their trials, and of what they found."""
    names = ("trials", "summary")
    trials, found = (read_csv(SEARCHES / f"{name}.csv") for name in names)
    models = list(families(study.models))
    return trials[trials["model"].isin(models)], found[found["model"].isin(models)]


def gain_of_search(study, trials, found, examples):
    """What a longer search gains, as Markdown.

    Parameters
    ----------
    study : StudyResults
    trials, found : DataFrame
        From `searched`.
    examples : list of (str, str)
        Models and algorithms.
    """
    search = ["model", "algorithm"]
    feasible = trials[trials["is_feasible"]]
    least = feasible.groupby(search)["mmd"].min()
    short = feasible[feasible["trial"] <= SHORT_SEARCH].groupby(search)["mmd"].min()
    most, confirmed = trials["trial"].max(), found["best_mmd"] / found["own_mmd"]
    found = found.set_index(search)
    lines = [
        f"Each search had {most} trials. The best of {most} has {(least / short).median():.2f} "
        f"times the MMD of the best of the first {SHORT_SEARCH}, in the median of the "
        f"{len(found)} searches. This flatters the longer search, which takes the least of more "
        "numbers. In new chains the settings that were found have "
        f"{confirmed.median():.2f} times the MMD of those that the search began with. For example:",
        "",
    ]
    for model, algorithm in examples:
        row, of = found.loc[(model, algorithm)], (model, algorithm)
        lines.append(
            f"- {study.algorithm_label(algorithm)}, {study.model_label(model)}: MMD "
            f"{short[of]:.2f} after {SHORT_SEARCH} trials, {least[of]:.2f} after {most}. In new "
            f"chains {row['own_mmd']:.2f} before the search and {row['best_mmd']:.2f} after it."
        )
    return "\n".join(lines)


def gain_of_smaller_bounds(study, found, searches):
    """Gain of smaller clip bounds of releases, as a list in Markdown.

    Parameters
    ----------
    study : StudyResults
    found : DataFrame
        From `searched`.
    searches : list of (str, str)
        Models and algorithms.
    """
    found, lines = found.set_index(["model", "algorithm"]), []
    for model, algorithm in searches:
        row = found.loc[(model, algorithm)]
        own, best = (json.loads(row[f"{kind}_settings"]) for kind in ("own", "best"))
        changes = [
            f"a `{key}` of {best[key]:g} in place of {own[key]:g}"
            for key in own
            if best[key] < own[key]
        ]
        lines.append(
            f"- {study.algorithm_label(algorithm)}, {study.model_label(model)}: "
            f"{listing(changes)} lowers the MMD from {row['own_mmd']:.2f} to {row['best_mmd']:.2f}."
        )
    return "\n".join(lines)


def settings_table(study):
    """Settings of the models that others take them from: rows of a table."""
    labels, rows = families(study.models), []
    for name, algorithm in study.algorithms.items():
        for model, settings in algorithm.settings.items():
            if study.models[model].num_rows == TUNED_ROWS and model in labels:
                text = ", ".join(f"{key}: {value}" for key, value in settings.items())
                row = {"posterior": labels[model], "method": study.algorithm_label(name)}
                rows.append(row | {"settings": text or "defaults"})
    return sorted(rows, key=lambda row: row["posterior"])


def cells_table(study, cells):
    """Table of all cells of a family, by number of rows, epsilon and MMD: a list of dict.

    Parameters
    ----------
    study : StudyResults
    cells : DataFrame
        From `with_families`.
    """
    return [
        {
            "n": f"{row['n']:,}",
            "ε": f"{row['epsilon']:g}",
            "method": study.algorithm_label(row["algorithm"]),
            "times exact": number(row["times_exact"], ".1f"),
            "MMD": interval(*(row[name] for name in ("mmd", "mmd_low", "mmd_high"))),
            "covers": number(row["coverage"], ".0%"),
            "sd ratio": number(row["sd_ratio"], ".2f"),
            "mean off by": number(row["mean_error"], ".2f"),
            "first on": number(row["share_first"], ".0%"),
            "iterations": row["iterations"],
            "seconds": number(row["seconds"], ".1f"),
            "usable": "yes" if row["is_usable"] else "no",
        }
        for row in cells.sort_values(["n", "epsilon", "mmd"]).to_dict("records")
    ]
