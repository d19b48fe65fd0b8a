"""DP-VI: a normal q near the posterior, by noisy gradients of the ELBO; draws of q are free.

Doubly stochastic variational inference with clipped gradients and noise (Jälkö, Dikmen and Honkela
2017), with the *aligned* gradients of Jälkö, Prediger, Honkela and Kaski (2022). A step draws one z
for all rows. Then the gradient of a row in all parameters of q is one known linear function of its
gradient in theta, at theta = m + diag(s) (I + K) z. So a row has one clip, that of its gradient in
theta, and one noisy sum of these says the gradient in every parameter. The algorithm of 2017 adds
noise to each parameter by itself, and that noise drowns the parameters of the scale.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dpmcmc.accounting.mechanisms import GaussianMechanism, Releases, SubsampledGaussianMechanism
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.batch_gradients import batch_gradient, step_sensitivity
from dpmcmc.samplers.batches import draw_batch, sampling_probability
from dpmcmc.samplers.one_shot import OneShot
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Count, Noise, Positive, Steps

ADAM = 0.9, 0.999, 1e-8  # decays of Adam's two means, and what keeps its denominator from 0
AVERAGED = 0.5  # of the steps, the last ones


class Answer(NamedTuple):
    """A normal distribution: mean + factor z is a draw."""

    mean: np.ndarray  # (d,)
    factor: np.ndarray  # (d, d)


@dataclass(frozen=True)
class DPVI(OneShot):
    """Differentially private variational inference with a normal q.

    Attributes
    ----------
    gradient_clip_bound : float
        B, largest Euclidean norm of one row's gradient.
    learning_rate : float
        Of Adam: about what a step changes m by, and the logarithms of the scales.
    num_steps : int
    start_scale : float
        Standard deviations of the first q, whose mean is 0.
    batch_size : int, optional
        b rows of a step, drawn without replacement. By default all rows.
    family : str
        "mean-field", with independent components, or "full-rank".
    answer : str
        "last": the last q. "averaged": the mean of the parameters in the last half of the steps
        (iterate averaging of Jälkö et al. 2022).
    noise_scale : float, optional
        Noise over sensitivity of a step is this times sqrt(num_steps). So for all rows it is 1 / mu
        of all steps together, and follows from the budget. With batches that noise is more than
        needed; `dpmcmc.noise_scale` finds less.
    """

    gradient_clip_bound: Positive
    learning_rate: Positive = 0.03
    num_steps: Steps = 300
    start_scale: Positive = 0.1
    batch_size: Count | None = None
    family: Literal["mean-field", "full-rank"] = "mean-field"
    answer: Literal["last", "averaged"] = "averaged"
    noise_scale: Noise | None = None

    normal_approximation = True  # of the posterior; `check` then does not ask for more

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """All steps: one Gaussian release of all rows, or each on a batch."""
        if self.batch_size is None:
            return [(GaussianMechanism(mu=1 / self.noise), 1)]
        q = sampling_probability(self.batch_size, num_rows)
        variance = self.num_steps * self.noise**2
        return [(SubsampledGaussianMechanism(variance, q), self.num_steps)]

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Ascend the ELBO; then the answer."""
        d = target.model.dimension
        below = np.tril(np.ones((d, d)), -1) if self.family == "full-rank" else np.zeros((d, d))
        q = np.zeros((d + 2, d))  # m, ln s, and K, as rows
        q[1] = math.log(self.start_scale)
        first, second, mean = np.zeros_like(q), np.zeros_like(q), np.zeros_like(q)
        averaged = math.ceil(AVERAGED * self.num_steps)
        for t in range(self.num_steps):
            z = rng.proposal.standard_normal(d)
            away = np.exp(q[1]) * (z + q[2:] @ z)
            g, clip_fraction = self.gradient(rng, target, q[0] + away)
            # The entropy of q is the sum of ln s, whatever K.
            ascent = np.vstack([g, g * away + 1, below * np.outer(g * np.exp(q[1]), z)])
            first += (1 - ADAM[0]) * (ascent - first)
            second += (1 - ADAM[1]) * (ascent**2 - second)
            unbiased = first / (1 - ADAM[0] ** (t + 1))
            size = np.sqrt(second / (1 - ADAM[1] ** (t + 1))) + ADAM[2]
            q = q + self.learning_rate * unbiased / size
            if t >= self.num_steps - averaged:
                mean += q / averaged
        answer = normal(q if self.answer == "last" else mean)
        return State(answer.mean, answer), Info(True, math.nan, clip_fraction)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw; it reads no row."""
        mean, factor = state.memory
        draw = mean + factor @ rng.proposal.standard_normal(len(mean))
        return State(draw, state.memory), Info(True, math.nan)

    def gradient(self, rng: Streams, target: Target, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Noisy gradient of the log posterior, (d,), and the share of its rows clipped."""
        n, T, B = target.num_rows, target.likelihood_power, self.gradient_clip_bound
        b = self.batch_size or n
        if self.batch_size is None:
            total, num_clipped = target.clipped_gradient(theta, B)
            gradient = T * total + target.model.grad_log_prior(theta)
            clip_fraction = num_clipped / n
        else:
            batch = draw_batch(rng, n, b)
            gradient, clip_fraction = batch_gradient(target, theta, B, batch, b)
        sensitivity = step_sensitivity(1, B, b, n, T)
        sd = sensitivity * self.noise * math.sqrt(self.num_steps)
        return rng.add_noise(gradient, sensitivity, sd), clip_fraction


def normal(q: np.ndarray) -> Answer:
    """The normal distribution of the parameters m, ln s and K, as rows of (d + 2, d)."""
    return Answer(q[0], np.exp(q[1])[:, None] * (np.eye(q.shape[1]) + q[2:]))
