"""Regressions in the units of their columns; logistic, and robust with Student's t."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta
from scipy.special import gammaln

from dpmcmc.likelihoods.bounded_scores import SQUARES_RATIO, Scores, largest_clip
from dpmcmc.models.laws import SPREAD, Law, normal, other_errors, rare, skewed
from dpmcmc.models.normal_prior import NormalPrior
from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Bound, Dimension, Number, Numbers, Positive, Positives, Rows

INTERCEPT = "intercept"  # its name
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Names = Annotated[list[Name], Meta(min_length=1)]
Centres = Number | Numbers | dict[str, Number]  # of all covariates, of each, or by name
Scales = Positive | Positives | dict[str, Positive]
TwoLabels = Annotated[list[Number], Meta(min_length=2, max_length=2)]
Labels = Annotated[list[Number], Meta(min_length=2)]

# Names of laws of rows that every regression has beside its own.
RARE, LEVELLED = "rare covariates", "effects that level off"
OTHER_LAWS = {
    RARE: "by turns rare binary and of heavy tails",
    LEVELLED: "tanh(z) stands for each covariate z in the law of the outcome",
}
CLIPS = 400  # in tables of the slope of a clipped score
FACTORS = 16  # of a product, which is a number if each is between 1e-19 and 1e19
Outcomes = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class CovariateModel(NormalPrior, RowsModel):
    """A model of an outcome given covariates, which public numbers standardise.

    A row of a file is (outcome, covariates). In the row of the model z = (covariate - centre) /
    scale stands for each covariate, after a 1 if there is an intercept. Theta and its prior are
    those of z, so the intercept is that of a row with all covariates at their centres.
    `in_file_units` gives draws back per unit of a column.

    `NoisyNewton` gives long rows a weight and needs no bound of theirs. For chains, rows that are
    longer than `covariate_bound`, a public setting, can be scaled back to that length, the 1
    counted: then the gradient of a row has a bound, whatever the row.

    A class of its own has the settings `num_rows`, `prior_variance` and `covariate_bound`. Its
    theta begins with the coefficients: of the intercept first, then of each covariate,
    `num_responses` numbers each.

    Attributes
    ----------
    outcome : str, optional
        Name of the outcome's column.
    covariates : list of str, optional
        Names of the covariates' columns. Both are given or neither.
    intercept : bool
        Whether there is one.
    centres, scales : float, list of float or map from names to float
        Of the covariates, in their own units: one number for all, one for each, or by name. They
        must be public: a mean of the data themselves would have to be released privately.
    """

    outcome: Name | None = field(default=None, kw_only=True)
    covariates: Names | None = field(default=None, kw_only=True)
    intercept: bool = field(default=False, kw_only=True)
    centres: Centres = field(default=0.0, kw_only=True)
    scales: Scales = field(default=1.0, kw_only=True)

    if TYPE_CHECKING:

        @property
        def covariate_bound(self) -> float:
            """Largest length of a row's covariates."""

    num_responses = 1  # coefficients of a covariate
    further_names: ClassVar[tuple[str, ...]] = ()  # of what theta has after them
    other_outcomes: ClassVar[Mapping[str, str]] = {}  # `other_laws` of its outcomes

    # -- Settings ----------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse names, centres and scales that do not go together."""
        names = self.covariates
        if (self.outcome is None) != (names is None):
            raise ValueError("outcome: must be given if covariates are, and only then")
        if names is not None:
            if len({self.outcome, INTERCEPT, *names}) != len(names) + 2:
                raise ValueError(
                    f"covariates: must be different names, not that of the outcome and not "
                    f"{INTERCEPT}: {', '.join(names)}"
                )
            if len(names) != self.num_covariates:
                right = self.dimension - self.num_covariates + len(names)
                of_what = self._components("each covariate")
                raise ValueError(f"dimension: must be {right}, for {of_what}, not {self.dimension}")
        if self.num_covariates < 1:
            least = self.dimension - self.num_covariates + 1
            of_what = self._components("a covariate")
            raise ValueError(
                f"dimension: must be at least {least}, for {of_what}, not {self.dimension}"
            )
        for name in ("centres", "scales"):
            self._check_numbers(name, getattr(self, name))
        if np.any(self._centres) and not self.intercept:
            raise ValueError(
                "centres: must be 0 without intercept: true, which takes up what they shift"
            )

    def _check_numbers(self, name: str, given: Centres) -> None:
        """Refuse a list of another length, and a map of other names."""
        count = self.num_covariates
        if isinstance(given, list) and len(given) != count:
            raise ValueError(f"{name}: must be {count}, one for each covariate, not {len(given)}")
        if not isinstance(given, dict):
            return
        if self.covariates is None:
            raise ValueError(f"{name}: must be a number or a list where covariates has no names")
        if given.keys() != set(self.covariates):
            raise ValueError(
                f"{name}: must name {', '.join(self.covariates)}, not {', '.join(given)}"
            )
        if "class" in given:
            raise ValueError(f"{name}: must be a list where a column has the name class")

    def _components(self, covariates: str) -> str:
        """What theta has components for, in words."""
        return " and ".join(["the intercept"] * self.intercept + [covariates, *self.further_names])

    @property
    def num_covariates(self) -> int:
        """Covariates of a row of a file."""
        return self.dimension - self.intercept - len(self.further_names)

    @property
    def row_length(self) -> int:
        """Entries of a row of the model: the outcome, the 1 of an intercept, the covariates."""
        return 1 + self.intercept + self.num_covariates

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the columns, if they are settings."""
        return () if self.outcome is None else (self.outcome, *(self.covariates or ()))

    @property
    def parameter_names(self) -> Sequence[str]:
        """Names of the components of theta, if columns have names."""
        return self.names_of(self.columns) if self.columns else ()

    def names_of(self, columns: Sequence[str]) -> Sequence[str]:
        """Names of the components of theta, by those of columns."""
        names = [INTERCEPT] * self.intercept + list(columns[1:])
        return [*self.coefficient_names(names), *self.further_names]

    def coefficient_names(self, names: list[str]) -> list[str]:
        """Names of the coefficients of some covariates, the intercept among them."""
        return names

    def check_columns(self, columns: Sequence[str]) -> None:
        """Refuse another number of columns, and names beside those of the settings."""
        if self.columns and tuple(columns) != self.columns:
            raise ValueError("columns: must be left out, because outcome and covariates name them")
        if len(columns) != 1 + self.num_covariates:
            raise ValueError(
                f"columns: must be {1 + self.num_covariates}, the outcome and "
                f"{self.num_covariates} covariates, not {len(columns)}"
            )

    # -- Rows --------------------------------------------------------------------------------------

    @cached_property
    def _centres(self) -> np.ndarray:
        return self._numbers(self.centres)

    @cached_property
    def _scales(self) -> np.ndarray:
        return self._numbers(self.scales)

    def _numbers(self, given: Centres) -> np.ndarray:
        """A number for each covariate, (p,)."""
        if isinstance(given, dict):
            given = [given[name] for name in self.covariates or ()]
        return np.broadcast_to(np.asarray(given, dtype=float), self.num_covariates)

    def prepare(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the model from those of a file, of at most the bound's length."""
        covariates = (rows[:, 1:] - self._centres) / self._scales
        return self._bounded(self._assembled(self.coded(rows[:, 0]), covariates))

    @property
    def outcome_values(self) -> str:
        """Outcomes in a file, in words."""
        return "any number"

    def coded(self, outcomes: np.ndarray) -> np.ndarray:
        """Outcomes of the model, (k,), from those of a file; as they are."""
        return outcomes

    def simulate(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """Rows at theta, by default a draw of the prior; standardised covariates are N(0, I)."""
        return self._rows_of(rng, theta, normal, self.outcomes_at)

    @property
    def other_laws(self) -> Mapping[str, str]:  # type: ignore[override]
        """Of covariates, of effects and of outcomes; none where rows are simulated otherwise."""
        is_own = type(self).simulate is not CovariateModel.simulate
        return {} if is_own else {**OTHER_LAWS, **self.other_outcomes}

    def simulate_as(self, law: str, rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
        """Rows at theta with one of `other_laws`; covariates but the rare ones are N(0, I)."""
        if law == RARE:
            return self._rows_of(rng, theta, rare, self.outcomes_at)
        outcomes = self._levelled if law == LEVELLED else partial(self.outcomes_as, law)
        return self._rows_of(rng, theta, normal, outcomes)

    def simulated_covariates(self, rng: np.random.Generator, law: Law) -> np.ndarray:
        """Standardised covariates without the 1, (n, p); a law has mean 0 and variance 1."""
        return law(rng, (self.num_rows, self.num_covariates))

    def _rows_of(
        self, rng: np.random.Generator, theta: np.ndarray | None, law: Law, outcomes: Outcomes
    ) -> np.ndarray:
        theta = self.sample_prior(rng) if theta is None else theta
        covariates = self.simulated_covariates(rng, law)
        rows = self._bounded(self._assembled(np.zeros(self.num_rows), covariates))
        rows[:, 0] = outcomes(rng, theta, rows[:, 1:])
        return rows

    def _levelled(
        self, rng: np.random.Generator, theta: np.ndarray, covariates: np.ndarray
    ) -> np.ndarray:
        """Outcomes (n,) that covariates move ever less the larger these are."""
        covariates = covariates.copy()
        np.tanh(covariates[:, self.intercept :], out=covariates[:, self.intercept :])
        return self.outcomes_at(rng, theta, covariates)

    def outcomes_as(
        self, law: str, rng: np.random.Generator, theta: np.ndarray, covariates: np.ndarray
    ) -> np.ndarray:
        """Outcomes (n,) at theta, as `outcomes_at`, with one of the laws in `other_outcomes`."""
        raise NotImplementedError

    @abstractmethod
    def outcomes_at(
        self, rng: np.random.Generator, theta: np.ndarray, covariates: np.ndarray
    ) -> np.ndarray:
        """Outcomes (n,) at theta of rows with some covariates, the 1 of an intercept among them."""

    def _assembled(self, outcomes: np.ndarray, covariates: np.ndarray) -> np.ndarray:
        ones = [np.ones(len(covariates))] * self.intercept
        return np.column_stack([outcomes, *ones, covariates])

    def _bounded(self, rows: np.ndarray) -> np.ndarray:
        """Rows of the model, with covariates of at most the bound's length."""
        if self.covariate_bound == math.inf:
            return rows
        lengths = np.linalg.norm(rows[:, 1:], axis=1)
        factors = self.covariate_bound / np.maximum(lengths, self.covariate_bound)
        return np.column_stack([rows[:, 0], rows[:, 1:] * factors[:, None]])

    # -- Draws -------------------------------------------------------------------------------------

    def in_file_units(self, draws: np.ndarray) -> np.ndarray:
        """Draws (..., d) of theta as coefficients per unit of a column.

        With z = (x - c) / s, theta_0 + theta_1 z = (theta_0 - theta_1 c / s) + (theta_1 / s) x. So
        the intercept is that of a row with all covariates 0.
        """
        count = self.num_covariates * self.num_responses
        first = self.intercept * self.num_responses
        draws = np.array(draws, dtype=float)
        slopes = draws[..., first : first + count]
        by_covariate = slopes.reshape(*slopes.shape[:-1], self.num_covariates, self.num_responses)
        by_covariate = by_covariate / self._scales[:, None]
        if self.intercept:
            draws[..., :first] -= (by_covariate * self._centres[:, None]).sum(axis=-2)
        draws[..., first : first + count] = by_covariate.reshape(slopes.shape)
        return draws

    def units_in_words(self) -> list[str]:
        """The outcome, and the public numbers that standardise covariates."""
        if not self.columns:
            return []
        names = self.covariates or []
        units = zip(names, self._centres.tolist(), self._scales.tolist(), strict=True)
        intercept = ["The intercept is that of a row with all covariates 0."] * self.intercept
        return [
            f"Outcome {self.outcome}: {self.outcome_values}.",
            "A coefficient is that of one unit of its column.",
            *intercept,
            f"The prior has variance {self.prior_variance:.10g} for coefficients of "
            "(column - centre) / scale:",
            *(f"  {name}: centre {c:.10g}, scale {s:.10g}" for name, c, s in units),
        ]


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
        residuals = self._residuals(theta, rows)
        slopes = (self.degrees + 1) / self.scale * residuals / (self.degrees + residuals**2)
        return (rows[:, 1:].T * slopes).T

    def bounded_scores(
        self, theta: np.ndarray, rows: np.ndarray, bound: float, ratio: float
    ) -> Scores:
        """Scores u x with u clipped to [-c, c], which is odd in the residual: the mean is zero.

        c is the largest that a row of these covariates may have. The slope is E[clip(u) u] x x'.
        """
        x = rows[:, 1:]
        squares = np.einsum("kd,kd->k", x, x)
        clips, slopes, variances = self.table_of_clips

        def size(c: np.ndarray) -> np.ndarray:
            slope = np.interp(c, clips, slopes)
            variance = np.interp(c, clips, variances)
            second = np.hypot(slope, SQUARES_RATIO * variance) * squares
            return np.hypot(c * np.sqrt(squares), ratio / math.sqrt(2) * second)

        c = largest_clip(size, bound, np.full(len(x), clips[-1]))
        residuals = self._residuals(theta, rows)
        u = (self.degrees + 1) / self.scale * residuals / (self.degrees + residuals**2)
        roots = x * np.sqrt(np.interp(c, clips, slopes))[:, None]
        return Scores(
            x * np.clip(u, -c, c)[:, None],
            c * np.sqrt(squares),
            roots[:, None, :],
            np.interp(c, clips, variances) * squares,
        )

    @cached_property
    def table_of_clips(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Clips c from 0 to the largest |u|, E[clip(u) u] and E[clip(u)^2], of errors of the model.

        u = k r / (nu + r^2) with k = (nu + 1) / scale.
        """
        nu, k = self.degrees, (self.degrees + 1) / self.scale
        clips = np.linspace(0, 1, CLIPS) * k / (2 * math.sqrt(nu))
        edges = np.linspace(0, 1, 100 * CLIPS + 1)
        middles = (edges[1:] + edges[:-1]) / 2
        # r = t / (1 - t) covers all positive residuals.
        r = middles / (1 - middles)
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - math.log(nu * math.pi) / 2
        density = np.exp(constant - (nu + 1) / 2 * np.log1p(r * r / nu)) / (1 - middles) ** 2
        u, masses = k * r / (nu + r * r), 2 * density * np.diff(edges)
        clipped = [np.minimum(u, c) for c in clips]
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
