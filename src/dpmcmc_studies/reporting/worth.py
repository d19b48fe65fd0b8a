"""Worth of posteriors in rows, in words and tables, from the table `worth`."""

import numpy as np
import pandas as pd

from dpmcmc.evaluation.scores import LEAST_COVERAGE
from dpmcmc_studies.analysis.worth import HONEST, NO_INTERVALS
from dpmcmc_studies.reporting.words import listing, markdown_table, with_rows

RULE = (
    "The *worth* of a private posterior is the share of the rows from which an exact posterior "
    "would be as good: at a worth of 66 %, 10,000 private rows tell as much as 6,600 without "
    "privacy. It is 1 / r², where r is the interval score of the 90 % intervals over that of the "
    "exact posterior on the same data. A method is *honest* if its intervals hold at least "
    f"{LEAST_COVERAGE:.0%} of the exact posterior, which is sure at 95 % confidence. Where it is "
    "not, its worth hangs on the price of a miss, so it stands in brackets."
)
LEGEND = (
    "*worth* with its standard error; in brackets if the method is not surely honest. *covers* is "
    "the mass of the exact posterior within 90 % intervals, *width* their width over that of the "
    "exact intervals. *ε spent*: below 90 % a cell has no rank, since a longer chain might be "
    "better."
)


def share(value):
    """A share in percent, with a digit below 10 %."""
    return f"{value:.0%}" if value >= 0.0995 or value == 0 else f"{value:.1%}"


def with_error(value, error):
    """A share with its standard error, in percent."""
    if pd.isna(value):
        return "–"
    if not np.isfinite(error):
        return share(value)
    digits = 0 if 100 * error >= 0.95 else 1
    return f"{100 * value:.{digits}f} ± {100 * error:.{digits}f} %"


def sure(row, name):
    """A share of a row with its standard error, in brackets where the cell is not honest."""
    text = with_error(row[name], row[f"{name}_se"])
    return text if row["honest"] == HONEST else f"({text})"


def verdict(row):
    """The verdict on a cell; where samples have no intervals, with their number."""
    if row["honest"] != NO_INTERVALS:
        return row["honest"]
    return f"{NO_INTERVALS} ({row['not_scored']} of {row['samples']})"


def problems(worth):
    """The best method of each posterior and epsilon: rows of the table `worth`.

    It is the honest method of the first rank. Where no ranked method is honest, it is the first of
    those that are ranked, and `honest` says so; where no method is ranked, its `algorithm` is an
    empty text.
    """
    rows = []
    for (model, epsilon), cells in worth.groupby(["model", "epsilon"], sort=False):
        ranked = cells.dropna(subset="rank")
        row = {"model": model, "epsilon": epsilon, "algorithm": "", "honest": ""}
        rows.append(ranked.iloc[0].to_dict() if len(ranked) else row)
    return pd.DataFrame(rows, columns=worth.columns)


def headline(worth):
    """How many problems have an honest method, and how many chains are honest: sentences."""
    best = problems(worth)
    count = int((best["honest"] == HONEST).sum())
    verdicts = worth.dropna(subset="rank")["honest"].value_counts()
    said = listing([f"{number} {verdict}" for verdict, number in verdicts.items()])
    ranked = int(verdicts.sum())
    return (
        f"**{count} of the {len(best)} combinations of posterior and ε have a surely honest "
        f"method.** Of {len(worth)} cells (an algorithm on a posterior at one ε), {ranked} are "
        f"ranked: {said}."
    )


def recommendations(models, algorithms, worth):
    """The best method for each posterior: items of Markdown.

    Parameters
    ----------
    models, algorithms : dict of str to dict
        As in `study.json`, with a `label` each.
    worth : DataFrame
        Table `worth` of the study.
    """
    items = []
    for model, rows in problems(worth).groupby("model", sort=False):
        texts = [sentence(algorithms, row) for row in rows.to_dict("records")]
        items.append(f"- {with_rows(models[model])}: {'; '.join(texts)}.")
    return items


def sentence(algorithms, row):
    """The best method at one epsilon, in a few words."""
    at = f"at ε = {row['epsilon']:g} "
    if not row["algorithm"]:
        return f"{at}no method runs to its end with intervals"
    label = algorithms[row["algorithm"]].label
    if row["honest"] == HONEST:
        return f"{at}{label}, worth {share(row['worth'])}"
    return f"{at}no method is surely honest (the closest: {label}, covers {share(row['coverage'])})"


def problem_table(models, algorithms, worth):
    """Markdown table of the best method of each posterior and epsilon, with its legend."""
    rows = []
    for row in problems(worth).to_dict("records"):
        is_there = bool(row["algorithm"])
        rows.append(
            {
                "posterior": models[row["model"]].label,
                "ε": f"{row['epsilon']:g}",
                "best method": algorithms[row["algorithm"]].label if is_there else "–",
                **(columns(row) if is_there else dict.fromkeys(COLUMNS, "–")),
            }
        )
    return f"{markdown_table(pd.DataFrame(rows))}\n\n{LEGEND}" if rows else ""


COLUMNS = ("verdict", "worth", "covers", "width", "iterations", "ε spent")


def columns(row):
    """What the table `worth` says of a cell: texts of columns."""
    texts = (
        verdict(row),
        sure(row, "worth"),
        with_error(row["coverage"], row["coverage_se"]),
        f"{row['width']:.2f}",
        f"{row['iterations']:,}",
        share(row["spent"]),
    )
    return dict(zip(COLUMNS, texts, strict=True))
