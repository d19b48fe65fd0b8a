"""Is a sampler right, and is it private? Checks of any, ours or a stranger's, by what it does.

They run on a small tempered banana whose posterior is known exactly, with standard deviations of
about 0.2: settings such as a step size should be set for that.
"""

import math
from dataclasses import fields, is_dataclass, replace
from typing import NamedTuple

import numpy as np

from dpmcmc.accounting import certified
from dpmcmc.accounting.releases import BarkerRelease, GaussianRelease, SubsampledGaussianRelease
from dpmcmc.evaluation.audit import FAR, Case, FixedStep, audit
from dpmcmc.evaluation.checking.findings import Finding, tried
from dpmcmc.evaluation.watching import WatchedStreams
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.samplers.chain import Streams, run_chain
from dpmcmc.samplers.metropolis import Metropolis
from dpmcmc.settings import Noise, annotations

ROWS = 60  # of the data, where the sampler draws no batches
CHAINS, ITERATIONS = 400, 100  # of the test of invariance
LARGEST_Z = 4.5  # of the largest of six: a right sampler passes it once in 2 * 10^4 times
LEAST_WAY = 0.2  # of a chain: 1 for one that has forgotten its start
QUIET = 1e-12  # what a setting of the noise is set to where there should be none
LOUDER = (16, 8, 4, 2)  # times the noise of the settings, lest it be too little to matter
LEAST_ACCEPTED = 0.2  # of the proposals, with that noise
WATCHED = 12  # iterations whose releases are compared on other rows
REPLACED = 8  # rows that are replaced, one at a time
ROUNDING = 1e-9
AUDITED_RUNS, AUDITED_ITERATIONS, DELTA = 1000, (1, 3), 0.01


def check_sampler(sampler, seed=0):
    """Check a sampler; settings that are lists of one number a component count with their first.

    Parameters
    ----------
    sampler
        With what it needs beside settings.
    seed : int

    Yields
    ------
    Finding
    """
    sampler = for_any_dimension(sampler)
    if not hasattr(sampler, "release"):
        yield from tried("leaves the posterior invariant", invariance, sampler, seed)
        return
    yield from tried("releases", releases, sampler, seed)
    what = "without noise and clipping, leaves the posterior invariant"
    if noises(sampler):
        yield from tried(what, invariance, with_noise(sampler, 0), seed)
    else:
        yield Finding.not_tried(what, "it has no setting of type dpmcmc.settings.Noise")
    what = "with noise, without clipping, leaves the posterior invariant"
    if getattr(sampler, "exact_with_noise", False):
        yield from tried(what, invariance, loudest(sampler, seed), seed)
    else:
        yield Finding.not_tried(what, "it does not claim so (exact_with_noise = True)")
    for iterations in AUDITED_ITERATIONS:
        yield from tried(f"audit of {iterations} iterations", bounds, sampler, iterations, seed)


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


def posterior(sampler, seed):
    """The target of the checks; a batch is of all its rows, as only then there is no error of it."""
    model = banana(getattr(sampler, "batch_size", ROWS))
    return Unclipped(model, model.simulate(np.random.default_rng([seed, 0])))


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


def invariance(what, sampler, seed):
    """Chains that start in the posterior stay in it: means over each, against exact draws."""
    target, rng = posterior(sampler, seed), np.random.default_rng([seed, 6])
    model = target.model
    starts = model.sample_posterior(rng, target.data, CHAINS)
    exact = model.sample_posterior(rng, target.data, 200_000)
    centre, spread = exact.mean(axis=0), exact.std(axis=0)
    means, ways = [], []
    for i, start in enumerate(starts):
        chain = run_chain(sampler, target, streams(Streams, seed, 1, i), start, ITERATIONS)
        z = (chain.positions - centre) / spread
        means.append(observables(z).mean(axis=0))
        ways.append((z[-1] - (start - centre) / spread) ** 2 / 2)
    way = np.mean(ways, axis=0).min()
    yield Finding(
        f"{ITERATIONS} iterations forget the start",
        f"{way:.2f}",
        f"at least {LEAST_WAY:g}",
        bool(way >= LEAST_WAY),
    )
    means, expected = np.array(means), observables((exact - centre) / spread)
    errors = np.sqrt(means.var(axis=0, ddof=1) / CHAINS + expected.var(axis=0) / len(expected))
    worst = np.abs((means.mean(axis=0) - expected.mean(axis=0)) / errors).max()
    yield Finding(what, f"|z| {worst:.1f}", f"at most {LARGEST_Z:g}", bool(worst <= LARGEST_Z))


def observables(z):
    """Functions of standardised positions (k, 2) whose means tell two distributions apart."""
    return np.column_stack([z, z**2, z[:, 0] * z[:, 1], z[:, 0] ** 2 * z[:, 1]])


# -- Privacy ---------------------------------------------------------------------------------------


class Comparison(NamedTuple):
    """The most that one replaced row changed."""

    moved: float = 0.0  # a statistic, over its declared sensitivity
    spread: float = 0.0  # a declared sensitivity or noise, relatively
    is_same: bool = True  # whether the same state came out


def releases(what, sampler, seed):
    """What iterations release, against other rows and against the price that is asked for them."""
    batch_size = getattr(sampler, "batch_size", None)
    model = banana(2 * batch_size if batch_size else ROWS)
    release = sampler.release(model.num_rows, model.likelihood_power)
    rng = np.random.default_rng([seed, 2])
    data = model.simulate(rng)
    far = np.where(np.arange(model.num_rows) % 2, FAR, -FAR) * np.ones(data.shape)
    steps, found = [], Comparison()
    for i, rows in enumerate((data, far)):
        watched, target = streams(WatchedStreams, seed, 3, i), Target(model, rows)
        neighbours = [Target(model, x, "clip") for x in neighbouring(rng, rows, data)]
        state = sampler.init(watched, model.sample_posterior(rng, data, 1)[0])
        for _ in range(WATCHED):
            step = watched.step(sampler, state, target)
            for neighbour in neighbours:
                other = watched.repeat(sampler, state, neighbour, step)
                found = worse(found, step, other)
            steps.append(step)
            state = step.state
    count = max(len(step.released) for step in steps)
    yield Finding("releases of an iteration", f"{count}", "at least 1", count > 0)
    yield Finding(
        "a row moves a released statistic by at most its declared sensitivity",
        f"{found.moved:.6g} of it",
        "1",
        bool(found.moved <= 1 + ROUNDING),
    )
    if not isinstance(release, BarkerRelease):
        yield Finding(
            "declared sensitivity and noise do not depend on a row",
            f"{found.spread:.2g}",
            f"{ROUNDING:g}",
            bool(found.spread <= ROUNDING),
        )
    yield Finding(
        "rows change nothing but what is released",
        "the same state" if found.is_same else "another state",
        "the same state",
        found.is_same,
    )
    cost, allowed = max(cost_of(step) for step in steps), price(release)
    yield Finding(
        "(sensitivity / noise)^2 of an iteration, against what release() says",
        f"{cost:.6g}",
        f"{allowed:.6g}",
        bool(cost <= allowed * (1 + ROUNDING)),
    )
    if not isinstance(release, GaussianRelease):
        share = max((step.batch_size or model.num_rows) / model.num_rows for step in steps)
        yield Finding(
            "releases of a batch, and share of its rows, against what release() says",
            f"{count}, {share:g}",
            f"1, {release.sampling_probability:g}",
            count == 1 and share <= release.sampling_probability,
        )


def neighbouring(rng, rows, ordinary):
    """Data sets (m, n) that differ from one in a row: by another, by far ones, by no numbers."""
    m, n = rows.shape
    signs = np.where(np.arange(m) % 2, -1.0, 1.0)
    others = [ordinary[:, 0], np.zeros(m), *(x * signs for x in (FAR, -FAR)), np.full(m, FAR)]
    others += [np.full(m, -FAR), np.full(m, 1e300), np.full(m, np.nan), np.full(m, np.inf)]
    for i in rng.choice(n, REPLACED, replace=False):
        for other in others:
            changed = rows.copy()
            changed[:, i] = other
            yield changed


def worse(found, step, other):
    """A comparison, with that of two iterations that differ by a row."""
    is_same = len(step.released) == len(other.released) and same(step.state, other.state)
    moved, spread = found.moved, found.spread
    for a, b in zip(step.released, other.released, strict=False):
        change = np.linalg.norm(np.subtract(a.statistic, b.statistic))
        moved = max(moved, ratio(change, a.sensitivity))
        for x, y in ((a.sensitivity, b.sensitivity), (a.sd, b.sd)):
            spread = max(spread, ratio(abs(x - y), x))
    return Comparison(moved, spread, found.is_same and is_same)


def ratio(x, y):
    """x / y; 0 for 0 / 0, infinite for what is no number."""
    if x == 0:
        return 0.0
    return x / y if y > 0 and not math.isnan(x) else math.inf


def same(state, other):
    """Whether two states are the same, to rounding."""
    pairs = zip(leaves(state), leaves(other), strict=True)
    return all(np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9) for a, b in pairs)


def leaves(part):
    """Numbers and arrays of a state."""
    if isinstance(part, tuple | list):
        for entry in part:
            yield from leaves(entry)
    elif part is not None:
        yield np.asarray(part, float)


def cost_of(step):
    """Sum of (sensitivity / sd)^2 over the releases of an iteration, which compose so."""
    return sum(ratio(released.sensitivity, released.sd) ** 2 for released in step.released)


def price(release):
    """The most that the same may be for a release that an accountant is told of."""
    match release:
        case GaussianRelease(mu):
            return mu**2
        case SubsampledGaussianRelease(noise_variance):
            return 1 / noise_variance
        case BarkerRelease(batch_size, _, batch_variance):
            return 4 / batch_size / (2 - batch_variance)
    raise TypeError(f"release() returns a {type(release).__name__}, which no accountant prices")


def bounds(what, sampler, iterations, seed):
    """Lower bounds of epsilon by many runs on the worst data, against the certified price."""
    batch_size = getattr(sampler, "batch_size", None)
    n = 2 * batch_size if batch_size else ROWS
    far = np.full(n, FAR) if batch_size else FAR * np.where(np.arange(n) % 2, -1.0, 1.0)
    if "move" in annotations(type(sampler)):
        sampler = replace(sampler, move=FixedStep())
    case = Case(sampler, np.concatenate([[-FAR], far[1:]]), far, iterations)
    most = certified.epsilon(sampler.release(n), iterations, DELTA)
    for bound in audit(case, [seed, 4], AUDITED_RUNS, DELTA):
        yield Finding(
            f"{what}: epsilon is at least, by {bound.observed}",
            f"{bound.epsilon:.3f}",
            f"at most {most:.3f}",
            bound.epsilon <= most,
        )
