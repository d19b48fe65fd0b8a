"""Modes of a posterior, and its scale about them: where the grid and the long run begin."""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammainc, gammaincinv

from dpmcmc.files import JobError

STARTS = 12  # of the search, in each of its two rounds
SCALES = (0.1, 1000.0)  # of starts about the origin, and in units of its width about a mode
LOG_MASS_CUTOFF = 10.0  # log mass below that of the best mode
MODE_WIDTHS = (
    2.0  # widths of a mode, for d = 2; for other d the ball with the same share of a normal
)
LEAST_SHARE = 0.2  # of what a mode's normal approximation says
NOT_FINITE = 1e100  # stands for a log density that is no finite number
SEARCHES = 20  # from one start, each in the units that the search before has found
SMALL_SLOPE = 0.1  # at a mode, in its widths: a tenth of a width, or 0.005 in log density, off it
FLAT = 1e-8  # curvature, relative to the largest, up to which the density does not fall
RISING = -0.01  # curvature, relative to the largest, below which the density rises: a saddle


class Mode(NamedTuple):
    """A local maximum of the log density, and a normal approximation about it."""

    position: np.ndarray  # (d,)
    covariance: np.ndarray  # (d, d); of flat directions as wide as of the widest that is not
    log_mass: float  # of that normal, relative to the density at the origin of the search
    searches: int = 1  # that led to it, one from the end of another


def find_modes(rng, target):
    """Modes of a posterior that local searches from widely spread starts find, heaviest first.

    One round starts about the origin, the true theta and draws of the prior, where the model has
    these, on all scales; a second one about the best mode, at up to a thousand of its widths. Modes
    of a negligible mass in the normal approximation are left out. No search finds all modes of all
    posteriors; what it misses is out of reach of what follows as well.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target

    Returns
    -------
    list of Mode
        At least one.

    Raises
    ------
    JobError
        If no start leads to a mode.
    """
    model, dimension = target.model, target.model.dimension
    true_theta = model.true_theta
    origin = np.zeros(dimension) if true_theta is None else np.array(true_theta, dtype=float)
    starts = [origin, *wide(rng, np.zeros(dimension), np.eye(dimension))]
    starts += prior_draws(rng, model)
    modes = [mode for start in starts for mode in climbed(target, origin, start)]
    if not modes:
        raise JobError(
            f"no mode of the posterior was found from {len(starts)} starts: is it proper, and its "
            "gradient that of its density?"
        )
    best, *_ = distinct(modes)
    factor = np.linalg.cholesky(best.covariance)
    for start in wide(rng, best.position, factor):
        modes += climbed(target, origin, start)
    return distinct(modes)


def distinct(modes):
    """Modes that are apart and have no negligible mass, heaviest first.

    Of those that are not apart one that a single search has led to counts.
    """
    kept, least = [], max(mode.log_mass for mode in modes) - LOG_MASS_CUTOFF
    for mode in sorted(modes, key=lambda mode: (mode.searches > 1, -mode.log_mass)):
        if mode.log_mass >= least and all(is_apart(mode, other) for other in kept):
            kept.append(mode)
    return sorted(kept, key=lambda mode: -mode.log_mass)


def wide(rng, centre, factor):
    """Starts about a centre, on scales that are evenly spaced in the logarithm."""
    for scale in np.geomspace(*SCALES, STARTS):
        yield centre + scale * (factor @ rng.standard_normal(len(centre)))


def prior_draws(rng, model):
    """Some draws of the prior, where the model has them."""
    try:
        return [model.sample_prior(rng) for _ in range(STARTS)]
    except NotImplementedError:
        return []


def is_apart(mode, other):
    """True if two searches did not end at the same mode, by the widths of the narrower one."""
    return max(squared_distances(m, mode.position - other.position) for m in (mode, other)) > 1


def squared_distances(mode, steps):
    """Squared lengths of steps (..., d) from a mode in units of its widths, (...)."""
    return (steps * np.linalg.solve(mode.covariance, steps.T).T).sum(axis=-1)


def missed(modes, positions, weights):
    """The first mode that weighted positions leave out, by its number; None if they leave out none.

    A position belongs to the mode whose normal approximation has the highest density there. The
    weight near a mode, in a ball that has 86 % of a normal distribution, is compared with the mass
    of the approximation, both relative to all modes. A posterior is not normal about its modes:
    less than a fifth counts as left out.

    Parameters
    ----------
    modes : list of Mode
    positions : (k, d) array
    weights : (k,) array
    """
    own = np.exp([mode.log_mass - modes[0].log_mass for mode in modes])
    far = np.array([squared_distances(mode, positions - mode.position) for mode in modes])
    peaks = np.array([mode.log_mass - np.linalg.slogdet(mode.covariance)[1] / 2 for mode in modes])
    of_mode = (peaks[:, None] - far / 2).argmax(axis=0) == np.arange(len(modes))[:, None]
    found = (of_mode & (far < squared_radius(positions.shape[1]))) @ weights
    is_left_out = found / max(found.sum(), 1e-300) < LEAST_SHARE * own / own.sum()
    return int(is_left_out.argmax()) if is_left_out.any() else None


def squared_radius(dimension):
    """Squared radius of a ball with the share of N(0, I_d) that `MODE_WIDTHS` has for d = 2."""
    return float(2 * gammaincinv(dimension / 2, gammainc(1.0, MODE_WIDTHS**2 / 2)))


def climbed(target, origin, start):
    """The mode that local searches from a start end at, in a list; none if they end nowhere.

    A search stops by absolute tolerances, which mean nothing before the scales of theta and of the
    log density are known. So a mode is a place where the gradient is small in its own widths,
    sqrt(g' C g) for the gradient g and the covariance C of the normal approximation, and the
    density does not rise in any direction. Until its gradient is small, another search starts from
    the place in units of its widths, with the log density relative to that place.
    """
    density = LogDensity(target, origin, np.zeros(len(start)), np.eye(len(start)))
    with np.errstate(all="ignore"):
        if density.negative(start)[0] == NOT_FINITE:
            return []
        for searches in range(1, SEARCHES + 1):
            options = {"maxiter": 1000}
            z = minimize(density.negative, start, jac=True, method="L-BFGS-B", options=options).x
            hessian = curvature(density.gradient, z)
            if hessian is None:
                return []
            covariance, log_volume, least = normal_about(hessian)
            if not np.isfinite(covariance).all():
                return []
            slope, place = density.gradient(z), density.theta(z)
            if slope @ covariance @ slope <= SMALL_SLOPE**2:
                log_volume += np.linalg.slogdet(density.factor)[1]
                log_mass = float(target.log_density_ratio(origin, place) + log_volume)
                if least < RISING or not math.isfinite(log_mass):
                    return []
                covariance = density.factor @ covariance @ density.factor.T
                return [Mode(place, covariance, log_mass, searches)]
            start, units = np.zeros(len(start)), density.factor @ np.linalg.cholesky(covariance)
            density = LogDensity(target, place, place, units)
    return []


class LogDensity:
    """Log density of z, relative to the one at `base`, where theta = centre + factor z."""

    def __init__(self, target, base, centre, factor):
        self.target, self.base, self.centre, self.factor = target, base, centre, factor

    def theta(self, z):
        """The position (d,) of a z."""
        return self.centre + self.factor @ z

    def gradient(self, z):
        """Gradient (d,) in z."""
        return self.target.gradient(self.theta(z)) @ self.factor

    def negative(self, z):
        """Minus the log density and minus its gradient, to be minimized."""
        value, slope = self.target.log_density_ratio(self.base, self.theta(z)), self.gradient(z)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return NOT_FINITE, np.zeros(len(z))
        return -value, -slope


def curvature(gradient, theta):
    """Hessian of minus the log density, by differences of the gradient; None if not finite.

    The steps are a tenth of the width of each component, which a first pass finds.
    """
    steps = 1e-4 * (1 + abs(theta))
    for _ in range(3):
        columns = [
            (gradient(theta - step) - gradient(theta + step)) / (2 * step.max())
            for step in np.diag(steps)
        ]
        hessian = (np.array(columns) + np.array(columns).T) / 2
        if not np.isfinite(hessian).all():
            return None
        diagonal = np.diag(hessian)
        steps = np.where(diagonal > 0, 0.1 / np.sqrt(np.maximum(diagonal, 1e-300)), steps)
    return hessian


def normal_about(hessian):
    """Covariance (d, d) of the normal of a curvature, and log of the volume under it.

    Directions in which the density does not fall, as along a ring, get the width of the widest
    other one. The least curvature, relative to the largest, comes third.
    """
    values, vectors = np.linalg.eigh(hessian)
    scale = np.ones(len(hessian))
    if values.min() <= FLAT * values.max():  # components may be in very different units
        diagonal = np.maximum(np.diag(hessian), 0)
        is_curved = diagonal > 0
        scale[is_curved] = diagonal[is_curved] ** -0.5
        scale[~is_curved] = scale[is_curved].max(initial=0) or 1.0
        values, vectors = np.linalg.eigh(scale[:, None] * hessian * scale)
    largest = abs(values).max()
    is_falling = values > FLAT * largest
    widest = values[is_falling].min() if is_falling.any() else 1.0
    filled = np.where(is_falling, values, widest)
    covariance = scale[:, None] * ((vectors / filled) @ vectors.T) * scale
    log_volume = -0.5 * np.log(filled / (2 * math.pi)).sum() + np.log(scale).sum()
    return covariance, log_volume, values.min() / largest
