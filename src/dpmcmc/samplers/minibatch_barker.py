"""Barker's acceptance test on a batch, without privacy (Seita et al. 2017)."""

import math
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.barker_correction import Correction, fit_correction
from dpmcmc.samplers.batch_ratios import batch_log_ratio
from dpmcmc.samplers.batches import batch_variance_factor, draw_batch
from dpmcmc.samplers.dp_barker import accepts
from dpmcmc.samplers.moves import Move
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Bound, Count

NOISE_VARIANCE = 1.0  # C: the error of a batch and the noise together


class UnitCorrection(Correction):
    """The correction for noise of variance 1."""

    @classmethod
    def compute(cls) -> Self:
        """The correction that samplers need."""
        fitted = fit_correction(NOISE_VARIANCE)
        return cls(fitted.atoms, fitted.weights, fitted.error)


@dataclass(frozen=True)
class MinibatchBarker(Sampler):
    """Barker's test on batches of a fixed size, with normal noise that brings its variance up to 1.

    If the log ratio of a batch has a larger variance, as for long steps, no noise is added and
    the test is biased.

    Attributes
    ----------
    move : Move
    batch_size : int
        b rows, drawn without replacement.
    correction : UnitCorrection, optional
        Needed to run a chain.
    clip_bound : float
        A row's log-likelihood ratio is clipped here, to show what the clip of a private sampler
        does without its noise.
    """

    move: Move
    batch_size: Count
    correction: UnitCorrection | None = field(
        default=None, metadata={"precomputed": UnitCorrection}
    )
    clip_bound: Bound = math.inf

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,)."""
        return State(position, self.move.init(rng, position.size))

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration."""
        n, b = target.num_rows, self.batch_size
        theta = state.position
        theta_new, if_accepted, if_rejected = self.move.propose(rng, theta, state.memory)
        f = batch_variance_factor("exact", b, n)
        log_ratio, variance, num_clipped = batch_log_ratio(
            target, theta, theta_new, self.clip_bound, draw_batch(rng, n, b), b, f
        )
        log_ratio += target.model.log_prior_ratio(theta, theta_new)
        noise = math.sqrt(max(0.0, NOISE_VARIANCE - variance)) * rng.acceptance.standard_normal()
        is_accepted = accepts(rng, log_ratio + noise, self.correction)
        state = State(theta_new, if_accepted) if is_accepted else State(theta, if_rejected)
        return state, Info(is_accepted, num_clipped / b)
