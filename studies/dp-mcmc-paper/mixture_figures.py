"""Figures of chains on a mixture: errors after so many iterations, and what these cost."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.ticker import MaxNLocator

from dpmcmc_studies.reporting.figures.style import NEUTRAL
from dpmcmc_studies.reporting.words import accountant_label


def running_panels(iterations, errors, exact, spent):
    """Errors of the running mean and variance, with standard errors; epsilon on a second axis.

    Parameters
    ----------
    iterations : (e,) array
    errors : dict of str to dict of str to (m, e) array
        By what they are of, which heads a panel, and by kind of chains.
    exact : dict of str to float
        Median errors of exact samples, by the same names.
    spent : dict of str to (e,) array
        Epsilon by accountant.
    """
    figure, axes = plt.subplots(1, len(errors), figsize=(0.4 + 3.6 * len(errors), 3.2))
    colours = sns.color_palette("colorblind")
    for axis, (name, kinds) in zip(np.atleast_1d(axes), errors.items(), strict=True):
        for colour, (kind, values) in zip(colours, kinds.items(), strict=False):
            mean = values.mean(axis=0)
            se = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0 * mean
            axis.fill_between(iterations, mean - se, mean + se, color=colour, alpha=0.3, lw=0)
            axis.plot(iterations, mean, color=colour, label=kind)
        axis.axhline(exact[name], color=NEUTRAL, label="Exact sample")
        axis.set(title=name, xlabel="Iterations", ylim=(0, None))
        second = axis.twinx()
        for style, (accountant, epsilons) in zip(("--", ":"), spent.items(), strict=False):
            label = f"ε, {accountant_label(accountant)} (right)"
            second.plot(iterations, epsilons, style, color=colours[2], label=label)
        second.set(ylabel="ε spent", yscale="log")
        second.grid(False)
    lines = [line for one in (axis, second) for line in one.get_legend_handles_labels()[0]]
    figure.tight_layout(rect=(0, 0.2, 1, 1))
    figure.legend(handles=lines, loc="lower center", frameon=False, ncols=2)
    return figure


def epsilon_panels(panels):
    """Epsilon by either accountant, a panel for what it is drawn against.

    Parameters
    ----------
    panels : dict of str to dict
        By what is on the horizontal axis: a dict from labels to (x, epsilons by accountant).
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(0.4 + 3.5 * len(panels), 4.8))
    for axis, (name, lines) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        colours = sns.color_palette("colorblind", len(lines))
        for colour, (label, (x, spent)) in zip(colours, lines.items(), strict=True):
            for style, (accountant, epsilons) in zip(("--", "-"), spent.items(), strict=False):
                named = f"{label}, {accountant_label(accountant)}"
                axis.plot(x, epsilons, style, color=colour, label=named)
        axis.set(xlabel=name, ylabel="ε", xscale="log", yscale="log")
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False, ncols=1)
    figure.tight_layout()
    return figure


def clipped_figure(scales, fractions, batch_size):
    """Share of clipped ratios against the variance of the proposal: medians and ranges of chains.

    Parameters
    ----------
    scales : (s,) array
        Standard deviations.
    fractions : (s, m) array
        Of the chains.
    batch_size : int
    """
    figure, axis = plt.subplots(figsize=(4.4, 3.0))
    colour = sns.color_palette("colorblind")[0]
    variances = np.square(scales)
    axis.fill_between(
        variances, 100 * fractions.min(axis=1), 100 * fractions.max(axis=1), color=colour, alpha=0.3
    )
    axis.plot(variances, 100 * np.median(fractions, axis=1), "o-", color=colour, markersize=3)
    axis.set(xlabel="Proposal variance", ylabel="Clipped ratios (% of the batch)", ylim=(0, None))
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.set_title(f"b = {batch_size:,}")
    figure.tight_layout()
    return figure
