"""Is a sampler right, and is it private? Checks of any, ours or a stranger's, by what it does.

They run on small tempered bananas whose posteriors are known exactly, with standard deviations of
about 0.2: settings such as a step size should be set for that.
"""

import math
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache, cached_property
from itertools import zip_longest

import numpy as np

from dpmcmc.accounting.mechanisms import BarkerMechanism
from dpmcmc.evaluation.audit import OUTLIER, Bound, Case, FixedStep, audit
from dpmcmc.evaluation.checking.findings import (
    FALSE_ALARM,
    NotTried,
    Outcome,
    find_all,
    near_zero,
)
from dpmcmc.evaluation.checking.invariance import (
    loudest,
    noises,
    stay,
    stay_as_vanishes,
    stay_on_batches,
    with_noise,
)
from dpmcmc.evaluation.checking.traces import (
    LEAST_ROWS,
    ROWS,
    SIZES,
    declared,
    price,
    ratio,
    traces,
)
from dpmcmc.evaluation.noise import Noise
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.samplers.moves import Move
from dpmcmc.settings import annotations

LEAST_WAY = 0.1  # of a chain: 1 for one that has forgotten its start, 0 for one that never moved
ROUNDING = 1e-9
AUDITED_RUNS, DELTA = 1000, 0.01
START = 0.5  # of the chains that are audited: a position that is multiplied must not be 0
AUDITED = [(1, 0.7), (3, 1.0)]  # iterations and T
OBSERVED = {"values": "released values", "positions": "positions"}  # what an audit scores runs by


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
    checks = OF_PRIVATE if checked.is_private else OF_OTHERS
    yield from find_all((check, checked) for check in checks)


def check_move(move, seed=0):
    """Check a move: as that of Metropolis without privacy. Parameters as for `check_sampler`."""
    return check_sampler(Metropolis(move), seed)


def for_any_dimension(settings):
    """Settings with one number for all components in place of a list of them.

    A list stays where the setting cannot be one number, as shares of a budget cannot.
    """
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, list) and value and isinstance(value[0], float | int):
            with suppress(ValueError):
                settings = replace(settings, **{field.name: value[0]})
        elif isinstance(value, Move):
            settings = replace(settings, **{field.name: for_any_dimension(value)})
    return settings


class Checked:
    """A sampler, and what several checks of it look at.

    Parameters
    ----------
    sampler
    seed : int
    """

    def __init__(self, sampler, seed):
        sampler = sampler.with_preparation_noise(1.0)  # where its settings leave that open
        self.sampler, self.seed = sampler, seed
        self.is_private = sampler.is_private or sampler.prepares
        self.batch_size = getattr(sampler, "batch_size", None)

    @cached_property
    def quiet(self):
        """`Stay` without noise; `NotTried` where it cannot be turned off, or it claims less."""
        if setting := self.sampler.exact_in_limit_of:
            raise NotTried(f"it claims so only as {setting} goes to 0")
        if self.sampler.normal_approximation:
            raise NotTried("it claims an approximation alone (normal_approximation)")
        if not self.is_private:
            return stay(self.sampler, self.seed)
        if not noises(self.sampler):
            if not self.sampler.exact_with_noise:
                raise ValueError(
                    "nothing says whether it is right: it needs a setting of type "
                    "dpmcmc.settings.Noise, exact_with_noise = True, or exact_in_limit_of"
                )
            raise NotTried("it has no setting of type dpmcmc.settings.Noise")
        return stay(with_noise(self.sampler, 0), self.seed)

    @cached_property
    def noisy(self):
        """`Stay` with noise; `NotTried` where that is not claimed."""
        if not self.sampler.exact_with_noise:
            raise NotTried("it does not claim so (exact_with_noise = True)")
        return stay(loudest(self.sampler, self.seed), self.seed)

    @cached_property
    def on_batches(self):
        """`Stay` where batches have half of the rows; `NotTried` where there are none."""
        if not self.batch_size:
            raise NotTried("it draws no batches")
        if not self.sampler.exact_with_noise:
            raise NotTried("it does not claim so (exact_with_noise = True)")
        return stay_on_batches(self.sampler, self.seed)

    @cached_property
    def vanishing(self):
        """`Stay` as the step size goes to 0; `NotTried` where nothing is claimed of that."""
        setting = self.sampler.exact_in_limit_of
        if setting is None:
            raise NotTried("it does not claim so (exact_in_limit_of)")
        return stay_as_vanishes(self.sampler, setting, self.seed)

    @cached_property
    def traces(self):
        """Chains of several n, T and data sets, and what other rows and batches change."""
        return traces(self.sampler, self.batch_size, self.seed)

    def found(self, what):
        """Findings of the traces, a list."""
        return [getattr(trace.found, what) for trace in self.traces]

    def declared(self, trace, iteration=1):
        """Price of an iteration of a trace by `releases()`: mu^2, and mechanisms on batches."""
        return declared(self.sampler, trace.num_rows, trace.likelihood_power, iteration)

    @cached_property
    def batches(self):
        """Mechanisms of the first iteration on batches, a list."""
        return self.declared(self.traces[0])[1]

    @cache  # noqa: B019 -- it lives as long as the check
    def audited(self, iterations, power):
        """Result of an audit, and the epsilon and mu that it should stay below."""
        n, sampler = SIZES[0][0] * max(self.batch_size or ROWS, LEAST_ROWS), self.sampler
        far = np.full(n, OUTLIER) * (
            1 if self.batch_size else np.where(np.arange(n) % 2, -1.0, 1.0)
        )
        if "move" in annotations(type(sampler)):
            sampler = replace(sampler, move=FixedStep())
        neighbour = np.concatenate([[-OUTLIER], far[1:]])
        case = Case(sampler, neighbour, far, iterations, power, START)
        most = Bound(case.epsilon(DELTA), case.mu())
        return audit(case, [self.seed, 4], AUDITED_RUNS, DELTA), most


def something_is_released(checked):
    """A sampler learns of its rows by rng.add_noise."""
    steps = (step for trace in checked.traces for step in (trace.preparation, *trace.steps) if step)
    count = max(len(step.released) for step in steps)
    return Outcome(f"{count} releases", "at least 1", count > 0)


def sensitivities_hold(checked):
    """One row moves a released statistic by at most its sensitivity."""
    moved = max(checked.found("moved"))
    return Outcome(f"{moved:.6g} of it", "1", bool(moved <= 1 + ROUNDING))


def declared_without_the_rows(checked):
    """Declared sensitivities and noise do not depend on the rows."""
    if any(isinstance(mechanism, BarkerMechanism) for mechanism in checked.batches):
        raise NotTried("a batch of DP Barker has noise of its own, which counts")
    spread = max(checked.found("spread"))
    return Outcome(f"change by {spread:.2g}", f"{ROUNDING:g}", bool(spread <= ROUNDING))


def nothing_else_of_the_rows(checked):
    """The same releases lead to the same state, whatever the rows."""
    is_same = all(checked.found("is_same"))
    return Outcome("the same state" if is_same else "another state", "the same state", is_same)


def nothing_of_the_batch(checked):
    """The same releases lead to the same state, whatever the batch."""
    if not checked.batch_size:
        raise NotTried("it draws no batches")
    is_same = all(checked.found("is_secret"))
    return Outcome("the same state" if is_same else "another state", "the same state", is_same)


def batches_alone_are_read(checked):
    """Rows are read that are in a batch of the iteration, and no others."""
    if not checked.batches:
        raise NotTried("it is not priced by batches")
    strays = max(checked.found("strays"))
    return Outcome(f"{strays} others", "0 others", strays == 0)


def as_priced(checked):
    """(sensitivity / noise)^2 of an iteration is what releases() says."""
    compared = []  # (cost / allowed, cost, allowed) of every iteration
    for trace in checked.traces:
        for iteration, step in enumerate(trace.steps, 1):
            mu_squared, batches = checked.declared(trace, iteration)
            costs = [ratio(r.sensitivity, r.sd) ** 2 for r in step.released]
            most = [price(mechanism) for mechanism in batches] or [mu_squared]
            if len(most) == 1:  # all as one; else each by itself
                costs = [sum(costs)]
            for cost, allowed in zip_longest(costs, most[: len(costs)], fillvalue=most[-1]):
                compared.append((ratio(cost, allowed), cost, allowed))
    over, cost, allowed = max(compared, default=(0.0, 0.0, 0.0))
    return Outcome(f"{cost:.6g}", f"at most {allowed:.6g}", bool(over <= 1 + ROUNDING))


def preparation_as_priced(checked):
    """(sensitivity / noise)^2 of the preparation is what releases() says."""
    if checked.traces[0].preparation is None:
        raise NotTried("it does not prepare")
    compared = []
    for trace in checked.traces:
        releases = checked.sampler.releases(trace.num_rows, trace.likelihood_power, 0)
        allowed = math.fsum(count * price(mechanism) for mechanism, count in releases)
        cost = sum(ratio(r.sensitivity, r.sd) ** 2 for r in trace.preparation.released)
        compared.append((ratio(cost, allowed), cost, allowed))
    over, cost, allowed = max(compared)
    return Outcome(f"{cost:.6g}", f"at most {allowed:.6g}", bool(over <= 1 + ROUNDING))


def batches_as_priced(checked):
    """Batches, of one release each, are as large as releases() says."""
    if not checked.batches:
        raise NotTried("it is not priced by batches")
    is_each, compared = all(checked.found("is_of_own")), []
    for trace in checked.traces:
        _, batches = checked.declared(trace)
        count = max(max(len(step.released), len(step.batches)) for step in trace.steps)
        sizes = (size for step in trace.steps for size in step.batch_sizes or [trace.num_rows])
        drawn = [step for step in trace.steps if step.batches and step.released]
        is_each = is_each and all(step.has_batch_each for step in drawn)
        share, most = max(sizes) / trace.num_rows, batches[0].sampling_probability
        allowed = len(batches)
        compared.append((share / most, count / allowed, share, most, count, allowed))
    over, more, share, most, count, allowed = max(compared)
    found = f"{count} of {share:.3g} of the rows{'' if is_each else ', shared'}"
    is_covered = is_each and more <= 1 and over <= 1 + ROUNDING
    return Outcome(found, f"{allowed} of {most:.3g}", is_covered)


def noise_as_declared(checked):
    """Noise of each release: its variance over sd^2."""
    noise = Noise()
    for trace in checked.traces:
        if trace.preparation is not None:
            noise.add(trace.preparation, is_preparation=True)
        for step in trace.steps:
            noise.add(step)
    found = [noise.found(), *(checked.audited(*run)[0].noise for run in AUDITED)]
    variance, p_value, count, _ = min(found, key=lambda of: of.p_value)
    hidden = sum(of.hidden for of in found)
    if not count:
        raise NotTried("rounding hides all noise" if hidden else "nothing is released")
    p_value = min(1.0, len(found) * p_value)
    text = f"{variance:.3f} of {count} numbers (p = {p_value:.2g})"
    if hidden:
        text += f"; rounding hides that of {hidden} more"
    return Outcome(text, f"1 (p >= {FALSE_ALARM:g})", p_value >= FALSE_ALARM)


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


def posterior_stays_on_batches(checked):
    """With noise and batches, without clipping, it leaves the posterior invariant."""
    return near_zero(checked.on_batches.z)


def starts_are_forgotten_by_small_steps(checked):
    """Chains of small steps, without clipping, come away from their start."""
    way = checked.vanishing.way
    return Outcome(f"{way:.2f} of the way", f"at least {LEAST_WAY:g}", way >= LEAST_WAY)


def posterior_stays_for_small_steps(checked):
    """With steps that go to 0, without clipping, it leaves the posterior invariant."""
    return near_zero(checked.vanishing.z)


def audited(iterations, power, which, observed):
    """A check by an audit, whose bounds must stay below the certified price."""

    def check(checked):
        found, most = checked.audited(iterations, power)
        found = getattr(found, which)
        text, passed = "{0.epsilon:.3f}", found.epsilon <= most.epsilon
        if not math.isnan(most.mu):  # all is Gaussian
            text, passed = f"{text}, mu {{0.mu:.3f}}", passed and found.mu <= most.mu
        return Outcome(text.format(found), f"at most {text.format(most)}", bool(passed))

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
    nothing_of_the_batch,
    batches_alone_are_read,
    as_priced,
    preparation_as_priced,
    batches_as_priced,
    noise_as_declared,
    *OF_OTHERS,
    starts_are_forgotten_with_noise,
    posterior_stays_with_noise,
    posterior_stays_on_batches,
    *(audited(*run, *score) for run in AUDITED for score in OBSERVED.items()),
]
