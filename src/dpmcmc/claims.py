"""The claims of chapter 6, each with the cells it speaks of, held against a study's tables.

A claim says of each of its cells that some difference of medians is below 0. A cell speaks for
it when the 95 % bootstrap interval of the difference (see `dpmcmc.analysis`) lies below 0, against
it when the interval lies above 0, and is open otherwise. A claim is confirmed when at least 80 % of
its cells speak for it, not confirmed when at least 80 % speak against it, else undecided. Cells
that the study does not have are left out.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from dpmcmc.analysis import Estimate, clipping_effects, median_contrast

SHARE = 0.8


class Claim(NamedTuple):
    """A row of the table of claims."""

    section: str  # of the thesis
    statement: str
    rule: callable  # function of the tables and one entry of `cells` that yields its Cells
    cells: list


class Cell(NamedTuple):
    """One difference of medians that a claim speaks of."""

    label: str
    difference: Estimate
    is_for: bool
    is_against: bool


# -- Rules: what a claim says of an entry ---------------------------------------------------------


def fewer_iterations(tables, algorithm, fewer, more):
    """Accountant `fewer` allows an algorithm fewer iterations than `more`, at each epsilon."""
    curves = tables["accounting"]
    if curves.empty:
        return
    curves = curves[curves["algorithm"] == algorithm]
    counts = curves.pivot_table(index="epsilon", columns="accountant", values="iterations")
    if {fewer, more} <= set(counts):
        for epsilon, row in counts.iterrows():
            yield compare((algorithm, fewer, more, epsilon), [[row[fewer]]], [[row[more]]])


def undetectable_below(tables, clip_fraction):
    """Clipping of fewer rows is undetectable by the rule of `clipping_effects`.

    A cell speaks against it when the interval of the effect excludes 0.
    """
    if tables["clipping"].empty:
        return
    effects = clipping_effects(tables["clipping"], tables["baselines"])
    effects = effects[effects["clip_fraction"] < clip_fraction]
    for (model, algorithm), cells in effects.groupby(["model", "algorithm"], sort=False):
        for cell in cells[cells["bound"] < cells["bound"].max()].itertuples():
            low, high = cell.effect_low, cell.effect_high
            yield Cell(
                label(model, algorithm, f"bound {cell.bound:g}"),
                Estimate(cell.effect, low, high),
                cell.is_undetectable,
                low > 0 or high < 0,
            )


def lower_mmd(tables, model, lower, higher):
    """Algorithm `lower` has a lower MMD than `higher`, at each epsilon."""
    for epsilon in epsilons(tables, model):
        pair = [mmd(tables, model, name, epsilon) for name in (lower, higher)]
        if all(sample is not None for sample in pair):
            yield compare((model, lower, higher, epsilon), pair[:1], pair[1:])


def closer_when_tempered(tables, flat, tempered, algorithm, reference):
    """An algorithm's MMD exceeds that of `reference` by less when tempered, at each epsilon."""
    for epsilon in epsilons(tables, flat):
        pairs = [(tempered, algorithm), (flat, reference), (flat, algorithm), (tempered, reference)]
        samples = [mmd(tables, model, name, epsilon) for model, name in pairs]
        if all(sample is not None for sample in samples):
            yield compare((flat, tempered, algorithm, epsilon), samples[:2], samples[2:])


def falls_with_epsilon(tables, model, algorithm):
    """The MMD is lower at the largest epsilon than at the smallest."""
    values = epsilons(tables, model)
    if len(values) > 1:
        smallest, largest = (mmd(tables, model, algorithm, e) for e in (values[0], values[-1]))
        if smallest is not None and largest is not None:
            yield compare((model, algorithm), [largest], [smallest])


def above_baselines(tables, model, algorithm):
    """At the largest epsilon the MMD exceeds that of every exact sample of the posterior."""
    baselines = tables["baselines"]
    largest = baselines.loc[baselines["model"] == model, "mmd"].max()
    for epsilon in epsilons(tables, model)[-1:]:
        sample = mmd(tables, model, algorithm, epsilon)
        if sample is not None:
            yield compare((model, algorithm, epsilon), [np.full_like(sample, largest)], [sample])


def clips_less_than(tables, model, algorithm, fraction):
    """Fewer than this fraction of the rows are clipped, at each epsilon."""
    for epsilon in epsilons(tables, model):
        sample = values(tables, model, algorithm, epsilon, "clip_fraction")
        if sample is not None:
            yield compare((model, algorithm, epsilon), [sample], [np.full_like(sample, fraction)])


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
        "Without tempering, the minibatch penalty algorithms are worse than DP penalty",
        lower_mmd,
        [(model, "dp-penalty", name) for model in FLAT for name in MINIBATCH],
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
    Claim(
        "7",
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
        "7",
        "OCU + GWMH is best on 30 dimensions",
        lower_mmd,
        [("gauss-30d", "dp-penalty-ocu-gwmh", name) for name in ("dp-penalty", "dp-hmc")],
    ),
    Claim(
        "7",
        "The MMD of the algorithms on all the data falls from the smallest to the largest epsilon",
        falls_with_epsilon,
        [(model, name) for model in [*FLAT, *TEMPERED, *HARD] for name in FULL_DATA],
    ),
    Claim(
        "7",
        "On the harder models all algorithms stay above the baselines, even at the largest epsilon",
        above_baselines,
        [(model, name) for model in HARD for name in FULL_DATA],
    ),
    Claim(
        "6.3",
        "DP penalty and DP HMC clip fewer than 10 % of the rows on flat bananas and harder models",
        clips_less_than,
        [(model, name, 0.1) for model in [*FLAT, *HARD] for name in FULL_DATA],
    ),
]


# -- Evaluation -----------------------------------------------------------------------------------


def evaluate(tables):
    """Hold every claim against the tables of a study.

    Parameters
    ----------
    tables : dict of str to DataFrame
        `chains`, `baselines`, `accounting` and `clipping`; the last two may be empty.

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


def compare(labels, lower, higher):
    """A cell that claims `lower` less `higher` to be below 0."""
    difference = median_contrast(("claim", *labels), lower, higher)
    return Cell(label(*labels), difference, difference.high < 0, difference.low > 0)


def label(*parts):
    """Name of a cell; numbers are epsilons."""
    return ", ".join(f"epsilon {part:g}" if isinstance(part, float) else part for part in parts)


def epsilons(tables, model):
    """Epsilons of a model, ascending."""
    chains = tables["chains"]
    return sorted(chains.loc[chains["model"] == model, "epsilon"].unique().tolist())


def mmd(tables, model, algorithm, epsilon):
    """MMD of the chains of a cell, by seed; None where there is none."""
    return values(tables, model, algorithm, epsilon, "mmd")


def values(tables, model, algorithm, epsilon, column):
    """A column of the chains of a cell, by seed; None without chains or with a missing value."""
    chains = tables["chains"]
    is_cell = (
        (chains["model"] == model)
        & (chains["algorithm"] == algorithm)
        & (chains["epsilon"] == epsilon)
    )
    sample = chains[is_cell].sort_values("seed")[column].to_numpy()
    return None if not len(sample) or np.isnan(sample).any() else sample
