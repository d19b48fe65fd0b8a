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
NEAR = 2.0  # widths of a mode, for d = 2; for other d the ball with the same share of a normal
LEAST_SHARE = 0.2  # of what a mode's normal approximation says
NOT_FINITE = 1e100  # stands for a log density that is no finite number


class Mode(NamedTuple):
    """A local maximum of the log density, and a normal approximation about it."""

    position: np.ndarray  # (d,)
    covariance: np.ndarray  # (d, d); of flat directions as wide as of the widest that is not
    log_mass: float  # of that normal, relative to the density at the origin of the search


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
    best = max(modes, key=lambda mode: mode.log_mass)
    factor = np.linalg.cholesky(best.covariance)
    for start in wide(rng, best.position, factor):
        modes += climbed(target, origin, start)
    modes.sort(key=lambda mode: -mode.log_mass)
    kept = []
    for mode in modes:
        if mode.log_mass < modes[0].log_mass - LOG_MASS_CUTOFF:
            break
        if all(is_apart(mode, other) for other in kept):
            kept.append(mode)
    return kept


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
    """Whether two searches did not end at the same mode, by the widths of the narrower one."""
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
    """Squared radius of a ball with the share of N(0, I_d) that `NEAR` has for d = 2."""
    return float(2 * gammaincinv(dimension / 2, gammainc(1.0, NEAR**2 / 2)))


def climbed(target, origin, start):
    """The mode that a local search from a start ends at, in a list; none if it ends nowhere."""

    def value(theta):
        log_density = target.log_density_ratio(origin, theta)
        slope = target.gradient(theta)
        if not (np.isfinite(log_density) and np.isfinite(slope).all()):
            return NOT_FINITE, np.zeros(len(theta))
        return -log_density, -slope

    with np.errstate(all="ignore"):
        if value(start)[0] == NOT_FINITE:
            return []
        end = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
        hessian = curvature(target.gradient, end)
        if hessian is None:
            return []
        covariance, log_width = normal_about(hessian)
        log_mass = float(target.log_density_ratio(origin, end)) + log_width
    return [Mode(end, covariance, log_mass)] if math.isfinite(log_mass) else []


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
    other one.
    """
    values, vectors = np.linalg.eigh(hessian)
    is_falling = values > 1e-8 * abs(values).max()
    least = values[is_falling].min() if is_falling.any() else 1.0
    values = np.where(is_falling, values, least)
    covariance = (vectors / values) @ vectors.T
    return covariance, float(-0.5 * np.log(values / (2 * math.pi)).sum())
