"""DP-SGNHT: a stochastic-gradient Nose-Hoover thermostat with clipped gradients.

Ding et al. (2014), Algorithm 2, as Wang, Fienberg and Smola (2015) make it private: the noise of
the dynamics is the noise of the privacy. There is no acceptance test: what it leaves invariant is
the posterior only in the limit of small steps.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.stochastic_gradients import StochasticGradients
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Positive


class Thermostat(NamedTuple):
    """Memory of a chain beside its position."""

    momentum: np.ndarray  # p, (d,)
    friction: float  # xi, which keeps the mean of |p|^2 at d


@dataclass(frozen=True)
class DPSGNHT(StochasticGradients):
    """DP-SGNHT on batches of a fixed size.

    Attributes
    ----------
    step_size, batch_size, gradient_clip_bound
        As of `StochasticGradients`.
    diffusion : float
        A: half the variance of the noise of the momentum in a unit of time, and the first value of
        the friction. The friction adapts to any further noise of the gradients.
    """

    diffusion: Positive

    @property
    def gradient_step(self) -> float:
        """Factor of the gradient in the step of the momentum."""
        return self.step_size

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of a component of the momentum."""
        return math.sqrt(2 * self.step_size * self.diffusion)

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,), with a momentum from Normal(0, I)."""
        momentum = rng.proposal.standard_normal(position.size)
        return State(position, Thermostat(momentum, self.diffusion))

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration; it is always accepted."""
        h, theta, (p, xi) = self.step_size, *state
        gradient, clip_fraction = self.gradient(rng, target, theta)
        mean = p - h * xi * p + h * gradient
        sensitivity = self.sensitivity(target.num_rows, target.likelihood_power)
        p = rng.add_noise(mean, sensitivity, self.noise_sd)
        theta = theta + h * p
        xi = xi + h * (p @ p / theta.size - 1)
        return State(theta, Thermostat(p, xi)), Info(True, math.nan, clip_fraction)
