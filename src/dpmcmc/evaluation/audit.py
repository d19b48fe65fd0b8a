"""Empirical audit: a lower bound of the epsilon that a sampler's own code really costs.

Many runs of a few iterations, on two data sets that differ in one row, the worst there are. Each
run is scored by the log-likelihood ratio of all that the proofs release (noisy ratios, noisy
gradients), or by its accept bits alone. An event "score above t" is chosen on one half of the
runs; on the other half, exact binomial confidence bounds of its two probabilities give

    epsilon >= ln((P(event) - delta) / Q(event))

(Jagielski, Ullman and Oprea 2020). That must stay below what the accountant says, and come close
where its bound is tight. Noise that is too small, or a row that is not clipped, shows.
"""

import contextlib
import math
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.stats import beta

from dpmcmc.accounting import certified
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.samplers.batches import batch_variance_factor
from dpmcmc.samplers.chain import Streams
from dpmcmc.samplers.dp_barker import DPBarker, FullDataDPBarker
from dpmcmc.samplers.dp_hmc import DPHMC
from dpmcmc.samplers.dp_penalty import DPPenalty
from dpmcmc.samplers.hmc import kinetic_energy
from dpmcmc.samplers.minibatch_dp_penalty import MinibatchDPPenalty
from dpmcmc.samplers.moves import Move

STEP = 0.5  # of the proposals
FAR = 1e6  # a row so far away that all its ratios and gradients are clipped


@dataclass(frozen=True)
class FixedStep(Move):
    """A move that always proposes the same step, so that the clipped sign of a row is known."""

    def init(self, rng, dimension):
        """Nothing to remember."""
        return None

    def propose(self, rng, theta, memory):
        """theta + STEP."""
        return theta + STEP, None, None


class Release(NamedTuple):
    """One value that a proof counts as released."""

    value: float  # with the noise
    position: float  # theta that it belongs to
    proposal: float | None  # theta_new of a ratio; None for a gradient


class Case(NamedTuple):
    """A sampler on two data sets of one statistic that differ in the first row."""

    sampler: Any
    rows: np.ndarray  # (n,)
    neighbour: np.ndarray  # (n,)
    iterations: int

    def epsilon(self, delta):
        """What it costs at most."""
        release = self.sampler.release(len(self.rows))
        return certified.epsilon(release, self.iterations, delta)


class Bound(NamedTuple):
    """What an audit found, for one kind of score."""

    observed: str  # "statistic" or "accepted"
    epsilon: float  # at least this, with confidence; 0 if nothing was found


def cases(num_rows=16, correction=None):
    """Each private algorithm on its worst data sets, one release and a few.

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
    far = np.full(n, FAR)  # every ratio of an upward step is clipped at +c
    low = np.concatenate([[-FAR], far[1:]])
    half = FAR * np.where(np.arange(4 * n) % 2, -1.0, 1.0)
    half_low = np.concatenate([[-FAR], half[1:]])
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


@contextlib.contextmanager
def watched(sampler, releases, accepted):
    """Note what the sampler's code compares and draws on; nothing of it is changed."""
    module = sys.modules[type(sampler).__module__]
    accepts, last, prior = module.accepts, {}, gaussian_model(2)

    def noting_accepts(rng, log_ratio, *rest):
        is_accepted = accepts(rng, log_ratio, *rest)
        theta, theta_new = last["position"], last.get("proposal", last["position"] + STEP)
        value = log_ratio - prior.log_prior_ratio(theta, theta_new) - last.get("energy", 0.0)
        releases.append(Release(value, theta[0], theta_new[0]))
        accepted.append(is_accepted)
        return is_accepted

    patches = [mock.patch.object(module, "accepts", noting_accepts)]
    if isinstance(sampler, DPHMC):
        leapfrog, noisy_gradient = module.leapfrog, DPHMC.noisy_gradient

        def noting_leapfrog(theta, p, gradient, step_size, steps, inverse_mass):
            for theta_new, p_new in leapfrog(theta, p, gradient, step_size, steps, inverse_mass):
                last["proposal"] = theta_new
                last["energy"] = kinetic_energy(p, inverse_mass) - kinetic_energy(
                    p_new, inverse_mass
                )
                yield theta_new, p_new

        def noting_gradient(self, rng, target, theta):
            gradient, num_clipped = noisy_gradient(self, rng, target, theta)
            value = (gradient - target.model.grad_log_prior(theta))[0]
            releases.append(Release(value, theta[0], None))
            return gradient, num_clipped

        patches += [
            mock.patch.object(module, "leapfrog", noting_leapfrog),
            mock.patch.object(DPHMC, "noisy_gradient", noting_gradient),
        ]
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield last


def observe(case, rows, rng, runs, target_class=Target):
    """Scores of many runs on one of the data sets: by statistic and by accept bits, (2, runs)."""
    target = target_class(gaussian_model(len(rows)), rows[None])
    scores = np.empty((2, runs))
    releases, accepted = [], []
    with watched(case.sampler, releases, accepted) as last:
        for i in range(runs):
            releases.clear()
            accepted.clear()
            state = case.sampler.init(rng, np.zeros(1))
            for _ in range(case.iterations):
                last["position"] = state.position
                state, _ = case.sampler.step(rng, state, target)
            scores[0, i] = sum(log_ratio(case, release) for release in releases)
            scores[1, i] = -sum(accepted)  # the row speaks against an upward step
    return scores


def log_ratio(case, release):
    """ln of the densities of a released value, `rows` over `neighbour`; from the papers' formulas.

    A value that is no number betrays the data set.
    """
    if not math.isfinite(release.value):
        return math.inf
    sampler, n = case.sampler, len(case.rows)
    first, other = case.rows[0], case.neighbour[0]
    rest = case.neighbour[1:]
    theta, new = release.position, release.proposal

    def ratios(x, bound):
        x = np.nan_to_num(np.asarray(x), nan=(theta + (new or 0)) / 2)  # a NaN row counts as 0
        return np.clip((new - theta) * (x - (new + theta) / 2), -bound, bound)

    match sampler:
        case DPHMC() if new is None:
            bound = sampler.gradient_clip_bound
            sigma = 2 * sampler.gradient_noise_scale * math.sqrt(n) * bound
            means = [np.clip(x - theta, -bound, bound) for x in (first, other)]
            centre = np.clip(rest - theta, -bound, bound).sum()
            return normal_log_ratio(release.value - centre, *means, sigma, sigma)
        case DPHMC() | DPPenalty():
            bound = sampler.clip_bound * abs(new - theta)
            sigma = 2 * sampler.noise_scale * math.sqrt(n) * bound
            value = release.value + sigma**2 / 2 - ratios(rest, bound).sum()
            return normal_log_ratio(value, ratios(first, bound), ratios(other, bound), sigma, sigma)
        case FullDataDPBarker():
            bound, sigma = sampler.clip_bound, math.sqrt(2)
            value = release.value - ratios(rest, bound).sum()
            return normal_log_ratio(value, ratios(first, bound), ratios(other, bound), sigma, sigma)
        case MinibatchDPPenalty() | DPBarker():
            b = sampler.batch_size
            a, q = n / b, b / n
            f = batch_variance_factor(sampler.batch_variance, b, n)
            # All other rows are alike, or all rows are in the batch.
            others = rest[: b - 1]
            if isinstance(sampler, DPBarker):
                bound = math.sqrt(b) / n
            else:
                bound = sampler.clip_bound * abs(new - theta)
                sigma = math.sqrt(sampler.noise_variance) * (
                    2 * a * bound + 2 * f * (1 - 1 / b) * (a * bound) ** 2
                )
            means, sds = [], []
            for x in (first, other):
                r = ratios([x, *others], bound)
                variance = f * a**2 * ((r**2).sum() - r.sum() ** 2 / b)
                if isinstance(sampler, DPBarker):
                    means.append(a * r.sum())
                    sds.append(math.sqrt(2 - variance))
                else:
                    means.append(a * r.sum() - variance / 2 - sigma**2 / 2)
                    sds.append(sigma)
            with_row = normal_log_ratio(release.value, *means, *sds)
            return np.logaddexp(math.log(q) + with_row, math.log1p(-q) if q < 1 else -math.inf)
    raise TypeError(f"no audit of {type(sampler).__name__}")


def normal_log_ratio(value, mean_p, mean_q, sd_p, sd_q):
    """ln N(value; mean_p, sd_p^2) - ln N(value; mean_q, sd_q^2)."""
    z_p, z_q = (value - mean_p) / sd_p, (value - mean_q) / sd_q
    return (z_q**2 - z_p**2) / 2 + math.log(sd_q / sd_p)


def audit(case, seed, runs, delta, confidence=0.999, target_class=Target, noise=None):
    """Lower bounds of epsilon at delta, a list of `Bound`: by the statistic, and by accept bits.

    Parameters
    ----------
    case : Case
    seed : int or list of int
    runs : int
        On each of the two data sets.
    delta : float
    confidence : float
        Of all bounds of one score together: both directions, both probabilities.
    target_class, noise
        For tests of the audit: a target, and a function that wraps the noise generator, with a
        deliberate error.
    """
    scores = []
    for i, rows in enumerate((case.rows, case.neighbour)):
        generators = [np.random.default_rng([*np.atleast_1d(seed), i, j]) for j in range(3)]
        if noise is not None:
            generators[2] = noise(generators[2])
        scores.append(observe(case, rows, Streams(*generators), runs, target_class))
    return [
        Bound(
            observed,
            max(
                0.0,
                *(
                    one_direction(p, q, delta, (1 - confidence) / 4)
                    for p, q in ((scores[0][i], scores[1][i]), (-scores[1][i], -scores[0][i]))
                ),
            ),
        )
        for i, observed in enumerate(("statistic", "accepted"))
    ]


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


def epsilon_bound(p_count, q_count, runs, delta, error):
    """ln((p - delta) / q) with Clopper-Pearson bounds of p from below and of q from above."""
    p_low = np.where(p_count > 0, beta.ppf(error, p_count, runs - p_count + 1), 0.0)
    q_high = np.where(q_count < runs, beta.ppf(1 - error, q_count + 1, runs - q_count), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p_low > delta, np.log((p_low - delta) / q_high), -np.inf)
