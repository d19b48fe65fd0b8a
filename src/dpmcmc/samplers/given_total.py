"""Draws of a posterior of which one total of the statistics is known; no row is read.

For exponential families that have no exact draws of it.
"""

import math

import numpy as np

from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.samplers.at_mode import AtMode
from dpmcmc.samplers.clipped_law import DrawnLaw, NormalLaw, UnclippedLaw


class GivenTotal(AtMode):
    """Posterior of an exponential family given a total S of t(x), with noise or without.

    Without noise it is p(theta) exp(T (eta(theta) . S - n A(theta))). With it, S is normal with
    mean n E t(x) and covariance V = n Cov t(x) / T + L L^T; where rows were clipped, mean and
    covariance are those of a clipped row.

    Parameters
    ----------
    model : ExponentialFamily
        With `statistic_mean` and `statistic_covariance`.
    total : (m,) array
    noise : (m, m) array or None
        L, the factor of the covariance of the noise; None without.
    law : NormalLaw or DrawnLaw, optional
        Of a clipped row; only with noise.
    """

    model: ExponentialFamily

    def __init__(
        self,
        model: ExponentialFamily,
        total: np.ndarray,
        noise: np.ndarray | None = None,
        law: NormalLaw | DrawnLaw | UnclippedLaw | None = None,
    ) -> None:
        self.model, self.total, self.noise = model, total, noise
        self.law = UnclippedLaw(model) if law is None else law

    def log_density(self, theta: np.ndarray) -> float:
        """ln of the density at theta, up to a constant; -inf outside of the prior's support."""
        model, n, T = self.model, self.model.num_rows, self.model.likelihood_power
        log_prior = model.log_prior_ratio(self._origin, theta)
        if not log_prior > -math.inf:
            return -math.inf
        if self.noise is None:
            slope, intercept = model.ratio_coefficients(self._origin, theta)
            value = T * (slope @ self.total - n * intercept) + log_prior
        else:
            residual = self.total - n * self.law.mean(theta)
            sign, log_determinant = np.linalg.slogdet(self._covariance(theta))
            if not sign > 0:
                return -math.inf
            distance = residual @ np.linalg.solve(self._covariance(theta), residual)
            value = log_prior - 0.5 * (distance + log_determinant)
        return value if math.isfinite(value) else -math.inf

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Its gradient (d,), but for what a change of V adds: what trajectories follow."""
        model, n, T = self.model, self.model.num_rows, self.model.likelihood_power
        jacobian, offset = model.gradient_coefficients(theta)
        if self.noise is None:
            return T * (self.total @ jacobian - n * offset) + model.grad_log_prior(theta)
        residual = self.total - n * self.law.mean(theta)
        pull = n * self.law.slope(theta, jacobian).T
        return pull @ np.linalg.solve(self._covariance(theta), residual) + model.grad_log_prior(
            theta
        )

    def information(self, theta: np.ndarray) -> np.ndarray:
        """Expected curvature (d, d) of the likelihood."""
        model, n, T = self.model, self.model.num_rows, self.model.likelihood_power
        jacobian, _ = model.gradient_coefficients(theta)
        if self.noise is None:
            return n * T * (jacobian.T @ self.law.slope(theta, jacobian))
        slope = n * self.law.slope(theta, jacobian)
        return slope.T @ np.linalg.solve(self._covariance(theta), slope)

    def _covariance(self, theta: np.ndarray) -> np.ndarray:
        """V, (m, m); with noise."""
        assert self.noise is not None
        model = self.model
        scale = model.num_rows / model.likelihood_power
        return scale * self.law.covariance(theta) + self.noise @ self.noise.T
