"""Linear regression with normal errors whose variance is unknown."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import erf, erfc

from dpmcmc.likelihoods.bounded_scores import SQUARES_RATIO, Scores, largest_clip
from dpmcmc.models.laws import ERRORS, Law, normal, other_errors
from dpmcmc.models.regression import Regression

MOST = 10.0  # standard deviations of an error: what is clipped there is clipped nowhere
MOST_LOG = 700.0  # whose exponential is a number, and so is one over it
CLIPS = 2000


@dataclass(frozen=True)
class LinearRegression(Regression):
    """y = x . beta + sigma e, with e normal, and theta = (beta, ln sigma).

    The prior of all components of theta is N(0, prior_variance). So take the outcome in public
    units in which sigma is near 1.

    Attributes
    ----------
    dimension : int
        d: a row has d - 1 covariates, the 1 of an intercept among them.
    num_rows : int
        n.
    prior_variance : float
    covariate_bound : float
        Largest length of a row's covariates; by default they have none.
    """

    further_names = ("log_sigma",)
    other_outcomes = other_errors("skewed errors", "heavy tails")

    def outcomes_at(
        self, rng: np.random.Generator, theta: np.ndarray, covariates: np.ndarray
    ) -> np.ndarray:
        """Outcomes (n,) at theta of rows with some covariates (n, d - 1)."""
        return self._outcomes_by(normal, rng, theta, covariates)

    def outcomes_as(
        self, law: str, rng: np.random.Generator, theta: np.ndarray, covariates: np.ndarray
    ) -> np.ndarray:
        """Outcomes (n,) with errors of another law and the same variance."""
        return self._outcomes_by(ERRORS[law][0], rng, theta, covariates)

    def _outcomes_by(
        self, law: Law, rng: np.random.Generator, theta: np.ndarray, covariates: np.ndarray
    ) -> np.ndarray:
        """Outcomes (n,) at theta with standardised errors of a law."""
        errors = law(rng, (1, len(covariates)))[0]
        return covariates @ theta[:-1] + sigma(theta) * errors

    def log_likelihood_ratio(
        self, theta: np.ndarray, theta_new: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """ln p(y|x, theta_new) - ln p(y|x, theta) of rows (k, d), (k,)."""
        old, new = self._residuals(theta, rows), self._residuals(theta_new, rows)
        return theta[-1] - theta_new[-1] + (old - new) * (old + new) / 2

    def gradient(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Gradients of ln p(y|x, theta), (k, d): (e x / sigma, e^2 - 1)."""
        e = self._residuals(theta, rows)
        return np.vstack([rows[:, 1:].T * (e / sigma(theta)), e * e - 1]).T

    def tail_probabilities(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Probabilities of errors that are as large or larger, to either side, (k,)."""
        return erfc(abs(self._residuals(theta, rows)) / math.sqrt(2))

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Scores (t x / sigma, t^2 - E t^2) with t = e clipped to [-c, c].

        The slope is E[t e] x x' / sigma^2 for beta, and E[t^2 e^2] - E t^2 for ln sigma; nothing
        between them, since errors are symmetric. c is the largest that the row may have.
        """
        x = rows[:, 1:] / sigma(theta)
        squares = np.einsum("kd,kd->k", x, x)
        table = table_of_clips()

        def of_clip(c: np.ndarray) -> list[np.ndarray]:
            return [np.interp(c, table[0], column) for column in table[1:]]

        def size(c: np.ndarray) -> np.ndarray:
            mean, slope, scale_slope, scale_variance = of_clip(c)
            largest = np.hypot(c * np.sqrt(squares), np.maximum(c * c - mean, mean))
            second = np.hypot(slope * squares, scale_slope)
            second = np.hypot(second, SQUARES_RATIO * (mean * squares + scale_variance))
            return np.hypot(largest, ratio / math.sqrt(2) * second)

        c = largest_clip(size, bound, np.full(len(x), MOST))
        mean, slope, scale_slope, scale_variance = of_clip(c)
        t = np.clip(self._residuals(theta, rows), -c, c)
        roots = np.zeros((len(x), 2, self.dimension))
        roots[:, 0, :-1] = x * np.sqrt(slope)[:, None]
        roots[:, 1, -1] = np.sqrt(scale_slope)
        return Scores(
            np.column_stack([x * t[:, None], t * t - mean]),
            np.hypot(c * np.sqrt(squares), np.maximum(c * c - mean, mean)),
            roots,
            mean * squares + scale_variance,
        )

    def _residuals(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """e = (y - x . beta) / sigma of rows, (k,)."""
        return (rows[:, 0] - rows[:, 1:] @ theta[:-1]) / sigma(theta)


def sigma(theta: np.ndarray) -> float:
    """Standard deviation of errors at theta; a number wherever a search may look."""
    return math.exp(max(-MOST_LOG, min(theta[-1], MOST_LOG)))


@cache
def table_of_clips() -> np.ndarray:
    """Clips c and, for a standard normal e and t = clip(e, -c, c), moments, (5, CLIPS).

    They are E t^2, E t e, Cov(t^2, e^2) and Var t^2.
    """
    c = np.linspace(0, MOST, CLIPS)
    inside = erf(c / math.sqrt(2))
    density = np.exp(-c * c / 2) / math.sqrt(2 * math.pi)
    second = inside - 2 * c * density  # E e^2 over |e| < c
    fourth = 3 * inside - 2 * density * (c**3 + 3 * c)
    mean = second + c * c * (1 - inside)
    both = fourth + c * c * (1 - second)
    return np.array([c, mean, inside, both - mean, fourth + c**4 * (1 - inside) - mean**2])
