"""Statistical checks of a model: whether prior, likelihood, data and exact draws belong together.

Each is exact, so that a right model fails with the chance `FALSE_ALARM`, however long a chain would
take to reach its posterior.
"""

import math

import numpy as np

from dpmcmc.evaluation.checking.cases import (
    MOST_ROWS,
    row_gradients,
    scale_of,
    simulate_at,
    with_rows,
)
from dpmcmc.evaluation.checking.findings import (
    FALSE_ALARM,
    NotTried,
    Outcome,
    near_zero,
    optional,
    z_scores,
)
from dpmcmc.likelihoods.bounded_scores import are_cut, weighted
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.chain import accepts
from dpmcmc.samplers.far_outcomes import LEVELS, counts, has_tails
from dpmcmc.samplers.hmc import HMC
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.moves import GaussianWalk
from dpmcmc.samplers.streams import Streams

SIMULATED_ROWS = 1000  # of which scores are taken, at each theta
DIRECTIONS = 2  # in which their variance is taken
PRIOR_DRAWS = 4000  # a missing Jacobian of a log scale is 11 standard errors
PRIOR_STEPS = 2.4, 0.4, 0.06, 0.01, 0.001  # in units of its scale, as some will fit
EXACT_DRAWS = 400
CALIBRATED = 300  # data sets
POSITIONS = 12  # of the chain of each
ROWS_TO_CALIBRATE = 50  # at most, if their number can be set


def scores_have_mean_zero(case, rng):
    """Simulated at theta: the scores have mean 0."""
    z = []
    for theta, targets in simulated(case, rng):
        scores = np.concatenate([row_gradients(t, theta, rows) for t, rows in targets])
        z.append(z_scores(scores))
    return near_zero_where(case, np.array(z))


def bounded_scores_have_mean_zero(case, rng):
    """Simulated at theta: bounded scores have mean 0, and their slope.

    The slope of a score s is E s g', for gradients g; applied to vectors of random signs. Models
    that leave bounds to a cut of the gradient are not tried, since that has another mean.
    """
    if are_cut(case.model):
        raise NotTried("it has no bounded_scores of its own")
    z = []
    for theta, targets in simulated(case, rng):
        gradients = np.concatenate([row_gradients(t, theta, rows) for t, rows in targets])
        bound = float(np.median(np.linalg.norm(gradients, axis=1)))
        rows = np.concatenate([t.data[rows] for t, rows in targets])
        found, _ = weighted(case.model, theta, rows, bound, 0.3 / bound)
        z.append(z_scores(found.scores))
        scale = scale_of(gradients)
        for _ in range(DIRECTIONS):
            vector = scale * rng.choice([-1.0, 1.0], len(theta))
            slopes = np.einsum("krd,kr->kd", found.roots, found.roots @ vector)
            values = found.scores * (gradients @ vector)[:, None] - slopes
            z.append(z_scores(scale * values, floor=1e-3))
    return near_zero_where(case, np.array(z))


def outcomes_are_as_seldom_far(case, rng):
    """Simulated at theta: outcomes are as seldom far out as it says.

    With levels a, at most a of the rows have a probability of a or less. It may be fewer where
    outcomes are discrete.
    """
    model = case.model
    if not has_tails(model):
        raise NotTried("it has no tail_probabilities")
    z = []
    for theta, targets in simulated(case, rng):
        found = sum(counts(model, theta, t.data[rows]) for t, rows in targets)
        number = sum(len(rows) for _, rows in targets)
        for level, count in zip(LEVELS, found, strict=True):
            z.append((count - number * level) / math.sqrt(number * level * (1 - level)))
    return near_zero(np.maximum(z, 0)[None])


def scores_have_the_information(case, rng):
    """Simulated at theta: the scores vary as the Hessian says.

    The mean of g g^T + H is 0, for scores g and Hessians H of the rows (Bartlett's second
    identity); applied to vectors of random signs, in units of what one row tells of a component.
    """
    z = []
    for theta, targets in simulated(case, rng):

        def scores_at(theta, targets=targets):
            return np.concatenate([row_gradients(t, theta, rows) for t, rows in targets])

        scores = scores_at(theta)
        scale = scale_of(scores)
        for _ in range(DIRECTIONS):
            vector = scale * rng.choice([-1.0, 1.0], len(theta))
            step = 1e-3 * vector
            curvature = (scores_at(theta + step) - scores_at(theta - step)) / 2e-3
            values = scores * (scores @ vector)[:, None] + curvature
            z.append(z_scores(scale * values, floor=1e-3))
    return near_zero_where(case, np.array(z))


def near_zero_where(case, z):
    """Outcome of z-scores of both positions of `simulated`, in their order; it names the worst.

    A likelihood may have a kink at a round theta, such as 0.
    """
    centre = "theta = 0" if not case.centre.any() else "the true theta"
    worst = int(np.abs(z).max(axis=tuple(range(1, z.ndim))).argmax())
    where = centre if worst < len(z) / 2 else f"a theta near {centre.removeprefix('theta = ')}"
    return near_zero(z, f" at {where}")


def simulated(case, rng):
    """Positions, at and far from the centre, each with targets and rows of data drawn there."""
    model = case.model
    for theta in (case.centre, case.near(rng, 0.5 * case.row_scale)):
        targets, missing = [], SIMULATED_ROWS
        while missing > 0:
            target = Target(model, simulate_at(model, rng, theta))
            rows = rng.permutation(target.num_rows)[:missing]
            targets.append((target, rows))
            missing -= len(rows)
        yield theta, targets


def prior_draws_stay(case, rng):
    """Draws of sample_prior: stay in it by log_prior_ratio."""
    model, streams = case.model, Streams(*rng.spawn(3))
    starts, others = np.split(prior_draws(model, rng, 2 * PRIOR_DRAWS), 2)
    ends, accepted = starts.copy(), []
    scale = spread(others) / math.sqrt(model.dimension)
    for theta in ends:
        for factor in PRIOR_STEPS * 4:
            theta_new = theta + factor * scale * rng.standard_normal(len(theta))
            accepted.append(accepts(streams, model.log_prior_ratio(theta, theta_new)))
            if accepted[-1]:
                theta[:] = theta_new
    return has_stayed(starts, ends, others, np.mean(accepted))


def prior_draws(model, rng, size):
    """Draws of the prior, (size, d)."""
    draws = np.array([optional(model.sample_prior, rng) for _ in range(size)], dtype=float)
    if draws.shape != (size, model.dimension):
        raise ValueError(
            f"sample_prior: must return an array of shape {(model.dimension,)}, "
            f"not {draws.shape[1:]}"
        )
    return draws


def exact_draws_stay(case, rng):
    """Draws of sample_posterior: stay in it by HMC, Metropolis."""
    target, streams = case.target, Streams(*rng.spawn(3))
    draws = optional(case.model.sample_posterior, rng, target.data, 2 * EXACT_DRAWS)
    expected = 2 * EXACT_DRAWS, case.model.dimension
    if np.shape(draws) != expected:
        found = np.shape(draws)
        raise ValueError(f"sample_posterior: must return an array of shape {expected}, not {found}")
    starts, others = np.split(draws, 2)
    samplers = kernels(spread(others))
    ends, accepted = np.empty_like(starts), []
    for i, start in enumerate(starts):
        positions, is_accepted = path(target, samplers, streams, start, range(2 * len(samplers)))
        ends[i] = positions[-1]
        accepted += is_accepted
    return has_stayed(starts, ends, others, np.mean(accepted))


def simulation_based_calibration(case, rng):
    """Simulated at draws of the prior: these rank evenly (SBC).

    Simulation-based calibration, by the exact rank test of Gandy and Scott (2020, Unit testing for
    MCMC and other Monte Carlo methods, section 3.1): theta is put at a random place of a chain of
    reversible kernels, which are run from there to both ends; by stationarity any other of its
    positions could as well be theta. Ranked are theta_j, its squared distance from the prior's
    centre, the sum of these, and the log-likelihood: the components alone do not see that a prior
    is left out (Modrak et al. 2023, Simulation-based calibration checking for Bayesian
    computation).
    """
    if case.configured.likelihood_power != 1:
        raise NotTried("the likelihood is tempered, so no posterior of the data")
    prior, others = np.split(prior_draws(case.model, rng, 2 * CALIBRATED), 2)
    model, scale = for_calibration(case.model, rng, others)
    centre, width = np.median(others, axis=0), spread(others)
    streams, samplers = Streams(*rng.spawn(3)), kernels(scale)
    ranks, accepted = [], []
    for theta in prior:
        target = Target(model, simulate_at(model, rng, theta))
        place = rng.integers(POSITIONS)
        # The kernel from one position to the next is the same in either direction.
        later, of_later = path(target, samplers, streams, theta, range(place, POSITIONS - 1))
        earlier, of_earlier = path(target, samplers, streams, theta, range(place)[::-1])
        chain = np.array([*earlier[::-1], theta, *later])
        ratios = [target.likelihood.log_ratio(theta, other) for other in chain]
        squares = ((chain - centre) / width) ** 2
        values = np.column_stack([chain, squares, squares.sum(axis=1), ratios])
        below, equal = (values < values[place]).sum(axis=0), (values == values[place]).sum(axis=0)
        ranks.append((below + equal * rng.random(values.shape[1])) / POSITIONS)
        accepted += of_later + of_earlier
    acceptance = np.mean(accepted)
    if acceptance == 0:
        raise NotTried("the chains accept none of their proposals")
    from scipy.stats import kstest  # which takes most of a second to import

    p_values = [kstest(component, "uniform").pvalue for component in np.transpose(ranks)]
    p = min(1.0, len(p_values) * min(p_values))
    remark = f"{CALIBRATED} data sets of {model.num_rows} rows, acceptance {acceptance:.2g}"
    return Outcome(f"p = {p:.2g} ({remark})", f"p >= {FALSE_ALARM:g}", bool(p >= FALSE_ALARM))


def for_calibration(model, rng, prior):
    """The model with about as many rows as tell what the prior tells, and a posterior's scale.

    The fewer rows, the more a wrong prior shows.

    Parameters
    ----------
    model : Model
    rng : numpy.random.Generator
    prior : (size, d) array
        Draws of the prior.

    Returns
    -------
    model : Model
    scale : (d,) array
        By which the posterior extends, for most draws of the prior.
    """
    of_a_row = []
    for theta in prior[:20]:
        target = Target(model, simulate_at(model, rng, theta))
        some = np.arange(min(20, target.num_rows))
        of_a_row.append((row_gradients(target, theta, some) ** 2).mean(axis=0))
    information, of_prior = np.median(of_a_row, axis=0), spread(prior) ** -2
    information = np.where(np.isfinite(information), information, 0.0)
    wanted = np.nan_to_num(np.median(of_prior / information), nan=2)
    model = with_rows(model, int(np.clip(wanted, 2, ROWS_TO_CALIBRATE)))
    if model.num_rows > MOST_ROWS:
        raise NotTried(f"num_rows = {model.num_rows} cannot be made smaller")
    return model, (model.num_rows * information + of_prior) ** -0.5


def kernels(scale):
    """HMC and Metropolis with steps of several sizes, as some will fit; scale is (d,).

    Each is reversible: also what gives their turn to one after another leaves the posterior as it
    is.
    """
    d, inverse_mass = len(scale), list(scale**2)
    return [
        *(HMC(factor * d**-0.25, 4, inverse_mass) for factor in (0.9, 0.2, 0.04, 0.008)),
        *(Metropolis(GaussianWalk(list(factor * d**-0.5 * scale))) for factor in (2.4, 0.1)),
    ]


def path(target, samplers, streams, start, turns):
    """Positions after steps of those samplers whose turn it is, and which were accepted."""
    positions, accepted, position = [], [], start
    for turn in turns:
        sampler = samplers[turn % len(samplers)]
        state, info = sampler.step(streams, sampler.init(streams, position), target)
        position = state.position
        positions.append(position)
        accepted.append(info.is_accepted)
    return positions, accepted


def spread(draws):
    """Standard deviation of each component, from its quartiles, (d,)."""
    low, high = np.quantile(draws, [0.25, 0.75], axis=0)
    return np.where(high > low, (high - low) / 1.35, 1.0)


def has_stayed(starts, ends, others, acceptance):
    """Outcome of pairs of draws, (n, d), that must be of one distribution, as must be the others.

    Compared are means of bounded functions, as a prior may have no moments.
    """
    if acceptance == 0:
        raise NotTried("the chains accept none of their proposals")
    centre, width = np.median(others, axis=0), spread(others)

    def functions(draws):
        u = (draws - centre) / width
        return np.concatenate([np.tanh(u), u**2 / (1 + u**2)], axis=1)

    z = z_scores(functions(ends) - functions(starts))
    return near_zero(z, f" (acceptance {acceptance:.2g})")
