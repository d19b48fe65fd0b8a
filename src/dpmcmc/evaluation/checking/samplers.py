"""Is a sampler right, and is it private? Checks of any, ours or a stranger's, by what it does.

They run on a small tempered banana whose posterior is known exactly, with standard deviations of
about 0.2: settings such as a step size should be set for that.
"""

import math
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from dpmcmc.accounting import certified
from dpmcmc.accounting.mechanisms import BarkerMechanism, GaussianMechanism
from dpmcmc.evaluation.audit import OUTLIER, Case, FixedStep, audit
from dpmcmc.evaluation.checking.findings import NotTried, Outcome, find, near_zero
from dpmcmc.evaluation.checking.statistics import (
    Comparison,
    mechanism_at,
    neighbouring,
    of_own_batches,
    price,
    ratio,
    worse,
)
from dpmcmc.evaluation.watching import WatchedStreams
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.samplers.chain import Streams, run_chain
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.settings import Noise, annotations

ROWS = 60  # of the data, where the sampler draws no batches
CHAINS, ITERATIONS = 400, 100  # of the test of invariance
LEAST_WAY = 0.1  # of a chain: 1 for one that has forgotten its start, 0 for one that never moved
QUIET = 1e-12  # what a setting of the noise is set to where there should be none
LOUDER = (16, 8, 4, 2)  # times the noise of the settings, lest it be too little to matter
LEAST_ACCEPTED = 0.2  # of the proposals, with that noise
WATCHED = 40  # iterations whose releases are compared on other rows
PRICED = 200  # iterations whose price and batches are looked at
ROUNDING = 1e-9
AUDITED_RUNS, DELTA = 1000, 0.01


def check_sampler(sampler, seed=0):
    """Try all that can be tried of a sampler; yields a `Finding` after each check.

    Parameters
    ----------
    sampler
        With what it needs beside settings. Of settings that are lists of one number a component the
        first counts.
    seed : int
    """
    checked = Checked(for_any_dimension(sampler), seed)
    for check in OF_PRIVATE if checked.is_private else OF_OTHERS:
        yield find(check, checked)


def check_move(move, seed=0):
    """Check a move: as that of Metropolis without privacy. Parameters as for `check_sampler`."""
    return check_sampler(Metropolis(move), seed)


def for_any_dimension(settings):
    """Settings with one number for all components in place of a list of them."""
    changed = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, list) and value and isinstance(value[0], float | int):
            changed[field.name] = value[0]
        elif is_dataclass(value) and hasattr(value, "propose"):
            changed[field.name] = for_any_dimension(value)
    return replace(settings, **changed)


def banana(num_rows):
    """The posterior of the checks: d = 2, T about 1/2, a prior that pulls."""
    return Banana(
        dimension=2,
        num_rows=num_rows,
        curvature=1.0,
        prior_variance=0.1,
        likelihood_variances=[num_rows / 50, num_rows / 40],
        true_position=[1.0, 0.5],
        tempered_rows=max(1, num_rows // 2),
    )


def streams(kind, *seed):
    """Three generators of a seed."""
    return kind(*(np.random.default_rng([*seed, i]) for i in range(3)))


# -- The posterior ---------------------------------------------------------------------------------


def noises(sampler):
    """Settings of a sampler with which its noise vanishes, by name."""
    kinds = annotations(type(sampler)).items()
    return {name: getattr(sampler, name) for name, kind in kinds if kind == Noise}


def with_noise(sampler, factor):
    """A sampler with so many times its noise."""
    return replace(sampler, **{k: max(QUIET, factor * v) for k, v in noises(sampler).items()})


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


class Unclipped(Target):
    """A target that clips nothing."""

    def clipped_log_likelihood_ratio(self, theta, theta_new, bound):
        """As of `Target`, for no bound."""
        return super().clipped_log_likelihood_ratio(theta, theta_new, math.inf)

    def clipped_batch_ratio(self, theta, theta_new, bound, batch):
        """As of `Target`, for no bound."""
        return super().clipped_batch_ratio(theta, theta_new, math.inf, batch)

    def clipped_gradient(self, theta, bound):
        """As of `Target`, for no bound."""
        return super().clipped_gradient(theta, math.inf)

    def clipped_batch_gradient(self, theta, bound, batch):
        """As of `Target`, for no bound."""
        return super().clipped_batch_gradient(theta, math.inf, batch)


class Stay(NamedTuple):
    """What became of chains that started in the posterior."""

    way: float  # squared distance of the end from the start over twice the variance, in the mean
    z: np.ndarray  # differences of means to those of exact draws, in standard errors


def posterior(sampler, seed, batches=1):
    """The target of the checks, of as many rows as so many batches have.

    One batch has them all, as only then there is no error of it.
    """
    model = banana(batches * getattr(sampler, "batch_size", ROWS))
    return Unclipped(model, model.simulate(np.random.default_rng([seed, 0])))


def stay(sampler, seed):
    """`Stay` of chains that start in the posterior."""
    ways, means, expected = in_posterior(sampler, seed, ITERATIONS)
    return Stay(float(ways.mean(axis=0).min()), differences(means, expected))


def stay_as_vanishes(sampler, setting, seed):
    """`Stay` of chains as a step size goes to 0, by extrapolation from that and from half of it.

    In the same time, so in twice the iterations, a bias that falls in order with the step is
    halved, that of batches too: twice what the shorter steps have, less what the longer ones have,
    has none of it.
    """
    halved = replace(sampler, **{setting: getattr(sampler, setting) / 2})
    ways, means, expected = in_posterior(sampler, seed, ITERATIONS, batches=2)
    _, means_halved, _ = in_posterior(halved, seed, 2 * ITERATIONS, batches=2)
    extrapolated = 2 * means_halved - means
    return Stay(float(ways.mean(axis=0).min()), differences(extrapolated, expected))


def in_posterior(sampler, seed, iterations, batches=1):
    """Chains that start in the posterior, and exact draws of it.

    Returns
    -------
    ways, means : (CHAINS, ...) arrays
        How far each came, as in `Stay`, and the means of its observables.
    expected : array
        Observables of exact draws.
    """
    target, rng = posterior(sampler, seed, batches), np.random.default_rng([seed, 6])
    model = target.model
    starts = model.sample_posterior(rng, target.data, CHAINS)
    exact = model.sample_posterior(rng, target.data, 200_000)
    centre, spread = exact.mean(axis=0), exact.std(axis=0)
    means, ways = [], []
    for i, start in enumerate(starts):
        chain = run_chain(sampler, target, streams(Streams, seed, 1, i), start, iterations)
        z = (chain.positions - centre) / spread
        means.append(observables(z).mean(axis=0))
        ways.append((z[-1] - (start - centre) / spread) ** 2 / 2)
    return np.array(ways), np.array(means), observables((exact - centre) / spread)


def differences(means, expected):
    """Means of chains less those of exact draws, in standard errors."""
    errors = np.sqrt(means.var(axis=0, ddof=1) / len(means) + expected.var(axis=0) / len(expected))
    return (means.mean(axis=0) - expected.mean(axis=0)) / errors


def observables(z):
    """Bounded functions of standardised positions (k, 2), whose means tell distributions apart."""
    products = np.column_stack([z[:, 0] * z[:, 1], z[:, 0] ** 2 * z[:, 1]])
    return np.concatenate([np.tanh(z), z**2 / (1 + z**2), np.tanh(products)], axis=1)


# -- Privacy ---------------------------------------------------------------------------------------


class Checked:
    """A sampler, and what several checks of it look at.

    Parameters
    ----------
    sampler
    seed : int
    """

    def __init__(self, sampler, seed):
        self.sampler, self.seed = sampler, seed
        self.is_private = hasattr(sampler, "mechanism")
        self.batch_size = getattr(sampler, "batch_size", None)
        self.num_rows = 2 * self.batch_size if self.batch_size else ROWS

    @cached_property
    def quiet(self):
        """`Stay` without noise; `NotTried` where it cannot be turned off, or it claims less."""
        if setting := getattr(self.sampler, "exact_as_vanishes", None):
            raise NotTried(f"it claims so only as {setting} goes to 0")
        if not self.is_private:
            return stay(self.sampler, self.seed)
        if not noises(self.sampler):
            if not getattr(self.sampler, "exact_with_noise", False):
                raise ValueError(
                    "nothing says whether it is right: it needs a setting of type "
                    "dpmcmc.settings.Noise, exact_with_noise = True, or exact_as_vanishes"
                )
            raise NotTried("it has no setting of type dpmcmc.settings.Noise")
        return stay(with_noise(self.sampler, 0), self.seed)

    @cached_property
    def noisy(self):
        """`Stay` with noise; `NotTried` where that is not claimed."""
        if not getattr(self.sampler, "exact_with_noise", False):
            raise NotTried("it does not claim so (exact_with_noise = True)")
        return stay(loudest(self.sampler, self.seed), self.seed)

    @cached_property
    def vanishing(self):
        """`Stay` as the step size goes to 0; `NotTried` where nothing is claimed of that."""
        setting = getattr(self.sampler, "exact_as_vanishes", None)
        if setting is None:
            raise NotTried("it does not claim so (exact_as_vanishes)")
        return stay_as_vanishes(self.sampler, setting, self.seed)

    @cached_property
    def mechanism(self):
        """What `mechanism()` says of an iteration."""
        return self.sampler.mechanism(self.num_rows, banana(self.num_rows).likelihood_power)

    @cached_property
    def watched(self):
        """Iterations on ordinary, far and mixed rows, and what another row would have changed.

        Each is of a copy of sampler and state, so that nothing is kept but in the next state.
        """
        model, rng = banana(self.num_rows), np.random.default_rng([self.seed, 2])
        data = model.simulate(rng)
        far = np.where(np.arange(self.num_rows) % 2, OUTLIER, -OUTLIER) * np.ones(data.shape)
        mixed = np.where(np.arange(self.num_rows) % 4 < 2, data, far)
        steps, found = [], Comparison()
        for i, rows in enumerate((data, far, mixed)):
            watching, target = streams(WatchedStreams, self.seed, 3, i), Target(model, rows)
            neighbours = [Target(model, x, "clip") for x in neighbouring(rng, rows, data)]
            state = self.sampler.init(watching, model.sample_posterior(rng, data, 1)[0])
            for k in range(PRICED):
                step = watching.step(*deepcopy((self.sampler, state)), target)
                for neighbour in neighbours if k < WATCHED else ():
                    other = watching.repeat(*deepcopy((self.sampler, state)), neighbour, step)
                    found = worse(found, step, other)
                if k == 0 and len(step.released) > 1:
                    is_of_own = of_own_batches(watching, self.sampler, state, target, step)
                    found = found._replace(is_of_own=found.is_of_own and is_of_own)
                steps.append(step)
                state = step.state
        return steps, found

    @property
    def numbered(self):
        """Iterations of `watched`, each with its number in its chain, from 1 on."""
        return [(i % PRICED + 1, step) for i, step in enumerate(self.watched[0])]

    @cache  # noqa: B019 -- it lives as long as the check
    def audited(self, iterations):
        """Bounds of epsilon, by released values and by positions, and what it is at most."""
        n, sampler = self.num_rows, self.sampler
        far = np.full(n, OUTLIER) * (
            1 if self.batch_size else np.where(np.arange(n) % 2, -1.0, 1.0)
        )
        if "move" in annotations(type(sampler)):
            sampler = replace(sampler, move=FixedStep())
        case = Case(sampler, np.concatenate([[-OUTLIER], far[1:]]), far, iterations)
        most = certified.epsilon(sampler.mechanism(n), iterations, DELTA)
        return audit(case, [self.seed, 4], AUDITED_RUNS, DELTA), most


def something_is_released(checked):
    """An iteration learns of its rows by rng.add_noise."""
    count = max(len(step.released) for step in checked.watched[0])
    return Outcome(f"{count} releases", "at least 1", count > 0)


def sensitivities_hold(checked):
    """One row moves a released statistic by at most its sensitivity."""
    moved = checked.watched[1].moved
    return Outcome(f"{moved:.6g} of it", "1", bool(moved <= 1 + ROUNDING))


def declared_without_the_rows(checked):
    """Declared sensitivities and noise do not depend on the rows."""
    if isinstance(checked.mechanism, BarkerMechanism):
        raise NotTried("a batch of DP Barker has noise of its own, which counts")
    spread = checked.watched[1].spread
    return Outcome(f"change by {spread:.2g}", f"{ROUNDING:g}", bool(spread <= ROUNDING))


def nothing_else_of_the_rows(checked):
    """The same releases lead to the same state, whatever the rows."""
    is_same = checked.watched[1].is_same
    return Outcome("the same state" if is_same else "another state", "the same state", is_same)


def as_priced(checked):
    """(sensitivity / noise)^2 of an iteration is what mechanism() says."""
    compared = []  # (cost / allowed, cost, allowed) of every iteration
    for iteration, step in checked.numbered:
        mechanism, count = mechanism_at(checked.mechanism, iteration)
        costs = [ratio(r.sensitivity, r.sd) ** 2 for r in step.released]
        allowed = price(mechanism)
        for cost in costs if count > 1 else [sum(costs)]:  # each by itself, or all as one
            compared.append((ratio(cost, allowed), cost, allowed))
    over, cost, allowed = max(compared, default=(0.0, 0.0, 0.0))
    return Outcome(f"{cost:.6g}", f"at most {allowed:.6g}", bool(over <= 1 + ROUNDING))


def batches_as_priced(checked):
    """Batches, of one release each, are as large as mechanism() says."""
    if isinstance(checked.mechanism, GaussianMechanism):
        raise NotTried("it is priced as if all rows were read")
    steps, (mechanism, allowed) = checked.watched[0], mechanism_at(checked.mechanism, 1)
    count = max(max(len(step.released), len(step.batch_sizes)) for step in steps)
    sizes = (size for step in steps for size in step.batch_sizes or [checked.num_rows])
    largest = max(sizes) / checked.num_rows
    drawn = [step for step in steps if step.batch_sizes and step.released]
    is_each = all(step.has_batch_each for step in drawn) and checked.watched[1].is_of_own
    is_covered = is_each and count <= allowed and largest <= mechanism.sampling_probability
    found = f"{count} of {largest:.3g} of the rows{'' if is_each else ', shared'}"
    return Outcome(found, f"{allowed} of {mechanism.sampling_probability:.3g}", is_covered)


def starts_are_forgotten(checked):
    """Chains without noise and clipping come away from their start."""
    way = checked.quiet.way
    return Outcome(f"{way:.2f} of the way", f"at least {LEAST_WAY:g}", way >= LEAST_WAY)


def posterior_stays(checked):
    """Without noise and clipping it leaves the posterior invariant."""
    return near_zero(checked.quiet.z)


def starts_are_forgotten_with_noise(checked):
    """Chains with noise, without clipping, come away from their start."""
    way = checked.noisy.way
    return Outcome(f"{way:.2f} of the way", f"at least {LEAST_WAY:g}", way >= LEAST_WAY)


def posterior_stays_with_noise(checked):
    """With noise, without clipping, it leaves the posterior invariant."""
    return near_zero(checked.noisy.z)


def starts_are_forgotten_by_small_steps(checked):
    """Chains of small steps, without clipping, come away from their start."""
    way = checked.vanishing.way
    return Outcome(f"{way:.2f} of the way", f"at least {LEAST_WAY:g}", way >= LEAST_WAY)


def posterior_stays_for_small_steps(checked):
    """As steps go to 0, without clipping, the posterior stays."""
    return near_zero(checked.vanishing.z)


def audited(iterations, which, observed):
    """A check by an audit, whose bound must stay below the certified price."""

    def check(checked):
        bounds, most = checked.audited(iterations)
        found = bounds[which].epsilon
        return Outcome(f"{found:.3f}", f"at most {most:.3f}", bool(found <= most))

    check.__doc__ = f"Audit of {iterations} iterations by {observed}: epsilon is at least."
    return check


OF_OTHERS = [
    starts_are_forgotten,
    posterior_stays,
    starts_are_forgotten_by_small_steps,
    posterior_stays_for_small_steps,
]
OF_PRIVATE = [
    something_is_released,
    sensitivities_hold,
    declared_without_the_rows,
    nothing_else_of_the_rows,
    as_priced,
    batches_as_priced,
    *OF_OTHERS,
    starts_are_forgotten_with_noise,
    posterior_stays_with_noise,
    *(audited(k, *score) for k in (1, 3) for score in enumerate(("released values", "positions"))),
]
