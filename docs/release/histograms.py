"""The table of docs/release.md on noisy histograms of rows that do not follow the model.

    python docs/release/histograms.py

Simulated rows of a normal mean with variance 1, whose theta is a draw of the prior N(0, 1). Each
data set has one release in the box from -12 to 12 with 96 bins, and its exact posterior beside it.
"""

import math

import numpy as np
from rows import LAWS as ROWS
from rows import covers

import dpmcmc
from dpmcmc.samplers.one_shot import does_fit

CELLS = [(n, epsilon) for n in (1_000, 10_000) for epsilon in (0.25, 1, 4)]
DATA_SETS = 10
NAMES = ["as the model says", "exponential", "lognormal", "sd .7", "sd 1.3"]
NAMES += ["Student's t, 3 degrees", "a tenth at 5 sds"]
LAWS = {name: ROWS[name] for name in NAMES} | {
    "1 % at 8 sds": lambda rng, d, n: (
        rng.standard_normal((d, n)) + 8 * ((rng.random(n) < 0.01) - 0.01)
    ),
    "rounded to halves": lambda rng, d, n: np.round(2 * rng.standard_normal((d, n))) / 2,
}


def cell(law, n, epsilon):
    """How far off, how much of the exact posterior is held, and how many do not fit."""
    model = dpmcmc.Gaussian(n, 1.0, [[1.0]])
    sampler = dpmcmc.for_budget(dpmcmc.NoisyHistogram(-12, 12, 96), n, epsilon)
    offs, masses, unfit = [], [], 0
    for i in range(DATA_SETS):
        rng = np.random.default_rng([i, n])
        data = rng.standard_normal(1)[:, None] + LAWS[law](rng, 1, n)
        chain = dpmcmc.run_chain(sampler, dpmcmc.Target(model, data), dpmcmc.streams(i), None, 1000)
        exact = model.sample_posterior(rng, data, 2000)
        offs.append((chain.positions.mean() - exact.mean()) / exact.std())
        masses.append(covers(chain.positions, exact).mean())
        unfit += not does_fit(chain.preparation.misfit)
    said = f" [{unfit}]" if unfit else ""
    return f" {math.sqrt(np.mean(np.square(offs))):.1f}, {np.mean(masses):.2f}{said} |"


if __name__ == "__main__":
    heads = [f" {n:,}, ε = {epsilon:g} |" for n, epsilon in CELLS]
    print("| rows |", *heads, "\n|---|", "---|" * len(heads), sep="")
    for name in LAWS:
        print(f"| {name} |", *(cell(name, *one) for one in CELLS), sep="", flush=True)
