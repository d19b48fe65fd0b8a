"""True if a sampler leaves an exactly known posterior invariant, where nothing is clipped."""

import math
from dataclasses import is_dataclass, replace
from typing import NamedTuple

import numpy as np

from dpmcmc.evaluation.checking.findings import NotTried
from dpmcmc.evaluation.checking.traces import banana, streams
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.chain import run_chain
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, annotations

ROWS = 60  # of the data, where the sampler draws no batches
CHAINS, ITERATIONS = 400, 100
QUIET = 1e-12  # what a setting of the noise is set to where there should be none
LOUDER = (16, 8, 4, 2)  # times the noise of the settings, lest it be too little to matter
LEAST_ACCEPTED = 0.2  # of the proposals, with that noise
POWER = 0.5  # T
LEAST_BATCH = 50  # rows
# Where the batch has an error: n / b, and T. Their product is not 1, nor is either.
OF_BATCHES = {"batches": 3, "power": 0.7}


class Unclipped(Target):
    """A target that clips nothing."""

    def clipped_log_likelihood_ratio(self, theta, theta_new, bound):
        """Same as in `Target`, without a bound."""
        return super().clipped_log_likelihood_ratio(theta, theta_new, math.inf)

    def clipped_batch_ratio(self, theta, theta_new, bound, batch):
        """Same as in `Target`, without a bound."""
        return super().clipped_batch_ratio(theta, theta_new, math.inf, batch)

    def clipped_gradient(self, theta, bound):
        """Same as in `Target`, without a bound."""
        return super().clipped_gradient(theta, math.inf)

    def clipped_statistics(self, centre, whiten, radius):
        """Same as in `Target`, without a radius."""
        return super().clipped_statistics(centre, whiten, math.inf)

    def clipped_batch_gradient(self, theta, bound, batch):
        """Same as in `Target`, without a bound."""
        return super().clipped_batch_gradient(theta, math.inf, batch)


class Stay(NamedTuple):
    """End points of chains that started in the posterior."""

    # Squared distance of the end from the start over twice the variance, in the mean: in the
    # direction in which it is least.
    way: float
    z: np.ndarray  # differences of means to those of exact draws, in standard errors


def noises(sampler):
    """Settings of a sampler with which its noise vanishes, by name; of its parts, those of each."""
    found = {}
    for name, kind in annotations(type(sampler)).items():
        value = getattr(sampler, name)
        is_noise = kind in (Noise, Noise | None) and value is not None
        if is_noise or (is_dataclass(value) and noises(value)):
            found[name] = value
    return found


def with_noise(sampler, factor):
    """A sampler with so many times its noise, that of its parts too."""
    changed = {
        name: with_noise(value, factor) if is_dataclass(value) else max(QUIET, factor * value)
        for name, value in noises(sampler).items()
    }
    return replace(sampler, **changed)


def loudest(sampler, seed):
    """A sampler with as much more noise as still lets it move, for it to matter."""
    target = posterior(sampler, seed)
    for factor in LOUDER:
        louder = with_noise(sampler, factor)
        rng = streams(Streams, seed, 5)
        chain = run_chain(louder, target, rng, target.model.true_theta, 10 * ITERATIONS)
        if chain.is_accepted.mean() >= LEAST_ACCEPTED:
            return louder
    return sampler


def posterior(sampler, seed, batches=1, power=POWER):
    """The target of the checks, of as many rows as so many batches have.

    One batch has them all: only then there is no error of it.
    """
    num_rows = batches * getattr(sampler, "batch_size", ROWS)
    if num_rows < 2:
        raise NotTried("a batch of one row is no data set")
    model = banana(num_rows, power)
    return Unclipped(model, model.simulate(np.random.default_rng([seed, 0])))


def stay(sampler, seed):
    """`Stay` of chains that start in the posterior."""
    ways, means, expected = in_posterior(sampler, seed, ITERATIONS)
    return Stay(least_way(ways), differences(means, expected))


def stay_on_batches(sampler, seed):
    """`Stay` of chains whose batches have a third of the rows; `NotTried` where it refuses them.

    Batches are large enough for their error to be nearly normal.
    """
    sampler = replace(sampler, batch_size=max(LEAST_BATCH, sampler.batch_size))
    try:
        ways, means, expected = in_posterior(sampler, seed, ITERATIONS, **OF_BATCHES)
    except ArithmeticError as error:
        if type(error) is not ArithmeticError:
            raise
        raise NotTried(error) from None
    return Stay(least_way(ways), differences(means, expected))


def stay_as_vanishes(sampler, setting, seed):
    """`Stay` of chains as a step size goes to 0, by extrapolation from that and from half of it.

    In the same time, so in twice the iterations, a bias that falls in order with the step is
    halved, that of batches too: twice what the shorter steps have, less what the longer ones have,
    has none of it.
    """
    halved = replace(sampler, **{setting: getattr(sampler, setting) / 2})
    ways, means, expected = in_posterior(sampler, seed, ITERATIONS, **OF_BATCHES)
    _, means_halved, _ = in_posterior(halved, seed, 2 * ITERATIONS, **OF_BATCHES)
    extrapolated = 2 * means_halved - means
    return Stay(least_way(ways), differences(extrapolated, expected))


def in_posterior(sampler, seed, iterations, **of_target):
    """Chains that start in the posterior, and exact draws of it.

    Returns
    -------
    ways : (CHAINS, d) array
        From each start to the end, in coordinates of which the posterior has covariance I.
    means : (CHAINS, ...) array
        Means of the observables of each.
    expected : array
        Observables of exact draws.
    """
    target, rng = posterior(sampler, seed, **of_target), np.random.default_rng([seed, 6])
    model = target.model
    starts = model.sample_posterior(rng, target.data, CHAINS)
    exact = model.sample_posterior(rng, target.data, 200_000)
    centre, spread = exact.mean(axis=0), exact.std(axis=0)
    whiten = np.linalg.inv(np.linalg.cholesky(np.cov(exact.T)))
    means, ways = [], []
    for i, start in enumerate(starts):
        chain = run_chain(sampler, target, streams(Streams, seed, 1, i), start, iterations)
        z = (chain.positions - centre) / spread
        means.append(observables(z).mean(axis=0))
        ways.append(whiten @ (chain.positions[-1] - start))
    return np.array(ways), np.array(means), observables((exact - centre) / spread)


def least_way(ways):
    """`Stay.way` of ways (CHAINS, d)."""
    if not np.isfinite(ways).all():
        return math.nan
    return float(np.linalg.eigvalsh(ways.T @ ways / len(ways) / 2)[0])


def differences(means, expected):
    """Means of chains less those of exact draws, in standard errors."""
    errors = np.sqrt(means.var(axis=0, ddof=1) / len(means) + expected.var(axis=0) / len(expected))
    return (means.mean(axis=0) - expected.mean(axis=0)) / errors


def observables(z):
    """Bounded functions of standardised positions (k, d), whose means tell distributions apart."""
    products = [z[:, 0] * z[:, 1], z[:, 0] ** 2 * z[:, 1], z[:, 1] * z[:, 2]]
    return np.concatenate([np.tanh(z), z**2 / (1 + z**2), np.tanh(np.transpose(products))], axis=1)
