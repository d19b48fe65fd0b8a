"""The figure of docs/release.md: python docs/release/figure.py FOLDER, with its releases.

FOLDER has the releases eps1, eps4 and eps4-chain, and the example's data: the exact posterior, with
which they are compared, is computed from these and is not private.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gaussian_kde

from dpmcmc.evaluation import independence
from dpmcmc.likelihoods.target import Target
from dpmcmc.study.data_files import DataFile, prepared

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "examples"))
from radon import Logistic  # noqa: E402

RELEASED = {  # folder: label, colour, line
    "eps1": ("released, ε = 1", "C1", "-"),
    "eps4": ("released, ε = 4", "C0", "-"),
    "eps4-chain": ("a chain, ε = 4", "C3", "--"),
}


def exact_draws(folder):
    """Draws of the posterior, (2000, 3)."""
    model = Logistic(12_289)
    rows = prepared(model, DataFile(folder / "radon.csv"), list(model.columns))
    return independence.sample(np.random.default_rng(1), Target(model, rows), 2000)


def released_draws(folder):
    """Draws of a release, without the first half of a chain."""
    draws = np.loadtxt(folder / "chain.csv", delimiter=",", skiprows=1)[:, 2:]
    return draws[len(draws) // 2 :] if "chain" in folder.name else draws


def main(folder):
    """Draw and save it."""
    plt.rcParams |= {"svg.hashsalt": "release", "svg.fonttype": "none", "font.size": 8}
    exact = exact_draws(folder)
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.9), layout="constrained")
    for j, (axis, name) in enumerate(zip(axes, Logistic.parameter_names, strict=True)):
        mean, sd = exact[:, j].mean(), exact[:, j].std()
        grid = mean + sd * np.linspace(-6, 6, 121)
        prior = np.exp(-(grid**2) / 8) / np.sqrt(8 * np.pi)
        density = gaussian_kde(exact[:, j])(grid)
        axis.fill_between(grid, density, color="0.8", label="exact (not private)")
        axis.plot(grid, prior, color="0.4", lw=1, label="prior")
        for i, (part, (label, colour, line)) in enumerate(RELEASED.items()):
            draws = released_draws(folder / part)[:, j]
            axis.plot(grid, gaussian_kde(draws)(grid), line, color=colour, lw=1.3, label=label)
            level = -0.06 * (i + 1) * density.max()
            axis.plot(np.quantile(draws, [0.05, 0.95]), [level] * 2, color=colour, lw=2.5)
        axis.plot(
            np.quantile(exact[:, j], [0.05, 0.95]), [-0.24 * density.max()] * 2, "0.6", lw=2.5
        )
        axis.set(xlabel=name, yticks=[], ylim=(-0.3 * density.max(), 1.35 * density.max()))
        axis.axhline(0, color="0.8", lw=0.5, zorder=0)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    figure.savefig(HERE / "radon.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
