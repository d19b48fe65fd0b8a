"""DP-SGNHT: a stochastic-gradient Nose-Hoover thermostat with clipped gradients.

Ding et al. (2014), Algorithm 2, as Wang, Fienberg and Smola (2015) make it private: the noise of
the dynamics is the noise of the privacy. There is no acceptance test: what it leaves invariant is
the posterior only in the limit of small steps.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpmcmc.accounting.releases import SubsampledGaussianRelease
from dpmcmc.samplers.batches import draw_batch, sampling_probability
from dpmcmc.samplers.chain import Info, State
from dpmcmc.settings import Count, Positive, Settings


class Thermostat(NamedTuple):
    """What a chain remembers beside its position."""

    momentum: np.ndarray  # p, (d,)
    friction: float  # xi, which keeps the mean of |p|^2 at d


@dataclass(frozen=True)
class DPSGNHT(Settings):
    """DP-SGNHT on batches of a fixed size.

    Attributes
    ----------
    step_size : float
        h.
    batch_size : int
        b rows, drawn without replacement.
    gradient_clip_bound : float
        Largest Euclidean norm of one row's gradient.
    diffusion : float
        A: half the variance of the noise of the momentum in a unit of time, and the friction at
        first. Whatever noise the gradients have beside it, the friction takes up.
    """

    step_size: Positive
    batch_size: Count
    gradient_clip_bound: Positive
    diffusion: Positive

    exact_as_vanishes = "step_size"

    def release(self, num_rows, likelihood_power=1.0):
        """The momentum after an iteration; position and friction follow from it."""
        noise = self.noise_sd / self.sensitivity(num_rows, likelihood_power)
        q = sampling_probability(self.batch_size, num_rows)
        return SubsampledGaussianRelease(noise**2, q)

    @property
    def noise_sd(self):
        """Standard deviation of the noise of a component of the momentum."""
        return math.sqrt(2 * self.step_size * self.diffusion)

    def sensitivity(self, num_rows, likelihood_power):
        """The most that one row moves the mean of the momentum, in the Euclidean norm."""
        a = num_rows * likelihood_power / self.batch_size
        return self.step_size * a * 2 * self.gradient_clip_bound

    def init(self, rng, position):
        """State at a start position (d,), with a momentum from Normal(0, I)."""
        momentum = rng.proposal.standard_normal(position.size)
        return State(position, Thermostat(momentum, self.diffusion))

    def step(self, rng, state, target):
        """One iteration; it is always accepted."""
        n, b, T = target.num_rows, self.batch_size, target.likelihood_power
        h, theta, (p, xi) = self.step_size, *state
        batch = draw_batch(rng, n, b)
        G, num_clipped = target.clipped_batch_gradient(theta, self.gradient_clip_bound, batch)
        drift = target.model.grad_log_prior(theta) + n * T / b * G
        p = rng.release(p - h * xi * p + h * drift, self.sensitivity(n, T), self.noise_sd)
        theta = theta + h * p
        xi = xi + h * (p @ p / theta.size - 1)
        return State(theta, Thermostat(p, xi)), Info(True, math.nan, num_clipped / b)
