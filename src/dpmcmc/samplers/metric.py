"""A metric of covariates, found from noisy second moments, in which all directions are alike.

Scores are bounded by their length, and noise is the same in all directions. So it drowns those in
which covariates say little: rare flags in a file's units, and differences of related columns. With
the metric Q, rows have covariates Q x and coefficients are Q^-1 theta, and x . theta stays. Q is
computed from what was released.
"""

import math
from functools import cached_property
from typing import Self, TypeGuard

import numpy as np

from dpmcmc.models.covariates import CovariateModel
from dpmcmc.models.model import Model
from dpmcmc.samplers.drawn_information import LocalPrior, Mixture, Normal
from dpmcmc.samplers.newton_settings import FAR, Twins

RIDGE = 4.0  # of noise's standard deviations, on eigenvalues of noisy second moments


class Metric:
    """A metric Q of covariates.

    Parameters
    ----------
    matrix : (p, p) array
        Q, symmetric and positive definite.
    responses : int
        Coefficients of a covariate. Theta has those of the first covariate first.
    """

    def __init__(self, matrix: np.ndarray, responses: int = 1) -> None:
        self.matrix = matrix
        self.turn = np.kron(matrix, np.eye(responses))  # of scores; its inverse is that of theta

    @classmethod
    def found(cls, moments: np.ndarray, sd: float, size: float, responses: int = 1) -> Self:
        """The metric in which directions are as nearly alike as noisy moments (p, p) can say.

        Parameters
        ----------
        moments : (p, p) array
            Positive definite: E x x' or the information, with noise.
        sd : float
            Standard deviation of the noise of an entry.
        size : float
            Trace that the moments have in the metric.
        responses : int
        """
        eigenvalues, vectors = np.linalg.eigh(moments)
        ridge = RIDGE * sd * math.sqrt(len(moments))
        matrix = vectors / np.sqrt(eigenvalues + ridge) @ vectors.T
        return cls(matrix * math.sqrt(size / (matrix @ moments @ matrix).trace()), responses)

    @cached_property
    def inverse(self) -> np.ndarray:
        """The inverse of `turn`, which turns theta."""
        return np.linalg.inv(self.turn)

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """Rows (n, p + 1) of an outcome and covariates, with Q x for x; hostile ones no numbers."""
        with np.errstate(all="ignore"):
            return np.column_stack([rows[:, 0], rows[:, 1:] @ self.matrix])

    def within(self, belief: Normal) -> Normal:
        """A belief of theta as one of Q^-1 theta."""
        mean, covariance = belief
        return Normal(self.inverse @ mean, self.inverse @ covariance @ self.inverse)

    def outside(self, belief: Normal) -> Normal:
        """The inverse of `within`."""
        mean, covariance = belief
        return Normal(self.turn @ mean, self.turn @ covariance @ self.turn)

    def prior_within(self, prior: LocalPrior) -> LocalPrior:
        """A prior of theta as one of Q^-1 theta."""
        precision = self.turn @ prior.precision @ self.turn
        return prior._replace(precision=precision, pull=self.turn @ prior.pull)

    def answer_outside(self, answer: Mixture) -> Mixture:
        """Draws of Q^-1 theta as those of theta."""
        return Mixture(answer.means @ self.turn, self.turn @ answer.factors)


def can_turn(model: Model) -> TypeGuard[CovariateModel]:
    """Whether scores are the same in any metric, which simulated rows tell.

    They are where theta has coefficients of the covariates, and nothing else is made of these. A
    class of one's own may have further columns, or bend its covariates.
    """
    twins = Twins(model, FAR, 1 / FAR)
    if not isinstance(model, CovariateModel) or model.further_names or not twins.can_simulate:
        return False
    r, rng = model.num_responses, np.random.default_rng(6)
    p = model.dimension // r
    if model.row_length != 1 + p:
        return False
    theta, factor = rng.standard_normal(p * r) / math.sqrt(p), rng.standard_normal((p, 2 * p))
    rows, metric = twins.rows(rng, theta), Metric(factor @ factor.T / p, r)
    here, there = twins.sums(theta, rows), twins.sums(metric.inverse @ theta, metric.rows(rows))
    return np.allclose(there.gradient, metric.turn @ here.gradient, rtol=1e-6, atol=1e-6)
