"""The loop that runs a chain, and the acceptance test."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import check_count, check_object


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
    preparation: Info | None = None  # of the preparation; misfit is the largest of all iterations


def run_chain(
    sampler: Sampler,
    target: Target,
    rng: Streams,
    start: np.ndarray | Sequence[float] | None,
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
    records = {name: getattr(chain, name) for name in Info._fields if name in Chain._fields}
    misfit = preparation.misfit if preparation else math.nan
    with np.errstate(over="ignore", invalid="ignore"):  # a proposal that overflows is rejected
        for i in range(num_iterations):
            state, info = sampler.step(rng, state, target)
            if (i + 1) % thinning == 0:
                chain.positions[i // thinning] = state.position
            for name, values in records.items():
                values[i] = getattr(info, name)
            misfit = np.fmax(misfit, info.misfit)
    if preparation:
        chain = chain._replace(preparation=preparation._replace(misfit=float(misfit)))
    return chain


def first_state(
    sampler: Sampler, rng: Streams, target: Target, start: np.ndarray | Sequence[float] | None
) -> tuple[State, Info | None]:
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


def accepts(rng: Streams, log_ratio: float) -> bool:
    """Metropolis test: True with probability min(1, exp(log_ratio)); False for NaN."""
    return bool(log_uniform(rng) < log_ratio)


def log_uniform(rng: Streams) -> float:
    """Logarithm of a uniform random number: the threshold of an acceptance test."""
    return -rng.acceptance.standard_exponential()


def ratio_bound(clip_bound: float, theta: np.ndarray, theta_new: np.ndarray) -> float:
    """Clip bound of one row's ratio: clip_bound |theta_new - theta|_2, and 0 for no step."""
    step = theta_new - theta
    length = math.sqrt(step @ step)
    return clip_bound * length if length > 0 else 0.0
