"""DP-SGLD: stochastic-gradient Langevin dynamics with clipped gradients (Li et al. 2019).

The noise of the dynamics is the noise of the privacy. There is no acceptance test: what it leaves
invariant is the posterior only in the limit of small steps.
"""

import math
from dataclasses import dataclass

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.stochastic_gradients import StochasticGradients
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Positive


@dataclass(frozen=True)
class DPSGLD(StochasticGradients):
    """DP-SGLD on batches of a fixed size, with the temperature of its noise.

    theta' = theta + (h / 2) (grad ln p(theta) + (n T / b) sum of clipped gradients)
    + Normal(0, temperature h I). Langevin dynamics has temperature 1. At another temperature the
    sampler has the posterior to the power 1 / temperature as its target. Some have run the step
    theta + h (...) + Normal(0, h I) of Wang, Fienberg and Smola (2015, Algorithm 2). It is that of
    step_size 2 h at temperature 1/2, and its standard deviations are too small by sqrt(2).

    Attributes
    ----------
    step_size, batch_size, gradient_clip_bound
        As of `StochasticGradients`.
    temperature : float
        Variance of the noise in units of h.
    """

    temperature: Positive = 1.0

    @property
    def gradient_step(self) -> float:
        """Factor of the gradient in the step of the position."""
        return self.step_size / 2

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise of a component of the position."""
        return math.sqrt(self.temperature * self.step_size)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration; it is always accepted."""
        theta = state.position
        gradient, clip_fraction = self.gradient(rng, target, theta)
        mean = theta + self.gradient_step * gradient
        sensitivity = self.sensitivity(target.num_rows, target.likelihood_power)
        theta_new = rng.add_noise(mean, sensitivity, self.noise_sd)
        return State(theta_new), Info(True, math.nan, clip_fraction)
