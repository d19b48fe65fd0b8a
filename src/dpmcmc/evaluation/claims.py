"""The claims of a study (`claims` of its configuration) held against its tables.

A claim says of each of its comparisons that one median is below another. A comparison speaks for it
when the 95 % bootstrap interval of the difference (see `dpmcmc.evaluation.analysis`) lies below 0,
against it when the interval lies above 0, and is open otherwise. Only those count that could have
spoken against it: what would have to be nearer to the posterior for that must at least be nearer
than chains that never move, or the claim is won by default.
A claim is confirmed when at least 80 % of the comparisons that count speak for it, not confirmed
when at least 80 % speak against it, else undecided. What the study does not have is left out.

Some claims say that there is no difference. An interval can contradict that but never confirm it:
their comparisons speak against them or are open. Where a margin is named, see `alike`.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from dpmcmc.evaluation.analysis import Estimate, median_contrast
from dpmcmc.study.claims import RULES as ARGUMENTS
from dpmcmc.study.claims import entries

SHARE = 0.8
LEAST_CLIPPED = 0.01  # share of the rows: so little clipping shows nowhere, so it confirms nothing


class Comparison(NamedTuple):
    """One difference of medians that a claim speaks of."""

    label: str  # what is claimed to be less than what, and where
    difference: Estimate
    is_for: bool
    is_against: bool
    counts: bool = True  # whether it could have spoken against the claim


# -- Rules: what a claim says of an entry ---------------------------------------------------------


def fewer_iterations(tables, algorithm, fewer, more):
    """Accountant `fewer` allows an algorithm fewer iterations than `more`, at each epsilon.

    Where neither allows any, nothing could speak against it.
    """
    curves = tables["accounting"]
    if curves is None:
        return
    curves = curves[curves["algorithm"] == algorithm]
    counts = curves.pivot_table(index="epsilon", columns="accountant", values="iterations")
    if {fewer, more} <= set(counts):
        for epsilon, row in counts.iterrows():
            gap = float(row[fewer] - row[more])  # no chance is in it
            label = f"{algorithm}: {fewer} below {more}, epsilon {epsilon:.3g}"
            has_any = row[[fewer, more]].max() > 0
            yield Comparison(label, Estimate(gap, gap, gap), gap < 0, gap > 0, has_any)


def undetectable_below(tables, clip_fraction):
    """Clipping of fewer rows is undetectable by the rule of `clipping_effects`.

    A cell speaks against it when the interval of the effect excludes 0, and counts only if
    `LEAST_CLIPPED` of its rows are clipped.
    """
    effects = tables.get("effects")
    if effects is None:
        return
    for (model, algorithm), cells in effects.groupby(["model", "algorithm"], sort=False):
        tighter = cells[cells["bound"] < cells["bound"].max()]
        for cell in tighter[tighter["clip_fraction"] < clip_fraction].itertuples():
            yield Comparison(
                f"{model}: {algorithm} at bound {cell.bound:g}",
                Estimate(cell.effect, cell.effect_low, cell.effect_high),
                cell.is_undetectable,
                cell.effect_low > 0 or cell.effect_high < 0,
                cell.clip_fraction >= LEAST_CLIPPED,
            )


def lower(tables, model, lower, higher, metric="mmd"):
    """Algorithm `lower` has a lower MMD, or other metric, than `higher`, at each epsilon."""
    for label, cells in pairs(tables, model, lower, higher, metric):
        yield from compare(tables, label, cells[:1], cells[1:], rival=cells[1], column=metric)


def not_lower(tables, model, lower, higher, metric="mmd"):
    """Algorithm `lower` does not have a lower metric than `higher`: a claim of no difference."""
    for label, cells in pairs(tables, model, lower, higher, metric):
        found = compare(tables, label, cells[:1], cells[1:], rival=cells[0], column=metric)
        yield from map(denied, found)


def equal(tables, model, one, other, metric="mmd"):
    """Neither algorithm has a lower metric than the other: a claim of no difference."""
    for label, cells in pairs(tables, model, one, other, metric):
        for found in compare(tables, label, cells[:1], cells[1:], column=metric):
            label = label.replace(" below ", " equal to ")
            is_against = found.is_for or found.is_against
            counts = any(is_nearer(tables, *cell, metric) for cell in cells)
            yield Comparison(label, found.difference, False, is_against, counts)


def closer_when_tempered(tables, flat, tempered, algorithm, reference):
    """An algorithm's MMD exceeds that of `reference` by less when tempered, at each epsilon.

    One that is as far as it can be on the flat posterior can only come closer.
    """
    for epsilon in epsilons(tables, flat):
        plus = [(tempered, algorithm, epsilon), (flat, reference, epsilon)]
        minus = [(tempered, reference, epsilon), (flat, algorithm, epsilon)]
        label = f"{algorithm} less {reference}: {tempered} below {flat}, epsilon {epsilon:g}"
        yield from compare(tables, label, plus, minus, rival=minus[1])


def gap_grows_with_epsilon(tables, model, lower, higher, metric="mmd"):
    """The metric of `higher` exceeds that of `lower` by more at the largest epsilon."""
    found = epsilons(tables, model)
    if len(found) > 1:
        small, large = found[0], found[-1]
        less = [(model, higher, small), (model, lower, large)]
        more = [(model, lower, small), (model, higher, large)]
        of = named(metric, f"{higher} less {lower}")
        label = f"{model}: {of}, epsilon {small:g} below {large:g}"
        yield from compare(tables, label, less, more, rival=more[1], column=metric)


def falls_with_epsilon(tables, model, algorithm, metric="mmd"):
    """The MMD, or other metric, is lower at the largest epsilon than at the smallest."""
    for label, cells in ends(tables, model, algorithm, metric):
        yield from compare(tables, label, cells[:1], cells[1:], rival=cells[1], column=metric)


def does_not_fall(tables, model, algorithm, metric="mmd"):
    """The metric is not lower at the largest epsilon: a claim of no difference."""
    for label, cells in ends(tables, model, algorithm, metric):
        found = compare(tables, label, cells[:1], cells[1:], rival=cells[0], column=metric)
        yield from map(denied, found)


def above_baselines(tables, model, algorithm):
    """At the largest epsilon the MMD exceeds that of every exact sample of the posterior."""
    baselines = tables["baselines"]
    largest = baselines.loc[baselines["model"] == model, "mmd"].max()
    for epsilon in epsilons(tables, model)[-1:]:
        cell = (model, algorithm, epsilon)
        label = f"{model}: baselines below {algorithm}, epsilon {epsilon:g}"
        yield from compare(tables, label, [largest], [cell], rival=cell)


def clips_less_than(tables, model, algorithm, fraction):
    """Fewer than this fraction of the rows are clipped, at each epsilon.

    Chains too short for an MMD do not count.
    """
    for epsilon in epsilons(tables, model):
        cell = (model, algorithm, epsilon)
        label = f"{model}: rows clipped by {algorithm} below {fraction:.0%}, epsilon {epsilon:g}"
        has_mmd = values(tables, *cell, "mmd") is not None
        for found in compare(tables, label, [cell], [fraction], column="clip_fraction"):
            yield found._replace(counts=has_mmd)


# The rules that a configuration can name: those of the table there, which knows their arguments.
RULES = {name: globals()[name] for name in ARGUMENTS}


# -- Evaluation -----------------------------------------------------------------------------------


def evaluate(claims, tables):
    """Hold every claim against the tables of a study.

    Parameters
    ----------
    claims : list of dict
        Those of the configuration.
    tables : dict of str to DataFrame
        `chains`, `baselines`, `gains` from `gains_on_start` by metric, `accounting` (or None), and
        `effects` from `clipping_effects` if there is a clipping study.

    Returns
    -------
    claims : DataFrame
        One row a claim: section, statement, how many comparisons could speak against it and so
        count, how many could not, what those that count say, the verdict, and whether one of them
        decides it.
    comparisons : DataFrame
        One row a comparison: number of its claim (from 1), label, difference with its interval,
        whether it counts, and what it says.
    """
    judged, rows = [], []
    for number, claim in enumerate(claims, start=1):
        rule = RULES[claim["rule"]]
        found = [one for entry in entries(claim) for one in rule(tables, **entry)]
        found = [one._replace(counts=one.counts or one.is_against) for one in found]
        counted = [one for one in found if one.counts]
        sides = len(counted), sum(c.is_for for c in counted), sum(c.is_against for c in counted)
        judged.append(
            {
                "claim": number,
                "section": claim["section"],
                "statement": claim["statement"],
                "comparisons": len(counted),
                "left_out": len(found) - len(counted),
                "for": sides[1],
                "against": sides[2],
                "open": sides[0] - sides[1] - sides[2],
                "verdict": verdict(*sides) if found else ABSENT,
                "one_decides": one_decides(*sides),
            }
        )
        rows += [
            {
                "claim": number,
                "comparison": one.label,
                "difference": one.difference.value,
                "low": one.difference.low,
                "high": one.difference.high,
                "counts": one.counts,
                "speaks": "for" if one.is_for else "against" if one.is_against else "open",
            }
            for one in found
        ]
    columns = ["claim", "comparison", "difference", "low", "high", "counts", "speaks"]
    return pd.DataFrame(judged), pd.DataFrame(rows, columns=columns)


ABSENT = "not in this study"


def verdict(num_counted, num_for, num_against):
    """Verdict on a claim from what the comparisons that count say."""
    if num_counted == 0:
        return "undecided"
    if num_for >= SHARE * num_counted:
        return "confirmed"
    return "not confirmed" if num_against >= SHARE * num_counted else "undecided"


def alike(difference, margin):
    """Verdict on a claim that two medians are alike: that they differ by less than a margin.

    Confirmed where the whole interval lies within the margin, to either side; not confirmed where
    all of it lies outside.
    """
    if max(abs(difference.low), abs(difference.high)) < margin:
        return "confirmed"
    is_outside = difference.low > margin or difference.high < -margin
    return "not confirmed" if is_outside else "undecided"


def one_decides(num_counted, num_for, num_against):
    """Whether another verdict would follow if one comparison said something else."""
    said = {"for": num_for, "against": num_against}
    said["open"] = num_counted - num_for - num_against
    return any(
        verdict(num_counted, *moved(said, one, other)) != verdict(num_counted, num_for, num_against)
        for one in said
        for other in said
        if said[one] and one != other
    )


def moved(said, one, other):
    """Counts for and against with one comparison fewer on a side and one more on another."""
    counts = said | {one: said[one] - 1, other: said[other] + 1}
    return counts["for"], counts["against"]


def compare(tables, label, lower, higher, rival=None, column="mmd"):
    """A comparison that claims `lower` less `higher` to be below 0; none without both.

    Parameters
    ----------
    tables : dict of str to DataFrame
    label : str
    lower, higher : list
        Cells (model, algorithm, epsilon), or numbers.
    rival : cell, optional
        What would have to be nearer to the posterior for this to speak against the claim. It
        counts only if that is nearer than never moving.
    column : str
        Of the table `chains`.
    """
    cells = [side for side in [*lower, *higher] if isinstance(side, tuple)]
    found = {cell: values(tables, *cell, column) for cell in cells}
    if any(sample is None for sample in found.values()):
        return
    size = len(found[cells[0]])
    samples = [
        [found[side] if isinstance(side, tuple) else np.full(size, float(side)) for side in sides]
        for sides in (lower, higher)
    ]
    difference = median_contrast(("claim", label), *samples)
    counts = rival is None or is_nearer(tables, *rival, column)
    yield Comparison(label, difference, difference.high < 0, difference.low > 0, counts)


def denied(claimed):
    """The comparison of a claim that there is no such difference, from that of one."""
    label = claimed.label.replace(" below ", " not below ")
    return claimed._replace(label=label, is_for=False, is_against=claimed.is_for)


def epsilons(tables, model):
    """Epsilons of a model, ascending."""
    chains = tables["chains"]
    return sorted(chains.loc[chains["model"] == model, "epsilon"].unique().tolist())


def of_cell(table, model, algorithm, epsilon):
    """Rows of a table that are of a cell."""
    is_cell = table["model"] == model
    is_cell &= (table["algorithm"] == algorithm) & (table["epsilon"] == epsilon)
    return table[is_cell]


def values(tables, model, algorithm, epsilon, column):
    """A column of the chains of a cell, by seed; None without chains or with a missing value."""
    cell = of_cell(tables["chains"], model, algorithm, epsilon)
    sample = cell.sort_values("seed")[column].to_numpy()
    return None if not len(sample) or np.isnan(sample).any() else sample


def is_nearer(tables, model, algorithm, epsilon, metric="mmd"):
    """Whether a cell is nearer to the posterior, by a metric, than chains that never move."""
    return bool(of_cell(tables["gains"][metric], model, algorithm, epsilon)["is_nearer"].all())


def pairs(tables, model, lower, higher, metric):
    """Label of the comparison of two algorithms at each epsilon, and their cells."""
    for epsilon in epsilons(tables, model):
        label = f"{model}: {named(metric, lower)} below {higher}, epsilon {epsilon:g}"
        yield label, [(model, name, epsilon) for name in (lower, higher)]


def ends(tables, model, algorithm, metric):
    """Label of the comparison of the largest epsilon with the smallest, and these two cells."""
    found = epsilons(tables, model)
    if len(found) > 1:
        of = named(metric, algorithm)
        label = f"{model}: {of}, epsilon {found[-1]:g} below {found[0]:g}"
        yield label, [(model, algorithm, epsilon) for epsilon in (found[-1], found[0])]


def named(metric, what):
    """What a comparison is of, with its metric where that is not the MMD."""
    return what if metric == "mmd" else f"{metric.replace('_', ' ')} of {what}"
