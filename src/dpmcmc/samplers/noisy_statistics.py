"""Noisy sufficient statistics: one private sum of the rows, and the posterior that it gives.

The sum of the statistics t(x) of an exponential family is released once, with normal noise; draws
then cost nothing. Rows are clipped about a centre that is found in rounds: a wide ball first, then
a tight one about the answer (CoinPress, Biswas, Dong, Kamath and Ullman 2020, Algorithm 1). The
posterior is either that of the released sum as if it were exact, or the noise-aware one of
Bernstein and Sheldon (2018): by the central limit theorem the released sum is normal about
n E t(x), and its covariance n Cov t(x) + noise includes the noise for privacy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, cast

import numpy as np
from msgspec import Meta

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.samplers.given_total import GivenTotal
from dpmcmc.samplers.one_shot import OneShot
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, Numbers, Positive, Positives

CENTRE_MARGIN = 3.0  # standard deviations that a centre is hardly ever farther off than usual
ROW_MARGIN = 2.0  # of the last ball: one in some 300 normal rows is clipped, on no side more
DRAWS_AT_ONCE = 1000


class Released(NamedTuple):
    """Knowledge of the rows after the release."""

    total: np.ndarray  # (m,): sum of t(x), with noise
    sd: float  # standard deviation of that noise, in public units


@dataclass(frozen=True)
class NoisyStatistics(OneShot):
    """One noisy sum of the statistics of an `ExponentialFamily`. Draws of its posterior are free.

    Rows are clipped in public units z = W (t(x) - c). W whitens t(x) if the model knows its
    covariance; otherwise W follows from `statistic_scale`. In each round the sum of z, clipped to a
    ball of radius R, moves by at most 2 R when a row is replaced. Rounds are weighted by the
    precision of their noise.

    Attributes
    ----------
    noise_scale : float, optional
        1 / mu: the noise's *standard deviation* over the sensitivity, for all rounds together.
        By default it follows from the budget.
    rounds : int
        Each round except the last finds the centre of the next.
    last_share : float
        Share of mu^2 of the last round. The others have equal shares of the rest.
    first_radius : float, optional
        Radius of the first ball, in public units, about `first_centre`. By default the ball about
        the means of t(x) at draws of the prior, with room for the rows.
    first_centre : list of float, optional
        In the units of t(x), (m,); 0 by default, where a first radius is given.
    row_radius : float, optional
        How far rows are from their mean, in public units. The last ball is larger than this by the
        likely error of its centre. By default sqrt(m) + 2, which holds 997 of 1,000 normal
        rows.
    statistic_scale : float or list of float, optional
        Public standard deviations of t(x), (m,), for models whose covariance depends on theta.
    posterior : str
        "noise-aware", or "plug-in", which treats the released sum as if it had no noise.
    """

    noise_scale: Noise | None = None
    rounds: Annotated[int, Meta(ge=1, le=10)] = 3
    last_share: Annotated[float, Meta(gt=0, lt=1)] = 0.95
    first_radius: Positive | None = None
    first_centre: Numbers | None = None
    row_radius: Positive | None = None
    statistic_scale: Positive | Positives | None = None
    posterior: Literal["noise-aware", "plug-in"] = "noise-aware"

    def check(self) -> None:
        """Refuse a centre of a ball whose radius is not given."""
        if self.first_centre is not None and self.first_radius is None:
            raise ValueError("first_centre: needs a first_radius")

    @cached_property
    def shares(self) -> list[float]:
        """Share of mu^2 of each round."""
        if self.rounds == 1:
            return [1.0]
        first = (1 - self.last_share) / (self.rounds - 1)
        return [first] * (self.rounds - 1) + [self.last_share]

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Release the sum, round by round; the state is a draw of the posterior that it gives."""
        n, model = target.num_rows, cast(ExponentialFamily, target.model)
        scale = self.scale(model)
        m = len(scale)
        whiten = np.linalg.inv(scale)
        row_radius = self.row_radius or math.sqrt(m) + ROW_MARGIN
        centre, radius = self.first_ball(model, whiten, row_radius)
        mean, precision = np.zeros(m), 0.0  # of t(x), by all rounds so far, and of its noise
        for share in self.shares:
            sensitivity = 2 * radius
            sd = sensitivity * self.noise / math.sqrt(share)
            z, num_clipped = target.clipped_statistics(centre, whiten, radius)
            found = centre + scale @ (rng.add_noise(z, sensitivity, sd) / n)
            precision += 1 / (sd * sd)
            mean = mean + (found - mean) / (precision * sd * sd)
            # What that is off by: the mean of n rows, and the noise. Where the budget is so small
            # that a ball about it would be no smaller, the ball stays.
            mean_sd = math.sqrt(1 / n + 1 / (precision * n * n))
            next_radius = row_radius + mean_sd * (math.sqrt(m) + CENTRE_MARGIN)
            if next_radius < radius:
                centre, radius = mean, next_radius
        released = Released(n * mean, 1 / math.sqrt(precision))
        return self.next_draw(rng, model, released, []), Info(True, num_clipped / n)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw; it reads no row."""
        model = cast(ExponentialFamily, target.model)
        return self.next_draw(rng, model, *state.memory), Info(True, math.nan)

    def next_draw(
        self,
        rng: Streams,
        model: ExponentialFamily,
        released: Released,
        draws: Sequence[np.ndarray] | np.ndarray,
    ) -> State:
        """State after the first of some draws, which are made if there are none."""
        if not len(draws):
            draws = self.draws(rng.proposal, model, released, DRAWS_AT_ONCE)
        return State(draws[0], (released, draws[1:]))

    def draws(
        self, rng: np.random.Generator, model: ExponentialFamily, released: Released, size: int
    ) -> np.ndarray:
        """Draws of the posterior that the released sum gives, (size, d)."""
        T, n = model.likelihood_power, model.num_rows
        is_aware = self.posterior == "noise-aware"
        is_exact = type(model).sample_given_total is not ExponentialFamily.sample_given_total
        if is_exact and not is_aware:
            return model.sample_given_total(rng, released.total, size, T)
        if is_exact and model.has_constant_covariance:
            # n / T rows' covariance and the noise's, which is sd^2 of one row's: one power of it.
            power = 1 / (1 / T + released.sd * (released.sd / n))
            return model.sample_given_total(rng, released.total, size, power)
        noise = released.sd * self.scale(model) if is_aware else None
        return GivenTotal(model, released.total, noise).sample(rng, size)

    def scale(self, model: ExponentialFamily) -> np.ndarray:
        """Lower triangular factor (m, m) of the public covariance of t(x): the inverse of W."""
        if model.has_constant_covariance:
            return np.linalg.cholesky(model.statistic_covariance(None))
        if self.statistic_scale is None:
            raise ValueError(
                f"statistic_scale: must be given, as the covariance of the statistics of "
                f"{type(model).__name__} depends on theta"
            )
        m = model.num_statistics
        if isinstance(self.statistic_scale, list) and len(self.statistic_scale) != m:
            raise ValueError(
                f"statistic_scale: must be a number or a list of {m} numbers, "
                f"not {len(self.statistic_scale)}"
            )
        return np.diag(np.broadcast_to(np.asarray(self.statistic_scale, dtype=float), m))

    def first_ball(
        self, model: ExponentialFamily, whiten: np.ndarray, row_radius: float
    ) -> tuple[np.ndarray, float]:
        """Centre (m,), in the units of t(x), and radius of the first ball; they know no row."""
        if self.first_radius is not None:
            centre = np.zeros(len(whiten)) if self.first_centre is None else self.first_centre
            if len(centre) != len(whiten):
                raise ValueError(
                    f"first_centre: must be a list of {len(whiten)} numbers, not {len(centre)}"
                )
            return np.asarray(centre, dtype=float), self.first_radius
        try:
            means = model.prior_means
        except NotImplementedError as error:
            raise ValueError(f"first_radius: must be given, as {error}") from None
        centre = np.median(means, axis=0)
        distances = np.sqrt((((means - centre) @ whiten.T) ** 2).sum(axis=1))
        return centre, float(distances.max()) + row_radius
