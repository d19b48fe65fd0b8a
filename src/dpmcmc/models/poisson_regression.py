"""Poisson regression of counts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaincc

from dpmcmc.likelihoods.bounded_scores import Scores
from dpmcmc.models.regression import Regression

SHAPE = 2.0  # of the gamma factors that make counts overdispersed
MOST = 1e15  # of a simulated mean: above it a count has no room in 64 bits


@dataclass(frozen=True)
class PoissonRegression(Regression):
    """y is Poisson with mean exp(x . theta), for y = 0, 1, 2, ...

    Attributes
    ----------
    dimension : int
        d.
    num_rows : int
        n.
    prior_variance : float
    covariate_bound : float
        Largest length of a row's covariates; by default they have none.
    """

    outcome_values = "whole numbers from 0 on"
    other_outcomes: ClassVar[Mapping[str, str]] = {
        "overdispersed counts": f"negative binomial, of variance mean + mean^2 / {SHAPE:g}"
    }

    def is_outcome(self, outcomes: np.ndarray) -> np.ndarray:
        """Mask (k,) of outcomes that are counts."""
        return (outcomes >= 0) & (outcomes == np.floor(outcomes))

    def outcomes(self, rng: np.random.Generator, means: np.ndarray) -> np.ndarray:
        """Counts for values (n,) of x . theta."""
        return rng.poisson(np.exp(np.minimum(means, math.log(MOST))))

    def outcomes_as(
        self, law: str, rng: np.random.Generator, theta: np.ndarray, covariates: np.ndarray
    ) -> np.ndarray:
        """Counts (n,) whose means have gamma factors of mean 1."""
        factors = rng.gamma(SHAPE, 1 / SHAPE, len(covariates))
        return self.outcomes(rng, covariates @ theta + np.log(factors))

    def log_likelihood_ratio(
        self, theta: np.ndarray, theta_new: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """ln p(y|x, theta_new) - ln p(y|x, theta) of rows (k, d + 1), (k,)."""
        x = rows[:, 1:]
        old, new = x @ theta, x @ theta_new
        return rows[:, 0] * (new - old) - np.exp(old) * np.expm1(new - old)

    def gradient(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Gradients of ln p(y|x, theta), (k, d): (y - exp(x . theta)) x."""
        x = rows[:, 1:]
        return (x.T * (rows[:, 0] - np.exp(x @ theta))).T

    def tail_probabilities(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Twice the probability of a count as small or as large, whichever is less, (k,)."""
        counts, means = rows[:, 0], np.exp(rows[:, 1:] @ theta)
        below = probability(means, counts)
        above = 1 - probability(means, counts - 1)
        return np.minimum(2 * np.minimum(below, above), 1)

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Scores (t(y) - E t(y)) x with t(y) = y clipped to [mean - c, mean + c].

        The slope is Cov(t(y), y) x x', and Cov(t(y), y) = mean (E t(y + 1) - E t(y)) (Chen 1975).
        """
        x = rows[:, 1:]
        means = np.exp(x @ theta)
        squares = np.einsum("kd,kd->k", x, x)
        # So long that scores with the mean's slope would have weight 1, or nearly.
        second = means * squares * (ratio / bound) / math.sqrt(2)
        c = bound / np.sqrt(np.maximum(squares, 1e-300)) / np.hypot(1, second)
        low, high = np.maximum(means - c, 0), means + c
        expected = clipped_mean(means, low, high)
        slope = means * (1 + clipped_mean(means, low - 1, high - 1) - expected)
        slope = np.maximum(slope, 0)  # but for rounding
        scores = x * (np.clip(rows[:, 0], low, high) - expected)[:, None]
        largest = np.maximum(high - expected, expected - low) * np.sqrt(squares)
        # At most the slope. The variance of a clipped count is that of none, at most.
        variance = np.minimum(slope, clipped_square(means, low, high) - expected**2)
        roots = x * np.sqrt(slope)[:, None]
        return Scores(scores, largest, roots[:, None, :], np.maximum(variance, 0) * squares)


def probability(mean: np.ndarray, most: np.ndarray) -> np.ndarray:
    """P(y <= most) of Poisson counts."""
    return gammaincc(np.maximum(np.floor(most) + 1, 0), mean)


def least_mean(mean: np.ndarray, most: np.ndarray) -> np.ndarray:
    """E min(y, most) of Poisson counts."""
    below = probability(mean, most)
    return np.where(most < 0, most, mean * probability(mean, most - 1) + most * (1 - below))


def clipped_mean(mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """E of Poisson counts clipped to [low, high]."""
    return low + least_mean(mean, high) - least_mean(mean, low)


def clipped_square(mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """E of the squares of Poisson counts clipped to [low, high], low >= 0."""
    below, above = probability(mean, low), 1 - probability(mean, high)
    # E y^2 = E y (y - 1) + E y, each over low < y <= high.
    pairs = mean**2 * (probability(mean, high - 2) - probability(mean, low - 2))
    single = mean * (probability(mean, high - 1) - probability(mean, low - 1))
    return low**2 * below + pairs + single + high**2 * above
