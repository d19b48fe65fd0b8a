"""Draws of a posterior from a long run of HMC that has to show that it has converged."""

import math

import numpy as np

from dpmcmc.evaluation.diagnostics import bulk_size, r_hat, tail_size
from dpmcmc.evaluation.modes import find_modes, missed
from dpmcmc.files import JobError
from dpmcmc.samplers.hmc import HMC
from dpmcmc.samplers.streams import Streams

CHAINS = 4
WARM_UP = (100, 200, 400, 300)  # iterations; after each, but for the last, a new mass matrix
SHRINKAGE = 5  # draws that the mass matrix before counts for
ACCEPTANCE = 0.8  # rate that the step size is adapted to
MAX_LEAPFROG_STEPS = 512
CONVERGED_R_HAT = 1.01
MIN_EFFECTIVE_DRAWS = 1000  # however few are asked for
DOUBLINGS = 5  # of the length of the chains
START_WIDTHS, TRIAL_WIDTHS = (
    2.0,
    10.0,
)  # widths of a mode at which chains start, and those that try the result
TRIAL = 250  # iterations of each chain that tries it, after its warm-up
LARGEST_R_HAT_FROM_AFAR = 1.1
ADVICE = (
    "modes may be too far apart, or some directions too narrow for HMC: rescale or rewrite theta, "
    "give the model sample_posterior, or, for d = 2, take reference: grid"
)


def sample(rng, target, size):
    """Draws of a posterior, (size, d), nearly independent and in random order.

    Four chains start about the modes that a search finds, each at another one where there are
    several, and twice as widely as a mode is: so a mode that HMC does not reach from another one
    keeps R-hat high. Step size and diagonal mass matrix are adapted in a warm-up, and then fixed;
    numbers of leapfrog steps are random, lest trajectories come back to where they began.

    A run is accepted with a rank-normalised split R-hat of at most 1.01, and bulk and tail
    effective sample sizes of at least 1000 and at least `size`, in every component (Vehtari et al.
    2021). Otherwise the chains go on to twice their length, at most 5 times. The draws must also
    have each mode that the search found, and four more chains, with a warm-up of their own, must
    come to the same posterior from ten widths away: a narrow peak within a wide one has all
    searches and near starts, and may have hardly any mass.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target
    size : int

    Raises
    ------
    JobError
        If that is not reached, or no mode is found, or one is left out, or chains from afar do not
        come to the same; the line says what was reached.
    """
    modes = find_modes(rng, target)
    covariance = np.mean([mode.covariance for mode in modes], axis=0)
    chains = started(rng, target, modes, START_WIDTHS)
    samplers = warmed_up(rng, chains, covariance)
    needed = max(MIN_EFFECTIVE_DRAWS, size)
    draws = np.empty((CHAINS, 0, target.model.dimension))
    for doubling in range(DOUBLINGS + 1):
        length = math.ceil(1.25 * needed / CHAINS) * 2**doubling
        new = advanced(rng, chains, samplers, length - draws.shape[1])
        draws = np.concatenate([draws, new], axis=1)
        measured = diagnose(draws)
        if measured["R-hat"].max() <= CONVERGED_R_HAT and measured["ESS"].min() >= needed:
            pooled = draws.reshape(-1, draws.shape[2])
            number = missed(modes, pooled, np.full(len(pooled), 1 / len(pooled)))
            if number is not None:
                raise JobError(
                    f"the long run for its reference leaves out mode {number + 1} of {len(modes)} "
                    f"that a search has found; {ADVICE}"
                )
            far_off = r_hat_from_afar(*rng.spawn(1), target, modes, covariance, draws)
            if far_off > LARGEST_R_HAT_FROM_AFAR:
                raise JobError(
                    f"the long run for its reference is not what chains from {TRIAL_WIDTHS:g} "
                    f"widths of its modes come to: R-hat of both is {far_off:.3g}, where "
                    f"{LARGEST_R_HAT_FROM_AFAR} is the most; {ADVICE}"
                )
            spaced = np.linspace(0, len(pooled) - 1, size).round().astype(int)
            return pooled[rng.permutation(spaced)]
    is_apart = measured["R-hat"].max() > CONVERGED_R_HAT
    worst = int(measured["R-hat"].argmax() if is_apart else measured["ESS"].argmin())
    raise JobError(
        f"the long run for its reference reached R-hat {measured['R-hat'][worst]:.3g} and an "
        f"effective sample size of {measured['ESS'][worst]:.0f} in component {worst + 1} after "
        f"{CHAINS} x {length} iterations, where {CONVERGED_R_HAT} and {needed} are asked for; "
        f"{ADVICE}"
    )


def r_hat_from_afar(rng, target, modes, covariance, draws):
    """The largest R-hat of a run's chains, draws (m, k, d), and of others that start far away."""
    chains = started(rng, target, modes, TRIAL_WIDTHS)
    samplers = warmed_up(rng, chains, TRIAL_WIDTHS**2 * covariance)
    places = np.linspace(0, draws.shape[1] - 1, TRIAL).round().astype(int)
    both = np.concatenate([draws[:, places], advanced(rng, chains, samplers, TRIAL)])
    return diagnose(both)["R-hat"].max()


def started(rng, target, modes, widths):
    """Chains about the modes in turn, so many widths away."""
    return [
        Chain(child, target, modes[i % len(modes)], widths)
        for i, child in enumerate(rng.spawn(CHAINS))
    ]


def advanced(rng, chains, samplers, count):
    """Draw further positions of each chain, (m, count, d), by samplers in random order."""
    chosen = rng.integers(len(samplers), size=(len(chains), count))
    return [
        [chain.step(samplers[i]) for i in row] for chain, row in zip(chains, chosen, strict=True)
    ]


class Chain:
    """A chain: where it is, and its random streams.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target
    mode : Mode
        About which it starts: at Normal(mode, widths^2 covariance), or as near as the density asks
        for.
    widths : float
    """

    def __init__(self, rng, target, mode, widths):
        self.target = target
        self.streams = Streams(*rng.spawn(3))
        factor = widths * np.linalg.cholesky(mode.covariance)
        step = factor @ rng.standard_normal(target.model.dimension)
        with np.errstate(all="ignore"):
            while not np.isfinite(target.log_density_ratio(mode.position, mode.position + step)):
                step = step / 2
        self.state = HMC(1.0, 1).init(self.streams, mode.position + step)
        self.is_accepted = False

    def step(self, sampler):
        """The next position, (d,)."""
        with np.errstate(all="ignore"):  # a proposal that overflows is rejected
            self.state, info = sampler.step(self.streams, self.state, self.target)
        self.is_accepted = info.is_accepted
        return self.state.position


def warmed_up(rng, chains, covariance):
    """HMC with the step size and mass matrix that suit the chains, one for each number of steps.

    Parameters
    ----------
    rng : numpy.random.Generator
    chains : list of Chain
        Moved by the warm-up.
    covariance : (d, d) array
        A first guess of that of the posterior.
    """
    step_size = len(covariance) ** -0.25
    for window, length in enumerate(WARM_UP):
        inverse_mass = np.diag(covariance).copy()
        dual = DualAveraging(step_size)
        positions = []
        for _ in range(length):
            number = rng.integers(most_steps(dual.step_size, covariance)) + 1
            sampler = HMC(dual.step_size, int(number), inverse_mass)
            positions.append([chain.step(sampler) for chain in chains])
            dual.update(np.mean([chain.is_accepted for chain in chains]))
        step_size = dual.smoothed
        if window < len(WARM_UP) - 1:
            late = np.array(positions[length // 2 :])
            deviations = (late - late.mean(axis=0)).reshape(-1, len(covariance))
            total = deviations.T @ deviations + SHRINKAGE * covariance
            covariance = total / (len(deviations) + SHRINKAGE)
    most = most_steps(step_size, covariance)
    return [HMC(step_size, number, inverse_mass) for number in range(1, most + 1)]


def most_steps(step_size, covariance):
    """Leapfrog steps of half a turn in the widest direction, once components are rescaled.

    Numbers of steps drawn evenly up to that make the next draw uncorrelated there.
    """
    scale = np.sqrt(np.diag(covariance))
    widest = np.linalg.eigvalsh(covariance / np.outer(scale, scale))[-1]
    return math.ceil(min(max(math.pi * math.sqrt(widest) / step_size, 1), MAX_LEAPFROG_STEPS))


class DualAveraging:
    """Step size that meets `ACCEPTANCE` (Hoffman and Gelman 2014, section 3.2.1, their constants).

    Attributes
    ----------
    step_size, smoothed : float
        To be tried next; to be kept.
    """

    def __init__(self, step_size):
        self.centre = math.log(10 * step_size)
        self.step_size, self.smoothed = step_size, 1.0
        self.count, self.error = 0, 0.0

    def update(self, acceptance):
        """Take note of the rate of acceptance with the last step size."""
        self.count += 1
        self.error += (ACCEPTANCE - acceptance - self.error) / (self.count + 10)
        log_step = self.centre - math.sqrt(self.count) / 0.05 * self.error
        weight = self.count**-0.75
        self.smoothed = math.exp(weight * log_step + (1 - weight) * math.log(self.smoothed))
        self.step_size = math.exp(log_step)


def diagnose(draws):
    """R-hat and effective sample size, the lesser of bulk and tail, of every component.

    Parameters
    ----------
    draws : (m, k, d) array
    """
    components = np.moveaxis(draws, 2, 0)
    r_hats = np.array([r_hat(x) for x in components])
    sizes = np.array([min(bulk_size(x), tail_size(x)) for x in components])
    return {
        "R-hat": np.nan_to_num(r_hats, nan=math.inf),  # no chain moves
        "ESS": np.nan_to_num(sizes, nan=0.0),
    }
