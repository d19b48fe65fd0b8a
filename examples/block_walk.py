"""A move of one's own for the samplers of the package: some components at a time."""

from dataclasses import dataclass

from dpmcmc.samplers.moves import Move
from dpmcmc.settings import Count, Positive


@dataclass(frozen=True)
class BlockWalk(Move):
    """A Gaussian step in some components, drawn anew each time; all others stay.

    One component is `OneComponentWalk`, all of them are `GaussianWalk`.

    Attributes
    ----------
    block_size : int
        How many components; of a posterior with fewer, all.
    proposal_scale : float
        Standard deviation of a component's step.
    """

    block_size: Count = 3
    proposal_scale: Positive = 0.2

    def propose(self, rng, theta, memory):
        """The new theta (d,), and what the move would remember if accepted and if rejected."""
        block = rng.proposal.permutation(theta.size)[: self.block_size]
        theta_new = theta.copy()
        theta_new[block] += self.proposal_scale * rng.proposal.standard_normal(len(block))
        return theta_new, None, None
