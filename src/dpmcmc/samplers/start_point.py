"""The start point, repeated: a chain that never moves, which any sampler should be better than."""

from dataclasses import dataclass

from dpmcmc.samplers.chain import Info, State
from dpmcmc.settings import Settings


@dataclass(frozen=True)
class StartPoint(Settings):
    """Every position is the start; not private, as start points are drawn near the posterior.

    A check of metrics and figures, which show how much of the way from here to the posterior a
    chain went.
    """

    def init(self, rng, position):
        """State at a start position (d,)."""
        return State(position)

    def step(self, rng, state, target):
        """Nothing moves."""
        return state, Info(False, 0.0)
