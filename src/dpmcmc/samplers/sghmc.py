"""Stochastic-gradient Hamiltonian Monte Carlo with friction (Chen, Fox and Guestrin 2014).

Trajectories on batches as in the thesis on it (Algorithm 2, with the signs of the friction and of
the gradient set right), which start with a fresh momentum. Friction takes away the energy that
noise adds. There is no acceptance test: what it leaves invariant is the posterior only in the limit
of small steps.
"""

import math
import sys
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from msgspec import Meta

from dpmcmc.accounting.mechanisms import Releases, SubsampledGaussianMechanism
from dpmcmc.accounting.releases import growing_noise
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.batch_gradients import step_sensitivity
from dpmcmc.samplers.batches import sampling_probability
from dpmcmc.samplers.decreasing_steps import DecreasingSteps, share_clipped
from dpmcmc.samplers.hmc import draw_momentum
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Bound, PerComponent, Positive

NotNegative = Annotated[float, Meta(ge=0, le=sys.float_info.max)]


@dataclass(frozen=True)
class SGHMC(DecreasingSteps):
    """SGHMC on batches of a fixed size; not private.

    theta' = theta + h M^-1 p,    p' = p + h grad ln p(theta') - h C M^-1 p
    + Normal(0, 2 (C - B) h I).

    The gradient at the end of a trajectory moves only the last momentum, which is drawn again for
    the next trajectory. It is evaluated (and, if private, released) all the same, as published.

    Attributes
    ----------
    step_size, num_integration_steps, batch_size, step_size_decay
        As of `DecreasingSteps`; at least two integration steps.
    friction : float
        C.
    gradient_error : float
        B: half of the variance of the error of a batch's gradient, times h; below C. The noise is
        reduced by it.
    gradient_clip_bound : float
        L: largest Euclidean norm of one row's gradient.
    inverse_mass_matrix : float or list of float
        Diagonal of M^-1, one number for all components or one for each.
    """

    friction: Positive
    gradient_error: NotNegative = 0.0
    gradient_clip_bound: Bound = field(default=math.inf, kw_only=True)
    inverse_mass_matrix: PerComponent = field(default=1.0, kw_only=True)

    def check(self) -> None:
        """Refuse trajectories that no gradient moves, and noise of no variance."""
        if self.num_integration_steps < 2:
            raise ValueError("num_integration_steps: must be at least 2, not 1")
        if not self.gradient_error < self.friction:
            raise ValueError(
                f"gradient_error: must be below friction = {self.friction:g}, "
                f"not {self.gradient_error:g}"
            )

    def noise_sd(self, step_size: float) -> float:
        """Standard deviation of the noise that a step adds to a component of the momentum."""
        return math.sqrt(2 * (self.friction - self.gradient_error) * step_size)

    def with_noise(
        self, rng: Streams, target: Target, p: np.ndarray, step_size: float
    ) -> np.ndarray:
        """The momentum with the noise of a step, (d,)."""
        return p + self.noise_sd(step_size) * rng.proposal.standard_normal(p.size)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One trajectory."""
        theta, t = state
        h, C, inverse_mass = self.step_size_of(t), self.friction, self.inverse_mass_matrix
        bound, shares = self.gradient_clip_bound, []
        p = draw_momentum(rng, theta.size, inverse_mass)
        for _ in range(self.num_integration_steps):
            theta = theta + h * np.multiply(inverse_mass, p)
            G, share = self.gradient(target, theta, bound, self.draw_batch(rng, target))
            p = p + h * G - h * C * np.multiply(inverse_mass, p)
            p = self.with_noise(rng, target, p, h)
            shares.append(share)
        return State(theta, t + 1), Info(True, math.nan, share_clipped(shares, bound))


@dataclass(frozen=True)
class DPSGHMC(SGHMC):
    """SGHMC whose noise gives the privacy. It has the settings of `SGHMC`, and needs the bound.

    Every row's gradient is clipped by itself. (The thesis clips the sum over the batch, which one
    row can move by twice the bound.)
    """

    gradient_clip_bound: Positive = field(kw_only=True)

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """A release at each step; its variance over its squared sensitivity grows as 1 / h_t."""
        q = sampling_probability(self.batch_size, num_rows)
        sensitivity = self.sensitivity(num_rows, likelihood_power, self.step_size)
        first = (self.noise_sd(self.step_size) / sensitivity) ** 2
        mechanism, steps = SubsampledGaussianMechanism(first, q), self.num_integration_steps
        return growing_noise(mechanism, self.step_size_decay, steps, iterations)

    def sensitivity(self, num_rows: int, likelihood_power: float, step_size: float) -> float:
        """The most that one row moves the momentum in a step, in the Euclidean norm."""
        b, L = self.batch_size, self.gradient_clip_bound
        return step_sensitivity(step_size, L, b, num_rows, likelihood_power)

    def with_noise(
        self, rng: Streams, target: Target, p: np.ndarray, step_size: float
    ) -> np.ndarray:
        """The momentum with the noise of a step, (d,): all that the batch is known by."""
        sensitivity = self.sensitivity(target.num_rows, target.likelihood_power, step_size)
        return rng.add_noise(p, sensitivity, self.noise_sd(step_size))
