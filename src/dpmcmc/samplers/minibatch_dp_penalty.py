"""Minibatch DP penalty: DP penalty on a batch drawn afresh each iteration (thesis, section 3.4)."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpmcmc.accounting.mechanisms import Releases, SubsampledGaussianMechanism
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.batch_ratios import batch_log_ratio
from dpmcmc.samplers.batches import batch_variance_factor, draw_batch, sampling_probability
from dpmcmc.samplers.chain import accepts, ratio_bound
from dpmcmc.samplers.moves import Move
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Count, Noise, Positive

# Sensitivity of the batch variance over 2, in units of f (1 - 1/b) (a c)^2 with the factor f of
# `batch_variance_factor`: Lemma 3.4 proves 3, it is exactly 2.
VARIANCE_SENSITIVITY = {"published": 3, "exact": 2}


@dataclass(frozen=True)
class MinibatchDPPenalty(Sampler):
    """Minibatch DP penalty with a symmetric move.

    Attributes
    ----------
    move : Move
    noise_variance : float
        tau: the noise's *variance* is tau times the square of the sensitivity.
    batch_size : int
        b rows, drawn without replacement.
    clip_bound : float
        L: one row's log-likelihood ratio is clipped at c = L |theta - theta'|_2.
    sensitivity : str
        Of lambda - f sigma_b^2 / 2: "published", 2 a c + 3 f (1 - 1/b) (a c)^2 with a = n T / b
        (Theorem 3.5), or "exact", with 2 in place of 3.
    batch_variance : str
        f sigma_b^2: "exact", for batches drawn without replacement, or "published", as if their
        rows were drawn independently, f = 1.
    """

    move: Move
    noise_variance: Noise
    batch_size: Count
    clip_bound: Positive
    sensitivity: Literal["published", "exact"] = "exact"
    batch_variance: Literal["published", "exact"] = "exact"

    exact_with_noise = True  # but for the error of the batch, which is nearly normal

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """One noisy value of lambda - f sigma_b^2 / 2 on a batch."""
        q = sampling_probability(self.batch_size, num_rows)
        return [(SubsampledGaussianMechanism(self.noise_variance, q), iterations)]

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,)."""
        return State(position, self.move.init(rng, position.size))

    def row_bound(self, target: Target, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """Clip bound of one row's ratio: c, in proportion to the step."""
        return ratio_bound(self.clip_bound, theta, theta_new)

    def sensitivity_at(self, target: Target, bound: float) -> float:
        """The most that one row moves lambda - f sigma_b^2 / 2, of ratios clipped at a bound."""
        b = self.batch_size
        f = batch_variance_factor(self.batch_variance, b, target.num_rows)
        ac = target.num_rows * target.likelihood_power / b * bound
        of_variance = VARIANCE_SENSITIVITY[self.sensitivity] * f * (1 - 1 / b) * (ac * ac)
        return 2 * ac + of_variance

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration."""
        n, b = target.num_rows, self.batch_size
        theta = state.position
        theta_new, if_accepted, if_rejected = self.move.propose(rng, theta, state.memory)
        c = self.row_bound(target, theta, theta_new)
        sensitivity = self.sensitivity_at(target, c)
        sigma = math.sqrt(self.noise_variance) * sensitivity
        f = batch_variance_factor(self.batch_variance, b, n)
        log_ratio, variance, num_clipped = batch_log_ratio(
            target, theta, theta_new, c, draw_batch(rng, n, b), b, f
        )
        log_ratio += target.model.log_prior_ratio(theta, theta_new)
        noisy_ratio = rng.add_noise(log_ratio - variance / 2, sensitivity, sigma)
        is_accepted = accepts(rng, noisy_ratio - sigma * sigma / 2)
        state = State(theta_new, if_accepted) if is_accepted else State(theta, if_rejected)
        return state, Info(is_accepted, num_clipped / b)
