"""The start point, repeated: a chain that never moves, which any sampler should be better than."""

from dataclasses import dataclass

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.streams import Streams


@dataclass(frozen=True)
class StartPoint(Sampler):
    """Every position is the start; not private, as start points are drawn near the posterior.

    A check of metrics and figures, which show how much of the way from here to the posterior a
    chain went.
    """

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """Nothing moves."""
        return state, Info(False, 0.0)
