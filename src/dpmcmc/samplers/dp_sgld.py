"""DP-SGLD: stochastic-gradient Langevin dynamics with clipped gradients (Li et al. 2019).

The noise of the dynamics is the noise of the privacy. There is no acceptance test: what it leaves
invariant is the posterior only in the limit of small steps.
"""

import math
from dataclasses import dataclass

from dpmcmc.accounting.releases import SubsampledGaussianRelease
from dpmcmc.samplers.batches import draw_batch, sampling_probability
from dpmcmc.samplers.chain import Info, State
from dpmcmc.settings import Count, Positive, Settings


@dataclass(frozen=True)
class DPSGLD(Settings):
    """DP-SGLD on batches of a fixed size, with the temperature of its noise.

    theta' = theta + (h / 2) (grad ln p(theta) + (n T / b) sum of clipped gradients)
    + Normal(0, temperature h I). Langevin dynamics has temperature 1. At another one it samples the
    posterior to the power 1 / temperature: the step theta + h (...) + Normal(0, h I) of Wang,
    Fienberg and Smola (2015, Algorithm 2) as some have run it is that of step_size 2 h at
    temperature 1/2, whose standard deviations are too small by sqrt(2).

    Attributes
    ----------
    step_size : float
        h.
    batch_size : int
        b rows, drawn without replacement.
    gradient_clip_bound : float
        Largest Euclidean norm of one row's gradient.
    temperature : float
        Variance of the noise in units of h.
    """

    step_size: Positive
    batch_size: Count
    gradient_clip_bound: Positive
    temperature: Positive = 1.0

    exact_as_vanishes = "step_size"

    def release(self, num_rows, likelihood_power=1.0):
        """The position after an iteration, of which the batch moves the mean."""
        noise = self.noise_sd / self.sensitivity(num_rows, likelihood_power)
        q = sampling_probability(self.batch_size, num_rows)
        return SubsampledGaussianRelease(noise**2, q)

    @property
    def noise_sd(self):
        """Standard deviation of the noise of a component."""
        return math.sqrt(self.temperature * self.step_size)

    def sensitivity(self, num_rows, likelihood_power):
        """The most that one row moves the mean of a step, in the Euclidean norm."""
        a = num_rows * likelihood_power / self.batch_size
        return self.step_size / 2 * a * 2 * self.gradient_clip_bound

    def init(self, rng, position):
        """State at a start position (d,)."""
        return State(position)

    def step(self, rng, state, target):
        """One iteration; it is always accepted."""
        n, b, T = target.num_rows, self.batch_size, target.likelihood_power
        theta = state.position
        batch = draw_batch(rng, n, b)
        G, num_clipped = target.clipped_batch_gradient(theta, self.gradient_clip_bound, batch)
        drift = target.model.grad_log_prior(theta) + n * T / b * G
        mean = theta + self.step_size / 2 * drift
        theta_new = rng.release(mean, self.sensitivity(n, T), self.noise_sd)
        return State(theta_new), Info(True, math.nan, num_clipped / b)
