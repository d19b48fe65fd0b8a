"""Softmax regression: samples of powers of its posterior, and accuracies with and without privacy.

Rows are those of a model like `dpmcmc.models.softmax.Softmax`: the class, then the covariates.
"""

from typing import NamedTuple

import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.stats import gaussian_kde, rankdata

from dpmcmc.evaluation.metrics import median_bandwidth, mmd, sd_ratio, thin
from dpmcmc_studies.analysis.claims import side, verdict
from dpmcmc_studies.reporting.figures.style import legend_below, panel_grid

MARGIN = 0.01  # of accuracy: less than this is no difference to anyone who uses it
PAIRS, MOST = 500, 6000  # as of studies: pairs of the bandwidth, draws of the MMD
PLACES = 300  # of a density
SHOWN = 0.002, 0.998  # quantiles of the first sample that the axis holds, with as much again


def contrasts(model, draws):
    """Coefficients less those of the last class, (k, 3 (K - 1)): all that the likelihood sees.

    Parameters
    ----------
    model : Softmax
        With a baseline or without.
    draws : (k, d) array
    """
    if model.has_baseline:
        return draws
    coefficients = draws.reshape(len(draws), 3, model.num_classes)
    return (coefficients[..., :-1] - coefficients[..., -1:]).reshape(len(draws), -1)


def distance(rng, draws, reference):
    """MMD of two samples, and standard deviations of the first over those of the second."""
    draws = thin(draws, MOST)
    bandwidth = median_bandwidth(rng, draws, reference, PAIRS)
    return mmd(draws, reference, bandwidth), sd_ratio(draws, reference)


def judged(gaps, **limits):
    """Verdict on a claim of several comparisons: all of them for it, any against it, or neither.

    Parameters
    ----------
    gaps : list of Estimate
    **limits
        `above` and `below`, between which the claim says that all of them lie.
    """
    return verdict([side(gap, **limits) for gap in gaps], share=1, one_refutes=True)


class Accuracy(NamedTuple):
    """Mean and standard deviation (divisor: one less than their number) over random splits."""

    mean: float
    sd: float


def baseline(train, test):
    """Accuracy of softmax regression by L-BFGS: the mode under a Normal(0, I) prior.

    The intercepts have a flat prior. Prior, start and tolerance are the defaults of scikit-learn,
    which the thesis used.

    Parameters
    ----------
    train, test : (k, p) array, (l, p) array
        Rows that it is fitted to, and others that it is judged by; the class is the first column.

    Returns
    -------
    float
        Share of the test rows whose class is the most probable one.
    """
    classes, places = np.unique(train[:, 0], return_inverse=True)
    x, is_class = with_ones(train), np.eye(len(classes))[places]

    def mean_loss(theta):
        theta = theta.reshape(x.shape[1], -1)
        log_probabilities = log_softmax(x @ theta, axis=1)
        shrunk = np.vstack([theta[:-1], np.zeros(len(classes))])
        loss = (shrunk**2).sum() / 2 - log_probabilities[is_class == 1].sum()
        gradient = shrunk - x.T @ (is_class - np.exp(log_probabilities))
        return loss / len(x), gradient.ravel() / len(x)

    start = np.zeros(x.shape[1] * len(classes))
    options = {"gtol": 1e-4, "ftol": 64 * np.finfo(float).eps, "maxls": 50}
    theta = minimize(mean_loss, start, jac=True, method="L-BFGS-B", options=options).x
    predicted = (with_ones(test) @ theta.reshape(x.shape[1], -1)).argmax(axis=1)
    return float((classes[predicted] == test[:, 0]).mean())


def with_ones(rows):
    """Covariates of rows, and a column of ones for the intercept, (n, p)."""
    return np.column_stack([rows[:, 1:], np.ones(len(rows))])


def majority(train, test):
    """Accuracy of saying the most frequent class of `train` whatever the row; as `baseline`."""
    classes, counts = np.unique(train[:, 0], return_counts=True)
    return float((test[:, 0] == classes[counts.argmax()]).mean())


def over_splits(accuracy, rows, held_out=0.2, splits=15, seed=0):
    """Accuracy over random splits of rows.

    Parameters
    ----------
    accuracy : function
        `baseline`, `majority`, or another of their parameters.
    rows : (n, p) array
    held_out : float
        Share of the rows that is for the test.
    splits : int
    seed : int
        Of the splits, which are the same for every function.

    Returns
    -------
    Accuracy
    """
    rng, size = np.random.default_rng(seed), round(held_out * len(rows))
    found = []
    for _ in range(splits):
        order = rng.permutation(len(rows))
        found.append(accuracy(rows[order[size:]], rows[order[:size]]))
    return Accuracy(float(np.mean(found)), float(np.std(found, ddof=1)))


def density_panels(panels, names):
    """Densities of some components of samples, one colour a component, one panel a sample.

    Figures 6.6 and 6.9 of the thesis on DP SGHMC.

    Parameters
    ----------
    panels : dict of str to (k, c) array
        Samples by what heads their panel; the first of them sets the axis.
    names : list of str
        Of the c components.

    Returns
    -------
    matplotlib.figure.Figure
    """
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    figure, axes = panel_grid(len(panels), columns, size=(2.3 if columns == 3 else 3.3, 2.3))
    colours = sns.color_palette("colorblind", len(names))
    low, high = np.quantile(next(iter(panels.values())), SHOWN)
    x = np.linspace(low - (high - low) / 2, high + (high - low) / 2, PLACES)
    for axis, (title, sample) in zip(axes, panels.items(), strict=True):
        for values, colour in zip(sample.T, colours, strict=True):
            if values.std() > 0:  # a chain that stands still has no density
                axis.plot(x, gaussian_kde(values)(x), color=colour, linewidth=1.2)
        axis.set(title=title, xlabel="Coefficient", ylim=(0, None), yticks=[])
    figure.tight_layout()
    handles = [Line2D([], [], color=c, label=n) for c, n in zip(colours, names, strict=True)]
    legend_below(figure, handles, len(names))
    return figure


def sweep_panels(tables):
    """Numbers over friction (down) and step size (across), as tables beside each other.

    Figure 6.7 of the thesis on DP SGHMC. A cell is the darker the higher its number ranks.

    Parameters
    ----------
    tables : dict of str to (DataFrame, str)
        By what heads the panel: numbers, an index of frictions and columns of step sizes; and the
        format of a number.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axes = panel_grid(len(tables), min(2, len(tables)), size=(3.3, 2.6))
    for axis, (title, (table, spec)) in zip(axes, tables.items(), strict=True):
        table = table.sort_index().sort_index(axis=1)
        numbers = table.to_numpy(float)
        sns.heatmap(
            rankdata(numbers).reshape(numbers.shape) / numbers.size,
            annot=numbers,
            annot_kws={"color": "0.15"},
            fmt=spec,
            cmap="Blues",
            vmin=0,
            vmax=2,  # pale enough for black numbers
            cbar=False,
            linewidths=0.5,
            xticklabels=[f"{step:g}" for step in table.columns],
            yticklabels=[f"{friction:g}" for friction in table.index],
            ax=axis,
        )
        axis.grid(False)
        axis.tick_params(axis="y", rotation=0)
        axis.set(title=title, xlabel="First step size β", ylabel="Friction C")
    figure.tight_layout()
    return figure
