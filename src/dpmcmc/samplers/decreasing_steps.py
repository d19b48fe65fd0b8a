"""Trajectories on batches whose steps become shorter from one iteration to the next."""

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from msgspec import Meta

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.batch_gradients import batch_gradient
from dpmcmc.samplers.batches import draw_batch
from dpmcmc.samplers.sampler import Sampler, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Count, Positive, Steps

Decay = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True)
class DecreasingSteps(Sampler):
    """Base of samplers without an acceptance test, an iteration of which is a trajectory.

    All steps of trajectory t = 1, 2, ... have the size h_t = step_size t^-step_size_decay. What a
    state remembers is t, of the trajectory that comes next.

    Attributes
    ----------
    step_size : float
        h_1, of the first trajectory.
    num_integration_steps : int
        J.
    batch_size : int
        b rows, drawn without replacement.
    step_size_decay : float
        0 for steps of constant size.
    """

    step_size: Positive
    num_integration_steps: Steps
    batch_size: Count
    step_size_decay: Decay = field(default=1 / 3, kw_only=True)

    exact_in_limit_of = "step_size"

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,)."""
        self.check_dimension(position.size)
        return State(position, 1)

    def step_size_of(self, trajectory: int) -> float:
        """h_t."""
        return self.step_size * trajectory**-self.step_size_decay

    def draw_batch(self, rng: Streams, target: Target) -> np.ndarray:
        """A batch of the target's rows."""
        return draw_batch(rng, target.num_rows, self.batch_size)

    def gradient(
        self, target: Target, theta: np.ndarray, bound: float, batch: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Gradient of the log posterior by a batch, (d,), and the share of its rows clipped."""
        return batch_gradient(target, theta, bound, batch, self.batch_size)


def share_clipped(shares: list[float], bound: float) -> float:
    """Mean share of the rows whose gradients were clipped; NaN where none could be."""
    return sum(shares) / len(shares) if bound < float("inf") else float("nan")
