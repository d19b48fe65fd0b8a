"""Hamiltonian Monte Carlo without privacy (thesis, section 4.1), clipped if asked to."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.chain import log_uniform, ratio_bound
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Bound, PerComponent, Positive, Steps


@dataclass(frozen=True)
class HMC(Sampler):
    """HMC with a diagonal mass matrix; not private.

    Attributes
    ----------
    step_size : float
        eta, of the leapfrog integrator.
    num_integration_steps : int
        L.
    inverse_mass_matrix : float or list of float
        Diagonal of M^-1, one number for all components or one for each.
    clip_bound : float
        One row's log-likelihood ratio is clipped at clip_bound |theta - theta'|_2.
    gradient_clip_bound : float
        Largest Euclidean norm of one row's gradient. It changes the trajectory; the acceptance test
        stays right.
    """

    step_size: Positive
    num_integration_steps: Steps
    inverse_mass_matrix: PerComponent = 1.0
    clip_bound: Bound = math.inf
    gradient_clip_bound: Bound = math.inf

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration."""
        T = target.likelihood_power
        theta = state.position
        num_gradients_clipped = []

        def gradient(theta: np.ndarray) -> np.ndarray:
            total, num_clipped = target.clipped_gradient(theta, self.gradient_clip_bound)
            num_gradients_clipped.append(num_clipped)
            return T * total + target.model.grad_log_prior(theta)

        p = draw_momentum(rng, theta.size, self.inverse_mass_matrix)
        *_, (theta_new, p_new) = leapfrog(
            theta,
            p,
            gradient,
            self.step_size,
            self.num_integration_steps,
            self.inverse_mass_matrix,
        )
        bound = ratio_bound(self.clip_bound, theta, theta_new)
        ratio, num_clipped = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        log_prior_ratio = target.model.log_prior_ratio(theta, theta_new)
        energy_lost = kinetic_energy(p, self.inverse_mass_matrix) - kinetic_energy(
            p_new, self.inverse_mass_matrix
        )
        log_u = log_uniform(rng)
        is_accepted = bool(log_u < T * ratio + log_prior_ratio + energy_lost)
        unclipped = target.log_density_ratio(theta, theta_new) + energy_lost
        is_changed = is_accepted != (log_u < unclipped)
        state = State(theta_new) if is_accepted else state
        n, gradient_clip_fraction = target.num_rows, math.nan
        if self.gradient_clip_bound < math.inf:
            gradient_clip_fraction = clipped_share(num_gradients_clipped, n)
        return state, Info(is_accepted, num_clipped / n, gradient_clip_fraction, is_changed)


def leapfrog(
    theta: np.ndarray,
    p: np.ndarray,
    gradient: Callable[[np.ndarray], np.ndarray],
    step_size: float,
    num_integration_steps: int,
    inverse_mass_matrix: float | Sequence[float],
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Leapfrog trajectory: yields (theta, p) after each of the integration steps.

    Parameters
    ----------
    theta, p : (d,) arrays
        Position and momentum at the start.
    gradient : function
        Gradient of the log posterior at a position, (d,); it may be noisy. It is evaluated
        num_integration_steps + 1 times, once at each position.
    step_size : float
    num_integration_steps : int
        At least 1.
    inverse_mass_matrix : float or (d,) sequence
        Diagonal of M^-1.
    """
    G = gradient(theta)
    for _ in range(num_integration_steps):
        p = p + step_size / 2 * G
        theta = theta + step_size * np.multiply(inverse_mass_matrix, p)
        G = gradient(theta)
        p = p + step_size / 2 * G
        yield theta, p


def clipped_share(counts: list[int], num_rows: int) -> float:
    """Share of the rows whose gradients were clipped, over the evaluations of a trajectory."""
    return sum(counts) / (num_rows * len(counts))


def draw_momentum(
    rng: Streams, dimension: int, inverse_mass_matrix: float | Sequence[float]
) -> np.ndarray:
    """p ~ Normal(0, M), (d,)."""
    return rng.proposal.standard_normal(dimension) / np.sqrt(inverse_mass_matrix)


def kinetic_energy(p: np.ndarray, inverse_mass_matrix: float | Sequence[float]) -> float:
    """p^T M^-1 p / 2."""
    return 0.5 * (p @ np.multiply(inverse_mass_matrix, p))
