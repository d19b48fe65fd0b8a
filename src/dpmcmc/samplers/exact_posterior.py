"""Exact draws of the posterior, as if they were a chain: what the best sampler could give."""

from dataclasses import dataclass

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Count


@dataclass(frozen=True)
class ExactPosterior(Sampler):
    """Each position is an exact draw, independent of all others; not private.

    A check of metrics and figures, for models that can draw from their posterior.

    Attributes
    ----------
    draws_at_once : int
        Number of draws for which the data are read once.
    """

    draws_at_once: Count = 1000

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,), which is ignored; there are no draws yet."""
        return State(position, [])

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw."""
        draws = state.memory
        if not len(draws):
            draws = target.model.sample_posterior(rng.proposal, target.data, self.draws_at_once)
        return State(draws[0], draws[1:]), Info(True, 0.0)
