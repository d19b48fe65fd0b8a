"""Softmax regression of a class on two measurements (thesis on DP SGHMC, section 6.3)."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

import numpy as np
from msgspec import Meta

from dpmcmc.likelihoods.bounded_scores import Scores
from dpmcmc.models.rows import RowsModel
from dpmcmc.models.tempered import Tempered
from dpmcmc.settings import Count, Number, Numbers, Positive, Rows

Two = Meta(min_length=2, max_length=2)
COVARIATE_SD = 0.5  # of standardised covariates, as in that thesis


@dataclass(frozen=True)
class Softmax(Tempered, RowsModel):
    """P(class k | x) is proportional to exp(theta_0k + theta_1k x_1 + theta_2k x_2).

    A row is (k, x_1, x_2): the place of its code among `classes`, and its standardised covariates.
    Theta is a matrix with a column for each class, (3, K), row after row: first the K intercepts.
    The likelihood stays the same if a number is added to a whole row of the matrix. So without a
    baseline only the prior decides where theta is on such a line.

    Attributes
    ----------
    num_rows : int
        n.
    means, sds : list of float
        The covariates are standardised with these, to mean 0 and standard deviation 1/2. They must
        be public: a mean of the data themselves would have to be released privately.
    prior_variance : float, optional
        Of the prior theta ~ N(0, prior_variance I). Either this is given or prior_bound.
    prior_bound : float, optional
        Of the prior theta ~ Uniform[-prior_bound, prior_bound]^d.
    classes : list of float
        Codes of the column of classes. Rows of other codes are left out.
    has_baseline : bool
        Whether the coefficients of the last class are fixed at 0, and theta is (3, K - 1).
    tempered_rows : int, optional
        n0: the likelihood is raised to the power T = n0 / n. By default n0 = n.
    """

    num_rows: Rows
    means: Annotated[list[Number], Two]
    sds: Annotated[list[Positive], Two]
    prior_variance: Positive | None = None
    prior_bound: Positive | None = None
    classes: Numbers = field(default_factory=lambda: [0, 1, 2, 3, 9])
    has_baseline: bool = False
    tempered_rows: Count | None = None

    row_length = 3
    columns = ("floor", "log_radon", "log_uranium")

    def check(self) -> None:
        """Refuse no prior or two, classes that are not apart, and too many tempered rows."""
        if (self.prior_variance is None) == (self.prior_bound is None):
            given = "neither" if self.prior_variance is None else "both"
            raise ValueError(
                f"prior_variance: must be given if prior_bound is not, and only then, not {given}"
            )
        if not len(set(self.classes)) == len(self.classes) >= 2:
            raise ValueError(f"classes: must be two or more different codes, not {self.classes}")
        self.check_tempering()

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def dimension(self) -> int:
        """d = 3 K; 3 (K - 1) with a baseline."""
        return 3 * (self.num_classes - self.has_baseline)

    @property
    def parameter_names(self) -> list[str]:
        """Names of the components of theta: a column, and the code of a class."""
        codes = self.classes[: self.num_classes - self.has_baseline]
        names = ("intercept", *self.columns[1:])
        return [f"{name}[{code:g}]" for name in names for code in codes]

    def prepare(self, rows: np.ndarray) -> np.ndarray:
        """Rows (k, 3) of those (n, 3) of a file whose code is among the classes."""
        is_class = rows[:, :1] == self.classes
        x = (rows[:, 1:] - self.means) * (COVARIATE_SD / np.array(self.sds))
        return np.column_stack([is_class.argmax(axis=1), x])[is_class.any(axis=1)]

    def simulate(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """Rows (n, 3) at theta, by default a draw of the prior, with normal covariates."""
        theta = self.sample_prior(rng) if theta is None else theta
        rows = np.zeros((self.num_rows, 3))
        rows[:, 1:] = COVARIATE_SD * rng.standard_normal((self.num_rows, 2))
        up_to = self.probabilities(theta, rows).cumsum(axis=1)[:, :-1]
        rows[:, 0] = (rng.random((self.num_rows, 1)) > up_to).sum(axis=1)
        return rows

    # -- Likelihood: classes come first in its arrays, (K, k), which is fastest --------------------

    def log_likelihood(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """ln P(class of a row | x, theta), (k,)."""
        scores = self._scores(theta, rows)
        of_class = np.where(rows[:, 0] == self._places, scores, 0.0).sum(axis=0)
        return of_class - np.log(np.exp(scores).sum(axis=0))

    def gradient(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Its gradients: x_j (1[class is k] - P(k | x, theta)), (k, d)."""
        errors = (rows[:, 0] == self._places) - self._shares(theta, rows)
        errors = errors[: self.num_classes - self.has_baseline]
        gradients = np.empty((3, *errors.shape))
        gradients[0] = errors
        np.multiply(rows.T[1:, None], errors, out=gradients[1:])
        return gradients.reshape(self.dimension, len(rows)).T

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Gradients, their largest length over all classes, and roots of the information."""
        x = np.column_stack([np.ones(len(rows)), rows[:, 1:]])
        free = slice(self.num_classes - self.has_baseline)
        return scores_of_classes(
            self.gradient(theta, rows), self.probabilities(theta, rows), x, free
        )

    def probabilities(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """P(k | x, theta) of each class, (k, K), whatever the class of the row."""
        return self._shares(theta, rows).T

    def predict(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The most probable class of each row, as a place among the classes, (k,)."""
        return self._scores(theta, rows).argmax(axis=0)

    def accuracy(self, draws: np.ndarray, rows: np.ndarray) -> float:
        """Share of rows (k, 3) whose class is the most probable one at the mean of draws (m, d).

        That thesis classifies so (section 6.3): with the mean as parameters, not with the mean of
        the probabilities. NaN for draws that have no finite mean.
        """
        theta = draws.mean(axis=0)
        if not np.isfinite(theta).all():
            return math.nan
        return float((self.predict(theta, rows) == rows[:, 0]).mean())

    @cached_property
    def _places(self) -> np.ndarray:
        return np.arange(self.num_classes)[:, None]

    def _scores(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """ln P(k | x, theta), up to a term of the row: the largest is 0, and none overflows."""
        coefficients = theta.reshape(3, -1)
        if self.has_baseline:
            coefficients = np.hstack([coefficients, np.zeros((3, 1))])
        scores = coefficients[1:].T @ rows.T[1:]
        scores += coefficients[0][:, None]
        scores -= scores.max(axis=0)
        return scores

    def _shares(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        shares = self._scores(theta, rows)
        np.exp(shares, out=shares)
        shares /= shares.sum(axis=0)
        return shares

    # -- Prior -------------------------------------------------------------------------------------

    def sample_prior(self, rng: np.random.Generator) -> np.ndarray:
        """A draw of the prior, (d,)."""
        if self.prior_bound is not None:
            return rng.uniform(-self.prior_bound, self.prior_bound, self.dimension)
        assert self.prior_variance is not None  # by `check`
        return math.sqrt(self.prior_variance) * rng.standard_normal(self.dimension)

    def log_prior_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """ln p(theta_new) - ln p(theta); -inf, wherever theta is, where theta_new has no density.

        So a chain that starts outside the bounds moves as soon as it comes within them.
        """
        if self.prior_bound is None:
            assert self.prior_variance is not None  # by `check`
            return float((theta - theta_new) @ (theta + theta_new)) / (2 * self.prior_variance)
        if not is_within(theta_new, self.prior_bound):
            return -math.inf
        return 0.0 if is_within(theta, self.prior_bound) else math.inf

    def grad_log_prior(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of ln p(theta), (d,); 0 of a uniform prior, outside too."""
        if self.prior_bound is None:
            return -theta / self.prior_variance
        return np.zeros(self.dimension)


def scores_of_classes(
    gradients: np.ndarray, shares: np.ndarray, x: np.ndarray, free: slice
) -> Scores:
    """Scores of rows for `NoisyNewton`: a row gets a weight that does not see its class.

    The score of class k is (e_k - p) times x. The information is the mean of its outer products
    over the classes.

    Parameters
    ----------
    gradients : (k, d) array
    shares : (k, K) array
        Probabilities p of the classes.
    x : (k, q) array
        Covariates.
    free : slice
        Classes that theta, a matrix of q rows, has a column for.
    """
    k, num_classes = shares.shape
    errors = (np.eye(num_classes) - shares[:, None, :])[:, :, free]
    farthest = np.sqrt(np.einsum("kcj,kcj->kc", errors, errors).max(axis=1))
    weighted = errors * np.sqrt(shares)[:, :, None]
    roots = x[:, None, :, None] * weighted[:, :, None, :]
    return Scores(
        gradients,
        farthest * np.sqrt(np.einsum("kj,kj->k", x, x)),
        roots.reshape(k, num_classes, -1),
        np.einsum("kjci,kjci->k", roots, roots),
    )


def is_within(theta: np.ndarray, bound: float) -> bool:
    """True if no component is farther than a bound from 0."""
    return bool((abs(theta) <= bound).all())
