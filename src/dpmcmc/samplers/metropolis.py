"""Random-walk Metropolis without privacy, optionally with clipped ratios (thesis, section 6.2)."""

import math
from dataclasses import dataclass

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.chain import log_uniform, ratio_bound
from dpmcmc.samplers.moves import Move
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Bound


@dataclass(frozen=True)
class Metropolis(Sampler):
    """Metropolis with a symmetric move; not private.

    Attributes
    ----------
    move : Move
    clip_bound : float
        One row's log-likelihood ratio is clipped at clip_bound |theta - theta'|_2.
    """

    move: Move
    clip_bound: Bound = math.inf

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,)."""
        return State(position, self.move.init(rng, position.size))

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration."""
        theta = state.position
        theta_new, if_accepted, if_rejected = self.move.propose(rng, theta, state.memory)
        bound = ratio_bound(self.clip_bound, theta, theta_new)
        ratio, num_clipped = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        log_prior_ratio = target.model.log_prior_ratio(theta, theta_new)
        log_u = log_uniform(rng)
        is_accepted = bool(log_u < target.likelihood_power * ratio + log_prior_ratio)
        is_changed = is_accepted != (log_u < target.log_density_ratio(theta, theta_new))
        state = State(theta_new, if_accepted) if is_accepted else State(theta, if_rejected)
        return state, Info(is_accepted, num_clipped / target.num_rows, is_changed=is_changed)
