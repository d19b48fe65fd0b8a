"""Corrections of Barker's test: their errors, their densities, their distribution functions."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from scipy.special import expit

from dpmcmc.evaluation.corrections import REACH
from dpmcmc.reporting.figures.style import NEUTRAL

LEAST, MOST = 1e-9, 10  # shown of a density


def colours(names):
    """A colour a correction, the same whatever their order."""
    names = sorted(names)
    return dict(zip(names, sns.color_palette("colorblind", len(names)), strict=True))


def error_figure(errors):
    """Largest error of the distribution function against the noise's variance.

    Parameters
    ----------
    errors : DataFrame
        One row a fit: `correction`, `noise_variance` and `error`.
    """
    figure, axis = plt.subplots(figsize=(5.2, 3.4))
    of_names = colours(errors["correction"].unique())
    for name, fits in errors.groupby("correction", sort=False):
        medians = fits.groupby("noise_variance")["error"].median()
        axis.plot(medians.index, medians, "-", color=of_names[name], label=name)
        axis.plot(fits["noise_variance"], fits["error"], "o", markersize=3, color=of_names[name])
    axis.set(yscale="log", xlabel="Variance C of the normal noise")
    axis.set_ylabel("Largest error of the\ndistribution function")
    axis.legend(frameon=False)
    figure.tight_layout()
    return figure


def density_panels(fitted):
    """Densities of corrections on a log scale: a row a correction, a column a variance.

    Parameters
    ----------
    fitted : dict of (str, float) to NormalMixture
        By name and noise variance. Of atoms the probabilities are shown, and the density of atoms
        that stand on an even grid.
    """
    names = list(dict.fromkeys(name for name, _ in fitted))
    variances = sorted({variance for _, variance in fitted})
    figure, axes = plt.subplots(
        len(names),
        len(variances),
        figsize=(0.6 + 2.8 * len(variances), 0.4 + 2.0 * len(names)),
        squeeze=False,
        sharex=True,
    )
    of_names = colours(names)
    for row, name in zip(axes, names, strict=True):
        for axis, variance in zip(row, variances, strict=True):
            correction = fitted[name, variance]
            spacings = np.diff(correction.means)
            if correction.sds.all():
                around = correction.means + correction.sds * np.linspace(-6, 6, 61)[:, None]
                x = np.sort([*np.linspace(-REACH, REACH, 1001), *around.ravel()])
                axis.plot(x, correction.density(x), color=of_names[name])
                label = "Density"
            elif np.allclose(spacings, spacings[0]):
                masses = np.where(correction.weights > 0, correction.weights, np.nan)
                axis.plot(correction.means, masses / spacings[0], color=of_names[name])
                label = "Density"
            else:
                axis.vlines(correction.means, LEAST, correction.weights, color=of_names[name])
                label = "Probability"
            axis.set(yscale="log", ylim=(LEAST, MOST), xlim=(-REACH, REACH))
            axis.set_title(f"{name}, C = {variance:g}")
        row[0].set_ylabel(label)
    for axis in axes[-1]:
        axis.set_xlabel("Correction V")
    figure.tight_layout()
    return figure


def distribution_panels(fitted, noise_variance):
    """Distribution functions of Normal(0, C) + V, and how far they are from the logistic one.

    Parameters
    ----------
    fitted : dict of str to NormalMixture
        By name.
    noise_variance : float
        C.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.2))
    x = np.linspace(-REACH, REACH, 1001)
    left.plot(x, expit(x), color=NEUTRAL, linewidth=3, alpha=0.4, label="Logistic")
    for name, colour in colours(fitted).items():
        values = fitted[name].distribution(x, noise_variance)
        left.plot(x, values, color=colour, label=name)
        right.plot(x, np.abs(values - expit(x)), color=colour)
    left.set(title=f"C = {noise_variance:g}", ylabel="Distribution function", xlabel="Noise")
    right.set(yscale="log", ylabel="Distance from the logistic one", xlabel="Noise")
    right.set_ylim(LEAST, 1)
    left.legend(frameon=False)
    figure.tight_layout()
    return figure
