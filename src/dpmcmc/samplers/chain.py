"""Random streams, and the loop that runs a chain."""

import math
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.sampler import Info, Sampler
from dpmcmc.settings import check_count, check_object


class Generators(NamedTuple):
    """The fields of `Streams`."""

    proposal: np.random.Generator  # proposals, momenta and components
    acceptance: np.random.Generator  # accept or reject
    noise: np.random.Generator  # privacy noise


class Streams(Generators):
    """Random generators of one chain.

    On real data all three must stay secret. Someone who knows the numbers of acceptance and noise
    can undo the noise, and those of proposals may reveal a seed that the others share.

    Raises
    ------
    ValueError
        If they are not three generators, if two of them give the same random numbers, or if one has
        words of 32 bits (batches are drawn from words of 64).
    """

    __slots__ = ()

    def __new__(cls, *generators):
        """Three generators, checked."""
        if len(generators) != 3 or not all(isinstance(g, np.random.Generator) for g in generators):
            kinds = ", ".join(type(g).__name__ for g in generators)
            raise ValueError(f"streams: must be three numpy.random.Generator, not ({kinds})")
        if len({repr(g.bit_generator.state) for g in generators}) < 3:
            raise ValueError("streams: must be three different generators, not one given twice")
        if any(isinstance(g.bit_generator, np.random.MT19937) for g in generators):
            raise ValueError("streams: must have words of 64 bits, such as PCG64, not MT19937")
        return super().__new__(cls, *generators)

    def add_noise(self, statistic, sensitivity, sd):
        """A statistic of the rows with the noise that makes it private.

        Parameters
        ----------
        statistic : float or array_like
            It may hold terms without rows, such as the log prior ratio.
        sensitivity : float
            The most that it can change, in the Euclidean norm, when one row is replaced by another.
        sd : float
            Standard deviation of the noise, of each component.

        Returns
        -------
        float or array
            All that the rest of the iteration may use of the statistic.

        Raises
        ------
        ValueError
            If sd is not one number.
        """
        if not np.isscalar(sd):
            raise ValueError("sd: must be one number, of all components")
        return statistic + sd * self.noise.standard_normal(np.shape(statistic) or None)

    def batch(self, draw, num_rows, batch_size):
        """A secret batch of rows, as `draw` draws it: for `dpmcmc.samplers.batches.draw_batch`."""
        return draw(self.noise, num_rows, batch_size)

    @classmethod
    def _make(cls, generators):  # of which `_replace` makes use
        return cls(*generators)


class Chain(NamedTuple):
    """A chain of k iterations; the start is not among the positions.

    If positions are thinned, every s-th one is kept: the last of each stretch of s.
    """

    positions: np.ndarray  # (k // s, d)
    is_accepted: np.ndarray  # (k,) bool
    clip_fraction: np.ndarray  # (k,), NaN for samplers without ratios
    gradient_clip_fraction: np.ndarray  # (k,), NaN for samplers without gradients
    is_changed: np.ndarray  # (k,) bool
    start: np.ndarray | None = None  # (d,); of a sampler that prepares, where that led
    preparation: Info | None = None  # diagnostics of the preparation


def run_chain(
    sampler: Sampler,
    target: Target,
    rng: Streams,
    start: Any,
    num_iterations: int,
    max_positions: int | None = None,
) -> Chain:
    """Run a sampler from a start point.

    Parameters
    ----------
    sampler : Sampler
    target : Target
    rng : Streams
    start : (d,) array or None
        Finite. A sampler that prepares needs none: it starts where its preparation leads.
    num_iterations : int
        k >= 0, fixed beforehand by the accountant.
    max_positions : int, optional
        Thin the positions to at most so many, >= 1; all iterations count in the other arrays.

    Returns
    -------
    Chain

    Raises
    ------
    ValueError
        If an argument is of another kind, or the start point has another shape or is not finite.
    """
    check_object("sampler", sampler, Sampler, "DPPenalty(...)")
    check_object("target", target, Target, "Target(model, data)")
    check_object("rng", rng, Streams, "streams()")
    check_count("num_iterations", num_iterations, 0)
    if max_positions is not None:
        check_count("max_positions", max_positions, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        state, preparation = first_state(sampler, rng, target, start)
    dimension = target.model.dimension
    thinning = max(1, -(-num_iterations // (max_positions or num_iterations or 1)))
    chain = Chain(
        positions=np.empty((num_iterations // thinning, dimension)),
        is_accepted=np.empty(num_iterations, dtype=bool),
        clip_fraction=np.empty(num_iterations),
        gradient_clip_fraction=np.empty(num_iterations),
        is_changed=np.empty(num_iterations, dtype=bool),
        start=np.array(state.position),
        preparation=preparation,
    )
    positions, *records = chain[: 1 + len(Info._fields)]
    with np.errstate(over="ignore", invalid="ignore"):  # a proposal that overflows is rejected
        for i in range(num_iterations):
            state, info = sampler.step(rng, state, target)
            if (i + 1) % thinning == 0:
                positions[i // thinning] = state.position
            for values, value in zip(records, info, strict=True):
                values[i] = value
    return chain


def first_state(sampler, rng, target, start):
    """State before the first step, and `Info` of the preparation, None without one.

    Parameters and errors as for `run_chain`.
    """
    if sampler.prepares:
        return sampler.prepare(rng, target)
    dimension = target.model.dimension
    try:
        start = np.array(start, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"start: must be {dimension} numbers, not {start!r}") from None
    if start.shape != (dimension,):
        raise ValueError(f"start: must be of shape ({dimension},), not {start.shape}")
    if not np.isfinite(start).all():
        raise ValueError(f"start: must be finite, not {start.tolist()}")
    return sampler.init(rng, start), None


def accepts(rng, log_ratio):
    """Metropolis test: True with probability min(1, exp(log_ratio)); False for NaN."""
    return bool(log_uniform(rng) < log_ratio)


def log_uniform(rng):
    """Logarithm of a uniform random number: the threshold of an acceptance test."""
    return -rng.acceptance.standard_exponential()


def ratio_bound(clip_bound, theta, theta_new):
    """Clip bound of one row's ratio: clip_bound |theta_new - theta|_2, and 0 for no step."""
    step = theta_new - theta
    length = math.sqrt(step @ step)
    return clip_bound * length if length > 0 else 0.0
