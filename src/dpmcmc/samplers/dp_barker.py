"""DP Barker: the Barker acceptance test on a batch, or on all rows (thesis, section 3.3).

Barker's test accepts if lambda + V > 0 with V logistic. Here V is the sum of the privacy noise,
the error of the batch, both normal, and of a correction (`dpmcmc.samplers.barker_correction`)
that makes normal noise of variance C = 2 nearly logistic.
"""

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dpmcmc.accounting.mechanisms import BarkerMechanism, GaussianMechanism, Releases
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.barker_correction import NOISE_VARIANCE, Correction
from dpmcmc.samplers.batch_ratios import batch_log_ratio
from dpmcmc.samplers.batches import batch_variance_factor, draw_batch, sampling_probability
from dpmcmc.samplers.moves import Move
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Count, Positive


def accepts(rng: Streams, noisy_ratio: float, correction: Correction | None) -> bool:
    """Barker's test of a log ratio with normal noise of variance C in it; False for NaN."""
    if correction is None:
        raise ValueError("correction: must be given to run a chain: Correction.compute()")
    return bool(noisy_ratio + correction.draw(rng.acceptance) > 0)


@dataclass(frozen=True)
class DPBarker(Sampler):
    """DP Barker on batches (Algorithm 3, after Heikkila et al. 2019).

    A row's ratio is clipped at sqrt(b) / (n T), whatever the step, as Theorem 3.3 requires. Then
    the published variance of the scaled batch sum cannot exceed 1. Algorithm 3 as printed lacks T
    and the scale of that variance, and treats the rows of a batch as independent draws.

    Attributes
    ----------
    move : Move
    batch_size : int
        b rows, drawn without replacement.
    correction : Correction, optional
        Needed to run a chain, not to price it.
    batch_variance : str
        The variance of a batch, to which noise is added up to C: "exact", for batches drawn without
        replacement, or "published", as if their rows were drawn independently.
    """

    move: Move
    batch_size: Count
    correction: Correction | None = field(default=None, metadata={"precomputed": Correction})
    batch_variance: Literal["published", "exact"] = "exact"

    exact_with_noise = True  # as the correction is, and but for the error of the batch

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """One acceptance test on a batch; T cancels."""
        b = self.batch_size
        q = sampling_probability(b, num_rows)
        f = batch_variance_factor(self.batch_variance, b, num_rows)
        return [(BarkerMechanism(b, q, f), iterations)]

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,)."""
        return State(position, self.move.init(rng, position.size))

    def row_bound(self, target: Target, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """Clip bound of one row's ratio: sqrt(b) / (n T), whatever the step."""
        return math.sqrt(self.batch_size) / (target.num_rows * target.likelihood_power)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration."""
        n, b, T = target.num_rows, self.batch_size, target.likelihood_power
        theta = state.position
        theta_new, if_accepted, if_rejected = self.move.propose(rng, theta, state.memory)
        bound = self.row_bound(target, theta, theta_new)
        largest = batch_variance_factor(self.batch_variance, b, n)
        log_ratio, variance, num_clipped = batch_log_ratio(
            target, theta, theta_new, bound, draw_batch(rng, n, b), b, largest
        )
        if not variance <= largest + 1e-9:
            raise ArithmeticError("the clip does not bound the variance of a batch")
        log_ratio += target.model.log_prior_ratio(theta, theta_new)
        noise_sd = math.sqrt(NOISE_VARIANCE - variance)
        noisy_ratio = rng.add_noise(log_ratio, 2 * n * T / b * bound, noise_sd)
        is_accepted = accepts(rng, noisy_ratio, self.correction)
        state = State(theta_new, if_accepted) if is_accepted else State(theta, if_rejected)
        return state, Info(is_accepted, num_clipped / b)


@dataclass(frozen=True)
class FullDataDPBarker(Sampler):
    """DP Barker on all rows (Heikkila et al. 2019, Theorem 1): one Gaussian release an iteration.

    Attributes
    ----------
    move : Move
    clip_bound : float
        B: one row's log-likelihood ratio is clipped at B itself, whatever the step.
    correction : Correction, optional
        Needed to run a chain, not to price it.
    """

    move: Move
    clip_bound: Positive
    correction: Correction | None = field(default=None, metadata={"precomputed": Correction})

    exact_with_noise = True  # as the correction is

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """T times the summed ratio: sensitivity 2 T B over the noise's sqrt(C)."""
        mu = 2 * likelihood_power * self.clip_bound / math.sqrt(NOISE_VARIANCE)
        return [(GaussianMechanism(mu), iterations)]

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,)."""
        return State(position, self.move.init(rng, position.size))

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration."""
        theta = state.position
        theta_new, if_accepted, if_rejected = self.move.propose(rng, theta, state.memory)
        R, num_clipped = target.clipped_log_likelihood_ratio(theta, theta_new, self.clip_bound)
        T = target.likelihood_power
        log_ratio = T * R + target.model.log_prior_ratio(theta, theta_new)
        noisy_ratio = rng.add_noise(log_ratio, 2 * T * self.clip_bound, math.sqrt(NOISE_VARIANCE))
        is_accepted = accepts(rng, noisy_ratio, self.correction)
        state = State(theta_new, if_accepted) if is_accepted else State(theta, if_rejected)
        return state, Info(is_accepted, num_clipped / target.num_rows)
