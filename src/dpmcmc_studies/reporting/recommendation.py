"""Which algorithm to use for which posterior: what the ranking says, in sentences and as a table.

A problem is a posterior at one ε.
"""

from itertools import groupby
from typing import NamedTuple

import numpy as np
import pandas as pd

from dpmcmc_studies.analysis.ranking import KEYS, LARGEST_R_HAT, MOST_TIMES_EXACT
from dpmcmc_studies.reporting import worth as in_rows
from dpmcmc_studies.reporting.words import (
    accountant_label,
    interval,
    listing,
    markdown_table,
    number,
    with_rows,
)

RULE = (
    f"An algorithm is *usable* if it meets three conditions. Its median MMD (maximum mean "
    f"discrepancy from the posterior) is at most {MOST_TIMES_EXACT:g} times that of exact samples. "
    f"It is lower than that of never moving. The split R-hat of its chains (1 if they agree) is at "
    f"most {LARGEST_R_HAT:g}, where several chains have the same data."
)
MOST_LISTED = 2  # successive ε that are listed; of more, the first and the last stand for all
LEGEND = (
    "*use, or closest*: the usable algorithms. If none is usable, the closest ones, which share "
    "the first rank and are closer than never moving. The other columns describe the one of "
    "them with the lowest median MMD. *distance closed*: 0 % means that the chain never moved, "
    "100 % means exact. *mean error* is the distance between the means of the sample and the "
    "posterior, in posterior standard deviations. *sd ratio* is the standard deviation of the "
    "sample over that of the posterior: below 1, intervals are too short. *covers* is the share of "
    "90 % intervals that contain the true parameter. It is over the many data sets of the table "
    "`intervals` where that has the cell, and else over the chains if each data set has its own "
    "parameter or chain. *ESS* "
    "(effective sample size), iterations and seconds are those of one chain."
)


class Answer(NamedTuple):
    """What to use, in Markdown."""

    headline: str
    rule: str
    items: list[str]  # one a posterior
    table: str  # of all problems


def what_to_use(study, read, names):
    """`Answer` of a study: by worth in rows where chains have scores, else by MMD.

    Parameters
    ----------
    study : StudyDescription
    read : function
        From the name of a table of the study to the table, a DataFrame.
    names : collection of str
        Of the tables that the study has.
    """
    labels = study.models, study.algorithms
    if "worth" in names:
        worth_of_cells = read("worth")
        return Answer(
            in_rows.headline(worth_of_cells),
            in_rows.RULE,
            in_rows.recommendations(*labels, worth_of_cells),
            in_rows.problem_table(*labels, worth_of_cells),
        )
    solved = problems(joined(read, names))
    return Answer(
        headline(solved), RULE, recommendations(*labels, solved), problem_table(*labels, solved)
    )


def joined(read, names):
    """The ranking with what other tables say of its cells.

    Parameters
    ----------
    read : function
        From the name of a table of the study to the table, a DataFrame.
    names : collection of str
        Of the tables that the study has: `ranking`, `timings` and perhaps `intervals`.

    Returns
    -------
    DataFrame
        With `seconds`, the median CPU time of a chain. `coverage` of 90 % intervals is that over
        the data sets of `intervals` in cells that this table has.
    """
    table = with_seconds(read("ranking"), read("timings"))
    if "intervals" not in names:
        return table
    found = read("intervals").reindex(columns=[*KEYS, "coverage_90"])
    covered = table[KEYS].merge(found, on=KEYS, how="left")["coverage_90"]
    return table.assign(coverage=covered.fillna(table.get("coverage", np.nan)))


def with_seconds(table, timings):
    """A table of cells with `seconds`, the median CPU time of a chain, from the table `timings`."""
    seconds = timings.groupby(KEYS)["cpu_seconds"].median().rename("seconds")
    return table.merge(seconds.reset_index(), on=KEYS, how="left")


def problems(ranking):
    """Recommended method for each problem: a row each.

    Parameters
    ----------
    ranking : DataFrame
        From `joined`.

    Returns
    -------
    DataFrame
        In the order of the ranking. `best`, a list of ids: the usable
        algorithms; if there are none, those of the first rank that are closer than never moving.
        The other columns are the ranking's, of the one of these with the lowest median MMD;
        missing if `best` is empty.
    """
    ranking, rows = ranking.dropna(subset="rank"), []
    for (model, epsilon), problem in ranking.groupby(["model", "epsilon"], sort=False):
        best = problem[problem["is_usable"]]
        if best.empty:
            best = problem[(problem["rank"] == 1) & problem["is_nearer"]]
        row = {"model": model, "epsilon": epsilon, "is_usable": False}
        if len(best):
            row = best.loc[best["mmd"].idxmin()].to_dict()
        rows.append(row | {"best": list(best["algorithm"])})
    return pd.DataFrame(rows, columns=[*ranking, "best"])


def problem_table(models, algorithms, solved):
    """Markdown table of problems: recommended method, its quality, its cost.

    Parameters
    ----------
    models, algorithms : dict of str to dict
        As in `study.json`, with a `label` each.
    solved : DataFrame
        From `problems`.
    """
    rows = [
        {
            "posterior": models[row["model"]].label,
            "ε": f"{row['epsilon']:g}",
            "use, or closest": listing([algorithms[name].label for name in row["best"]]) or "–",
            "MMD": interval(*(row[name] for name in ("mmd", "mmd_low", "mmd_high"))),
            "iterations": number(row["iterations"], ",.0f"),
            "seconds": number(row["seconds"], ".2f"),
            **worth(row),
        }
        for row in solved.to_dict("records")
    ]
    return f"{markdown_table(pd.DataFrame(rows))}\n\n{LEGEND}" if rows else ""


def worth(row):
    """Quality by the median MMD of a row of the ranking: texts of columns."""
    is_known = pd.notna(row["mmd"])
    texts = {
        "times exact": f"{row['times_exact']:.1f}",
        "distance closed": f"{row['distance_closed']:.0%}" if row["is_nearer"] else "none",
        "mean error": number(row["mean_error"], ".2f"),
        "sd ratio": number(row["sd_ratio"], ".2f"),
        **({"covers": number(row["coverage"], ".0%")} if "coverage" in row else {}),
        "R-hat": number(row["r_hat"], ".2f"),
        "ESS": number(row["ess"], ".1f"),
        "usable": "yes" if row["is_usable"] else "no",
    }
    return texts if is_known else dict.fromkeys(texts, "–")


def described(algorithms, ranking):
    """Descriptions of the ranked algorithms: items of Markdown."""
    return [
        f"- **{entry.label}**"
        + (f" (accounting: {accountant_label(entry.accountant)})" if entry.accountant else "")
        + (f": {entry.about}" if entry.about else ".")
        for name, entry in algorithms.items()
        if (ranking["algorithm"] == name).any()
    ]


def recommendations(models, algorithms, solved):
    """Recommended method for each model: items of Markdown; parameters as for `problem_table`."""
    items = []
    for model, rows in solved.groupby("model", sort=False):
        stretches = groupby(
            rows.to_dict("records"),
            lambda row: (row["is_usable"], bool(row["best"])),
        )
        sentences = " ".join(stretch(algorithms, list(rows)) for _, rows in stretches)
        items.append(f"- {heading(models[model])} {sentences}")
    return items


def heading(model):
    """Label and number of rows of a model of `study.json`, as a sentence in Markdown."""
    return f"{with_rows(model)}."


def headline(solved):
    """Number of problems with a usable algorithm: a sentence in bold."""
    return f"**{how_many_usable(solved['is_usable'].sum(), len(solved))}**"


def how_many_usable(count, total):
    """Number of problems with a usable algorithm, of all: a sentence."""
    if total == 0:
        return "No algorithm has a rank, so there is nothing to compare."
    if total == 1:
        word = "a" if count else "no"
        return f"The only combination of posterior and ε has {word} usable algorithm."
    if count == total:
        which = "Both" if total == 2 else f"All {total}"
        return f"{which} combinations of posterior and ε have a usable algorithm."
    number, verb = {0: "None", 1: "One"}.get(count, count), "has" if count < 2 else "have"
    return f"{number} of the {total} combinations of posterior and ε {verb} a usable algorithm."


def stretch(algorithms, rows):
    """Sentences on successive ε of one posterior, rows of `problems` that are usable alike."""
    epsilons = [row["epsilon"] for row in rows]
    at = f"At {epsilons_text(epsilons)}"
    if len(rows) > MOST_LISTED:
        at = f"At each of the {len(rows)} ε from {epsilons[0]:g} to {epsilons[-1]:g}"
    found = {}
    for row in rows:
        for name in row["best"]:
            found.setdefault(algorithms[name].label, []).append(row["epsilon"])
    if not found:
        return f"{at}, **no algorithm is usable**, and none is closer than never moving."
    names = sorted(found, key=lambda name: -len(found[name]))
    if min(map(len, found.values())) < len(rows):
        names = [f"{name} ({where(found[name], epsilons)})" for name in names]
    answer = f"use {listing(names, 'or')}"
    if not rows[0]["is_usable"]:
        verb = "is" if len(names) == 1 else "are"
        answer = f"**no algorithm is usable**. The closest {verb} {listing(names)}"
    whose = "Its" if len(names) == 1 else "The lowest"
    far = [f"{times(rows[0]['times_exact'])} that of exact samples"]
    if len(rows) > 1:
        last = times(rows[-1]["times_exact"])
        far = [f"{far[0]} at ε = {epsilons[0]:g}", f"{last} at ε = {epsilons[-1]:g}"]
    return f"{at}, {answer}. {whose} MMD is {listing(far)}."


def epsilons_text(epsilons):
    """Some ε as a list: "ε = 0.25 and 1"."""
    return f"ε = {listing([f'{epsilon:g}' for epsilon in epsilons])}"


def where(some, epsilons):
    """At which of several ε: the list of them, or all."""
    if len(some) == len(epsilons) > MOST_LISTED:
        return f"all {len(some)} ε"
    return epsilons_text(some)


def times(ratio):
    """Ratio of two numbers, in words."""
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"
