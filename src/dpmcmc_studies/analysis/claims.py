"""The claims of a study (`claims` of its configuration) held against its tables.

A claim says of each of its comparisons that one median is below another. A comparison speaks for it
when the 95 % bootstrap interval of the difference (`dpmcmc_studies.analysis.intervals`) lies below
0, against it when the interval lies above 0, and is open otherwise. Only those count that could
have spoken against it: what would have to be nearer to the posterior for that must at least be
nearer than chains that never move, or the claim is won by default.
A claim is confirmed when at least 80 % of the comparisons that count speak for it, not confirmed
when at least 80 % speak against it, else undecided. What the study does not have is left out.

Some claims say that there is no difference. An interval can contradict that but never confirm it:
their comparisons speak against them or are open.

The configuration names a rule and its arguments. The rules' signatures are the schema of these:
their annotations say what each argument is, and those with a default may be left out. To read it
loads neither pandas nor SciPy.
"""

from itertools import product
from typing import Annotated, Any, NamedTuple, NewType

import numpy as np

from dpmcmc.configuration.keys import Label, Table, Text
from dpmcmc.configuration.yaml_files import Some
from dpmcmc_studies.analysis.intervals import Estimate, median_contrast

METRICS = ("mmd", "mean_error", "covariance_error")
SHARE = 0.8
SIDES = "for", "against", "open"
LEAST_CLIPPED = 0.01  # share of the rows: so little clipping shows nowhere, so it confirms nothing


# What the arguments of rules are: ids of the configuration, a metric, a number above 0 up to 1.
Model = NewType("Model", str)
Algorithm = NewType("Algorithm", str)
Accountant = NewType("Accountant", str)
Metric = NewType("Metric", str)
Share = NewType("Share", float)


class Claim(Table):
    """A claim that is held against the tables."""

    section: Label
    statement: Text
    rule: str
    of: Annotated[list[Annotated[dict[str, Any], Some]], Some]
    label: Text = None  # in the figure, where the statement needs the one before it


class Comparison(NamedTuple):
    """One difference of medians that a claim speaks of."""

    label: str  # what is claimed to be less than what, and where
    difference: Estimate
    side: str  # one of SIDES
    counts: bool = True  # whether it could have spoken against the claim


def entries(claim):
    """Arguments of the comparisons of a claim, a dict each: all combinations of its lists."""
    for given in claim.of:
        values = [value if isinstance(value, list) else [value] for value in given.values()]
        for combination in product(*values):
            yield dict(zip(given, combination, strict=True))


def metrics_of(claims):
    """Metrics that claims name."""
    return {entry["metric"] for claim in claims for entry in entries(claim) if "metric" in entry}


# -- Rules: what a claim says of an entry ---------------------------------------------------------


def fewer_iterations(tables, algorithm: Algorithm, fewer: Accountant, more: Accountant):
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
            difference = Estimate(gap, gap, gap)
            yield Comparison(label, difference, side(difference, below=0), has_any)


def undetectable_below(tables, clip_fraction: Share):
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
            label = f"{model}: {algorithm} at bound {cell.bound:g}"
            effect = Estimate(cell.effect, cell.effect_low, cell.effect_high)
            is_detected = effect.low > 0 or effect.high < 0
            taken = "for" if cell.is_undetectable else "against" if is_detected else "open"
            yield Comparison(label, effect, taken, cell.clip_fraction >= LEAST_CLIPPED)


def lower(tables, model: Model, lower: Algorithm, higher: Algorithm, metric: Metric = "mmd"):
    """Algorithm `lower` has a lower MMD, or other metric, than `higher`, at each epsilon."""
    return below(tables, pairs(tables, model, lower, higher, metric), metric)


def not_lower(tables, model: Model, lower: Algorithm, higher: Algorithm, metric: Metric = "mmd"):
    """Algorithm `lower` does not have a lower metric than `higher`: a claim of no difference."""
    return not_below(tables, pairs(tables, model, lower, higher, metric), metric)


def equal(tables, model: Model, one: Algorithm, other: Algorithm, metric: Metric = "mmd"):
    """Neither algorithm has a lower metric than the other: a claim of no difference."""
    for label, *cells in pairs(tables, model, one, other, metric):
        for claimed in compare(tables, label, cells[:1], cells[1:], column=metric):
            counts = any(is_nearer(tables, *cell, metric) for cell in cells)
            yield contrary(claimed, " equal to ", {"for", "against"})._replace(counts=counts)


def closer_when_tempered(
    tables, flat: Model, tempered: Model, algorithm: Algorithm, reference: Algorithm
):
    """An algorithm's MMD exceeds that of `reference` by less when tempered, at each epsilon.

    One that is as far as it can be on the flat posterior can only come closer.
    """
    for epsilon in epsilons(tables, flat):
        plus = [(tempered, algorithm, epsilon), (flat, reference, epsilon)]
        minus = [(tempered, reference, epsilon), (flat, algorithm, epsilon)]
        label = f"{algorithm} less {reference}: {tempered} below {flat}, epsilon {epsilon:g}"
        yield from compare(tables, label, plus, minus, rival=minus[1])


def gap_grows_with_epsilon(
    tables, model: Model, lower: Algorithm, higher: Algorithm, metric: Metric = "mmd"
):
    """The metric of `higher` exceeds that of `lower` by more at the largest epsilon."""
    of_model = epsilons(tables, model)
    if len(of_model) > 1:
        small, large = of_model[0], of_model[-1]
        less = [(model, higher, small), (model, lower, large)]
        more = [(model, lower, small), (model, higher, large)]
        of = named(metric, f"{higher} less {lower}")
        label = f"{model}: {of}, epsilon {small:g} below {large:g}"
        yield from compare(tables, label, less, more, rival=more[1], column=metric)


def falls_with_epsilon(tables, model: Model, algorithm: Algorithm, metric: Metric = "mmd"):
    """The MMD, or other metric, is lower at the largest epsilon than at the smallest."""
    return below(tables, ends(tables, model, algorithm, metric), metric)


def does_not_fall(tables, model: Model, algorithm: Algorithm, metric: Metric = "mmd"):
    """The metric is not lower at the largest epsilon: a claim of no difference."""
    return not_below(tables, ends(tables, model, algorithm, metric), metric)


def above_baselines(tables, model: Model, algorithm: Algorithm):
    """At the largest epsilon the MMD exceeds that of every exact sample of the posterior."""
    baselines = tables["baselines"]
    largest = baselines.loc[baselines["model"] == model, "mmd"].max()
    for epsilon in epsilons(tables, model)[-1:]:
        cell = (model, algorithm, epsilon)
        label = f"{model}: baselines below {algorithm}, epsilon {epsilon:g}"
        yield from compare(tables, label, [largest], [cell], rival=cell)


def clips_less_than(tables, model: Model, algorithm: Algorithm, fraction: Share):
    """Fewer than this fraction of the rows are clipped, at each epsilon.

    Chains too short for an MMD do not count.
    """
    for epsilon in epsilons(tables, model):
        cell = (model, algorithm, epsilon)
        label = f"{model}: rows clipped by {algorithm} below {fraction:.0%}, epsilon {epsilon:g}"
        has_mmd = values(tables, *cell, "mmd") is not None
        for comparison in compare(tables, label, [cell], [fraction], column="clip_fraction"):
            yield comparison._replace(counts=has_mmd)


RULES = {
    rule.__name__: rule
    for rule in (
        fewer_iterations,
        undetectable_below,
        lower,
        not_lower,
        equal,
        closer_when_tempered,
        gap_grows_with_epsilon,
        falls_with_epsilon,
        does_not_fall,
        above_baselines,
        clips_less_than,
    )
}


# -- Evaluation -----------------------------------------------------------------------------------


def evaluate(claims, tables):
    """Hold every claim against the tables of a study.

    Parameters
    ----------
    claims : list of Claim
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
    import pandas as pd

    judged, rows = [], []
    for number, claim in enumerate(claims, start=1):
        comparisons = [
            one._replace(counts=one.counts or one.side == "against")
            for entry in entries(claim)
            for one in RULES[claim.rule](tables, **entry)
        ]
        sides = [one.side for one in comparisons if one.counts]
        judged.append(
            {
                "claim": number,
                "section": claim.section,
                "statement": claim.statement,
                "comparisons": len(sides),
                "left_out": len(comparisons) - len(sides),
                **{side: sides.count(side) for side in SIDES},
                "verdict": verdict(sides) if comparisons else ABSENT,
                "one_decides": one_decides(sides),
            }
        )
        rows += [(number, one.label, *one.difference, one.counts, one.side) for one in comparisons]
    columns = ["claim", "comparison", "difference", "low", "high", "counts", "speaks"]
    return pd.DataFrame(judged), pd.DataFrame(rows, columns=columns)


ABSENT = "not in this study"


def side(interval, above=None, below=None):
    """Side that an interval takes on a claim that a value lies above a limit, below one, or both.

    Parameters
    ----------
    interval : Estimate
        Or anything else with `low` and `high`.
    above, below : float, optional
        Limits that the claim names.

    Returns
    -------
    str
        "for" if the whole interval lies within the limits, "against" if all of it lies outside,
        else "open".
    """
    is_above = above is None or interval.low > above
    is_below = below is None or interval.high < below
    if is_above and is_below:
        return "for"
    is_outside = (above is not None and interval.high < above) or (
        below is not None and interval.low > below
    )
    return "against" if is_outside else "open"


def verdict(sides, share=SHARE, one_refutes=False):
    """Verdict on a claim from the sides that its comparisons take.

    Parameters
    ----------
    sides : sequence of str
        "for", "against" or "open" for each comparison.
    share : float
        Share of the comparisons that confirms the claim, or refutes it.
    one_refutes : bool
        Whether a single comparison against the claim refutes it.

    Returns
    -------
    str
        "confirmed", "not confirmed" or "undecided", which a claim without comparisons is.
    """
    if not sides:
        return "undecided"
    needed = share * len(sides)
    if sides.count("for") >= needed:
        return "confirmed"
    is_refuted = sides.count("against") >= (1 if one_refutes else needed)
    return "not confirmed" if is_refuted else "undecided"


def one_decides(sides):
    """True if another verdict would follow if one comparison took another side."""
    return any(
        verdict([*sides[:i], other, *sides[i + 1 :]]) != verdict(sides)
        for i in map(sides.index, set(sides))
        for other in SIDES
    )


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
    cells = [term for term in [*lower, *higher] if isinstance(term, tuple)]
    of_cells = {cell: values(tables, *cell, column) for cell in cells}
    if any(sample is None for sample in of_cells.values()):
        return
    size = len(of_cells[cells[0]])
    samples = [
        [of_cells[x] if isinstance(x, tuple) else np.full(size, float(x)) for x in terms]
        for terms in (lower, higher)
    ]
    difference = median_contrast(("claim", label), *samples)
    counts = rival is None or is_nearer(tables, *rival, column)
    yield Comparison(label, difference, side(difference, below=0), counts)


def below(tables, pairs, metric):
    """The comparisons that claim the first of two cells to be below the second."""
    for label, low, high in pairs:
        yield from compare(tables, label, [low], [high], rival=high, column=metric)


def not_below(tables, pairs, metric):
    """The comparisons that claim the first of two cells not to be below the second."""
    for label, low, high in pairs:
        for claimed in compare(tables, label, [low], [high], rival=low, column=metric):
            yield contrary(claimed, " not below ", {"for"})


def contrary(claimed, relation, sides):
    """A comparison that claims no such difference; some sides of the difference contradict that."""
    label = claimed.label.replace(" below ", relation)
    return claimed._replace(label=label, side="against" if claimed.side in sides else "open")


def epsilons(tables, model):
    """Epsilons of a model, ascending."""
    chains = tables["chains"]
    return sorted(chains.loc[chains["model"] == model, "epsilon"].unique().tolist())


def of_cell(table, model, algorithm, epsilon):
    """Rows of a table that are of a cell."""
    return table.query("model == @model and algorithm == @algorithm and epsilon == @epsilon")


def values(tables, model, algorithm, epsilon, column):
    """A column of the chains of a cell, by seed; None without chains or with a missing value."""
    cell = of_cell(tables["chains"], model, algorithm, epsilon)
    sample = cell.sort_values("sample")[column].to_numpy()
    return None if not len(sample) or np.isnan(sample).any() else sample


def is_nearer(tables, model, algorithm, epsilon, metric="mmd"):
    """True if a cell is nearer to the posterior, by a metric, than chains that never move."""
    return bool(of_cell(tables["gains"][metric], model, algorithm, epsilon)["is_nearer"].all())


def pairs(tables, model, lower, higher, metric):
    """Label of the comparison of two algorithms at each epsilon, and their cells."""
    for epsilon in epsilons(tables, model):
        label = f"{model}: {named(metric, lower)} below {higher}, epsilon {epsilon:g}"
        yield label, *((model, name, epsilon) for name in (lower, higher))


def ends(tables, model, algorithm, metric):
    """Label of the comparison of the largest epsilon with the smallest, and these two cells."""
    of_model = epsilons(tables, model)
    if len(of_model) > 1:
        small, large = of_model[0], of_model[-1]
        label = f"{model}: {named(metric, algorithm)}, epsilon {large:g} below {small:g}"
        yield label, *((model, algorithm, epsilon) for epsilon in (large, small))


def named(metric, what):
    """Subject of a comparison, with its metric if that is not the MMD."""
    return what if metric == "mmd" else f"{metric.replace('_', ' ')} of {what}"
