"""Normal columns whose means and standard deviations are unknown, in the units of their columns."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.laws import ERRORS, Law, normal, other_errors
from dpmcmc.models.normal_prior import NormalPrior
from dpmcmc.models.units import (
    Centres,
    Names,
    Ranges,
    Scales,
    check_numbers,
    check_ranges,
    numbers_of,
)
from dpmcmc.settings import Positive, Rows

MOST_LOG = 300.0  # of a standard deviation: then its square and one over it are numbers
SHORTEST, LONGEST = 1e-60, 1e60  # range, in scales: its square is a number
GRID = 4001  # log standard deviations, of which exact draws are made
GRIDS = 4  # one after the other, each where the one before has found the density
BEYOND = 5.0  # of the first grid, beyond what rows and prior say
NEGLIGIBLE = 40.0  # of ln of the density, below its greatest
LOG_SD = "log_sd_"  # before the name of a column
NEAR_END = 0.01  # of a range, from its ends: a simulated mean is no nearer


@dataclass(frozen=True)
class NormalColumns(NormalPrior, ExponentialFamily):
    """x_j ~ N(mu_j, sigma_j^2), columns independent; theta = (mu_1, ..., mu_p, ln sigma_1, ...).

    Rows are in public units z = (x - centre) / scale, and so are theta and its prior, in which all
    components are N(0, prior_variance). So say with a centre where the mean may be, and with a
    scale how far values are from each other; with prior variance 1 either may be wrong by some
    scales, and by a factor of ten. `in_file_units` gives draws back in the units of the columns.

    Statistic: t(x) = (z, z^2), m = 2 p.

    Attributes
    ----------
    variables : list of str
        Names of the columns.
    num_rows : int
        n.
    prior_variance : float
    centres, scales : float, list of float or map from names to float
        In the units of the columns: one number for all, one for each, or by name. They must be
        public: a mean of the data themselves would have to be released privately.
    ranges : map from names to [least, greatest], optional
        Of the columns that have one, in their units: `{age: [0, 120], married: [0, 1]}`. They must
        be public. A value beyond its range counts as the end of it.
    """

    variables: Names
    num_rows: Rows
    prior_variance: Positive
    centres: Centres = field(default=0.0, kw_only=True)
    scales: Scales = field(default=1.0, kw_only=True)
    ranges: Ranges | None = field(default=None, kw_only=True)

    # -- Settings ----------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse names, centres and scales that do not go together."""
        names = self.variables
        if len(set(names)) < len(names):
            raise ValueError(f"variables: must be different names: {', '.join(names)}")
        for name in ("centres", "scales"):
            check_numbers(name, getattr(self, name), len(names), names, "variable")
        check_ranges(self.ranges or {}, names)
        for name, (low, high) in zip(names, self.limits.tolist(), strict=True):
            if name not in (self.ranges or {}):
                continue
            if not SHORTEST < high - low < LONGEST:
                raise ValueError(
                    f"ranges: the range of {name} must be {SHORTEST:g} to {LONGEST:g} scales long"
                )
            if not low <= 0 <= high:
                raise ValueError(f"centres: the centre of {name} must be in its range")

    @property
    def num_columns(self) -> int:
        """Columns p."""
        return len(self.variables)

    @property
    def dimension(self) -> int:
        """d = 2 p."""
        return 2 * self.num_columns

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the columns."""
        return tuple(self.variables)

    def check_columns(self, columns: Sequence[str]) -> None:
        """Refuse columns that the settings do not name."""
        if tuple(columns) != self.columns:
            raise ValueError("columns: must be left out, because variables names them")

    @property
    def parameter_names(self) -> Sequence[str]:
        """Names of the components of theta."""
        return self.names_of(self.columns)

    def names_of(self, columns: Sequence[str]) -> Sequence[str]:
        """Names of the components of theta, by those of columns."""
        return [*columns, *(LOG_SD + name for name in columns)]

    @cached_property
    def _centres(self) -> np.ndarray:
        return numbers_of(self.centres, self.num_columns, self.variables)

    @cached_property
    def _scales(self) -> np.ndarray:
        return numbers_of(self.scales, self.num_columns, self.variables)

    @cached_property
    def limits(self) -> np.ndarray:
        """Least and greatest z of each column, (p, 2): infinite where it has no range."""
        everywhere = [-math.inf, math.inf]
        limits = np.array([(self.ranges or {}).get(name, everywhere) for name in self.variables])
        return (limits - self._centres[:, None]) / self._scales[:, None]

    # -- Rows --------------------------------------------------------------------------------------

    def prepare(self, rows: np.ndarray) -> np.ndarray:
        """z of rows (n, p) of a file."""
        return (rows - self._centres) / self._scales

    def statistics(self, rows: np.ndarray) -> np.ndarray:
        """t(x) of rows z (n, p), each within its range: (z, z^2), (2 p, n)."""
        values = np.clip(rows.T, self.limits[:, :1], self.limits[:, 1:])
        with np.errstate(over="ignore"):
            return np.concatenate([values, values**2])

    def simulate(self, rng: np.random.Generator, theta: np.ndarray | None = None) -> np.ndarray:
        """Statistics of a data set at theta, by default a draw of the prior, (2 p, n).

        Values of a column with a range do not follow the likelihood, which knows no ranges. They
        have a beta law on the range: often that of a flag, as theta often says a wide spread.
        """
        return self._simulated(rng, theta, normal)

    @property
    def other_laws(self) -> Mapping[str, str]:  # type: ignore[override]
        """Of columns without a range; none if all have one."""
        has_ranges = np.isfinite(self.limits[:, 0]).all()
        return {} if has_ranges else other_errors("skewed errors", "heavy tails")

    def simulate_as(self, law: str, rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
        """Statistics of a data set whose rows have another law, with the same mean and variance.

        Columns with a range keep their beta laws.
        """
        return self._simulated(rng, theta, ERRORS[law][0])

    def _simulated(
        self, rng: np.random.Generator, theta: np.ndarray | None, law: Law
    ) -> np.ndarray:
        means, sds = self.means_and_sds(self.sample_prior(rng) if theta is None else theta)
        errors = law(rng, (self.num_columns, self.num_rows))
        values = means[:, None] + sds[:, None] * errors
        for j in np.flatnonzero(np.isfinite(self.limits[:, 0])):
            values[j] = in_range(rng, self.limits[j], means[j], sds[j], self.num_rows)
        return self.statistics(values.T)

    # -- Likelihood --------------------------------------------------------------------------------

    def means_and_sds(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """mu and sigma of each column, (p,) both; sigma is a number wherever a search may look."""
        p = self.num_columns
        return theta[:p], np.exp(np.clip(theta[p:], -MOST_LOG, MOST_LOG))

    def ratio_coefficients(
        self, theta: np.ndarray, theta_new: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Slope (2 p,) and intercept of ln p(x|theta_new) - ln p(x|theta) as a function of t(x)."""
        (m, s), (m_new, s_new) = self.means_and_sds(theta), self.means_and_sds(theta_new)
        slopes = m_new / s_new**2 - m / s**2, 0.5 / s**2 - 0.5 / s_new**2
        log_normaliser = np.log(s_new / s) + 0.5 * ((m_new / s_new) ** 2 - (m / s) ** 2)
        return np.concatenate(slopes), float(log_normaliser.sum())

    def gradient_coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Jacobian (2 p, 2 p) and offset (2 p,) of grad ln p(x|theta) = J^T t(x) - g.

        With e = (z - mu) / sigma the gradient is (e / sigma, e^2 - 1).
        """
        m, s = self.means_and_sds(theta)
        precision = 1 / s**2
        zero = np.zeros((len(m), len(m)))
        jacobian = np.block(
            [[np.diag(precision), np.diag(-2 * m * precision)], [zero, np.diag(precision)]]
        )
        return jacobian, np.concatenate([m * precision, 1 - m * m * precision])

    def statistic_mean(self, theta: np.ndarray) -> np.ndarray:
        """(mu, mu^2 + sigma^2), (2 p,)."""
        m, s = self.means_and_sds(theta)
        return np.concatenate([m, m * m + s * s])

    def statistic_covariance(self, theta: np.ndarray | None) -> np.ndarray:
        """Covariance of (z, z^2), (2 p, 2 p)."""
        assert theta is not None
        m, s = self.means_and_sds(theta)
        variances, crossed = np.diag(s * s), np.diag(2 * m * s * s)
        squares = np.diag(2 * s**4 + 4 * (m * s) ** 2)
        return np.block([[variances, crossed], [crossed, squares]])

    # -- Posterior ---------------------------------------------------------------------------------

    def sample_posterior(
        self, rng: np.random.Generator, statistics: np.ndarray, size: int
    ) -> np.ndarray:
        """Draws of the posterior, (size, 2 p), exact to the fine grid of `sample_given_total`."""
        p = self.num_columns
        means = statistics[:p].mean(axis=1)
        squares = ((statistics[:p] - means[:, None]) ** 2).sum(axis=1)
        return self._draws(rng, means, squares, size, 1.0)

    def sample_given_total(
        self, rng: np.random.Generator, total: np.ndarray, size: int, power: float = 1.0
    ) -> np.ndarray:
        """Draws given the sum (2 p,) of t(x), (size, 2 p).

        Columns are independent. The density of ln sigma is a closed form, of which a fine grid is
        taken; given sigma the mean is normal.
        """
        p, n = self.num_columns, self.num_rows
        means = total[:p] / n
        return self._draws(rng, means, total[p:] - n * means**2, size, power)

    def _draws(
        self,
        rng: np.random.Generator,
        means: np.ndarray,
        squares: np.ndarray,
        size: int,
        power: float,
    ) -> np.ndarray:
        """Draws by means and sums of squared deviations of the columns, (p,) both."""
        draws = [
            self._draws_of_one(rng, *one, size, power) for one in zip(means, squares, strict=True)
        ]
        return np.concatenate([np.column_stack(part) for part in zip(*draws, strict=True)], axis=1)

    def _draws_of_one(
        self, rng: np.random.Generator, mean: float, squares: float, size: int, power: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws (size,) of the mean and of ln sigma of a column."""
        n, v = self.num_rows, self.prior_variance
        squares = max(squares, 1e-280)

        def log_density(logs: np.ndarray) -> np.ndarray:
            """Of ln sigma, with the mean integrated out."""
            variance = np.exp(2 * logs)
            of_mean = v + variance / (n * power)
            of_rows = -(power * n - 1) * logs - power * squares / (2 * variance)
            return of_rows - 0.5 * (np.log(of_mean) + mean * mean / of_mean) - logs**2 / (2 * v)

        of_rows = 0.5 * math.log(squares / n)
        logs, weights = on_grid(log_density, min(of_rows, 0.0), max(of_rows, 0.0))
        cumulated = np.concatenate([[0], np.cumsum((weights[1:] + weights[:-1]) / 2)])
        drawn = np.interp(rng.random(size) * cumulated[-1], cumulated, logs)
        variance = np.exp(2 * drawn) / (n * power)
        precision = 1 / v + 1 / variance
        noise = rng.standard_normal(size) / np.sqrt(precision)
        return mean / (variance * precision) + noise, drawn

    # -- Draws -------------------------------------------------------------------------------------

    def in_file_units(self, draws: np.ndarray) -> np.ndarray:
        """Draws (..., 2 p) of theta as means and log standard deviations of the columns."""
        p = self.num_columns
        means = self._centres + self._scales * draws[..., :p]
        return np.concatenate([means, np.log(self._scales) + draws[..., p:]], axis=-1)

    def units_in_words(self) -> list[str]:
        """The public numbers of the columns."""
        units = zip(self.variables, self._centres.tolist(), self._scales.tolist(), strict=True)
        ranges = self.ranges or {}

        def ends(name: str) -> str:
            return ", from {:.10g} to {:.10g}".format(*ranges[name]) if name in ranges else ""

        return [
            f"A component {LOG_SD}NAME is the natural logarithm of the standard deviation of NAME.",
            f"The prior has variance {self.prior_variance:.10g} for the mean of "
            "(column - centre) / scale, and for the logarithm of its standard deviation:",
            *(f"  {name}: centre {c:.10g}, scale {s:.10g}{ends(name)}" for name, c, s in units),
        ]


def on_grid(
    log_density: Callable[[np.ndarray], np.ndarray], low: float, high: float
) -> tuple[np.ndarray, np.ndarray]:
    """A fine grid of where a density is, and its weights there; first from low to high."""
    low, high = low - BEYOND, high + BEYOND
    for _ in range(GRIDS):
        logs = np.linspace(low, high, GRID)
        values = log_density(logs)
        values -= values.max()
        held = np.flatnonzero(values > -NEGLIGIBLE)
        low, high = logs[max(held[0] - 1, 0)], logs[min(held[-1] + 1, GRID - 1)]
    return logs, np.exp(values)


def in_range(
    rng: np.random.Generator, limits: np.ndarray, mean: float, sd: float, size: int
) -> np.ndarray:
    """Values (size,) of a beta law between two limits, (2,).

    They have that mean and standard deviation where the range allows it. A mean beyond an end is
    reflected there. Of a larger standard deviation than the range allows they have nearly the
    largest: then nearly all are at one end or the other.
    """
    least, greatest = limits
    length = greatest - least
    place = (mean - least) / length % 2
    share = min(max(min(place, 2 - place), NEAR_END), 1 - NEAR_END)
    largest = share * (1 - share)
    variance = min(min(sd / length, 1.0) ** 2 + 1e-12, (1 - NEAR_END) * largest)
    concentration = largest / variance - 1
    shares = rng.beta(share * concentration, (1 - share) * concentration, size)
    return least + length * shares
