"""Regressions: logistic, and robust with Student's t."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np
from msgspec import Meta
from scipy.special import gammaln, stdtr

from dpmcmc.likelihoods.bounded_scores import SQUARES_RATIO, Scores
from dpmcmc.models.covariates import CovariateModel
from dpmcmc.models.laws import SPREAD, other_errors, skewed
from dpmcmc.settings import Bound, Dimension, Number, Positive, Rows

TwoLabels = Annotated[list[Number], Meta(min_length=2, max_length=2)]
Labels = Annotated[list[Number], Meta(min_length=2)]
CLIPS = 400  # in tables of the slope of a clipped score
NEARLY = 0.999  # of the largest clip, which is interpolated
FACTORS = 16  # of a product, which is a number if each is between 1e-19 and 1e19


@dataclass(frozen=True)
class Regression(CovariateModel):
    """A regression of an outcome on a linear predictor x . theta, theta ~ N_d(0, prior_variance I).

    x are the covariates of a row of the model: standardised, after a 1 if there is an intercept.
    """

    dimension: Dimension
    num_rows: Rows
    prior_variance: Positive
    covariate_bound: Bound = math.inf

    def outcomes(self, rng: np.random.Generator, means: np.ndarray) -> np.ndarray:
        """Outcomes (n,) at values (n,) of x . theta, where they depend on nothing else."""
        raise NotImplementedError

    def outcomes_at(
        self, rng: np.random.Generator, theta: np.ndarray, covariates: np.ndarray
    ) -> np.ndarray:
        """Outcomes (n,) at theta of rows with some covariates (n, d)."""
        return self.outcomes(rng, covariates @ theta)


@dataclass(frozen=True)
class LogisticRegression(Regression):
    """P(y = 1 | x) = 1 / (1 + exp(-x . theta)), for y in {0, 1}.

    The gradient of a row is no longer than `covariate_bound`, and its information no larger than a
    quarter of the square of that, in Frobenius norm.

    Attributes
    ----------
    dimension : int
        d.
    num_rows : int
        n.
    prior_variance : float
    covariate_bound : float
        Largest length of a row's covariates; by default they have none.
    labels : list of two floats, optional
        Outcomes in the file that stand for y = 0 and y = 1; by default these.
    """

    labels: TwoLabels | None = field(default=None, kw_only=True)

    def check(self) -> None:
        """Refuse two labels that are the same, and what `CovariateModel` refuses."""
        super().check()
        check_labels(self.labels or [0, 1])

    @property
    def outcome_values(self) -> str:
        """The labels."""
        return in_words(self.labels or [0, 1])

    def coded(self, outcomes: np.ndarray) -> np.ndarray:
        """Outcomes 0 and 1 of labels, (k,); -1 of others."""
        return outcomes if self.labels is None else places_among(self.labels, outcomes)

    def is_outcome(self, outcomes: np.ndarray) -> np.ndarray:
        """Mask (k,) of outcomes that are 0 or 1."""
        return (outcomes == 0) | (outcomes == 1)

    def outcomes(self, rng: np.random.Generator, means: np.ndarray) -> np.ndarray:
        """Outcomes, 0 or 1, for values (n,) of x . theta."""
        return rng.random(len(means)) < sigmoid(means)

    def log_likelihood_ratio(
        self, theta: np.ndarray, theta_new: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """ln P(y|x, theta_new) - ln P(y|x, theta) of rows (k, d + 1), (k,)."""
        signs = 2 * rows[:, 0] - 1
        old, new = (signs * (rows[:, 1:] @ position) for position in (theta, theta_new))
        # ln P = min(m, 0) - ln(1 + exp(-|m|)) for m = x . theta, with the sign of y.
        of_old, of_new = np.exp(-abs(old)), np.exp(-abs(new))
        logarithms = np.log1p((of_old - of_new) / (1 + of_new))
        return np.minimum(new, 0) - np.minimum(old, 0) + logarithms

    def log_likelihood_ratios(
        self, theta: np.ndarray, positions: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Sums of the ratios over rows (k, d + 1), for new positions (m, d): (m,)."""
        signed = (1 - 2 * rows[:, :1]) * rows[:, 1:]
        others = sigmoid(signed @ theta)[:, None]  # Q = P(other y|x, theta)
        steps = (positions - theta).T

        def ratios(signed: np.ndarray, others: np.ndarray) -> np.ndarray:
            """P(y|x, theta) / P(y|x, theta_new) = 1 - Q + Q exp(s (x . theta_new - x . theta))."""
            terms = signed @ steps
            np.exp(terms, out=terms)
            terms *= others
            terms += 1 - others
            return terms

        return -sums_of_logarithms(ratios(*part) for part in parts(signed, others))

    def gradient(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Gradients of ln P(y|x, theta), (k, d): (y - P(1|x)) x."""
        covariates = rows[:, 1:]
        return (covariates.T * (rows[:, 0] - sigmoid(covariates @ theta))).T

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Gradients, of length |x| max(p, 1 - p) at most, and roots of p (1 - p) x x'."""
        x = rows[:, 1:]
        p = sigmoid(x @ theta)
        # sigmoid(-m) is 1 - p without loss of digits.
        roots = x * np.sqrt(p * sigmoid(-(x @ theta)))[:, None]
        lengths = np.sqrt(np.einsum("kd,kd->k", x, x))
        scores = x * (rows[:, 0] - p)[:, None]
        squares = np.einsum("kd,kd->k", roots, roots)
        return Scores(scores, lengths * np.maximum(p, 1 - p), roots[:, None, :], squares)


@dataclass(frozen=True)
class RobustRegression(Regression):
    """y = x . theta + scale t, with t of Student's distribution with known degrees of freedom.

    With nu degrees the gradient of a row is no longer than covariate_bound (nu + 1) /
    (2 scale sqrt(nu)), and its information, in Frobenius norm, no larger than covariate_bound^2
    (nu + 1) / (nu scale^2).

    Attributes
    ----------
    dimension : int
        d.
    num_rows : int
        n.
    prior_variance : float
    covariate_bound : float
        Largest length of a row's covariates; by default they have none.
    degrees : float
        Degrees of freedom nu of the errors.
    scale : float
        Of the errors.
    """

    degrees: Positive = 4.0
    scale: Positive = 1.0

    other_outcomes = other_errors("skewed errors", "wide errors")
    levels_off: ClassVar[bool] = False  # of scores: see `locating`

    def outcomes(self, rng: np.random.Generator, means: np.ndarray) -> np.ndarray:
        """Outcomes for values (n,) of x . theta."""
        return means + self.scale * rng.standard_t(self.degrees, size=len(means))

    def outcomes_as(
        self, law: str, rng: np.random.Generator, theta: np.ndarray, covariates: np.ndarray
    ) -> np.ndarray:
        """Outcomes (n,) with errors that are skewed, or wider than the model says."""
        means = covariates @ theta
        if law == "skewed errors":
            return means + self.scale * skewed(rng, (1, len(means)))[0]
        return means + SPREAD * (self.outcomes(rng, means) - means)

    def log_likelihood_ratio(
        self, theta: np.ndarray, theta_new: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """ln p(y|x, theta_new) - ln p(y|x, theta) of rows (k, d + 1), (k,)."""
        old, new = (self._residuals(position, rows) ** 2 for position in (theta, theta_new))
        half = (self.degrees + 1) / 2
        return half * (np.log1p(old / self.degrees) - np.log1p(new / self.degrees))

    def log_likelihood_ratios(
        self, theta: np.ndarray, positions: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """Sums of the ratios over rows (k, d + 1), for new positions (m, d): (m,)."""
        covariates, outcomes = rows[:, 1:] / self.scale, rows[:, :1] / self.scale
        old = self.degrees + self._residuals(theta, rows)[:, None] ** 2

        def ratios(covariates: np.ndarray, outcomes: np.ndarray, old: np.ndarray) -> np.ndarray:
            terms = covariates @ positions.T
            terms -= outcomes
            terms *= terms
            terms += self.degrees
            terms /= old
            return terms

        logarithms = sums_of_logarithms(ratios(*part) for part in parts(covariates, outcomes, old))
        return -(self.degrees + 1) / 2 * logarithms

    def gradient(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Gradients of ln p(y|x, theta), (k, d)."""
        return (rows[:, 1:].T * self.gradient_factors(self._residuals(theta, rows))).T

    def tail_probabilities(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Probabilities of errors that are as large or larger, to either side, (k,)."""
        return 2 * stdtr(self.degrees, -abs(self._residuals(theta, rows)))

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Scores s x with s clipped to [-c, c], which is odd in the residual: the mean is zero.

        s is `score_factors`, c the largest clip that a row of these covariates may have. With u x
        the gradient, the slope is E[clip(s) u] x x'.
        """
        x = rows[:, 1:]
        squares = np.einsum("kd,kd->k", x, x)
        clips, slopes, variances = self.table_of_clips
        # 1 / |x| of rows for which each clip is the largest: c^2 |x|^2 + (b k)^2 |x|^4 / 2 = B^2.
        k = ratio * np.hypot(slopes, SQUARES_RATIO * variances)
        inverses = np.sqrt((clips**2 + np.hypot(clips**2, math.sqrt(2) * k * bound)) / 2) / bound
        c = NEARLY * np.interp(1 / np.sqrt(np.maximum(squares, 1e-300)), inverses, clips)
        s = self.score_factors(self._residuals(theta, rows))
        roots = x * np.sqrt(np.interp(c, clips, slopes))[:, None]
        return Scores(
            x * np.clip(s, -c, c)[:, None],
            c * np.sqrt(squares),
            roots[:, None, :],
            np.interp(c, clips, variances) * squares,
        )

    def gradient_factors(self, residuals: np.ndarray) -> np.ndarray:
        """Factors u of gradients u x by residuals, (k,)."""
        return (self.degrees + 1) / self.scale * residuals / (self.degrees + residuals**2)

    def score_factors(self, residuals: np.ndarray) -> np.ndarray:
        """Factors of scores before they are clipped, by residuals, (k,): u, or what levels off."""
        return (
            self._constant * self._level(residuals)
            if self.levels_off
            else self.gradient_factors(residuals)
        )

    @cached_property
    def locating(self) -> Self:
        """The model for steps of `NoisyNewton` that come from far away: its scores level off.

        The gradient's factor u goes back to 0 beyond a residual of sqrt(nu) scales, so far outcomes
        do not say where to go. There the factor stays as it is; before, it is u times the constant
        for which the mean of its square is its slope. Errors that are not symmetric shift the
        answers of the two apart, so the last steps take u.
        """
        model = replace(self)
        model.__dict__["levels_off"] = True  # no setting
        return model

    def _level(self, residuals: np.ndarray) -> np.ndarray:
        peak = math.sqrt(self.degrees)
        return self.gradient_factors(np.clip(residuals, -peak, peak))

    @cached_property
    def _constant(self) -> float:
        residuals, masses = self._masses
        level = self._level(residuals)
        return float(level @ (self.gradient_factors(residuals) * masses) / (level**2 @ masses))

    @cached_property
    def _masses(self) -> tuple[np.ndarray, np.ndarray]:
        """Positive residuals, and masses of them and of their negatives, for means."""
        nu = self.degrees
        edges = np.linspace(0, 1, 100 * CLIPS + 1)
        middles = (edges[1:] + edges[:-1]) / 2
        # r = t / (1 - t) covers all positive residuals.
        r = middles / (1 - middles)
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - math.log(nu * math.pi) / 2
        density = np.exp(constant - (nu + 1) / 2 * np.log1p(r * r / nu)) / (1 - middles) ** 2
        return r, 2 * density * np.diff(edges)

    @cached_property
    def table_of_clips(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Clips c from 0 to the largest |s|, E[clip(s) u] and E[clip(s)^2], of model errors."""
        residuals, masses = self._masses
        s, u = self.score_factors(residuals), self.gradient_factors(residuals)
        clips = np.linspace(0, 1, CLIPS) ** 2 * s.max()  # nearer to each other where they are small
        clipped = [np.minimum(s, c) for c in clips]
        slopes = np.array([some @ (u * masses) for some in clipped])
        return clips, slopes, np.array([some * some @ masses for some in clipped])

    def _residuals(self, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(y - x . theta) / scale of rows, (k,)."""
        return (rows[:, 0] - rows[:, 1:] @ theta) / self.scale


def check_labels(labels: Sequence[float]) -> None:
    """Refuse labels that are not apart."""
    if len(set(labels)) < len(labels):
        raise ValueError(f"labels: must be different, not {in_words(labels)}")


def in_words(labels: Sequence[float]) -> str:
    """Labels as a message has them."""
    *first, last = [f"{label:.10g}" for label in labels]
    return f"{', '.join(first)} or {last}"


def places_among(labels: Sequence[float], outcomes: np.ndarray) -> np.ndarray:
    """Place of each outcome (k,) among labels, from 0; -1 of an outcome that is none."""
    is_label = outcomes[:, None] == np.asarray(labels)
    return np.where(is_label.any(axis=1), is_label.argmax(axis=1), -1.0)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def parts(*arrays: np.ndarray) -> Iterator[list[np.ndarray]]:
    """Arrays of k rows each, in parts of `FACTORS` rows."""
    for start in range(0, len(arrays[0]), FACTORS):
        yield [array[start : start + FACTORS] for array in arrays]


def sums_of_logarithms(factors: Iterable[np.ndarray]) -> np.ndarray:
    """Sums over rows of ln of positive factors, arrays (k, m) of a few rows each: (m,).

    A product of a few factors takes one logarithm. NaN where such a product is 0 or infinite.
    """
    total = sum(np.log(some.prod(axis=0)) for some in factors)
    return np.where(np.isfinite(total), total, np.nan)
