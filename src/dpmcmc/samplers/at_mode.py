"""Draws of a density by Hamiltonian Monte Carlo, in units of the curvature at its mode."""

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from dpmcmc.models.model import Model

BURN_IN = 100  # transitions; one a draw follows, so long that draws hardly depend on each other
LEAPFROG_STEPS = 8
STEP = 0.25  # of the leapfrog, in units of the standard deviations at the mode
SCORING_STEPS = 100
SMALL = 1e-10  # of a scoring step, in those units


class AtMode(ABC):
    """A density of theta with one mode, of which no evaluation reads a row.

    Attributes
    ----------
    model : Model
        Its prior is part of the density.
    """

    model: Model

    @abstractmethod
    def log_density(self, theta: np.ndarray) -> float:
        """ln of the density at theta, up to a constant; -inf outside of the prior's support."""

    @abstractmethod
    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Its gradient (d,), which trajectories follow; it may be somewhat off."""

    @abstractmethod
    def information(self, theta: np.ndarray) -> np.ndarray:
        """Expected curvature (d, d) of the likelihood."""

    def sample(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draws (size, d) of HMC in units of the curvature at the mode, after a burn-in."""
        theta, factor = self.mode()
        draws = np.empty((size, len(theta)))
        log_density = self.log_density(theta)
        with np.errstate(all="ignore"):
            for i in range(-BURN_IN, size):
                theta, log_density = self._transition(rng, theta, log_density, factor)
                if i >= 0:
                    draws[i] = theta
        return draws

    def mode(self, start: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Mode (d,) by Fisher scoring with step halving, and F with F F^T the inverse curvature."""
        theta = self._origin if start is None else start
        log_density = self.log_density(theta)
        for _ in range(SCORING_STEPS):
            factor = self._factor(theta)
            step = factor @ (factor.T @ self.gradient(theta))
            length, size = 1.0, float(np.linalg.norm(np.linalg.solve(factor, step)))
            while length > SMALL:
                candidate = theta + length * step
                found = self.log_density(candidate)
                if found > log_density:
                    break
                length /= 2
            else:
                break
            theta, log_density = candidate, found
            if length * size < SMALL:
                break
        return theta, self._factor(theta)

    def _transition(
        self, rng: np.random.Generator, theta: np.ndarray, log_density: float, factor: np.ndarray
    ) -> tuple[np.ndarray, float]:
        p = rng.standard_normal(len(theta))
        step = STEP * rng.uniform(0.6, 1.4)
        theta_new, q = theta, p + step / 2 * (factor.T @ self.gradient(theta))
        for i in range(LEAPFROG_STEPS):
            theta_new = theta_new + step * (factor @ q)
            kick = step / 2 if i == LEAPFROG_STEPS - 1 else step
            q = q + kick * (factor.T @ self.gradient(theta_new))
        if not np.isfinite(theta_new).all():
            return theta, log_density
        new = self.log_density(theta_new)
        if -rng.standard_exponential() < new - log_density + (p @ p - q @ q) / 2:
            return theta_new, new
        return theta, log_density

    def _factor(self, theta: np.ndarray) -> np.ndarray:
        """F, (d, d), with F F^T the inverse of the curvature, the prior's included."""
        curvature = self.information(theta) + self._prior_curvature(theta)
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        return vectors / np.sqrt(np.maximum(values, 1e-12 * max(values.max(), 1e-300)))

    def _prior_curvature(self, theta: np.ndarray) -> np.ndarray:
        """Minus the Hessian of ln p, (d, d), by differences, where it is not negative."""
        steps = 1e-4 * np.maximum(1.0, np.abs(theta))
        rows = [
            (self.model.grad_log_prior(theta - h) - self.model.grad_log_prior(theta + h))
            / (2 * step)
            for step, h in zip(steps, np.diag(steps), strict=True)
        ]
        values, vectors = np.linalg.eigh((np.array(rows) + np.array(rows).T) / 2)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T

    @cached_property
    def _origin(self) -> np.ndarray:
        """Start of the search: a middle draw of the prior, else 0."""
        rng = np.random.default_rng(0)
        try:
            return np.median([self.model.sample_prior(rng) for _ in range(101)], axis=0)
        except NotImplementedError:
            return np.zeros(self.model.dimension)
