"""The figure of docs/accounting.md on chains of noisy gradients: one release says as much.

    python docs/accounting/chain.py        # write chain.csv and draw chain.svg; takes a minute

A Langevin chain of a normal mean (d = 10, n = 1,000) spends epsilon = 1 in K steps. Its releases
are combined as the proposition says, and compared with one release at the same mu.
"""

import math
from pathlib import Path

import dpmcmc

dpmcmc.pin()
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from dpmcmc.accounting.costs import preparation_noise  # noqa: E402
from dpmcmc.models.gaussian import Gaussian  # noqa: E402

HERE = Path(__file__).parent
N, D, PRIOR_VARIANCE, BOUND = 1000, 10, 0.1, 8.0  # no row is as far as the bound
STEPS, DATA_SETS = (10, 30, 100, 300, 1000), 100
PRECISION = N + 1 / PRIOR_VARIANCE  # of the exact posterior
TIME = 6.0  # steps times their size, in units of the posterior: more steps are smaller


def measured(num_steps, seed):
    """Squared errors over the posterior's variance, and what 90 % intervals hold of it."""
    rng = np.random.default_rng([seed, num_steps])
    model = Gaussian(N, PRIOR_VARIANCE, np.eye(D).tolist())
    target = dpmcmc.Target(model, model.simulate(rng, model.sample_prior(rng)))
    total = target.data.sum(axis=1)
    one_sd = 2 * BOUND * preparation_noise(N, 1.0, 0.1 / N)
    sd = one_sd * math.sqrt(num_steps)
    step = TIME / num_steps / PRECISION
    theta, chain, combined = np.zeros(D), np.empty((num_steps, D)), np.zeros(D)
    for k in range(num_steps):
        likelihood, num_clipped = target.clipped_gradient(theta, BOUND)
        assert not num_clipped
        released = likelihood + sd * rng.standard_normal(D)
        combined += (released + N * theta) / num_steps
        gradient = released - theta / PRIOR_VARIANCE
        theta = theta + step * gradient + math.sqrt(2 * step) * rng.standard_normal(D)
        chain[k] = theta
    kept = chain[num_steps // 2 :]
    released_once = total + one_sd * rng.standard_normal(D)
    exact, exact_sd = total / PRECISION, 1 / math.sqrt(PRECISION)
    aware_precision = N / (1 + one_sd**2 / N) + 1 / PRIOR_VARIANCE
    answers = {
        "the chain": (kept.mean(axis=0), kept.std(axis=0)),
        "its releases, combined": aware(combined, aware_precision),
        "one release": aware(released_once, aware_precision),
    }
    return [
        {
            "steps": num_steps,
            "answer": name,
            "error": float(np.mean((mean - exact) ** 2) / exact_sd**2),
            "coverage": float(held(mean, sds, exact, exact_sd).mean()),
        }
        for name, (mean, sds) in answers.items()
    ]


def aware(total, precision):
    """Mean and standard deviations of the posterior given a noisy total."""
    weight = (precision - 1 / PRIOR_VARIANCE) / N
    return weight * total / precision, np.full(D, 1 / math.sqrt(precision))


def held(mean, sds, exact, exact_sd):
    """Mass of the exact posterior in normal 90 % intervals, (d,)."""
    from scipy.stats import norm

    low, high = ((mean + sign * 1.6449 * sds - exact) / exact_sd for sign in (-1, 1))
    return norm.cdf(high) - norm.cdf(low)


def summary(rows):
    """Means and their standard errors, by answer and number of steps."""
    table = pd.DataFrame(rows)
    table.loc[table["answer"] == "one release", "steps"] = 0  # they do not matter to it
    found = table.groupby(["answer", "steps"], sort=False)[["error", "coverage"]]
    found = found.agg(["mean", "sem"]).round(4)
    found.columns = ["error", "error_se", "coverage", "coverage_se"]
    return found.reset_index()


# Whatever the style of figures that were drawn before.
STYLE = {"svg.hashsalt": "chain", "font.size": 11}
STYLE |= {"axes.spines.top": False, "axes.spines.right": False}


@plt.style.context(["default", STYLE])
def draw(table, path):
    """Write the figure as SVG."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    colours = {"the chain": "C3", "its releases, combined": "C0", "one release": "#444444"}
    for axis, column in zip(axes, ("error", "coverage"), strict=True):
        for name, cells in table.groupby("answer", sort=False):
            colour, values, errors = colours[name], cells[column], 2 * cells[f"{column}_se"]
            if name == "one release":
                axis.axhline(values.iloc[0], color=colour, linestyle="--", label=name)
                continue
            options = {"color": colour, "marker": "o", "label": name}
            axis.errorbar(cells["steps"], values, errors, **options)
        axis.set(xscale="log", xlabel="steps that share ε = 1")
    axes[0].set(ylim=(0, 6), ylabel="squared error of the mean\nover the posterior's variance")
    axes[1].axhline(0.9, color="#bbbbbb", linewidth=0.8, zorder=0)
    axes[1].set(ylim=(0.75, 1), ylabel="mass within 90 % intervals")
    axes[0].legend(frameon=False, loc="lower right")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    table = summary([row for k in STEPS for i in range(DATA_SETS) for row in measured(k, i)])
    table.to_csv(HERE / "chain.csv", index=False)
    draw(table, HERE / "chain.svg")
