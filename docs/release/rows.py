"""The tables of docs/release.md on rows that do not follow the model: docs/release/rows.csv.

    python docs/release/rows.py DIMENSION ...

Simulated rows of a normal mean with identity covariance; theta is a draw of the prior N(0, I).
Each data set has one release of noisy statistics with their default settings. A cell that is in the
file already is kept, so a run can be stopped; without arguments the tables are printed.
"""

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import dpmcmc
from dpmcmc.evaluation import scores
from dpmcmc.models import laws
from dpmcmc.samplers.one_shot import MOST_MISFIT

FILE = Path(__file__).with_suffix(".csv")
CELL = ["law", "d", "n", "epsilon"]
SIZES, EPSILONS = (1_000, 10_000), (0.25, 1.0, 4.0)
DATA_SETS = {1: 100, 2: 100, 10: 40, 30: 20}
REFERENCE = 1000  # exact draws

LAWS = {
    "as the model says": lambda rng, d, n: laws.normal(rng, (d, n)),
    "exponential": lambda rng, d, n: laws.skewed(rng, (d, n)),
    "lognormal": lambda rng, d, n: standardised(
        np.exp(rng.standard_normal((d, n))), math.exp(0.5), (math.e - 1) * math.e
    ),
    "Weibull, shape .7": lambda rng, d, n: standardised(
        rng.weibull(0.7, (d, n)), math.gamma(17 / 7), math.gamma(27 / 7) - math.gamma(17 / 7) ** 2
    ),
    "geometric, p = .3": lambda rng, d, n: standardised(
        rng.geometric(0.3, (d, n)), 1 / 0.3, 0.7 / 0.09
    ),
    "Student's t, 3 degrees": lambda rng, d, n: laws.heavy(rng, (d, n)),
    "sd .7": lambda rng, d, n: 0.7 * rng.standard_normal((d, n)),
    "sd 1.3": lambda rng, d, n: 1.3 * rng.standard_normal((d, n)),
    "a tenth at 5 sds": lambda rng, d, n: (
        rng.standard_normal((d, n)) + 5 / math.sqrt(d) * ((rng.random(n) < 0.1) - 0.1)
    ),
    "1 % of entries at 20 sds": lambda rng, d, n: standardised(
        rng.standard_normal((d, n)) + 20 * (rng.random((d, n)) < 0.01), 0.2, 1 + 400 * 0.0099
    ),
    "sd 10": lambda rng, d, n: 10 * rng.standard_normal((d, n)),
}


def standardised(rows, mean, variance):
    """Rows of mean 0 and variance 1."""
    return (rows - mean) / math.sqrt(variance)


def measured(law, d, n, epsilon):
    """A row of the file: means over data sets, and standard errors of coverage and worth."""
    model = dpmcmc.Gaussian(n, 1.0, np.eye(d).tolist())
    sampler = dpmcmc.for_budget(dpmcmc.NoisyStatistics(), n, epsilon)
    prior = scores.prior_draws(model)
    metrics, covered, exactly_covered, misfits = [], [], [], []
    for i in range(DATA_SETS[d]):
        rng = np.random.default_rng([i, d, n])
        theta = rng.standard_normal(d)
        data = theta[:, None] + LAWS[law](rng, d, n)
        state, info = sampler.prepare(dpmcmc.streams(i), dpmcmc.Target(model, data))
        draws = np.array([state.position, *state.memory[1]])
        exact = model.sample_posterior(rng, data, REFERENCE)
        metrics.append(scores.interval_metrics(draws, exact, prior))
        covered.append(covers(draws, theta).mean())
        exactly_covered.append(covers(exact, theta).mean())
        misfits.append(info.misfit)
    found = scores.summary(pd.DataFrame(metrics))
    return {
        "coverage": np.mean(covered),
        "coverage_error": np.std(covered) / math.sqrt(len(covered)),
        "exact_coverage": np.mean(exactly_covered),
        "worth": found["worth"],
        "worth_error": found["worth_se"],
        "does_not_fit": np.mean(np.array(misfits) > MOST_MISFIT),
    }


def covers(draws, theta):
    """Whether the central 90 % interval of each component holds theta, (..., d)."""
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    return (low <= theta) & (theta <= high)


def printed(table):
    """The tables, in Markdown, of one number of rows and epsilon each."""
    for (n, epsilon), part in table.groupby(["n", "epsilon"]):
        print(f"\nn = {n:,}, epsilon = {epsilon:g}\n")
        print("| rows |" + "".join(f" d = {d} |" for d in DATA_SETS))
        print("|---|" + "---|" * len(DATA_SETS))
        for law in LAWS:
            cells = [part[(part.law == law) & (part.d == d)] for d in DATA_SETS]
            print(f"| {law} |" + "".join(f" {text_of(cell)} |" for cell in cells))


def text_of(cell):
    """Coverage (the exact posterior's), worth, and how often a statement says "does not fit"."""
    if cell.empty:
        return "–"
    one = cell.iloc[0]
    text = f"{one.coverage:.2f} ({one.exact_coverage:.2f}), {one.worth:.2f}"
    return text + (f" [{one.does_not_fit:.0%}]" if one.does_not_fit else "")


def filled(file, columns, cells, measured):
    """The table of a file, after the cells that it lacks were measured; it is written after each.

    Parameters
    ----------
    file : Path
    columns : list of str
        Names of what a cell is of.
    cells : iterable of tuple
    measured : function
        Of a cell's values by name, to a dict.
    """
    table = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=columns)
    for values in cells:
        cell = dict(zip(columns, values, strict=True))
        if (table[columns] == pd.Series(cell)).all(axis=1).any():
            continue
        row = pd.DataFrame([cell | measured(**cell)])
        table = row if table.empty else pd.concat([table, row], ignore_index=True)
        table.round(4).to_csv(file, index=False)
    return table


def main(dimensions):
    """Measure what the file lacks for some dimensions; without any, print the tables."""
    cells = ((law, d, n, e) for d in dimensions for n in SIZES for e in EPSILONS for law in LAWS)
    table = filled(FILE, CELL, cells, measured)
    if not dimensions:
        printed(table)


if __name__ == "__main__":
    main([int(d) for d in sys.argv[1:]])
