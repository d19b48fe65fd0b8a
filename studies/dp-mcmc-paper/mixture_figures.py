"""Chains on a mixture: their modes and widths, and errors after so many iterations beside costs."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.ticker import MaxNLocator

from dpmcmc.evaluation.metrics import kept_draws, thin
from dpmcmc.files import read_npz
from dpmcmc.reporting.draws import chain_path
from dpmcmc.reporting.figures.style import NEUTRAL
from dpmcmc.reporting.words import accountant_label

DOTS = 1000  # draws of a chain that are drawn
NUM_ENDS = 40  # up to which the errors of a chain are shown


def results_of_cell(study, model, algorithm, run, seeds, reference, first):
    """What the page shows of the chains of a cell, as arrays by name.

    Parameters
    ----------
    study : Study
    model, algorithm : str
        Ids.
    run : str
        As it stands in paths.
    seeds : sequence of int
    reference : (size, 2) array
        Of the posterior.
    first : float
        Share of the positions before which errors are not shown.

    Returns
    -------
    dict of str to array
        `second_shares` and `variances`, (chains,), and `num_draws`, of the kept draws of each
        chain; `draws`, some of the first chain; `of_mean` and `of_variance`, (chains, e), errors of
        the first `ends`, (e,), of `num_positions`.
    """
    positions = np.stack(
        [read_npz(chain_path(study, model, algorithm, run, seed))["positions"] for seed in seeds]
    )
    draws = np.stack([kept_draws(chain) for chain in positions])
    length = positions.shape[1]
    ends = np.unique(np.linspace(max(1, first * length), length, NUM_ENDS).astype(int))
    of_mean, of_variance = running_errors(positions, reference, ends)
    return {
        "second_shares": second_shares(draws),
        "variances": variances(draws),
        "num_draws": draws.shape[1],
        "draws": thin(draws[0], DOTS).astype(np.float32),
        "num_positions": length,
        "ends": ends,
        "of_mean": of_mean,
        "of_variance": of_variance,
    }


def second_shares(draws):
    """Share of the second mode in draws of each chain, (chains,)."""
    return (draws[..., 1] < 0).mean(axis=1)


def variances(draws):
    """Variances of both components, added up, in draws of each chain, (chains,)."""
    return draws.var(axis=1, ddof=1).sum(axis=-1)


def running_errors(chains, reference, ends):
    """Errors of the mean and of the variance of the first iterations of chains.

    Parameters
    ----------
    chains : (m, k, d) array
        Positions, evenly spaced.
    reference : (size, d) array
        Of the posterior.
    ends : (e,) array of int
        Up to which positions.

    Returns
    -------
    of_mean, of_variance : (m, e) arrays
        Euclidean norms of the differences from the reference's mean and variances.
    """
    counts = np.arange(1, chains.shape[1] + 1)[:, None]
    means = chains.cumsum(axis=1) / counts
    centre = reference.mean(axis=0)
    squares = ((chains - centre) ** 2).cumsum(axis=1) / counts
    variances = squares - (means - centre) ** 2
    at = np.asarray(ends) - 1
    return (
        np.linalg.norm(means[:, at] - centre, axis=2),
        np.linalg.norm(variances[:, at] - reference.var(axis=0), axis=2),
    )


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
