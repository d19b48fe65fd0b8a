"""Draws of a nearly normal posterior from weighted proposals about its mode, in one pass of rows.

The proposals do not depend on each other, so their log-likelihoods are sums over the same blocks of
rows: for regressions a matrix product of a block and all proposals.
"""

import numpy as np

from dpmcmc.evaluation import independence
from dpmcmc.evaluation.modes import find_modes
from dpmcmc.likelihoods.rows import RowsLikelihood, blocks
from dpmcmc.likelihoods.target import Target

DEGREES = 20  # of Student's t that proposals are of: tails heavier than those of the posterior
PROPOSALS = 1.4  # for each draw that is missing, in each round
ROUNDS = 4
LEAST_SHARE = 0.5  # of the proposals that their weights are worth
ROWS_OF_MODE = 2000  # rows at random that modes are searched on
ROWS_OF_WEIGHTS = 100_000  # rows at random that proposals are weighted on
MOST_ROWS = 2 * ROWS_OF_WEIGHTS  # that all proposals are weighted on
LARGEST_ERROR = 0.1  # of a log density that is estimated from some rows
NEWTON_STEPS = 30
SMALL_SLOPE = 1e-3  # at the mode, in its widths
WIDTHS = 0.1  # of differences of gradients, in those of the mode
BLOCK = 128  # rows whose terms of all proposals stay in the cache

ALL_ROWS = "weighted proposals, all rows"
SOME_ROWS = f"weighted proposals, slope and curvature of all rows, the rest of {ROWS_OF_WEIGHTS:,}"
CHAIN = "a chain of independent proposals"


def sample(rng, target, size):
    """Draws of a posterior with one mode, (size, d), and how they were made.

    Proposals are of a Student t about the mode. With the density ratio w of posterior and proposal,
    each is kept with the probability w / max w, so what is kept are independent draws. The largest
    weight is that of the proposals: empirical supremum rejection sampling (Caffo, Booth and Davis
    2002). Where the weights are worth less than half of the proposals, in effective size
    (sum w)^2 / sum w^2, or too few are kept, the draws are those of `independence.sample`.

    Of more than `MOST_ROWS` rows a log density is estimated (`FromSomeRows`), if that is precise.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target
    size : int

    Returns
    -------
    draws : (size, d) array
    kind : str
        `ALL_ROWS`, `SOME_ROWS` or `CHAIN`.

    Raises
    ------
    NotNearlyNormal
        If the posterior is not nearly normal.
    """
    modes = find_modes(rng, SomeRows(rng, target, ROWS_OF_MODE))
    if len(modes) == 1:
        covariance = modes[0].covariance
        centre = climbed(target, modes[0].position, covariance)
        if centre is not None:
            steps = WIDTHS * np.sqrt(np.diag(covariance))
            hessian = curvature(target, centre, steps)
            if np.isfinite(hessian).all() and np.linalg.eigvalsh(hessian).min() > 0:
                factor = np.linalg.cholesky(np.linalg.inv(hessian))
                for kind, log_density in log_densities(rng, target, centre, hessian, steps):
                    draws = weighted_draws(rng, log_density, centre, factor, size)
                    if draws is not None:
                        return draws, kind
    return independence.sample(rng, target, size), CHAIN


def log_densities(rng, target, centre, hessian, steps):
    """How to weight proposals: kinds, and functions of positions (m, d) to (m,) or None."""
    if has_rows(target) and target.num_rows > MOST_ROWS:
        yield SOME_ROWS, FromSomeRows(rng, target, centre, hessian, steps)
    yield ALL_ROWS, lambda positions: log_density_ratios(target, centre, positions)


def weighted_draws(rng, log_density, centre, factor, size):
    """Independent draws (size, d), or None if the weights are bad."""
    d = len(centre)
    z, log_weights, heights = np.empty((0, d)), np.empty(0), np.empty(0)
    missing = size
    for _ in range(ROUNDS):
        count = int(PROPOSALS * missing) + 10
        chi_square = rng.chisquare(DEGREES, count) / DEGREES
        new = rng.standard_normal((count, d)) / np.sqrt(chi_square)[:, None]
        found = log_density(centre + new @ factor.T)
        if found is None:
            return None
        log_proposal = -(DEGREES + d) / 2 * np.log1p((new**2).sum(axis=1) / DEGREES)
        z = np.concatenate([z, new])
        log_weights = np.append(log_weights, found - log_proposal)
        heights = np.append(heights, -rng.standard_exponential(count))
        if not share(log_weights) >= LEAST_SHARE:
            return None
        kept = np.flatnonzero(heights <= log_weights - log_weights.max())
        if len(kept) >= size:
            return centre + z[rng.permutation(kept)[:size]] @ factor.T
        missing = max(size - len(kept), size // 4)
    return None


class FromSomeRows:
    """Log density relative to a centre, by its slope and curvature of all rows.

    Only what a parabola leaves is estimated, from rows at random: a Taylor control variate
    (Bardenet, Doucet and Holmes 2017, section 7). Two halves of them say how precise it is.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target
    centre : (d,) array
    hessian : (d, d) array
        `curvature` of all rows.
    steps : (d,) array
        Of that.
    """

    def __init__(self, rng, target, centre, hessian, steps):
        self.centre = centre
        slope = target.gradient(centre)
        self.halves = []
        for _ in range(2):
            some = SomeRows(rng, target, ROWS_OF_WEIGHTS // 2)
            left = slope - some.gradient(centre), hessian - curvature(some, centre, steps)
            self.halves.append((some, *left))

    def __call__(self, positions):
        """Log densities of positions (m, d), (m,); None if they are not precise."""
        moves, estimates = positions - self.centre, []
        for some, slope, hessian in self.halves:
            parabolas = moves @ slope - ((moves @ hessian) * moves).sum(axis=1) / 2
            estimates.append(log_density_ratios(some, self.centre, positions) + parabolas)
        error = np.std(estimates[0] - estimates[1]) / 2
        return np.mean(estimates, axis=0) if error <= LARGEST_ERROR else None


def curvature(target, theta, steps):
    """Minus the second derivatives (d, d) of the log density, by differences of the gradient."""
    columns = [
        (target.gradient(theta - step) - target.gradient(theta + step)) / (2 * step.max())
        for step in np.diag(steps)
    ]
    return (np.array(columns) + np.array(columns).T) / 2


def share(log_weights):
    """Effective size of weights over their number; NaN if one is not a number."""
    weights = np.exp(log_weights - log_weights.max())
    return weights.sum() ** 2 / (weights**2).sum() / len(weights)


def climbed(target, theta, covariance):
    """The mode, (d,), by Newton's method from nearby with a covariance near that of the mode.

    None if the steps do not come to a place where the gradient is small.
    """
    for _ in range(NEWTON_STEPS):
        slope = target.gradient(theta)
        step = covariance @ slope
        if slope @ step <= SMALL_SLOPE**2:
            return theta
        theta = theta + step
    return None


class SomeRows(Target):
    """A target of rows drawn at random, each of which counts for n / count; of all if n is less.

    The same as the target where the likelihood does not read rows each time.
    """

    def __init__(self, rng, target, count):
        vars(self).update(vars(target), _gradients={})
        if has_rows(target) and target.num_rows > count:
            chosen = np.sort(rng.choice(target.num_rows, count, replace=False))
            self.data = target.data[chosen]
            self.likelihood = target.model.likelihood(self.data)
            self.num_rows = count
            self.likelihood_power = target.likelihood_power * target.num_rows / count


def has_rows(target):
    """True if the likelihood reads rows at each position."""
    return hasattr(target.likelihood, "rows")


def log_density_ratios(target, theta, positions):
    """Ln p(position | X) - ln p(theta | X) of positions (m, d), (m,), tempered."""
    model, likelihood = target.model, target.likelihood
    if isinstance(likelihood, RowsLikelihood):
        with np.errstate(all="ignore"):
            ratios = sum(
                model.log_likelihood_ratios(theta, positions, rows)
                for rows in blocks(likelihood.rows, BLOCK)
            )
    else:
        ratios = np.array([likelihood.log_ratio(theta, position) for position in positions])
    prior = np.array([model.log_prior_ratio(theta, position) for position in positions])
    return target.likelihood_power * ratios + prior
