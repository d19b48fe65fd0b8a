"""DP HMC (thesis, Algorithm 4 with Theorem 4.2).

Noise of standard deviation sigma_l = 2 tau_l sqrt(n) b_l |theta - theta'| on the summed ratio and
sigma_g = 2 tau_g sqrt(n) b_g on each component of every summed gradient. Algorithm 4 as printed
lacks eta in the position update and a logarithm in the test; Theorem 4.3 mis-states the noise.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpmcmc.accounting.mechanisms import GaussianMechanism, Releases
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.chain import accepts, ratio_bound
from dpmcmc.samplers.hmc import clipped_share, draw_momentum, kinetic_energy, leapfrog
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.step_sizes import VanDerCorput
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, PerComponent, Positive, Steps


@dataclass(frozen=True)
class DPHMC(Sampler):
    """DP HMC with a diagonal mass matrix.

    Attributes
    ----------
    noise_scale : float
        tau_l: the noise's *standard deviation* is tau_l sqrt(n) times the ratio's sensitivity.
    gradient_noise_scale : float
        tau_g: the same for a component of the gradient.
    step_size : float
        eta, of the leapfrog integrator.
    num_integration_steps : int
        L.
    clip_bound : float
        b_l: one row's log-likelihood ratio is clipped at b_l |theta - theta'|_2.
    gradient_clip_bound : float
        b_g: largest Euclidean norm of one row's gradient.
    inverse_mass_matrix : float or list of float
        Diagonal of M^-1, one number for all components or one for each.
    step_size_sequence : str
        "constant", or "van-der-corput": the step size of an iteration is eta times a number between
        0 and 1 of a scrambled van der Corput sequence in base 2.
    """

    noise_scale: Noise
    gradient_noise_scale: Noise
    step_size: Positive
    num_integration_steps: Steps
    clip_bound: Positive
    gradient_clip_bound: Positive
    inverse_mass_matrix: PerComponent = 1.0
    step_size_sequence: Literal["constant", "van-der-corput"] = "constant"

    exact_with_noise = True

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """One ratio and L + 1 gradients: mu^2 = 1 / (tau_l^2 n) + (L + 1) / (tau_g^2 n)."""
        ratio = 1 / self.noise_scale**2
        gradients = (self.num_integration_steps + 1) / self.gradient_noise_scale**2
        return [(GaussianMechanism(mu=math.sqrt((ratio + gradients) / num_rows)), iterations)]

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,)."""
        self.check_dimension(position.size)
        if self.step_size_sequence == "constant":
            return State(position)
        return State(position, VanDerCorput(int(rng.proposal.integers(2**63))))

    def noisy_gradient(
        self, rng: Streams, target: Target, theta: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Private gradient of the log posterior, (d,), and how many rows were clipped."""
        bound = self.gradient_clip_bound
        sigma = 2 * self.gradient_noise_scale * math.sqrt(target.num_rows) * bound
        total, num_clipped = target.clipped_gradient(theta, bound)
        noisy_total = rng.add_noise(total, 2 * bound, sigma)
        gradient = target.likelihood_power * noisy_total + target.model.grad_log_prior(theta)
        return gradient, num_clipped

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration; T is the tempering, which scales the noisy sums and so their noise."""
        T = target.likelihood_power
        theta, sequence = state
        eta = self.step_size if sequence is None else self.step_size * sequence.number
        following = sequence and sequence.next
        num_gradients_clipped = []

        def gradient(theta: np.ndarray) -> np.ndarray:
            G, num_clipped = self.noisy_gradient(rng, target, theta)
            num_gradients_clipped.append(num_clipped)
            return G

        p = draw_momentum(rng, theta.size, self.inverse_mass_matrix)
        *_, (theta_new, p_new) = leapfrog(
            theta,
            p,
            gradient,
            eta,
            self.num_integration_steps,
            self.inverse_mass_matrix,
        )
        bound = ratio_bound(self.clip_bound, theta, theta_new)
        sigma = 2 * self.noise_scale * math.sqrt(target.num_rows) * bound
        ratio, num_clipped = target.clipped_log_likelihood_ratio(theta, theta_new, bound)
        noisy_ratio = rng.add_noise(ratio, 2 * bound, sigma)
        penalty = (T * sigma) * (T * sigma) / 2  # a power would raise where it overflows
        log_ratio = (
            T * noisy_ratio
            + target.model.log_prior_ratio(theta, theta_new)
            + kinetic_energy(p, self.inverse_mass_matrix)
            - kinetic_energy(p_new, self.inverse_mass_matrix)
        )
        is_accepted = accepts(rng, log_ratio - penalty)
        state = State(theta_new if is_accepted else theta, following)
        n = target.num_rows
        gradient_clip_fraction = clipped_share(num_gradients_clipped, n)
        return state, Info(is_accepted, num_clipped / n, gradient_clip_fraction)
