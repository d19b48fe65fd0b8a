"""Softmax regression of an outcome with several labels."""

import math
from dataclasses import dataclass, field

import numpy as np

from dpmcmc.likelihoods.bounded_scores import Scores
from dpmcmc.models.covariates import CovariateModel
from dpmcmc.models.regression import Labels, check_labels, in_words, places_among
from dpmcmc.models.softmax import scores_of_classes
from dpmcmc.models.units import Names
from dpmcmc.settings import Bound, Positive, Rows


@dataclass(frozen=True)
class SoftmaxRegression(CovariateModel):
    """P(label k | x) is proportional to exp(x . theta_k), with theta_k = 0 of the first label.

    Theta is a matrix with a row for each covariate of a row of the model, the 1 of an intercept
    first, and a column for each label but the first, row after row. With two labels it is
    `LogisticRegression`. The gradient of a row is no longer than sqrt(2) covariate_bound, and its
    information no larger than half of covariate_bound^2, in Frobenius norm.

    Attributes
    ----------
    num_rows : int
        n.
    prior_variance : float
        Of the prior theta ~ N(0, prior_variance I).
    covariate_bound : float
        Largest length of a row's covariates; by default they have none.
    covariates : list of str
        Names of the covariates' columns; `CovariateModel` has the other settings.
    labels : list of float
        Outcomes in the file, two or more.
    """

    num_rows: Rows
    prior_variance: Positive
    covariate_bound: Bound = math.inf
    covariates: Names = field(kw_only=True)
    labels: Labels = field(kw_only=True)

    def check(self) -> None:
        """Refuse labels that are not apart, and what `CovariateModel` refuses."""
        super().check()
        check_labels(self.labels)

    @property
    def num_covariates(self) -> int:
        """Covariates of a row of a file."""
        return len(self.covariates)

    @property
    def num_responses(self) -> int:  # type: ignore[override]
        """Labels but the first, K - 1."""
        return len(self.labels) - 1

    @property
    def dimension(self) -> int:
        """d."""
        return (self.num_covariates + self.intercept) * self.num_responses

    def coefficient_names(self, names: list[str]) -> list[str]:
        """Names of a covariate and a label."""
        return [f"{name}[{label:.10g}]" for name in names for label in self.labels[1:]]

    @property
    def outcome_values(self) -> str:
        """The labels."""
        return in_words(self.labels)

    def coded(self, outcomes: np.ndarray) -> np.ndarray:
        """Places of outcomes among the labels, (k,); -1 of others."""
        return places_among(self.labels, outcomes)

    def is_outcome(self, outcomes: np.ndarray) -> np.ndarray:
        """Mask (k,) of outcomes that are places among the labels."""
        return np.isin(outcomes, np.arange(len(self.labels)))

    def outcomes_at(
        self, rng: np.random.Generator, theta: np.ndarray, covariates: np.ndarray
    ) -> np.ndarray:
        """Labels' places (n,) at theta of rows with some covariates (n, q)."""
        up_to = self._shares(theta, covariates).cumsum(axis=0)[:-1]
        return (rng.random(len(covariates)) > up_to).sum(axis=0)

    def log_likelihood(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """ln P(label of a row | x, theta), (k,)."""
        scores = self._scores(theta, rows[:, 1:])
        of_label = np.where(self._is_label(rows), scores, 0.0).sum(axis=0)
        return of_label - np.log(np.exp(scores).sum(axis=0))

    def gradient(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Its gradients: x_j (1[label is k] - P(k | x, theta)), (k, d)."""
        errors = (self._is_label(rows) - self._shares(theta, rows[:, 1:]))[1:]
        gradients = rows.T[1:, None] * errors
        return gradients.reshape(self.dimension, len(rows)).T

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Gradients, their largest length over all labels, and roots of the information."""
        x = rows[:, 1:]
        return scores_of_classes(
            self.gradient(theta, rows), self._shares(theta, x).T, x, slice(1, None)
        )

    def _is_label(self, rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] == np.arange(len(self.labels))[:, None]

    def _scores(self, theta: np.ndarray, covariates: np.ndarray) -> np.ndarray:
        """ln P(k | x, theta), (K, n), up to a term of the row: the largest is 0."""
        scores = np.zeros((len(self.labels), len(covariates)))
        scores[1:] = theta.reshape(-1, self.num_responses).T @ covariates.T
        return scores - scores.max(axis=0)

    def _shares(self, theta: np.ndarray, covariates: np.ndarray) -> np.ndarray:
        """P(k | x, theta), (K, n)."""
        shares = np.exp(self._scores(theta, covariates))
        return shares / shares.sum(axis=0)
