"""Hamiltonian dynamics on batches, without friction and without an acceptance test.

The trajectory of a batch is that of another Hamiltonian (Betancourt 2015), and a new batch at each
step adds energy; nothing takes either away. Kept to show it.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.decreasing_steps import DecreasingSteps, share_clipped
from dpmcmc.samplers.hmc import draw_momentum, leapfrog
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Bound, PerComponent


@dataclass(frozen=True)
class SubsampledHMC(DecreasingSteps):
    """Leapfrog trajectories on batches, always accepted; not private.

    Attributes
    ----------
    step_size, num_integration_steps, batch_size, step_size_decay
        As of `DecreasingSteps`.
    batches : str
        "each-step" for a new batch at each gradient, "trajectory" for one in a whole trajectory.
    gradient_clip_bound : float
        Largest Euclidean norm of one row's gradient.
    inverse_mass_matrix : float or list of float
        Diagonal of M^-1, one number for all components or one for each.
    """

    batches: Literal["each-step", "trajectory"] = "each-step"
    gradient_clip_bound: Bound = math.inf
    inverse_mass_matrix: PerComponent = 1.0

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One trajectory."""
        theta, t = state
        kept = self.draw_batch(rng, target) if self.batches == "trajectory" else None
        shares = []

        def gradient(theta: np.ndarray) -> np.ndarray:
            batch = self.draw_batch(rng, target) if kept is None else kept
            G, share = self.gradient(target, theta, self.gradient_clip_bound, batch)
            shares.append(share)
            return G

        h, inverse_mass = self.step_size_of(t), self.inverse_mass_matrix
        p = draw_momentum(rng, theta.size, inverse_mass)
        steps = leapfrog(theta, p, gradient, h, self.num_integration_steps, inverse_mass)
        *_, (theta, p) = steps
        clip_fraction = share_clipped(shares, self.gradient_clip_bound)
        return State(theta, t + 1), Info(True, math.nan, clip_fraction)
