"""Proposals of the penalty algorithms (thesis, section 3.1): walk, OCU, and OCU with GWMH.

A move is a frozen dataclass of settings, derived from `Move`, with

    init(rng, dimension) -> memory
    propose(rng, theta, memory) -> (theta_new, memory if accepted, memory if rejected)

All moves leave Lebesgue measure on (theta, memory) invariant, so the acceptance test needs no
proposal term.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np

from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import PerComponent, Settings


class Move(Settings, ABC):
    """Base of the moves; most have nothing to remember."""

    def init(self, rng: Streams, dimension: int) -> Any:
        """Memory of the move at the start of a chain."""
        self.check_dimension(dimension)

    @abstractmethod
    def propose(self, rng: Streams, theta: np.ndarray, memory: Any) -> tuple[np.ndarray, Any, Any]:
        """A new position (d,), and what the move remembers if it is accepted, and if rejected."""


@dataclass(frozen=True)
class GaussianWalk(Move):
    """theta_new ~ Normal(theta, proposal_scale^2), all components at once.

    Attributes
    ----------
    proposal_scale : float or list of float
        Standard deviation, one for all components or one for each.
    """

    proposal_scale: PerComponent

    def propose(self, rng: Streams, theta: np.ndarray, memory: Any) -> tuple[np.ndarray, Any, Any]:
        """A Gaussian step."""
        step = np.multiply(self.proposal_scale, rng.proposal.standard_normal(theta.size))
        return theta + step, None, None


@dataclass(frozen=True)
class OneComponentWalk(Move):
    """One component update (OCU): a Gaussian step in a component drawn uniformly at random.

    Attributes
    ----------
    proposal_scale : float or list of float
        Standard deviation, one for all components or one for each.
    """

    proposal_scale: PerComponent

    def propose(self, rng: Streams, theta: np.ndarray, memory: Any) -> tuple[np.ndarray, Any, Any]:
        """A Gaussian step in one component."""
        j = rng.proposal.integers(theta.size)
        theta_new = theta.copy()
        theta_new[j] += component(self.proposal_scale, j) * rng.proposal.standard_normal()
        return theta_new, None, None


@dataclass(frozen=True)
class GuidedWalk(Move):
    """OCU with guided walk (GWMH): theta_j + d_j |z|, z ~ Normal(0, proposal_scale_j^2).

    The direction d_j = +-1 of the chosen component is kept on acceptance and flipped on
    rejection. The chain lives on (theta, d) and targets the posterior times uniform directions.

    Attributes
    ----------
    proposal_scale : float or list of float
        Standard deviation of z, one for all components or one for each.
    """

    proposal_scale: PerComponent

    def init(self, rng: Streams, dimension: int) -> Any:
        """Directions at random, (d,) of +-1."""
        super().init(rng, dimension)
        return 1.0 - 2.0 * rng.proposal.integers(2, size=dimension)

    def propose(self, rng: Streams, theta: np.ndarray, memory: Any) -> tuple[np.ndarray, Any, Any]:
        """A step in the current direction of one component."""
        j = rng.proposal.integers(theta.size)
        theta_new = theta.copy()
        step = component(self.proposal_scale, j) * abs(rng.proposal.standard_normal())
        theta_new[j] += memory[j] * step
        flipped = memory.copy()
        flipped[j] = -flipped[j]
        return theta_new, memory, flipped


def component(scale: float | list[float], j: SupportsIndex) -> float:
    """Scale of component j."""
    return scale[j] if isinstance(scale, list) else scale
