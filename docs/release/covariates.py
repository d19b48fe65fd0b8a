"""The table of flags and related columns in docs/release.md, from covariates.csv, which it fills.

    python docs/release/covariates.py

A cell that is in the file already is kept, so a run can be interrupted. Regressions have an
intercept and four covariates, and theta is a draw of its prior. *Flags* are 1 in 5, 20, 35 and 50 %
of the rows, and enter as they are. *Related* columns are z + e / 2, with one z for all and an e for
each, N(0, 1). Noisy Newton chooses its settings, and delta = .1 / n.
"""

from pathlib import Path

import numpy as np
from rows import filled

import dpmcmc
from dpmcmc.evaluation import importance, scores

FILE = Path(__file__).with_suffix(".csv")
KEYS = ["model", "covariates", "n", "epsilon"]
MODELS = {
    "logistic": (dpmcmc.LogisticRegression, 1.0),
    "robust": (dpmcmc.RobustRegression, 1.0),
    "Poisson": (dpmcmc.PoissonRegression, 0.1),
}
CELLS = [
    *((model, law, 10_000, 1.0) for law in ("flags", "related") for model in MODELS),
    ("logistic", "flags", 1000, 1.0),
]
FLAGS = [0.05, 0.2, 0.35, 0.5]  # shares of ones
DATA_SETS, EXACT, DRAWS = 20, 1000, 1000


def covariates(rng, law, n):
    """Covariates of rows (n, 5), the first the 1 of an intercept."""
    if law == "flags":
        z = rng.random((n, 4)) < FLAGS
    else:
        z = rng.standard_normal((n, 1)) + rng.standard_normal((n, 4)) / 2
    return np.hstack([np.ones((n, 1)), z])


def measured(name, law, n, epsilon, seed):
    """Metrics of one data set, by name."""
    kind, variance = MODELS[name]
    model, rng = kind(5, n, variance, intercept=True), np.random.default_rng([seed, 1])
    theta, x = model.sample_prior(rng), covariates(rng, law, n)
    target = dpmcmc.Target(model, np.column_stack([model.outcomes_at(rng, theta, x), x]))
    exact, _ = importance.sample(rng, target, EXACT)
    sampler = dpmcmc.for_budget(dpmcmc.NoisyNewton(), n, epsilon)
    draws = dpmcmc.run_chain(sampler, target, dpmcmc.streams(seed), None, DRAWS).positions
    return scores.interval_metrics(draws, exact, scores.prior_draws(model))


def cell(model, covariates, n, epsilon):
    """Numbers of a cell, by name."""
    found = [measured(model, covariates, n, epsilon, seed) for seed in range(DATA_SETS)]
    summary = scores.summary({key: [one[key] for one in found] for key in found[0]})
    numbers = ("worth", "worth_se", "coverage", "coverage_se", "width", "honest")
    return {key: summary[key] for key in numbers}


def main():
    """Fill the file, and print its table."""
    table = filled(FILE, KEYS, CELLS, cell)
    lines = {}
    for row in table.sort_values(KEYS).itertuples():
        text = f"{100 * row.worth:.0f} ± {100 * row.worth_se:.0f} %, "
        text += f"{100 * row.coverage:.0f} ± {100 * row.coverage_se:.0f} %, {row.width:.2f}"
        if row.honest != "honest":
            text = f"({text}; {row.honest})"
        lines.setdefault((row.covariates, row.model, f"{row.n:,}"), []).append(text)
    print(*(f"| {' | '.join([*name, *cells])} |" for name, cells in lines.items()), sep="\n")


if __name__ == "__main__":
    main()
