"""Empirical audit: a lower bound of the epsilon that a sampler's own code really costs.

Many runs of a few iterations, on two data sets that differ in one row, the worst there are. Each
run is scored by the log-likelihood ratio of all its releases (`dpmcmc.evaluation.recording`), or
by how far the chain came, which takes no sampler's word for its noise. An event "score above t" is
chosen on one half of the runs; on the other half, exact binomial confidence bounds of its two
probabilities give

    epsilon >= ln((P(event) - delta) / Q(event))

(Jagielski, Ullman and Oprea 2020). That must stay below what the accountant says, and come close
where its bound is tight. Noise that is too small, or a row that is not clipped, shows.

Where all is Gaussian, so that iterations cost one mu, any event bounds that too:

    mu >= Phi^-1(P(event)) - Phi^-1(Q(event))

(Dong, Roth and Su 2022: the trade-off curve of two normals mu apart). It needs no rare event, so it
comes closer than epsilon does. The noise is also looked at by itself (`dpmcmc.evaluation.noise`).
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.accounting import certified
from dpmcmc.accounting.gaussian import total_mu
from dpmcmc.evaluation.noise import Noise, NoiseFound
from dpmcmc.evaluation.recording import RecordedStreams, log_densities
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.dp_sgld import DPSGLD
from dpmcmc.samplers.dp_sgnht import DPSGNHT
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import Move
from dpmcmc.samplers.sghmc import DPSGHMC

STEP = 0.5  # of the proposals
OUTLIER = 1e6  # a row so far away that all its ratios and gradients are clipped


@dataclass(frozen=True)
class FixedStep(Move):
    """A move that always proposes the same step, so that the clipped sign of a row is known."""

    def init(self, rng, dimension):
        """Nothing to remember."""
        return None

    def propose(self, rng, theta, memory):
        """theta + STEP."""
        return theta + STEP, None, None


class Case(NamedTuple):
    """A sampler on two data sets of one statistic that differ in the first row."""

    sampler: Any
    rows: np.ndarray  # (n,)
    neighbour: np.ndarray  # (n,)
    iterations: int
    likelihood_power: float = 1.0
    start: float = 0.0

    @property
    def releases(self):
        """All that it releases, a list of (mechanism, count)."""
        return self.sampler.releases(len(self.rows), self.likelihood_power, self.iterations)

    def epsilon(self, delta):
        """Epsilon at delta by the certified accountant: the most that it costs."""
        return certified.epsilon(self.releases, delta)

    def mu(self):
        """The mu of all iterations together; NaN where not all that they release is Gaussian."""
        return total_mu(self.releases) if certified.is_gaussian(self.releases) else math.nan


class Bound(NamedTuple):
    """Lower bounds by one kind of score, each with confidence; 0 if nothing was found."""

    epsilon: float
    mu: float  # if all is Gaussian


class Found(NamedTuple):
    """Result of an audit."""

    values: Bound  # by what was released
    positions: Bound
    noise: NoiseFound


def cases(num_rows=16, correction=None):
    """Each private algorithm on its worst data sets, one mechanism and a few.

    Parameters
    ----------
    num_rows : int
        Of the data sets, but for "dp-barker-all-rows", which has four times as many.
    correction : Correction, optional
        Of Barker's acceptance test; without it the cases of DP Barker cannot be run.

    Returns
    -------
    dict of str to Case
        By id, which ends with the number of iterations.
    """
    n = num_rows
    far = np.full(n, OUTLIER)  # every ratio of an upward step is clipped at +c
    low = np.concatenate([[-OUTLIER], far[1:]])
    half = OUTLIER * np.where(np.arange(4 * n) % 2, -1.0, 1.0)
    half_low = np.concatenate([[-OUTLIER], half[1:]])
    tau = 1 / math.sqrt(n)  # mu = 1
    penalty = DPPenalty(FixedStep(), noise_scale=tau, clip_bound=0.1)
    hmc = DPHMC(
        noise_scale=2 * tau,
        gradient_noise_scale=3 * tau,
        step_size=0.3,
        num_integration_steps=2,
        clip_bound=0.1,
        gradient_clip_bound=0.1,
    )
    minibatch = MinibatchDPPenalty(FixedStep(), 0.5, n // 2, 0.1)
    barker = DPBarker(FixedStep(), n // 2, correction)
    # As published: exactly, a batch of all rows has no variance, and none is taken off the noise.
    barker_all_rows = DPBarker(FixedStep(), 4 * n, correction, batch_variance="published")
    barker_full_data = FullDataDPBarker(FixedStep(), 0.5, correction)
    audited = {
        "dp-penalty": (penalty, low, far, (1, 4)),
        "dp-hmc": (hmc, half_low[:n], half[:n], (1, 4)),
        "minibatch-dp-penalty": (minibatch, low, far, (1, 4)),
        "dp-sgld": (DPSGLD(0.5, n // 2, 1.0), low, far, (1, 4)),
        "dp-sgnht": (DPSGNHT(0.5, n // 2, 1.0, 2.0), low, far, (1, 4)),
        "dp-sghmc": (DPSGHMC(1.0, 3, n // 2, 2.0, gradient_clip_bound=1.0), low, far, (1, 4)),
        "dp-barker": (barker, low, far, (4, 16)),
        "dp-barker-all-rows": (barker_all_rows, half_low, half, (4, 16)),
        "dp-barker-full-data": (barker_full_data, low, far, (1, 4)),
    }
    return {
        f"{name}-{iterations}": Case(*case, iterations)
        for name, (*case, lengths) in audited.items()
        for iterations in lengths
    }


def gaussian_model(num_rows):
    """Rows are Normal(theta, 1), theta is Normal(0, 1)."""
    settings = {"prior_variance": 1.0, "covariance": [[1.0]], "true_position": [0.0]}
    return Gaussian(num_rows=num_rows, **settings)


def observe(case, targets, rng, runs, noise):
    """Many runs on the first of two targets whose data differ in the first row.

    Parameters
    ----------
    case : Case
    targets : list of Target
    rng : RecordedStreams
    runs : int
    noise : Noise
        To which that of all releases is added.

    Returns
    -------
    losses : (runs,) array
        ln of the densities of all that a run released, on the first target over on the second.
    ways : (runs,) array
        Where it ended, as the sum of the components.
    """
    losses, ways = np.zeros(runs), np.empty(runs)
    start = np.full(targets[0].model.dimension, case.start)
    for i in range(runs):
        prepares = case.sampler.prepares
        state = None if prepares else case.sampler.init(rng, start)
        for _ in range(prepares + case.iterations):
            step = rng.step(case.sampler, state, targets[0])
            noise.add(step, is_preparation=state is None)
            losses[i] += log_ratio(rng, case.sampler, state, targets, step)
            state = step.state
        ways[i] = state.position.sum()
    return losses, ways


def log_ratio(rng, sampler, state, targets, step):
    """ln of the densities of what an iteration released, on the first target over on the second.

    The batch is secret, so the densities are averaged over whether the first row, which differs, is
    in it; either all releases of an iteration share a batch, or each has its own. All other rows
    are alike, or all rows are in the batch, so that nothing else of it matters.
    A value that is no number betrays the data set.
    """
    if not all(np.isfinite(released.value).all() for released in step.released):
        return math.inf

    def densities_on(target, batch=None):
        batches = [batch] * len(step.batch_sizes)
        to_end = state is not None  # what a preparation computes then is not looked at
        repeated = rng.repeat(sampler, state, target, step, batches, to_end)
        logs = np.array(log_densities(repeated.released, step.released))
        return logs if step.has_batch_each else logs.sum()

    n = targets[0].num_rows
    b, *more = step.batch_sizes or [n]
    if more and not (step.has_batch_each and set(more) == {b}):
        raise ValueError("several batches an iteration, of which a score is not known")
    if b == n:
        return np.sum(densities_on(targets[0])) - np.sum(densities_on(targets[1]))
    q, rows = b / n, np.arange(n)
    without = math.log1p(-q) + densities_on(targets[0], rows[-b:])
    first, second = (math.log(q) + densities_on(target, rows[:b]) for target in targets)
    return np.sum(np.logaddexp(first, without) - np.logaddexp(second, without))


def audit(case, seed, runs, delta, confidence=0.999, target_class=Target, noise=None):
    """Lower bounds of epsilon at delta and of mu, and the variance of the noise: `Found`.

    Parameters
    ----------
    case : Case
    seed : int or list of int
    runs : int
        On each of the two data sets.
    delta : float
    confidence : float
        Of the bound of epsilon by one score, both directions and both probabilities together; and
        of that of mu by it.
    target_class, noise
        For tests of the audit: a target, and a function that wraps the noise generator, with a
        deliberate error.
    """
    n = case.rows.size
    model = case.sampler.model_of_checks(gaussian_model(n))
    both = [model.statistics(x[:, None]) for x in (case.rows, case.neighbour)]
    targets = [target_class(model, data) for data in both]
    for target in targets:
        target.likelihood_power = case.likelihood_power
    by_values, by_positions, watched = [], [], Noise()
    for i in range(2):
        generators = [np.random.default_rng([*np.atleast_1d(seed), i, j]) for j in range(3)]
        if noise is not None:
            generators[2] = noise(generators[2])
        ordered = targets[::-1] if i else targets
        rng = RecordedStreams(*generators)
        losses, ways = observe(case, ordered, rng, runs, watched)
        by_values.append(-losses if i else losses)
        by_positions.append(-ways)  # the first row speaks against upward steps
    bounds = (bound_by(*scores, delta, 1 - confidence) for scores in (by_values, by_positions))
    return Found(*bounds, watched.found())


def bound_by(p_scores, q_scores, delta, error):
    """`Bound` by scores of runs on the one data set and on the other, two arrays."""
    p, q = p_scores, q_scores
    epsilons = [one_direction(*pair, delta, error / 4) for pair in ((p, q), (-q, -p))]
    return Bound(max(0.0, *epsilons), max(0.0, mu_of_scores(p, q, error / 2)))


def one_direction(p_scores, q_scores, delta, error):
    """Lower bound of epsilon from events "score above t", t chosen on the first half."""
    half = len(p_scores) // 2
    pooled = np.sort(np.concatenate([p_scores[:half], q_scores[:half]]))
    thresholds = np.unique(pooled[:: max(1, len(pooled) // 2000)])
    counts = [half - np.searchsorted(np.sort(s[:half]), thresholds) for s in (p_scores, q_scores)]
    best = np.argmax(epsilon_bound(*counts, half, delta, error))
    chosen = thresholds[best]
    counts = [np.count_nonzero(s[half:] >= chosen) for s in (p_scores, q_scores)]
    return float(epsilon_bound(*map(np.array, counts), len(p_scores) - half, delta, error))


def mu_of_scores(p_scores, q_scores, error):
    """Lower bound of mu from the event "score above t", t the median of the first tenth of all.

    Of two normals that is midway between them, where the bound is closest; it needs few runs.
    """
    few = len(p_scores) // 10
    middle = np.median(np.concatenate([p_scores[:few], q_scores[:few]]))
    counts = [np.count_nonzero(s[few:] >= middle) for s in (p_scores, q_scores)]
    return float(mu_bound(*map(np.array, counts), len(p_scores) - few, error))


def probability_bounds(p_count, q_count, runs, error):
    """Clopper-Pearson bounds: of p from below and of q from above."""
    from scipy.stats import beta  # which takes a second to import

    p_low = np.where(p_count > 0, beta.ppf(error, p_count, runs - p_count + 1), 0.0)
    q_high = np.where(q_count < runs, beta.ppf(1 - error, q_count + 1, runs - q_count), 1.0)
    return p_low, q_high


def mu_bound(p_count, q_count, runs, error):
    """Phi^-1(p) - Phi^-1(q) with bounds of p from below and of q from above."""
    from scipy.stats import norm

    p_low, q_high = probability_bounds(p_count, q_count, runs, error)
    return np.where((p_low > 0) & (q_high < 1), norm.ppf(p_low) - norm.ppf(q_high), -np.inf)


def epsilon_bound(p_count, q_count, runs, delta, error):
    """ln((p - delta) / q) with bounds of p from below and of q from above."""
    p_low, q_high = probability_bounds(p_count, q_count, runs, error)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p_low > delta, np.log((p_low - delta) / q_high), -np.inf)
