"""A noisy histogram of the rows: one private release for a posterior of any shape.

A row counts in the public bins that are nearest to it, or in none. The counts are released once,
with noise, and draws of the posterior that they give cost nothing. Modes may be several and of any
form, because no normal approximation of the posterior is made; but the bins must be few, so rows
have one or two entries.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.model import Model
from dpmcmc.models.rows import RowsModel
from dpmcmc.samplers.at_mode import AtMode
from dpmcmc.samplers.on_grid import draws_on_grid
from dpmcmc.samplers.one_shot import OneShot
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, Number, Numbers

SENSITIVITY = math.sqrt(2)  # a row that is replaced leaves some bins for others
WEIGHT_BITS = 24  # of a row's weights: sums of them are exact up to 2^29 rows
MOST_BINS = 100_000
ROWS_AT_ONCE = 2**16
PUBLIC_ROWS = 1_000_000  # simulated at a theta, by which the shares of the bins are known there
GUESSES = 500  # draws of the prior, of which the best is where the fit starts
ROWS_OF_A_GUESS = 1000
FITS = 8  # times that rows are simulated at the theta fitted before
DRAWS_AT_ONCE = 1000
OTHER_WEIGHTS = (4.0, 0.01, 1e-4, 0.0)  # factors of the noise's variance


class Bins(NamedTuple):
    """Public bins of rows: a box, cut into equal parts along each entry."""

    low: np.ndarray  # (p,)
    width: np.ndarray  # (p,) of a bin
    numbers: tuple[int, ...]

    @property
    def centres(self) -> np.ndarray:
        """Centres, (bins, p)."""
        axes = [
            low + width * (np.arange(number) + 0.5)
            for low, width, number in zip(*self, strict=True)
        ]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))

    def counts(self, rows: np.ndarray) -> np.ndarray:
        """Rows (n, p) about each centre, (bins,); those outside, or not finite, count nowhere.

        A row is shared by the centres around it, so that its place is their weighted mean (linear
        binning). If all of a row counted in one bin, rows that are rounded, to values near an edge
        of bins, would move the answer. The weights are positive and sum to 1.
        """
        total, last = np.zeros(math.prod(self.numbers)), np.array(self.numbers) - 1
        parts = 2.0 ** (WEIGHT_BITS // len(last))
        for start in range(0, len(rows), ROWS_AT_ONCE):
            with np.errstate(all="ignore"):
                places = (rows[start : start + ROWS_AT_ONCE] - self.low) / self.width
                is_inside = ((places >= 0) & (places < self.numbers)).all(axis=1)  # NaN is not
            places = np.clip(places[is_inside] - 0.5, 0, last)  # from the first centre
            below = np.minimum(places.astype(int), last - 1)
            upper = np.rint((places - below) * parts) / parts
            for corner in product((0, 1), repeat=len(last)):
                weights = np.prod(np.where(corner, upper, 1 - upper), axis=1)
                cells = np.ravel_multi_index(tuple((below + corner).T), self.numbers)
                total += np.bincount(cells, weights, minlength=len(total))
        return total


@dataclass(frozen=True)
class NoisyHistogram(OneShot):
    """Noisy counts of the rows in public bins. Draws of the posterior are free.

    For models that can simulate rows, and compute with them in NumPy (`RowsModel`), or with the
    statistics of an `ExponentialFamily`, which are then its rows. The simulated rows say how many
    of all are in each bin, so what a row holds beside outcomes must be as the model simulates it.

    Attributes
    ----------
    low, high : float or list of float
        Ends of the box along each entry of a row. Choose them without the data, and wide: far
        empty bins cost nothing. Rows outside count nowhere, so they say nothing of the tails. That
        biases nothing where rows follow the model.
    bins : int or list of int
        Along each entry, and at least two. Narrower ones than the standard deviation of a row by a
        factor of four lose hardly anything. A row counts in the bins whose centres are around it,
        in each by a share.
    noise_scale : float, optional
        1 / mu: the noise's *standard deviation* over the sensitivity, sqrt(2). By default it
        follows from the budget.
    """

    low: Number | Numbers
    high: Number | Numbers
    bins: (
        Annotated[int, Meta(ge=2, le=MOST_BINS)]
        | Annotated[list[Annotated[int, Meta(ge=2, le=MOST_BINS)]], Meta(min_length=1)]
    )
    noise_scale: Noise | None = None

    def check(self) -> None:
        """Refuse a box without inside."""
        if not (np.asarray(self.low) < np.asarray(self.high)).all():
            raise ValueError(f"high: must be above low, {self.low}, not {self.high}")

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Release the counts; the state is a draw of the prior, and the first step fits them."""
        model, bins = target.model, self.bins_of(target.model)
        counts = bins.counts(rows_of(model, target.data))
        sd = SENSITIVITY * self.noise
        noisy = rng.add_noise(counts, SENSITIVITY, sd)
        outside = 1 - counts.sum() / target.num_rows
        return State(model.sample_prior(rng.proposal), (noisy, [])), Info(True, outside)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw; it reads no row. The first one says how the answer fits."""
        model, (posterior, draws), misfit = target.model, state.memory, math.nan
        if not isinstance(posterior, Counted):
            variance = (SENSITIVITY * self.noise) ** 2
            posterior = fitted(model, self.bins_of(model), posterior, variance)
            misfit = posterior.misfit()
        if not len(draws):
            draws = draws_of(posterior, rng.proposal, DRAWS_AT_ONCE)
        return State(draws[0], (posterior, draws[1:])), Info(True, math.nan, misfit=misfit)

    def bins_of(self, model: Model) -> Bins:
        """The bins for rows of the model.

        Raises
        ------
        ValueError
            For another number of entries, too many bins, or a model that cannot have them.
        """
        length = length_of(model)
        parts = []
        for name in ("low", "high", "bins"):
            value = getattr(self, name)
            if isinstance(value, list) and len(value) != length:
                raise ValueError(
                    f"{name}: must be a number or a list of {length} numbers, as a row of "
                    f"{type(model).__name__} has, not {len(value)}"
                )
            parts.append(np.broadcast_to(np.asarray(value), length))
        low, high, numbers = parts
        if (total := math.prod(numbers.tolist())) > MOST_BINS:
            raise ValueError(f"bins: must be at most {MOST_BINS:,} in all, not {total:,}")
        return Bins(low.astype(float), (high - low) / numbers, tuple(numbers.tolist()))


class Public(NamedTuple):
    """Shares of the bins, (bins,), and mean gradient of a row, (d,), in rows of a theta."""

    shares: np.ndarray
    score: np.ndarray


class Counted(AtMode):
    """Posterior of theta given noisy counts h of bins: h_b has mean n p_b and variance n p_b + s^2.

    ln prior + power sum_b k_b (h_b l_b - n p_b), where l_b is the log-likelihood of the bin's
    centre, and k_b = n q_b / (n q_b + s^2) has the shares q of the bins at a fixed theta. The
    gradient of the sum has mean 0 at the true theta, and far empty bins, whose counts are noise,
    have no weight. Without noise it is the tempered likelihood of the counts.

    Parameters
    ----------
    model : Model
    centres : (bins, p) array
    noisy : (bins,) array
        h.
    variance : float
        s^2, of the noise.
    theta : (d,) array
        Where the weights are fixed.
    public : Public
        Shares q of the bins and mean score of rows that are simulated at theta. The expected score
        is 0. Chance moves the mean score and the sum of q_b times the gradient of l_b alike.
    """

    def __init__(
        self,
        model: Model,
        centres: np.ndarray,
        noisy: np.ndarray,
        variance: float,
        theta: np.ndarray,
        public: Public,
    ) -> None:
        shares, is_held = public.shares, public.shares > 0
        self.model, self.theta = model, theta
        self._all = centres, noisy, variance, public
        self._rows, self._noisy = centres[is_held], noisy[is_held]
        self._expected = model.num_rows * shares[is_held]
        self._weights = self._expected / (self._expected + variance)
        slopes = gradients(model, theta, self._rows)

        def information(weights: np.ndarray) -> np.ndarray:
            return slopes.T @ (weights[:, None] * slopes)

        kept = information(self._weights * self._expected)
        share = kept @ np.linalg.pinv(information(self._expected))
        self._chance = share @ (model.num_rows * public.score)
        # T where there is no noise, 1 where T = 1: the width of the tempered, noisy posterior.
        of_noise = self._weights**2 * (self._expected / model.likelihood_power + variance)
        ratio = np.trace(np.linalg.pinv(kept) @ information(of_noise))
        self.power = float(model.dimension / ratio)

    @cached_property
    def _origin(self) -> np.ndarray:
        """Start of the search of the mode: from far away it could go astray."""
        return self.theta

    def log_density(self, theta: np.ndarray) -> float:
        """ln of the density at theta, up to a constant; -inf outside of the prior's support."""
        prior = self.model.log_prior_ratio(self.theta, theta)
        if not prior > -math.inf:
            return -math.inf
        with np.errstate(all="ignore"):
            change = log_ratios(self.model, self.theta, theta, self._rows)
            terms = self._noisy * change - self._expected * np.expm1(change)
            value = float(self._weights @ terms + self._chance @ (theta - self.theta))
            value = prior + self.power * value
        return value if math.isfinite(value) else -math.inf

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Its gradient, (d,)."""
        change = log_ratios(self.model, self.theta, theta, self._rows)
        with np.errstate(all="ignore"):
            excess = self._weights * (self._noisy - self._expected * np.exp(change))
        slopes = gradients(self.model, theta, self._rows)
        of_rows = excess @ slopes + self._chance
        return self.power * of_rows + self.model.grad_log_prior(theta)

    def information(self, theta: np.ndarray) -> np.ndarray:
        """Expected curvature (d, d) of the likelihood."""
        with np.errstate(all="ignore"):
            change = log_ratios(self.model, self.theta, theta, self._rows)
            weights = self.power * self._weights * self._expected * np.exp(np.minimum(change, 50))
        slopes = gradients(self.model, theta, self._rows)
        return slopes.T @ (weights[:, None] * slopes)

    def misfit(self) -> float:
        """How far apart answers with other weights are, in standard deviations of that distance.

        The other weights are those for more noise, which count rows in full bins alone, and for
        less or none, which count rows wherever they are. If rows follow the model, all answers are
        the same but for noise. Each is one Newton step from theta. The largest distance of a
        component counts, or that of the number of rows in the box from what is expected.
        """
        centres, noisy, variance, public = self._all
        expected, variance = self.model.num_rows * public.shares, max(variance, 1e-100)
        with np.errstate(all="ignore"):
            slopes = gradients(self.model, self.theta, centres)
        slopes[~np.isfinite(slopes).all(axis=1)] = 0

        def of_counts(weights: np.ndarray) -> np.ndarray:
            """How an answer depends on the counts, (d, bins)."""
            weighted = weights[:, None] * slopes
            return np.linalg.pinv(weighted.T @ (expected[:, None] * slopes)) @ weighted.T

        def apart(factor: float) -> np.ndarray:
            """Distances of an answer from this one."""
            weights = expected / (expected + factor * variance) if factor else np.ones(len(noisy))
            difference = of_counts(weights) - own
            sd = np.sqrt(difference**2 @ of_shares)
            return np.abs(difference @ (noisy - expected)) / np.where(sd > 0, sd, math.inf)

        own = of_counts(expected / (expected + variance))
        # Counts differ by chance, and so do the shares of the simulated rows.
        of_shares = expected * (1 + self.model.num_rows / PUBLIC_ROWS) + variance
        of_total = abs((noisy - expected).sum()) / math.sqrt(of_shares.sum())
        return float(max(of_total, *(apart(factor).max() for factor in OTHER_WEIGHTS)))


def draws_of(posterior: Counted, rng: np.random.Generator, size: int) -> np.ndarray:
    """Draws of the posterior, (size, d)."""
    if posterior.model.dimension > 2:
        return posterior.sample(rng, size)
    return draws_on_grid(rng, posterior.log_density, prior_box(posterior.model), size)


def fitted(model: Model, bins: Bins, noisy: np.ndarray, variance: float) -> Counted:
    """The posterior with weights and shares at its own mode, found by turns from a public guess.

    A step that ends outside of the box of the prior's draws ends on its edge.
    """
    thetas, shares = guesses(model, bins)
    expected = model.num_rows * shares
    spread = expected + variance
    misfit = ((noisy - expected) ** 2 / spread + np.log(spread)).sum(axis=1)
    theta, box = thetas[int(misfit.argmin())], prior_box(model)
    for _ in range(FITS):
        posterior = Counted(
            model, bins.centres, noisy, variance, theta, public_at(model, bins, theta)
        )
        theta = np.clip(posterior.mode(theta)[0], *box)
    return posterior


def public_at(model: Model, bins: Bins, theta: np.ndarray) -> Public:
    """Shares and mean score of PUBLIC_ROWS rows at theta."""
    rows, score = public_rows(model, theta, PUBLIC_ROWS), np.zeros(model.dimension)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        score += gradients(model, theta, rows[start : start + ROWS_AT_ONCE]).sum(axis=0)
    return Public(bins.counts(rows) / len(rows), score / len(rows))


def public_rows(model: Model, theta: np.ndarray, number: int) -> np.ndarray:
    """So many rows (number, p) that are simulated at theta, always the same."""
    simulated: Any = replace(model, num_rows=number)
    return rows_of(model, simulated.simulate(np.random.default_rng(0), theta))


def public_thetas(model: Model) -> np.ndarray:
    """Draws of the prior, always the same, (GUESSES, d)."""
    rng = np.random.default_rng(0)
    return np.array([model.sample_prior(rng) for _ in range(GUESSES)])


def guesses(model: Model, bins: Bins) -> tuple[np.ndarray, np.ndarray]:
    """Draws of the prior, (GUESSES, d), and the shares of the bins at each."""
    thetas = public_thetas(model)
    counts = [bins.counts(public_rows(model, theta, ROWS_OF_A_GUESS)) for theta in thetas]
    return thetas, np.array(counts) / ROWS_OF_A_GUESS


def prior_box(model: Model) -> np.ndarray:
    """Least and largest of the prior's draws, with a tenth of their distance more: (2, d)."""
    thetas = public_thetas(model)
    low, high = thetas.min(axis=0), thetas.max(axis=0)
    return np.array([low - 0.1 * (high - low), high + 0.1 * (high - low)])


# -- Rows of a model -------------------------------------------------------------------------------


def length_of(model: Model) -> int:
    """Entries of a row; a ValueError for models whose rows are of no use here."""
    if not model.is_generative or type(model).simulate is Model.simulate:
        raise ValueError(f"model: must be able to simulate, which {type(model).__name__} cannot")
    if isinstance(model, ExponentialFamily):
        return model.num_statistics
    if isinstance(model, RowsModel):
        return model.row_length
    raise ValueError(
        f"model: must be a RowsModel or an ExponentialFamily, not {type(model).__name__}"
    )


def rows_of(model: Model, data: np.ndarray) -> np.ndarray:
    """Rows (n, p) of a data set."""
    return data.T if isinstance(model, ExponentialFamily) else data


def log_ratios(
    model: Any, theta: np.ndarray, theta_new: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """ln p(x|theta_new) - ln p(x|theta) of rows (k, p), (k,)."""
    if isinstance(model, ExponentialFamily):
        slope, intercept = model.ratio_coefficients(theta, theta_new)
        return rows @ slope - intercept
    return model.log_likelihood_ratio(theta, theta_new, rows)


def gradients(model: Any, theta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Gradients of ln p(x|theta) of rows (k, p), (k, d)."""
    if isinstance(model, ExponentialFamily):
        jacobian, offset = model.gradient_coefficients(theta)
        return rows @ jacobian - offset
    return model.gradient(theta, rows)
