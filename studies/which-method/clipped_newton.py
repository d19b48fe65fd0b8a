"""Noisy Newton as this study runs it, with norm-clipped gradients; `dpmcmc.NoisyNewton` is newer.

A few private Newton steps, and the normal posterior that they give.

Each step releases the summed gradients of the rows and their summed information (minus second
derivatives), clipped and with normal noise (Avella-Medina, Bradshaw and Loh 2023, Algorithm 2).
Draws of the answer are free.

With information H, a noisy gradient G at theta_k is a measurement of z = H theta^, theta^ being the
maximum of the likelihood: it is near G + H theta_k. So the last steps all measure the same, and
their mean has little more noise than one release of the whole budget would have. The posterior is
noise-aware: given theta, z is normal about H theta with covariance H + v I, for the sampling of the
rows and for the noise, of variance v.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dpmcmc.likelihoods.information import as_matrix, derivative
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.model import Model
from dpmcmc.samplers.one_shot import OneShot
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, Number, Numbers, Positive, Steps
from former_statistics import NoisyStatistics

# Every step has 1.7 times the mu^2 of the one before: early ones need little to come near, and
# the last four, which are averaged, have 88 % of all.
GROWTH = 1.7
AVERAGED = 4
INFORMATION_SHARE = 0.1  # of the mu^2 of a step
# What the first step may change in a row's log-likelihood (root mean square over the rows). Farther
# out a row's information may be quite another: that of a logistic regression vanishes. Two
# estimates bound a step: one by the information, and one by the mean gradient, which holds where
# the information is not positive, as in a robust regression far from its mode.
LONGEST = 0.5


class Released(NamedTuple):
    """Releases of a step."""

    theta: np.ndarray  # (d,), where
    gradient: np.ndarray  # (d,), summed over the rows
    gradient_sd: float  # of the noise of a component
    information: np.ndarray  # (d (d + 1) / 2,), summed; as of `dpmcmc.likelihoods.information`
    information_sd: float


class Normal(NamedTuple):
    """A normal posterior."""

    mean: np.ndarray  # (d,)
    factor: np.ndarray  # (d, d): mean + factor z is a draw, for z standard normal


@dataclass(frozen=True)
class NoisyNewton(OneShot):
    """Private Newton steps from a public start; draws of the normal posterior they give are free.

    It is for posteriors that are nearly normal. The noise for privacy adds about
    2 B / (mu sqrt(n i)) standard deviations of the posterior to the error of the mean, if i is the
    information of one row. Below 1 this is harmless; far above 1, intervals are too short.

    Clipped gradients cause a bias that does not shrink with n. So choose covariates with a bound,
    and take as B the largest gradient that is possible. It is R for a logistic regression with
    covariates |x| <= R, and sqrt(2) R for a softmax regression.

    Attributes
    ----------
    gradient_clip_bound : float
        B, largest Euclidean norm of one row's gradient. Choose units of theta in which the
        gradients of all components have similar sizes.
    information_clip_bound : float, optional
        Largest Frobenius norm of one row's information; B^2 / 4 by default. The information of a
        row given its covariates is the variance of its gradient. If the
        gradient moves on a line no longer than B, as in a logistic regression, this is B^2 / 4 at
        most (Popoviciu); the same holds in a softmax regression. If it can be larger, give the
        larger bound: clipped information makes intervals too wide.
    noise_scale : float, optional
        1 / mu: the noise's *standard deviation* over the sensitivity, for all steps together.
        By default it follows from the budget.
    num_steps : int
        Steps from the start to the mode. The first changes a row's log-likelihood by at most 1/2
        (root mean square). A step that goes on in the direction of one that was cut may change
        twice as much (a trust region). So the first six of ten steps raise the mean log-likelihood
        of a row by up to 31, and the last four stay near the mode. Give more steps if the prior has
        likely parameters that are farther from the start.
    start : float or list of float
        A public point at which the steps start: one number for all components or one for each.
    """

    gradient_clip_bound: Positive
    information_clip_bound: Positive | None = None
    noise_scale: Noise | None = None
    num_steps: Steps = 10
    start: Number | Numbers = 0.0

    normal_approximation = True  # of the posterior; `check` then does not ask for more

    @cached_property
    def shares(self) -> list[float]:
        """Share of mu^2 of each step."""
        growing = GROWTH ** np.arange(1.0 - self.num_steps, 1.0)
        return (growing / growing.sum()).tolist()

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Newton steps, each from the last release alone; then the answer of the last few."""
        n, model = target.num_rows, target.model
        theta = self.start_of(model)
        steps: list[Released] = []
        reach, change, is_cut = LONGEST, None, False
        for share in self.shares:
            released, clip_fraction = self.measure(rng, target, theta, share)
            if is_cut and released.gradient @ change > steps[-1].gradient @ change / 2:
                reach *= 2  # a trust region: most of the way is left
            else:
                reach = max(reach / 2, LONGEST)
            steps.append(released)
            change = self.answer(model, [released]).mean - theta
            by_information = math.sqrt(change @ estimated_information([released]) @ change / n)
            by_gradient = abs(released.gradient @ change) / n
            is_cut = max(by_information, by_gradient) > reach
            change *= reach / max(by_information, by_gradient, reach)
            theta = theta + change
        answer = self.answer(model, steps[-AVERAGED:])
        return State(answer.mean, answer), Info(True, math.nan, clip_fraction)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw; it reads no row."""
        mean, factor = state.memory
        draw = mean + factor @ rng.proposal.standard_normal(len(mean))
        return State(draw, state.memory), Info(True, math.nan)

    def measure(
        self, rng: Streams, target: Target, theta: np.ndarray, share: float
    ) -> tuple[Released, float]:
        """`Released` at a share of mu^2, and the share of rows whose gradient was clipped."""
        B = self.gradient_clip_bound
        C = self.information_clip_bound or B * B / 4
        unit = self.noise / math.sqrt(share)  # noise over sensitivity, of both together
        gradient_sd = 2 * B * unit / math.sqrt(1 - INFORMATION_SHARE)
        information_sd = 2 * C * unit / math.sqrt(INFORMATION_SHARE)
        gradient, num_clipped = target.clipped_gradient(theta, B)
        information, _ = target.clipped_information(theta, C)
        gradient = rng.add_noise(gradient, 2 * B, gradient_sd)
        information = rng.add_noise(information, 2 * C, information_sd)
        released = Released(theta, gradient, gradient_sd, information, information_sd)
        return released, num_clipped / target.num_rows

    def answer(self, model: Model, steps: Sequence[Released]) -> Normal:
        """The `Normal` posterior that some releases give; T is the tempering."""
        T, theta = model.likelihood_power, steps[-1].theta
        H = estimated_information(steps)
        weights = np.array([step.gradient_sd**-2 for step in steps])
        v = 1 / weights.sum()
        z = v * sum(w * (s.gradient + H @ s.theta) for w, s in zip(weights, steps, strict=True))
        # The power T of the likelihood is as if the sampling error had covariance H / T.
        gain = np.linalg.solve(H / T + v * np.eye(len(theta)), H)
        prior = prior_information(model, theta, self.gradient_clip_bound**2)
        precision = gain @ H + prior
        pull = gain @ z + model.grad_log_prior(theta) + prior @ theta
        factor = np.linalg.inv(np.linalg.cholesky((precision + precision.T) / 2)).T
        return Normal(factor @ (factor.T @ pull), factor)

    def start_of(self, model: Model) -> np.ndarray:
        """The start as a position, (d,)."""
        start, d = np.asarray(self.start, dtype=float), model.dimension
        if start.shape not in ((), (d,)):
            raise ValueError(f"start: must be a number or a list of {d} numbers, not {start.size}")
        return np.broadcast_to(start, d).copy()


@dataclass(frozen=True)
class AutoOneShot(OneShot):
    """`NoisyStatistics` for an `ExponentialFamily`, `NoisyNewton` for all other models.

    A study with models of both kinds can start all its chains with it.

    Attributes
    ----------
    noise_scale : float, optional
        1 / mu: the noise's *standard deviation* over the sensitivity. By default it follows from
        the budget.
    gradient_clip_bound, information_clip_bound, start : optional
        Those of `NoisyNewton`. A model that is not an exponential family needs the first.
    first_radius : float, optional
        That of `NoisyStatistics`.
    """

    noise_scale: Noise | None = None
    gradient_clip_bound: Positive | None = None
    information_clip_bound: Positive | None = None
    start: Number | Numbers = 0.0
    first_radius: Positive | None = None

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Same as in the sampler for the model."""
        return self.sampler_for(target).prepare(rng, target)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw; it reads no row."""
        return self.sampler_for(target).step(rng, state, target)

    def sampler_for(self, target: Target) -> NoisyStatistics | NoisyNewton:
        """`NoisyStatistics` or `NoisyNewton`.

        Raises
        ------
        ValueError
            If the second has no clip bound.
        """
        if isinstance(target.model, ExponentialFamily):
            return self._statistics
        if self.gradient_clip_bound is None:
            name = type(target.model).__name__
            raise ValueError(
                f"gradient_clip_bound: must be given for {name}, which is no ExponentialFamily"
            )
        return self._newton

    @cached_property
    def _statistics(self) -> NoisyStatistics:
        return NoisyStatistics(self.noise_scale, first_radius=self.first_radius)

    @cached_property
    def _newton(self) -> NoisyNewton:
        assert self.gradient_clip_bound is not None  # by `sampler_for`
        bounds = self.gradient_clip_bound, self.information_clip_bound
        return NoisyNewton(*bounds, self.noise_scale, start=self.start)


def estimated_information(steps: Sequence[Released]) -> np.ndarray:
    """Information (d, d), positive definite, by what some steps released.

    Noise spreads eigenvalues. So they are drawn to their mean, the more the larger the noise is
    compared with how the matrix differs from that multiple of I (Ledoit and Wolf 2004), and none is
    less than the standard deviation of the noise, as far as that is below the mean.
    """
    d = len(steps[0].theta)
    weights = np.array([step.information_sd**-2 for step in steps])
    sd = weights.sum() ** -0.5
    average = sum(w * s.information for w, s in zip(weights, steps, strict=True)) * sd * sd
    H = as_matrix(average, d)
    mean = max(np.trace(H) / d, sd / math.sqrt(d))
    rest = H - mean * np.eye(d)
    spread, noise = (rest * rest).sum(), sd * sd * (d * (d + 1) / 2 - 1)
    kept = 1 - noise / spread if spread > noise else 0.0
    eigenvalues, vectors = np.linalg.eigh(mean * np.eye(d) + kept * rest)
    return vectors * np.maximum(eigenvalues, min(sd, mean)) @ vectors.T


def prior_information(model: Model, theta: np.ndarray, scale: float) -> np.ndarray:
    """Minus the second derivatives of the log prior, (d, d), where they are positive."""
    matrix = -derivative(model.grad_log_prior, theta, scale)
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return vectors * np.maximum(eigenvalues, 0) @ vectors.T
