"""The tables of linear regressions in docs/release.md, from linear.csv, which it fills.

    python docs/release/linear.py

A cell that is in the file already is kept, so a run can be interrupted. The data are simulated: y =
x . beta + sigma e, with beta of its prior N(0, I). Covariates are normal, or rare and heavy-tailed.
Beside noisy least squares stands AdaSSP (Wang 2018, Algorithm 2), which gives no intervals: the
error of the mean is compared. It needs bounds of rows; it gets good ones, that no user would know:
the 99 % quantile of |x| and of |y|. Both have the same budget of the same kind (delta = .1 / n).
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
from rows import filled

import dpmcmc
from dpmcmc.evaluation import scores
from dpmcmc.models.linear_regression import LinearRegression
from dpmcmc.samplers.one_shot import does_fit

FILE = Path(__file__).with_suffix(".csv")
KEYS = ["covariates", "p", "n", "epsilon", "errors", "sigma"]
EXACT, DRAWS, FAILS = 1000, 1000, 0.05
CELLS = [
    (covariates, p, n, epsilon, "normal", 1.0)
    for n in (1000, 10_000, 100_000)
    for covariates in ("normal", "rare")
    for p in (5, 10)
    for epsilon in (0.25, 1.0, 4.0)
] + [
    (covariates, 5, 10_000, epsilon, errors, sigma)
    for covariates, errors, sigma in (
        ("normal", "normal", 0.1),
        ("normal", "normal", 10.0),
        ("normal", "t4", 1.0),
        ("normal", "exponential", 1.0),
        ("rare", "exponential", 1.0),
        ("normal", "lognormal", 1.0),
        ("rare", "lognormal", 1.0),
    )
    for epsilon in (0.25, 1.0, 4.0)
]
RARE = [0.05, 0.1, 0.2, 0.3, 0.5]  # shares of ones


def covariates(rng, law, n, p):
    """Rows of covariates (n, p), the first the 1 of an intercept."""
    ones = np.ones((n, 1))
    if law == "normal":
        return np.hstack([ones, rng.standard_normal((n, p - 1))])
    flags = rng.random((n, p // 2)) < np.resize(RARE, p // 2)
    tails = rng.standard_t(3, (n, p - 1 - p // 2)) / math.sqrt(3)
    return np.hstack([ones, flags, tails])


def errors(rng, law, n):
    """Errors of mean 0 and variance 1."""
    if law == "t4":
        return rng.standard_t(4, n) / math.sqrt(2)
    if law == "lognormal":
        return (np.exp(rng.standard_normal(n)) - math.exp(0.5)) / math.sqrt(math.e * (math.e - 1))
    return rng.standard_exponential(n) - 1 if law == "exponential" else rng.standard_normal(n)


def exact_draws(rng, x, y):
    """Draws of (beta, ln sigma) given rows, all with prior N(0, 1), by a grid of ln sigma."""
    eigenvalues, vectors = np.linalg.eigh(x.T @ x)
    pull = vectors.T @ (x.T @ y)
    least = max(float(y @ y - pull @ (pull / eigenvalues)) / len(y), 1e-12)
    grid = math.log(least) / 2 + np.linspace(-7, 7, 1401) / math.sqrt(2 * len(y))
    variance = np.exp(2 * grid)[:, None]
    precision = eigenvalues / variance + 1
    logs = ((pull / variance) ** 2 / precision - np.log(precision)).sum(axis=1) / 2
    logs -= len(y) * grid + (y @ y) / (2 * variance[:, 0]) + grid**2 / 2
    masses = np.exp(logs - logs.max())
    chosen = rng.choice(len(grid), EXACT, p=masses / masses.sum())
    z = rng.standard_normal((EXACT, len(pull))) / np.sqrt(precision[chosen])
    beta = (pull / variance[chosen] / precision[chosen] + z) @ vectors.T
    return np.column_stack([beta, grid[chosen]])


def ada_ssp(rng, x, y, mu):
    """Coefficients by AdaSSP, with mu^2 divided evenly among its three Gaussian releases.

    A row in place of another moves x x' and y x by sqrt(2) R^2 and 2 R Y at most.
    """
    lengths = np.linalg.norm(x, axis=1)
    R, Y = np.quantile(lengths, 0.99), np.quantile(abs(y), 0.99)
    x = x * np.minimum(1, R / lengths)[:, None]
    y, p, share = np.clip(y, -Y, Y), x.shape[1], math.sqrt(3) / mu
    noise = np.triu(rng.standard_normal((p, p)))
    noise = (noise + np.triu(noise, 1).T) * math.sqrt(2) * R**2 * share
    eigenvalue_sd = R**2 * share
    # As in the paper: lambda_min with noise, less what it may be too large by.
    tail = math.sqrt(2 * math.log(6 / FAILS))
    least = np.linalg.eigvalsh(x.T @ x)[0] + eigenvalue_sd * (rng.standard_normal() - tail)
    wanted = math.sqrt(p * math.log(2 * p**2 / FAILS)) * math.sqrt(2) * R**2 * share
    ridge = max(0.0, wanted - max(least, 0.0))
    sums = x.T @ y + 2 * R * Y * share * rng.standard_normal(p)
    return np.linalg.solve(x.T @ x + noise + ridge * np.eye(p), sums)


def measured(law, p, n, epsilon, error, sigma, seed):
    """Numbers of one data set, by name."""
    rng = np.random.default_rng([seed, 1])
    beta = rng.standard_normal(p)
    x = covariates(rng, law, n, p)
    y = x @ beta + sigma * errors(rng, error, n)
    model = LinearRegression(p + 1, n, 1.0, intercept=True)
    sampler = dpmcmc.for_budget(dpmcmc.NoisyLeastSquares(), n, epsilon)
    target = dpmcmc.Target(model, np.column_stack([y, x]))
    chain = dpmcmc.run_chain(sampler, target, dpmcmc.streams(seed), None, DRAWS)
    draws, exact = chain.positions, exact_draws(rng, x, y)
    mean, sds = exact[:, :p].mean(axis=0), exact[:, :p].std(axis=0)
    rival = ada_ssp(rng, x, y, 1 / sampler.noise)
    low, high = scores.intervals(draws[:, :p])
    found = scores.interval_metrics(draws[:, :p], exact[:, :p])
    of_scale = scores.interval_metrics(draws[:, p:], exact[:, p:])
    inference = chain.preparation
    return {
        "score_ratio": found["score_ratio"],
        "coverage": found["coverage"],
        "width": found["width"],
        "truth": float(((low <= beta) & (beta <= high)).mean()),
        "sigma_coverage": of_scale["coverage"],
        "sigma_width": of_scale["width"],
        "off": float(np.sqrt((((draws[:, :p].mean(axis=0) - mean) / sds) ** 2).mean())),
        "off_ada_ssp": float(np.sqrt((((rival - mean) / sds) ** 2).mean())),
        "fits": does_fit(inference.misfit, inference.far),
    }


def count(n):
    """Data sets of a cell."""
    return 20 if n < 100_000 else 10


def cell(covariates, p, n, epsilon, errors, sigma):
    """Numbers of a cell, by name."""
    settings = covariates, p, n, epsilon, errors, sigma
    rows = pd.DataFrame([measured(*settings, seed) for seed in range(count(n))])
    means, ses = rows.mean(), rows.std() / math.sqrt(len(rows))
    worth, worth_se = scores.worth(means.score_ratio, ses.score_ratio)
    off, rival = (float((rows[name] ** 2).mean() ** 0.5) for name in ("off", "off_ada_ssp"))
    return {
        "data_sets": len(rows),
        "worth": worth,
        "worth_se": worth_se,
        "coverage": means.coverage,
        "coverage_se": ses.coverage,
        "truth": means.truth,
        "truth_se": ses.truth,
        "width": means.width,
        "sigma_coverage": means.sigma_coverage,
        "sigma_width": means.sigma_width,
        "off": off,
        "off_ada_ssp": rival,
        "does_not_fit": int((~rows.fits.astype(bool)).sum()),
    }


def main():
    """Fill the file, and print its tables."""
    table = filled(FILE, KEYS, CELLS, cell)
    is_of_model = (table.errors == "normal") & (table.sigma == 1)
    print_table(table[is_of_model], lambda row: f"{row.covariates}, {row.p} | {row.n:,}")
    print_table(table[~is_of_model], lambda row: f"{row.errors}, {row.sigma:g} | {row.covariates}")


def print_table(table, first):
    """Cells in Markdown: a row for what `first` says of a cell, a column for each epsilon."""
    lines = {}
    for row in table.sort_values(["n", "covariates", "p", "epsilon"]).itertuples():
        worth = f"{100 * row.worth:.0f} ± {100 * row.worth_se:.0f} %"
        unfit = f" [{row.does_not_fit:.0f} of {row.data_sets:.0f}]" if row.does_not_fit else ""
        coverage = f"{100 * row.coverage:.0f} %"
        if row.errors != "normal":
            coverage += f" ({100 * row.truth:.0f} ± {100 * row.truth_se:.0f} %)"
        text = f"{worth}, {coverage}; {row.off:.1f} / {row.off_ada_ssp:.1f}{unfit}"
        lines.setdefault(first(row), []).append(text)
    print(*(f"| {' | '.join([name, *cells])} |" for name, cells in lines.items()), "", sep="\n")


if __name__ == "__main__":
    main()
