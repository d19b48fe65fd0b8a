"""Models of an outcome given covariates, in the units of their columns."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpmcmc.models.laws import Law, normal, rare
from dpmcmc.models.normal_prior import NormalPrior
from dpmcmc.models.rows import RowsModel
from dpmcmc.models.units import Centres, Name, Names, Scales, check_numbers, numbers_of

INTERCEPT = "intercept"  # its name

# Names of laws of rows that every regression has beside its own.
RARE, LEVELLED = "rare covariates", "effects that level off"
OTHER_LAWS = {
    RARE: "by turns rare binary and of heavy tails",
    LEVELLED: "tanh(z) stands for each covariate z in the law of the outcome",
}
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
            given = getattr(self, name)
            check_numbers(name, given, self.num_covariates, self.covariates, "covariate")
        if np.any(self._centres) and not self.intercept:
            raise ValueError(
                "centres: must be 0 without intercept: true, which takes up what they shift"
            )

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
        """Refuse a wrong number of columns, and columns where the settings name them already."""
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
        return numbers_of(self.centres, self.num_covariates, self.covariates)

    @cached_property
    def _scales(self) -> np.ndarray:
        return numbers_of(self.scales, self.num_covariates, self.covariates)

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
        """Of covariates, of effects and of outcomes."""
        return {**OTHER_LAWS, **self.other_outcomes}

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
