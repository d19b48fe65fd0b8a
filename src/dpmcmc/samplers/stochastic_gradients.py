"""Base of samplers that follow a noisy gradient on a batch, without an acceptance test."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpmcmc.accounting.mechanisms import Releases, SubsampledGaussianMechanism
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.batch_gradients import batch_gradient, step_sensitivity
from dpmcmc.samplers.batches import draw_batch, sampling_probability
from dpmcmc.samplers.sampler import Sampler
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Count, Positive


@dataclass(frozen=True)
class StochasticGradients(Sampler):
    """Base of these samplers: one normal release an iteration, whose mean the batch moves.

    A class says how far the gradient of the log posterior moves that mean, `gradient_step`, and
    the standard deviation of a component of the noise, `noise_sd`.

    Attributes
    ----------
    step_size : float
        h.
    batch_size : int
        b rows, drawn without replacement.
    gradient_clip_bound : float
        Largest Euclidean norm of one row's gradient.
    """

    step_size: Positive
    batch_size: Count
    gradient_clip_bound: Positive

    exact_in_limit_of = "step_size"

    if TYPE_CHECKING:

        @property
        def gradient_step(self) -> float:
            """Factor of the gradient in the step of that mean."""

        @property
        def noise_sd(self) -> float:
            """Standard deviation of a component of the noise."""

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """Mechanism of that release; all else of an iteration follows from it."""
        noise = self.noise_sd / self.sensitivity(num_rows, likelihood_power)
        q = sampling_probability(self.batch_size, num_rows)
        return [(SubsampledGaussianMechanism(noise**2, q), iterations)]

    def sensitivity(self, num_rows: int, likelihood_power: float) -> float:
        """The most that one row moves the mean, in the Euclidean norm."""
        h, L = self.gradient_step, self.gradient_clip_bound
        return step_sensitivity(h, L, self.batch_size, num_rows, likelihood_power)

    def gradient(self, rng: Streams, target: Target, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Gradient of the log posterior by a batch, (d,), and the share of its rows clipped."""
        b, L = self.batch_size, self.gradient_clip_bound
        return batch_gradient(target, theta, L, draw_batch(rng, target.num_rows, b), b)
