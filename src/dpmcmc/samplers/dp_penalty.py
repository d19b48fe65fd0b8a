"""DP penalty: Metropolis with a noisy, clipped ratio (thesis, section 3.1).

After Yildirim and Ermis (2019), with alpha = 1/2: noise of standard deviation
sigma = 2 tau sqrt(n) b |theta - theta'| on the summed log-likelihood ratio, and the correction
of Ceperley and Dewing (1999) in the acceptance test.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpmcmc.accounting.mechanisms import GaussianMechanism, Releases
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.chain import accepts, ratio_bound
from dpmcmc.samplers.moves import Move
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, Positive


@dataclass(frozen=True)
class DPPenalty(Sampler):
    """DP penalty with a symmetric move.

    Attributes
    ----------
    move : Move
    noise_scale : float
        tau: the noise's *standard deviation* is tau sqrt(n) times the ratio's sensitivity.
    clip_bound : float
        b: one row's log-likelihood ratio is clipped at b |theta - theta'|_2.
    """

    move: Move
    noise_scale: Noise
    clip_bound: Positive

    exact_with_noise = True

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """One ratio: sensitivity 2 b |theta - theta'| over sigma is 1 / (tau sqrt(n))."""
        return [(GaussianMechanism(mu=1 / (self.noise_scale * math.sqrt(num_rows))), iterations)]

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,)."""
        return State(position, self.move.init(rng, position.size))

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration; T is the tempering, which scales the noisy sum and so its noise."""
        T = target.likelihood_power
        theta = state.position
        theta_new, if_accepted, if_rejected = self.move.propose(rng, theta, state.memory)
        bound = ratio_bound(self.clip_bound, theta, theta_new)
        sigma = 2 * self.noise_scale * math.sqrt(target.num_rows) * bound
        ratio, num_clipped = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        noisy_ratio = rng.add_noise(ratio, 2 * bound, sigma)
        penalty = (T * sigma) * (T * sigma) / 2  # a power would raise where it overflows
        log_prior_ratio = target.model.log_prior_ratio(theta, theta_new)
        is_accepted = accepts(rng, T * noisy_ratio + log_prior_ratio - penalty)
        state = State(theta_new, if_accepted) if is_accepted else State(theta, if_rejected)
        return state, Info(is_accepted, num_clipped / target.num_rows)
