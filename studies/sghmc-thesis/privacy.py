"""What private SGHMC costs: by the accountants of its thesis, by later ones, and by relation."""

import dataclasses
import math
from functools import lru_cache

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D

import add_remove_pld
from dpmcmc.accounting import certified
from dpmcmc.accounting.accountants import epsilon_of
from dpmcmc.accounting.amplification import amplified_epsilon
from dpmcmc_studies.reporting.figures.style import NEUTRAL, legend_below

ORDERS = np.arange(2, 65)  # of Rényi curves; the best ones of the thesis's runs are below 20
ROUNDS = 4  # of a fixed point whose error each makes 30 times smaller


def epsilon(accountant, run, iterations, delta):
    """Epsilon by an accountant, which is a module; other parameters as for `thesis_epsilon`."""
    return float(epsilon_of(accountant, run(iterations), delta))


def with_sensitivity(run, factor):
    """The run with the same noise, were its sensitivity so many times what it is."""

    def releases(iterations):
        return [
            (dataclasses.replace(one, noise_variance=one.noise_variance / factor**2), count)
            for one, count in run(iterations)
        ]

    return releases


def thesis_epsilon(run, iterations, delta):
    """Epsilon by the thesis's moments accountant (section 6.5).

    That is the theorem on batches drawn without replacement of Wang, Balle and Kasiviswanathan
    (2019, Theorem 9), which is about substitution, but with the sensitivity to adding or removing a
    row, which is half as large. So it bounds neither relation.

    Parameters
    ----------
    run : function
        List of all that a chain releases, by the number of its iterations.
    iterations : int
    delta : float
    """
    return wang_epsilon(with_sensitivity(run, 0.5), iterations, delta)


def wang_epsilon(run, iterations, delta):
    """Epsilon by that theorem, under substitution with batches of a fixed size; parameters same."""
    curve = wang_curve(tuple(run(iterations)))
    return float(np.min(curve - math.log(delta) / (ORDERS - 1)))


@lru_cache(maxsize=32)
def wang_curve(releases):
    """Rényi epsilon of all releases at each of ORDERS."""
    curve = np.zeros(len(ORDERS))
    for one, count in releases:
        base = np.arange(ORDERS[-1] + 1) / (2 * one.noise_variance)
        q = one.sampling_probability
        curve += [count * amplified_epsilon(order, q, base[: order + 1]) for order in ORDERS]
    return curve


def removed_and_added(run, iterations, delta):
    """Epsilon of replacing one row with Poisson sampling, as the thesis bounds it.

    To replace a row is to remove one and to add one, so (e, d) for one of these is
    (2 e, (1 + exp(e)) d) for both (thesis, section 6.5). Parameters as for `thesis_epsilon`.
    """
    one = 0.0
    for _ in range(ROUNDS):
        one = epsilon(add_remove_pld, run, iterations, delta / (1 + math.exp(one)))
    return 2 * one


def by_relation(run, iterations, delta):
    """Epsilon of the same noise by what neighbouring data sets are, and how batches are drawn.

    Where batches have a fixed size, a row that is added to the data takes the place of another in
    the batch. So it moves the sum by as much as a row that is replaced, in the share q of the
    batches: Poisson sampling with twice the sensitivity is a pair of distributions that dominates.

    Returns
    -------
    list of dict
        `relation`, `sampling`, `moved` (by how many bounds L one row moves the sum over a batch),
        `accountant` in words, and `epsilon`; parameters as for `thesis_epsilon`.
    """
    added, replaced = "one row added or removed", "one row replaced"
    poisson, fixed = "Poisson", "fixed size"
    cases = [
        (added, poisson, 1, "PLD", epsilon(add_remove_pld, run, iterations, delta)),
        (
            added,
            fixed,
            2,
            "PLD, twice the sensitivity",
            epsilon(add_remove_pld, with_sensitivity(run, 2), iterations, delta),
        ),
        (
            replaced,
            poisson,
            2,
            "PLD",
            add_remove_pld.composition(
                tuple(run(iterations)), is_replaced=True
            ).get_epsilon_for_delta(delta),
        ),
        (replaced, fixed, 2, "certified PLD", epsilon(certified, run, iterations, delta)),
    ]
    keys = ("relation", "sampling", "moved", "accountant", "epsilon")
    return [dict(zip(keys, case, strict=True)) for case in cases]


def accountant_panels(panels):
    """Epsilon against one thing or another: a line an accountant, and what is printed as crosses.

    Parameters
    ----------
    panels : dict of str to tuple
        By what is on the horizontal axis, which is logarithmic: x, (k,); a dict from accountants
        to epsilons, (k,); and a dict from some of them to printed ones.
    """
    names = list(dict.fromkeys(name for _, ours, _ in panels.values() for name in ours))
    colours = dict(zip(names, sns.color_palette("colorblind", len(names)), strict=True))
    figure, axes = plt.subplots(1, len(panels), figsize=(0.4 + 3.4 * len(panels), 3.0))
    for axis, (label, (x, ours, printed)) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        for name, epsilons in ours.items():
            axis.plot(x, epsilons, "o-", markersize=3, color=colours[name])
        for name, epsilons in printed.items():
            axis.plot(x, epsilons, "x", markersize=8, color=colours[name], markeredgewidth=1.5)
        axis.set(xlabel=label, ylabel="ε", xscale="log", ylim=(0, None))
    figure.tight_layout()
    handles = [Line2D([], [], marker="o", markersize=3, color=colours[n], label=n) for n in names]
    handles.append(Line2D([], [], marker="x", linestyle="", color=NEUTRAL, label="Thesis"))
    legend_below(figure, handles, 2)
    return figure
