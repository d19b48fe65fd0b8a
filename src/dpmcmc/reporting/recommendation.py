"""Which algorithm to use for which posterior: what the ranking says, in sentences and as a table.

A problem is a posterior at one ε.
"""

from collections import Counter
from itertools import groupby

import pandas as pd

from dpmcmc.evaluation.analysis import KEYS, LARGEST_R_HAT, MOST_TIMES_EXACT
from dpmcmc.reporting.words import among, interval, listing, number

RULE = (
    f"An algorithm is *usable* where split R-hat of its chains (1 where they agree) is at most "
    f"{LARGEST_R_HAT:g} and their median MMD (maximum mean discrepancy from the posterior) at most "
    f"{MOST_TIMES_EXACT:g} times that of exact samples."
)


def with_seconds(ranking, timings):
    """The ranking with `seconds`, the median CPU time of a chain of each cell."""
    seconds = timings.groupby(KEYS)["cpu_seconds"].median().rename("seconds").reset_index()
    return ranking.merge(seconds, on=KEYS, how="left")


def problems(ranking, timings):
    """What to use on each problem: a row each.

    Parameters
    ----------
    ranking, timings : DataFrame
        Tables of the study.

    Returns
    -------
    DataFrame
        That row of the ranking with the lowest median MMD, with `seconds`, median CPU time of a
        chain; and `best`, a list of ids: the usable algorithms, if there are any, else those of
        the first rank that are nearer than never moving.
    """
    ranking = with_seconds(ranking.dropna(subset="rank"), timings)
    rows = []
    for _, problem in ranking.groupby(["model", "epsilon"], sort=False):
        is_best = problem["is_usable"]
        if not is_best.any():
            is_best = (problem["rank"] == 1) & problem["is_nearer"]
        leader = problem[is_best] if is_best.any() else problem
        leader = leader.loc[leader["mmd"].idxmin()].to_dict()
        rows.append(leader | {"best": list(problem.loc[is_best, "algorithm"])})
    return pd.DataFrame(rows, columns=[*ranking, "best"])


def problem_rows(models, algorithms, solved):
    """Those problems for a table of a page: what to use, what that is worth, what it costs.

    Parameters
    ----------
    models, algorithms : dict of str to dict
        As in `study.json`, with a `label` each.
    solved : DataFrame
        From `problems`.
    """
    return [
        {
            "posterior": models[row["model"]]["label"],
            "ε": f"{row['epsilon']:g}",
            "nearest": listing([algorithms[name]["label"] for name in row["best"]]) or "–",
            "MMD": interval(*(row[name] for name in ("mmd", "mmd_low", "mmd_high"))),
            "iterations": f"{row['iterations']:,.0f}",
            "seconds": f"{row['seconds']:.2f}",
            **worth(row),
        }
        for row in solved.to_dict("records")
    ]


def worth(row):
    """What a median MMD is worth, of a row of the ranking: texts of columns."""
    if pd.isna(row["mmd"]):
        return dict.fromkeys(["times exact", "of the way", "R-hat", "ESS", "usable"], "–")
    return {
        "times exact": f"{row['times_exact']:.1f}",
        "of the way": f"{row['way_from_start']:.0%}" if row["is_nearer"] else "none",
        "R-hat": number(row["r_hat"], ".2f"),
        "ESS": number(row["ess"], ".1f"),
        "usable": "yes" if row["is_usable"] else "no",
    }


def described(algorithms, ranking):
    """What the algorithms are that are ranked: items of Markdown."""
    return [
        f"- **{entry['label']}**"
        + (f" (accountant {entry['accountant']})" if entry["accountant"] else "")
        + (f": {entry['about']}" if entry["about"] else ".")
        for name, entry in algorithms.items()
        if (ranking["algorithm"] == name).any()
    ]


def recommendations(models, algorithms, solved):
    """What to use on each model, in words, as Markdown; parameters as for `problem_rows`.

    Returns
    -------
    list of str
        How many problems have a usable algorithm, then an item a model.
    """
    num_usable, total = solved["is_usable"].sum(), len(solved)
    count = f"{num_usable} of {total}" if num_usable else f"none of {total}"
    items = [f"**A usable algorithm is there for {count} problems**, posteriors at one ε. {RULE}\n"]
    for model, rows in solved.groupby("model", sort=False):
        label, num_rows = (models[model][key] for key in ("label", "num_rows"))
        stretches = groupby(
            rows.sort_values("epsilon").to_dict("records"), lambda r: r["is_usable"]
        )
        said = (stretch(algorithms, is_usable, list(rows)) for is_usable, rows in stretches)
        items.append(f"- **{label}**, n = {num_rows:,}. {' '.join(said)}")
    return items


def stretch(algorithms, is_usable, rows):
    """A sentence on successive ε of one posterior, rows of `problems`, that are usable or not."""
    at = f"At ε = {among([row['epsilon'] for row in rows], 'g')}"
    best = [name for row in rows for name in row["best"]]
    names = [name for name, _ in Counter(best).most_common()]
    counts = listing([f"{algorithms[name]['label']} at {best.count(name)}" for name in names])
    ends = rows[:1] + rows[1:][-1:]
    far = listing([f"{row['times_exact']:.1f} at ε = {row['epsilon']:g}" for row in ends])
    if is_usable:
        return f"{at}, use: {counts} of {len(rows)} ε; times as far as exact samples: {far}."
    if not names:
        return f"{at}, **nothing is usable**, and nothing is nearer than never moving."
    nearest = f"Nearest: {counts} of {len(rows)} ε"
    return f"{at}, **nothing is usable**. {nearest}; times as far as exact samples: {far}."
