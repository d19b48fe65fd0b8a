"""Corrections of Barker's test: those that others have fitted beside ours, and their errors.

A correction is a distribution V with Normal(0, C) + V nearly logistic. Here each is a mixture of
normals, of which some may have no width (atoms).
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from scipy.linalg import solve
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logsumexp, ndtr

from dpmcmc.samplers.barker_correction import fit_correction
from dpmcmc_studies.reporting.figures.style import NEUTRAL

REACH = 10.0  # the ridge's correction, and the mixture's fit, end at +-REACH
FINE = np.linspace(-60.0, 60.0, 120_001)  # where errors are measured
LEAST, MOST = 1e-9, 10  # shown of a density


@dataclass(frozen=True)
class NormalMixture:
    """A distribution as a mixture of normals.

    Attributes
    ----------
    weights, means, sds : (m,) arrays
        A standard deviation of 0 makes an atom.
    negative_share : float
        What the weights below 0 added up to, over the absolute sum of all, before they were set
        to 0.
    """

    weights: np.ndarray
    means: np.ndarray
    sds: np.ndarray
    negative_share: float = 0.0

    def distribution(self, x, noise_variance):
        """P(Normal(0, noise_variance) + V <= x) for x of shape (k,), (k,)."""
        scale = np.sqrt(noise_variance + self.sds**2)
        values = np.empty(len(x))
        for part in np.array_split(np.arange(len(x)), 1 + len(x) * len(scale) // 2**22):
            values[part] = ndtr((x[part, None] - self.means) / scale) @ self.weights
        return values

    def density(self, x):
        """Density of V at x of shape (k,), (k,); its standard deviations must not be 0."""
        with np.errstate(over="ignore"):  # far from a component that is nearly an atom
            densities = np.exp(-(((x[:, None] - self.means) / self.sds) ** 2) / 2)
        return densities @ (self.weights / (np.sqrt(2 * np.pi) * self.sds))

    @property
    def variance(self):
        """Variance of V."""
        mean = self.weights @ self.means
        return float(self.weights @ ((self.means - mean) ** 2 + self.sds**2))


def atoms(noise_variance):
    """Ours: a few atoms that make the largest error of the distribution function small."""
    fitted = fit_correction(noise_variance)
    return NormalMixture(fitted.weights, fitted.atoms, np.zeros(len(fitted.atoms)))


def ridge(noise_variance, count=4000, penalty=10.0):
    """That of Seita et al. (2017): masses on a grid, by ridge regression of the distribution.

    Parameters
    ----------
    noise_variance : float
        C.
    count : int
        Places on [-REACH, REACH].
    penalty : float
        lambda, on the sum of the squared masses. Masses below 0 are set to 0, and the others scaled
        to add up to 1.
    """
    places = np.linspace(-REACH, REACH, count)
    x = np.linspace(-2 * REACH, 2 * REACH, 2 * count - 1)  # as dense, and twice as far
    matrix = ndtr((x[:, None] - places) / np.sqrt(noise_variance))
    gram = matrix.T @ matrix
    gram[np.diag_indices(count)] += penalty
    masses = solve(gram, matrix.T @ expit(x), assume_a="pos", overwrite_a=True)
    kept = np.maximum(masses, 0.0)
    negative = float((kept - masses).sum() / np.abs(masses).sum())
    return NormalMixture(kept / kept.sum(), places, np.zeros(count), negative)


def mixture(noise_variance, rng, components=50, points=1000, iterations=2000):
    """That of Heikkila et al. (2019): a mixture of normals and their mirror images.

    By least squares: the density of Normal(0, C) + V is fitted to the logistic one on a grid of
    [-REACH, REACH], from a random start, by BFGS of limited memory (the paper: Adam).

    Parameters
    ----------
    noise_variance : float
        C.
    rng : numpy.random.Generator
        Of the start.
    components : int
        Before they are mirrored.
    points : int
        Of the grid.
    iterations : int
        At most.
    """
    x = np.linspace(-REACH, REACH, points)
    logistic = np.exp(log_expit(x) + log_expit(-x))
    start = np.concatenate(
        [np.zeros(components), 2 * rng.standard_normal(components), np.zeros(components)]
    )

    def loss(parameters):
        weights, means, sds = unpacked(parameters)
        scale = np.sqrt(noise_variance + sds**2)
        value, gradient = np.zeros(points), np.zeros((3, components))
        sides = []
        for sign in (1, -1):
            z = (x[:, None] - sign * means) / scale
            density = np.exp(-z * z / 2) / (np.sqrt(2 * np.pi) * scale) / 2
            value += density @ weights
            sides.append((sign, z, density))
        residual = value - logistic
        for sign, z, density in sides:
            by_weight = residual @ density
            gradient[0] += weights * (by_weight - by_weight @ weights)
            gradient[1] += weights * (residual @ (density * z)) * sign / scale
            gradient[2] += weights * (residual @ (density * (z * z - 1))) * (sds / scale) ** 2
        scaled = 1e6  # or the first step would already be within the tolerance
        return scaled * (residual @ residual), scaled * 2 * gradient.ravel()

    options = {"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 1e-15, "gtol": 1e-9}
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
    weights, means, sds = unpacked(fitted.x)
    return NormalMixture(
        np.concatenate([weights, weights]) / 2,
        np.concatenate([means, -means]),
        np.concatenate([sds, sds]),
    )


def unpacked(parameters):
    """Weights, means and standard deviations of a mixture, from logits, means and logarithms."""
    logits, means, log_sds = parameters.reshape(3, -1)
    return np.exp(logits - logsumexp(logits)), means, np.exp(log_sds)


def largest_error(correction, noise_variance):
    """Largest difference of the distribution of Normal(0, C) + V from the logistic one."""
    return float(np.abs(correction.distribution(FINE, noise_variance) - expit(FINE)).max())


def stationary_bias(acceptance, log_density, step_sd):
    """Total variation between what a random walk with a test leaves invariant, and its target.

    A walk on a grid, which proposes the grid's places by a normal density about where it is: exact,
    without a single random number.

    Parameters
    ----------
    acceptance : function
        Probability of acceptance, (k,), of differences of the log density, (k,).
    log_density : (k,) array
        Of the target, on a grid of places one apart.
    step_sd : float
        Of the proposals, in places.

    Returns
    -------
    float
        0 for the logistic distribution function, which is Barker's test.
    """
    places = np.arange(len(log_density))
    proposals = np.exp(-(((places[:, None] - places) / step_sd) ** 2) / 2)
    np.fill_diagonal(proposals, 0.0)
    proposals /= proposals.sum(axis=1).max()  # symmetric; what is left stays where it is
    differences = log_density - log_density[:, None]
    flow = proposals * acceptance(differences.ravel()).reshape(differences.shape)
    np.fill_diagonal(flow, -flow.sum(axis=1))
    equations = np.vstack([flow.T[:-1], np.ones(len(places))])  # balance, and a sum of 1
    invariant = np.linalg.solve(equations, np.append(np.zeros(len(places) - 1), 1.0))
    return float(np.abs(invariant - np.exp(log_density - logsumexp(log_density))).sum() / 2)


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
        figsize=(0.6 + 2.2 * len(variances), 0.4 + 1.8 * len(names)),
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
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.0))
    x = np.linspace(-REACH, REACH, 1001)
    left.plot(x, expit(x), color=NEUTRAL, linewidth=3, alpha=0.4, label="Logistic")
    for name, colour in colours(fitted).items():
        values = fitted[name].distribution(x, noise_variance)
        left.plot(x, values, color=colour, label=name)
        right.plot(x, np.abs(values - expit(x)), color=colour)
    left.set(title=f"C = {noise_variance:g}", ylabel="CDF", xlabel="Noise")
    right.set(yscale="log", ylabel="Difference from the logistic CDF", xlabel="Noise")
    right.set_ylim(LEAST, 1)
    left.legend(frameon=False)
    figure.tight_layout()
    return figure
