"""The claims of chapter 6, each with the cells it speaks of, held against a study's tables.

A claim says of each of its cells that one median is below another. A cell speaks for it when the
95 % bootstrap interval of the difference (see `dpmcmc.evaluation.analysis`) lies below 0, against
it when the interval lies above 0, and is open otherwise. A claim is confirmed when at least 80 % of
its cells speak for it, not confirmed when at least 80 % speak against it, else undecided. Cells
that the study does not have are left out.

Some claims say that there is no difference. An interval can contradict that but never confirm it:
their cells speak against them or are open.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from dpmcmc.evaluation.analysis import Estimate, median_contrast

SHARE = 0.8


class Claim(NamedTuple):
    """A row of the table of claims."""

    section: str  # of the thesis; its conclusions are chapter 7
    statement: str
    rule: callable  # function of the tables and one entry of `cells` that yields its Cells
    cells: list


class Cell(NamedTuple):
    """One difference of medians that a claim speaks of."""

    label: str  # what is claimed to be less than what, and where
    difference: Estimate
    is_for: bool
    is_against: bool


# -- Rules: what a claim says of an entry ---------------------------------------------------------


def fewer_iterations(tables, algorithm, fewer, more):
    """Accountant `fewer` allows an algorithm fewer iterations than `more`, at each epsilon."""
    curves = tables["accounting"]
    if curves is None:
        return
    curves = curves[curves["algorithm"] == algorithm]
    counts = curves.pivot_table(index="epsilon", columns="accountant", values="iterations")
    if {fewer, more} <= set(counts):
        for epsilon, row in counts.iterrows():
            gap = float(row[fewer] - row[more])  # no chance is in it
            label = f"{algorithm}: {fewer} below {more}, epsilon {epsilon:.3g}"
            yield Cell(label, Estimate(gap, gap, gap), gap < 0, gap > 0)


def undetectable_below(tables, clip_fraction):
    """Clipping of fewer rows is undetectable by the rule of `clipping_effects`.

    A cell speaks against it when the interval of the effect excludes 0.
    """
    effects = tables.get("effects")
    if effects is None:
        return
    for (model, algorithm), cells in effects.groupby(["model", "algorithm"], sort=False):
        tighter = cells[cells["bound"] < cells["bound"].max()]
        for cell in tighter[tighter["clip_fraction"] < clip_fraction].itertuples():
            yield Cell(
                f"{model}: {algorithm} at bound {cell.bound:g}",
                Estimate(cell.effect, cell.effect_low, cell.effect_high),
                cell.is_undetectable,
                cell.effect_low > 0 or cell.effect_high < 0,
            )


def lower_mmd(tables, model, lower, higher):
    """Algorithm `lower` has a lower MMD than `higher`, at each epsilon."""
    for epsilon in epsilons(tables, model):
        samples = [values(tables, model, name, epsilon) for name in (lower, higher)]
        label = f"{model}: {lower} below {higher}, epsilon {epsilon:g}"
        yield from compare(label, samples[:1], samples[1:])


def not_lower_mmd(tables, model, lower, higher):
    """Algorithm `lower` does not have a lower MMD than `higher`: a claim of no difference."""
    for cell in lower_mmd(tables, model, lower, higher):
        label = cell.label.replace(" below ", " not below ")
        yield Cell(label, cell.difference, False, cell.is_for)


def closer_when_tempered(tables, flat, tempered, algorithm, reference):
    """An algorithm's MMD exceeds that of `reference` by less when tempered, at each epsilon."""
    for epsilon in epsilons(tables, flat):
        plus = [(tempered, algorithm), (flat, reference)]
        minus = [(tempered, reference), (flat, algorithm)]
        samples = [values(tables, *pair, epsilon) for pair in [*plus, *minus]]
        label = f"{algorithm} less {reference}: {tempered} below {flat}, epsilon {epsilon:g}"
        yield from compare(label, samples[:2], samples[2:])


def falls_with_epsilon(tables, model, algorithm):
    """The MMD is lower at the largest epsilon than at the smallest."""
    smallest, largest = epsilons(tables, model)[:1], epsilons(tables, model)[-1:]
    if smallest != largest:
        label = f"{model}: {algorithm}, epsilon {largest[0]:g} below {smallest[0]:g}"
        lower, higher = (values(tables, model, algorithm, *end) for end in (largest, smallest))
        yield from compare(label, [lower], [higher])


def does_not_fall(tables, model, algorithm):
    """The MMD is not lower at the largest epsilon: a claim of no difference."""
    for cell in falls_with_epsilon(tables, model, algorithm):
        yield Cell(
            cell.label.replace(" below ", " not below "), cell.difference, False, cell.is_for
        )


def above_baselines(tables, model, algorithm):
    """At the largest epsilon the MMD exceeds that of every exact sample of the posterior."""
    baselines = tables["baselines"]
    largest = baselines.loc[baselines["model"] == model, "mmd"].max()
    for epsilon in epsilons(tables, model)[-1:]:
        sample = values(tables, model, algorithm, epsilon)
        label = f"{model}: baselines below {algorithm}, epsilon {epsilon:g}"
        yield from compare(label, [constant(largest, sample)], [sample])


def clips_less_than(tables, model, algorithm, fraction):
    """Fewer than this fraction of the rows are clipped, at each epsilon."""
    for epsilon in epsilons(tables, model):
        sample = values(tables, model, algorithm, epsilon, "clip_fraction")
        label = f"{model}: rows clipped by {algorithm} below {fraction:.0%}, epsilon {epsilon:g}"
        yield from compare(label, [sample], [constant(fraction, sample)])


# -- The table ------------------------------------------------------------------------------------

FLAT = ["flat-banana-2d", "flat-banana-10d"]
TEMPERED = ["tempered-banana-2d", "tempered-banana-10d"]
HARD = ["gauss-30d", "narrow-banana-2d", "correlated-gauss-2d"]
PENALTY = ["dp-penalty", "dp-penalty-ocu-gwmh"]
FULL_DATA = [*PENALTY, "dp-hmc"]
MINIBATCH = ["minibatch-dp-penalty", "minibatch-dp-penalty-ocu-gwmh"]
SUBSAMPLED = [*MINIBATCH, "dp-barker"]

CLAIMS = [
    Claim(
        "6.1",
        "Exact accounting allows DP penalty and DP HMC more iterations than zCDP",
        fewer_iterations,
        [("dp-penalty", "zcdp", "gaussian"), ("dp-hmc", "zcdp", "gaussian")],
    ),
    Claim(
        "6.1",
        "PLD accounting, as published, allows minibatch DP penalty more iterations than RDP",
        fewer_iterations,
        [("minibatch-dp-penalty", "rdp", "published-pld")],
    ),
    Claim(
        "6.2",
        "Clipping of fewer than 20 % of the rows is undetectable",
        undetectable_below,
        [(0.2,)],
    ),
    Claim(
        "6.3",
        "Without tempering, subsampling is worse than DP penalty (but for DP Barker in 10 d)",
        lower_mmd,
        [
            (model, "dp-penalty", name)
            for model in FLAT
            for name in SUBSAMPLED
            if (model, name) != ("flat-banana-10d", "dp-barker")
        ],
    ),
    Claim(
        "6.3",
        "Without tempering in 10 dimensions, DP Barker beats the minibatch penalty algorithms",
        lower_mmd,
        [("flat-banana-10d", "dp-barker", name) for name in MINIBATCH],
    ),
    Claim(
        "6.3",
        "Tempering brings the subsampling algorithms closer to DP penalty",
        closer_when_tempered,
        [
            (flat, tempered, name, "dp-penalty")
            for flat, tempered in zip(FLAT, TEMPERED, strict=True)
            for name in SUBSAMPLED
        ],
    ),
    # "Not better than the algorithms using the full data" has no direction; HMC is their best here.
    Claim(
        "Conclusions",
        "Even with tempering, the subsampling algorithms are worse than DP HMC on all the data",
        lower_mmd,
        [(model, "dp-hmc", name) for model in TEMPERED for name in SUBSAMPLED],
    ),
    Claim(
        "6.3",
        "With tempering, DP HMC beats the penalty algorithms",
        lower_mmd,
        [(model, "dp-hmc", name) for model in TEMPERED for name in PENALTY],
    ),
    Claim(
        "6.3",
        "Without tempering, the penalty algorithms beat DP HMC",
        lower_mmd,
        [(model, name, "dp-hmc") for model in FLAT for name in PENALTY],
    ),
    Claim(
        "6.3",
        "On the correlated Gaussian, DP HMC beats the penalty algorithms",
        lower_mmd,
        [("correlated-gauss-2d", "dp-hmc", name) for name in PENALTY],
    ),
    Claim(
        "6.3",
        "On the narrow banana, DP HMC and the penalty algorithms are about equal",
        not_lower_mmd,
        [
            ("narrow-banana-2d", *pair)
            for name in PENALTY
            for pair in (("dp-hmc", name), (name, "dp-hmc"))
        ],
    ),
    Claim(
        "Conclusions",
        "OCU + GWMH is best on 30 dimensions",
        lower_mmd,
        [("gauss-30d", "dp-penalty-ocu-gwmh", name) for name in ("dp-penalty", "dp-hmc")],
    ),
    Claim(
        "Conclusions",
        "On the other models, OCU + GWMH does not beat DP penalty without it",
        not_lower_mmd,
        [
            (model, "dp-penalty-ocu-gwmh", "dp-penalty")
            for model in [*FLAT, *TEMPERED, "narrow-banana-2d", "correlated-gauss-2d"]
        ],
    ),
    Claim(
        "6.3",
        "MMD falls with epsilon on bananas and 30 dimensions, and for DP HMC on the correlated one",
        falls_with_epsilon,
        [
            *((model, name) for model in [*FLAT, *TEMPERED, "gauss-30d"] for name in FULL_DATA),
            ("correlated-gauss-2d", "dp-hmc"),
        ],
    ),
    Claim(
        "6.3",
        "It does not on the narrow banana, nor for the penalty algorithms on the correlated one",
        does_not_fall,
        [
            *(("narrow-banana-2d", name) for name in FULL_DATA),
            *(("correlated-gauss-2d", name) for name in PENALTY),
        ],
    ),
    Claim(
        "Conclusions",
        "On the harder models all algorithms stay above the baselines, even at the largest epsilon",
        above_baselines,
        [(model, name) for model in HARD for name in FULL_DATA],
    ),
    # The thesis excepts the tempered banana in 2 d, DP Barker, and some runs on the narrow banana.
    Claim(
        "6.3",
        "Penalty algorithms and DP HMC clip fewer than 10 % of the rows (but on tempered 2 d)",
        clips_less_than,
        [
            *(
                (model, name, 0.1)
                for model in [*FLAT, "tempered-banana-10d", *HARD, "circle"]
                for name in FULL_DATA
            ),
            *((model, name, 0.1) for model in [*FLAT, "tempered-banana-10d"] for name in MINIBATCH),
        ],
    ),
]


# -- Evaluation -----------------------------------------------------------------------------------


def evaluate(tables):
    """Hold every claim against the tables of a study.

    Parameters
    ----------
    tables : dict of str to DataFrame
        `chains`, `baselines`, `accounting` (may be None), and `effects` from `clipping_effects`
        if there is a clipping study.

    Returns
    -------
    claims : DataFrame
        One row a claim: section, statement, counts of its cells, and verdict.
    cells : DataFrame
        One row a cell: number of its claim (from 1), label, difference with its interval, verdict.
    """
    claims, rows = [], []
    for number, claim in enumerate(CLAIMS, start=1):
        cells = [cell for entry in claim.cells for cell in claim.rule(tables, *entry)]
        num_for, num_against = (
            sum(getattr(cell, side) for cell in cells) for side in ("is_for", "is_against")
        )
        claims.append(
            {
                "claim": number,
                "section": claim.section,
                "statement": claim.statement,
                "cells": len(cells),
                "for": num_for,
                "against": num_against,
                "open": len(cells) - num_for - num_against,
                "verdict": verdict(len(cells), num_for, num_against),
            }
        )
        rows += [
            {
                "claim": number,
                "cell": cell.label,
                "difference": cell.difference.value,
                "low": cell.difference.low,
                "high": cell.difference.high,
                "speaks": "for" if cell.is_for else "against" if cell.is_against else "open",
            }
            for cell in cells
        ]
    columns = ["claim", "cell", "difference", "low", "high", "speaks"]
    return pd.DataFrame(claims), pd.DataFrame(rows, columns=columns)


def verdict(num_cells, num_for, num_against):
    """Verdict on a claim from the counts of its cells."""
    if num_cells == 0:
        return "not in this study"
    if num_for >= SHARE * num_cells:
        return "confirmed"
    return "not confirmed" if num_against >= SHARE * num_cells else "undecided"


def compare(label, lower, higher):
    """A cell that claims `lower` less `higher` to be below 0; none if a sample is missing."""
    if all(sample is not None for sample in [*lower, *higher]):
        difference = median_contrast(("claim", label), lower, higher)
        yield Cell(label, difference, difference.high < 0, difference.low > 0)


def epsilons(tables, model):
    """Epsilons of a model, ascending."""
    chains = tables["chains"]
    return sorted(chains.loc[chains["model"] == model, "epsilon"].unique().tolist())


def constant(value, sample):
    """A sample of one value, as large as another; None where that is missing."""
    return None if sample is None else np.full_like(sample, value)


def values(tables, model, algorithm, epsilon, column="mmd"):
    """A column of the chains of a cell, by seed; None without chains or with a missing value."""
    chains = tables["chains"]
    is_cell = (
        (chains["model"] == model)
        & (chains["algorithm"] == algorithm)
        & (chains["epsilon"] == epsilon)
    )
    sample = chains[is_cell].sort_values("seed")[column].to_numpy()
    return None if not len(sample) or np.isnan(sample).any() else sample
