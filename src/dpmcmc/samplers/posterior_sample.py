"""A few exact draws of a tempered, ridged posterior, which are private by themselves.

The oldest idea of private inference: a draw of the posterior is random, so it hides the rows. It is
priced as exact Gaussian differential privacy (Gopi, Lee and Liu 2022). If -ln of a
density is m-strongly convex for all data, and one row moves it by a function with Lipschitz
constant G, a draw is G / sqrt(m)-GDP. With log-concave likelihoods m is the precision of the prior
and of the ridge. A row whose log-likelihood, to the power of the tempering, has the constant p B is
replaced by another, so G = 2 p B.

This holds for exact draws only. The distance of a chain from its limit would add to delta, and
nobody knows it. So the models are those with exact draws: a normal mean, whose draw is the Gaussian
mechanism, and logistic regression, by rejection from an envelope with a proof.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.regression import LogisticRegression, sigmoid
from dpmcmc.samplers.one_shot import OneShot
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Count, Noise, Positive

NEWTON_STEPS = 200
MOST_STEEP = 100.0  # c of the envelope by public numbers; beyond, hardly a proposal is accepted
SMALL = 1e-9  # of the gradient at the mode, in units of the curvature: the envelope allows for it


@dataclass(frozen=True)
class PosteriorSample(OneShot):
    """Draws of a posterior that is tempered as far as the budget needs; for two models.

    The density is p(theta) exp(-ridge |theta|^2 / 2) times the likelihood to a power p. The power
    is the largest with mu = 2 p B sqrt(k) / sqrt(m) for all k draws together, and at most T.

    `LogisticRegression`: B is `covariate_bound`. Covariates are scaled back to it, and a row that
    is not finite or has another outcome than 0 and 1 does not count.
    `Gaussian`: rows are clipped to a ball about 0, in units in which their covariance is I.

    The theorem is about draws in exact arithmetic, and how long a rejection takes depends on the
    rows. So `release`, whose guarantee rests on added noise, refuses this method.

    Attributes
    ----------
    ridge : float
        Precision of a normal density about 0 that multiplies the prior.
    num_draws : int
        k. Steps go round these draws.
    row_radius : float, optional
        Radius of the ball, for a `Gaussian`.
    noise_scale : float, optional
        1 / mu, of all draws together. By default it follows from the budget.
    """

    ridge: Positive
    num_draws: Count = 1
    row_radius: Positive | None = None
    noise_scale: Noise | None = None

    normal_approximation = True  # a tempered posterior is not the posterior
    is_exact_draw = True

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """All the draws."""
        model = target.model
        if type(model) is LogisticRegression:  # a class of its own may have another prior
            draws = self.logistic_draws(rng, target, model)
        elif type(model) is Gaussian:
            draws = self.normal_draws(rng, target, model)
        else:
            raise ValueError(
                "model: must be LogisticRegression or Gaussian, for which exact draws and a "
                f"bound of one row are known, not {type(model).__name__}"
            )
        return State(draws[0], (draws, 0)), Info(True, math.nan)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next of the draws; it reads no row."""
        draws, i = state.memory
        return State(draws[i], (draws, (i + 1) % len(draws))), Info(True, math.nan)

    @property
    def mu(self) -> float:
        """Of one draw."""
        return 1 / (self.noise * math.sqrt(self.num_draws))

    def logistic_draws(self, rng: Streams, target: Target, model: LogisticRegression) -> np.ndarray:
        """Draws (k, d): m is that of prior and ridge, B the bound of the covariates."""
        m, B = 1 / model.prior_variance + self.ridge, model.covariate_bound
        if math.isinf(B):
            raise ValueError("covariate_bound: must be given, since a draw is priced by it")
        if math.sqrt(m) * MOST_STEEP < B:
            least = (B / MOST_STEEP) ** 2 - 1 / model.prior_variance
            raise ValueError(f"ridge: must be at least {least:.3g}, or no draw would end")
        power = min(target.likelihood_power, self.mu * math.sqrt(m) / (2 * B))
        posterior = RidgedLogistic(usable_rows(model, target.data), power, m, B)
        return np.array([posterior.draw(rng.noise) for _ in range(self.num_draws)])

    def normal_draws(self, rng: Streams, target: Target, model: Gaussian) -> np.ndarray:
        """Draws (k, d), each a Gaussian mechanism.

        In units with covariance I of a row, the likelihood adds p n to the m of prior and ridge,
        which is theirs times the least eigenvalue of the covariance. B is the radius.
        """
        if self.row_radius is None:
            raise ValueError("row_radius: must be given for a Gaussian")
        n, B, mu = target.num_rows, self.row_radius, self.mu
        precision = 1 / model.prior_variance + self.ridge
        m = precision * np.linalg.eigvalsh(model.covariance_matrix)[0]
        # 4 p^2 B^2 = mu^2 (p n + m)
        power = mu * (mu * n + math.sqrt((mu * n) ** 2 + 16 * B * B * m)) / (8 * B * B)
        power = min(target.likelihood_power, power)
        whiten = np.linalg.inv(np.linalg.cholesky(model.covariance_matrix))
        total, _ = target.clipped_statistics(np.zeros(model.dimension), whiten, B)
        posterior = power * n * model.precision + precision * np.eye(model.dimension)
        factor = np.linalg.cholesky(posterior)
        statistic = np.linalg.solve(factor, power * (whiten.T @ total))
        sensitivity = 2 * power * B / math.sqrt(power * n + m)
        noisy = [rng.add_noise(statistic, sensitivity, 1.0) for _ in range(self.num_draws)]
        return np.linalg.solve(factor.T, np.array(noisy).T).T


def usable_rows(model: LogisticRegression, rows: np.ndarray) -> np.ndarray:
    """Covariates times the sign of the outcome, (k, d), of the rows that count.

    They are no longer than the bound, whatever the rows.
    """
    rows = rows[np.isfinite(rows).all(axis=1) & np.isin(rows[:, 0], [0, 1])]
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows[:, 1:], axis=1, keepdims=True)
    factors = model.covariate_bound / np.maximum(lengths, model.covariate_bound)
    return (2 * rows[:, :1] - 1) * rows[:, 1:] * factors


class RidgedLogistic:
    """exp(-F), F(theta) = m |theta|^2 / 2 + p sum of ln(1 + exp(-x . theta)); exact draws.

    F is self-concordant in the sense of Bach (2010, Proposition 1), with the constant R. For u from
    the mode, H the second derivatives there, r^2 = u . H u and c = R / sqrt(least eigenvalue of H):

        F(mode + u) - F(mode) >= r^2 (e^-s + s - 1) / s^2  for s = R |u| <= c r
                              >= (e^-cr + c r - 1) / c^2,  as that falls with s
                              >= a + b r,  its tangent anywhere, as it is convex in r.

    The tangent where d = b r has the most acceptances. So proposals have a direction that is
    uniform in the units of H, and a radius r of Gamma(d, b). A proposal is accepted with the
    probability exp(a + b r - F(mode + u) + F(mode)).
    b is less by the length of the gradient at the mode that was found, in these units. Acceptance
    falls about like c^-d: at d = 10 it is 1 in 1,700 for 1,000 rows, R = 5 and m = 11, and 1 in a
    million for m = 1.1.

    Parameters
    ----------
    rows : (k, d) array
        x, no longer than R.
    power, strong_convexity, bound : float
        p, m and R.
    """

    def __init__(
        self, rows: np.ndarray, power: float, strong_convexity: float, bound: float
    ) -> None:
        self.rows, self.power, self.m = rows, power, strong_convexity
        d = rows.shape[1]
        self.mode, gradient = self.find_mode()
        H = self.curvature(self.mode)
        factor = np.linalg.cholesky(H)
        self.unit = np.linalg.inv(factor).T  # u = unit v has u . H u = |v|^2
        slack = float(np.linalg.norm(self.unit.T @ gradient)) + SMALL
        c = bound / math.sqrt(np.linalg.eigvalsh(H)[0])
        r = touching(d, c)
        self.slope = -math.expm1(-c * r) / c
        rest = (math.expm1(-c * r) + c * r) / c**2 if c * r > 1e-4 else r * r / 2 - c * r**3 / 6
        self.intercept = rest - self.slope * r
        self.slope -= slack

    def potential(self, theta: np.ndarray) -> float:
        """F."""
        margins = self.rows @ theta
        losses = np.log1p(np.exp(-abs(margins))) - np.minimum(margins, 0)
        return self.m * (theta @ theta) / 2 + self.power * float(losses.sum())

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Of F, (d,)."""
        return self.m * theta - self.power * (sigmoid(-(self.rows @ theta)) @ self.rows)

    def curvature(self, theta: np.ndarray) -> np.ndarray:
        """Second derivatives of F, (d, d)."""
        chances = sigmoid(self.rows @ theta)
        weighted = self.rows * (chances * (1 - chances))[:, None]
        return self.power * (weighted.T @ self.rows) + self.m * np.eye(len(theta))

    def find_mode(self) -> tuple[np.ndarray, np.ndarray]:
        """The mode by damped Newton steps, and the gradient there, which is nearly 0."""
        theta = np.zeros(self.rows.shape[1])
        for _ in range(NEWTON_STEPS):
            gradient = self.gradient(theta)
            step = np.linalg.solve(self.curvature(theta), gradient)
            decrement = float(gradient @ step)
            if decrement < SMALL**2:
                break
            here, length = self.potential(theta), 1.0
            while self.potential(theta - length * step) > here - decrement * length / 4:
                length /= 2
                if length < SMALL:
                    return theta, gradient
            theta = theta - length * step
        return theta, self.gradient(theta)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """An exact draw, (d,)."""
        lowest, d = self.potential(self.mode), len(self.mode)
        while True:
            direction = rng.standard_normal(d)
            r = rng.standard_gamma(d) / self.slope
            theta = self.mode + self.unit @ (r * direction / np.linalg.norm(direction))
            excess = self.potential(theta) - lowest
            if rng.standard_exponential() > excess - self.intercept - self.slope * r:
                return theta


def touching(dimension: int, c: float) -> float:
    """r with d = r (1 - e^-cr) / c."""
    from scipy.optimize import brentq

    highest = 2 * (math.sqrt(dimension) + c * dimension)
    return brentq(lambda r: r * -math.expm1(-c * r) / c - dimension, 0.0, highest)
