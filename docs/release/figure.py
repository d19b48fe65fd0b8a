"""The figure of docs/release.md, and the numbers of the table below it.

    python docs/release/figure.py          # draw radon.svg from radon.npz, and print the table
    python docs/release/figure.py FOLDER   # first take radon.npz anew from releases in a folder

The noise of a release cannot be repeated, so radon.npz keeps the draws that are shown. FOLDER has
the releases epsilon-1 and epsilon-4 of noisy Newton and chain of DP HMC, started, at epsilon 4, of
examples/radon.yaml. The exact posterior is computed from the example's data and is not private.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
NAMES = ("intercept", "log_radon", "log_uranium")
RELEASED = {  # release: row of the table, label, colour
    "epsilon-1": ("noisy Newton | 1", "released, ε = 1", "C1"),
    "epsilon-4": ("noisy Newton | 4", "released, ε = 4", "C0"),
    "chain": ("DP HMC, started by noisy Newton | 4", "a chain, ε = 4", "C3"),
}


def kept(folder):
    """Draws of the releases in a folder, and of the exact posterior: {name: (k, 3) array}."""
    releases = {
        name: np.loadtxt(folder / name / "chain.csv", delimiter=",", skiprows=1)[:, 2:]
        for name in RELEASED
    }
    draws = releases | {"exact": exact_draws()}
    return {name: array.astype(np.float32) for name, array in draws.items()}


def exact_draws():
    """Draws of the posterior, (2000, 3)."""
    from dpmcmc.data_files import DataFile, prepared
    from dpmcmc.evaluation import independence
    from dpmcmc.likelihoods.target import Target

    sys.path.append(str(EXAMPLES))
    from radon import Logistic

    assert Logistic.parameter_names == NAMES
    model = Logistic(12_289)
    rows = prepared(model, DataFile(EXAMPLES / "radon.csv"), list(model.columns))
    return independence.sample(np.random.default_rng(1), Target(model, rows), 2000)


def shown(draws):
    """What is shown of each release: of a chain the second half."""
    return {
        name: draws[name][len(draws[name]) // 2 :] if name == "chain" else draws[name]
        for name in RELEASED
    }


def table(draws):
    """Rows of the table of the page, in Markdown."""
    exact = draws["exact"]
    for name, part in shown(draws).items():
        off = (part.mean(axis=0) - exact.mean(axis=0)) / exact.std(axis=0)
        ratio = part.std(axis=0) / exact.std(axis=0)
        whole = f" of {len(draws[name]):,}" if len(part) < len(draws[name]) else ""
        numbers = [", ".join(f"{x:.2f}" for x in row).replace("-", "−") for row in (off, ratio)]
        yield f"| {RELEASED[name][0]} | {len(part):,}{whole} | {' | '.join(numbers)} |"


def draw(draws, path):
    """Draw means and 90 % intervals, a panel for each coefficient."""
    plt.rcdefaults()
    plt.rcParams |= {"svg.hashsalt": "release", "svg.fonttype": "none", "font.size": 9}
    rows = {"exact (not private)": ("0.5", draws["exact"])}
    for name, part in shown(draws).items():
        _, label, colour = RELEASED[name]
        rows[label] = colour, part
    figure, axes = plt.subplots(1, 3, figsize=(8, 1.9), sharey=True, layout="constrained")
    for j, (axis, name) in enumerate(zip(axes, NAMES, strict=True)):
        for y, (colour, part) in enumerate(rows.values()):
            mean, (low, high) = part[:, j].mean(), np.quantile(part[:, j], [0.05, 0.95])
            axis.plot([low, high], [y, y], color=colour, lw=4, solid_capstyle="butt")
            axis.plot(mean, y, "o", color="white", markeredgecolor=colour, markersize=6)
            axis.text(mean, y - 0.2, f"{mean:.2f}".replace("-", "−"), ha="center", va="bottom")
        axis.axvline(draws["exact"][:, j].mean(), color="0.8", lw=0.8, zorder=0)
        axis.set(xlabel=name, ylim=(len(rows) - 0.6, -0.8))
        axis.margins(x=0.1)
        axis.spines[["left", "top", "right"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(rows)), list(rows))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main(folders):
    """Draw the figure, of new releases if there is a folder of them."""
    for folder in folders:
        np.savez_compressed(HERE / "radon.npz", **kept(Path(folder)))
    draws = dict(np.load(HERE / "radon.npz"))
    draw(draws, HERE / "radon.svg")
    print(*table(draws), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
