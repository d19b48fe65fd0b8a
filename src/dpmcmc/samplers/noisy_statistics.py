"""Noisy sufficient statistics: one private sum of the rows, and the posterior that it gives.

The sum of the statistics t(x) of an exponential family is released with normal noise; draws then
cost nothing. Rows are clipped about a centre that is found in rounds: a wide ball first, then
tighter ones about the answer (CoinPress, Biswas, Dong, Kamath and Ullman 2020, Algorithm 1). The
posterior is that of the last sum, noise-aware after Bernstein and Sheldon (2018): by the central
limit theorem the sum is normal. Its mean and covariance are those of *clipped* rows
(docs/accounting.md), so that a small ball, which needs little noise, biases nothing if the rows
follow the model. A mean of known covariance is safe for rows of many other laws too: see
`dpmcmc.samplers.safe_radius`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.model import Model
from dpmcmc.samplers.clipped_law import FAR, Ball, DrawnLaw, NormalLaw, mixtures, normal_moments
from dpmcmc.samplers.given_total import GivenTotal
from dpmcmc.samplers.one_shot import OneShot, check_shares
from dpmcmc.samplers.row_laws import RowLaws, laws
from dpmcmc.samplers.safe_radius import (
    SHELLS_SENSITIVITY,
    SKEW_SENSITIVITY,
    FarRows,
    safe_radius,
    sums_of_far_rows,
)
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, Numbers, Positive, Positives, Shares

ROW_MARGIN = 1.0  # of the default row radius, beyond sqrt(m), of a mean of known covariance
HELD_MARGIN = 2.0  # of all others: one in some 300 normal rows is clipped
NEAR = 0.5  # variance of a centre, over a row's, with which the last radius can be found
SKEW_SHARE, TAILS_SHARE = 0.07, 0.03  # of mu^2, by which the last radius is found
SAFE_ROUNDS = 1 - SKEW_SHARE - TAILS_SHARE  # share of mu^2 that is left for the rounds
CENTRE_MARGIN = 3.0  # standard deviations that a centre is hardly ever farther off than usual
# Of mu^2, that are tried: most for the last round, and of the others each has four times the share
# of the one before.
SHARES = [
    (1.0,),
    *(
        (*((1 - last) * 4.0**i * 3 / (4.0**others - 1) for i in range(others)), last)
        for others in (1, 2, 3)
        for last in (0.8, 0.9, 0.95)
    ),
]
RADII = 24  # that are tried in each round
DRAWS_AT_ONCE = 1000
PROPOSAL_WIDTH = 1.2  # of a proposal's variance, over the target's
LEAST_ACCEPTED = 0.01  # of proposals; below, wider ones are tried, and HMC at last
WIDER = (1.0, 4.0, 16.0, 64.0, 1e4)  # variances of proposals, the last nearly those of the prior
LAWS = 4  # times that public draws are made at the mode, from the mode before


class Mean(NamedTuple):
    """What the rows say of the mean of z, in all."""

    offset: np.ndarray  # (m,)
    variance: float  # of a component: of the rows, the noise, and the bias that may be left


class Released(NamedTuple):
    """Knowledge of the rows after the release."""

    total: np.ndarray  # (m,): sum of the clipped z, with noise
    ball: Ball
    sd: float  # standard deviation of that noise
    mean: Mean | None = None  # where more is known than the sum


class Round(NamedTuple):
    """Settings of a round; they know no row."""

    share: float  # of mu^2
    radius: float


class Plan(NamedTuple):
    """All rounds. Where rows of many laws are allowed for, they decide the last radius."""

    rounds: list[Round]
    is_safe: bool = False
    error: float = math.nan  # mean variance of a component of the last centre, in public units


@dataclass(frozen=True)
class NoisyStatistics(OneShot):
    """One noisy sum of the statistics of an `ExponentialFamily`. Draws of its posterior are free.

    Rows are clipped in public units z = W (t(x) - c). W whitens t(x) if the model knows its
    covariance; otherwise W follows from `statistic_scale`. In each round the sum of z, clipped to a
    ball of radius R, moves by at most 2 R when a row is replaced. Each round except the last finds
    the centre of the next; the posterior is that of the last alone. What settings leave open
    follows from public numbers: the number of rows, the budget, the prior.

    Attributes
    ----------
    noise_scale : float, optional
        1 / mu: the noise's *standard deviation* over the sensitivity, for all rounds together.
        By default it follows from the budget.
    shares : list of float, optional
        Share of mu^2 of each round; they add up to 1.
    radii : list of float, optional
        Radius of the ball of each round, in public units. They need `shares`.
    first_radius : float, optional
        Radius of the first ball, in public units, about `first_centre`. By default the ball about
        the means of t(x) at draws of the prior, with room for the rows.
    first_centre : list of float, optional
        In the units of t(x), (m,); 0 by default, where a first radius is given.
    row_radius : float, optional
        Least radius of the later balls, in public units: the smaller, the less noise, and the more
        the answer relies on rows that follow the model. By default sqrt(m) + 2, which holds 997 of
        1,000 normal rows; sqrt(m) + 1 where `row_laws` is "model".
    row_laws : str
        Rows for which the answer holds, if they are of a mean of known covariance: "wide", those of
        some 350 public laws, skewed ones and counts among them; "narrow", of some 250; "model",
        of the model's law alone. The first two spend a tenth of mu^2 to find the last radius, and
        widen the answer by the bias that may be left. They are not used where `row_radius` or
        `radii` say how rows are clipped, nor where the budget is too small to find the rows.
    statistic_scale : float or list of float, optional
        Public standard deviations of t(x), (m,), for models whose covariance depends on theta.
    posterior : str
        "noise-aware", or "plug-in", which treats the released sum as if it had no noise.
    """

    noise_scale: Noise | None = None
    shares: Shares | None = None
    radii: Positives | None = None
    first_radius: Positive | None = None
    first_centre: Numbers | None = None
    row_radius: Positive | None = None
    statistic_scale: Positive | Positives | None = None
    posterior: Literal["noise-aware", "plug-in"] = "noise-aware"
    row_laws: RowLaws = "wide"

    def check(self) -> None:
        """Refuse shares and radii that do not go together, and a centre without a radius."""
        check_shares(self.shares)
        if self.radii is not None and len(self.radii) != len(self.shares or ()):
            raise ValueError("radii: must be as many as shares, one for each round")
        if self.first_centre is not None and self.first_radius is None:
            raise ValueError("first_centre: needs a first_radius")

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Release the sum, round by round; the state is a draw of the posterior that it gives."""
        model = cast(ExponentialFamily, target.model)
        scale = self.scale(model)
        whiten = np.linalg.inv(scale)
        centre, _ = self.first_ball(model, whiten)
        plan = self.plan(model)
        *locating, last = plan.rounds
        for share, radius in locating:
            released, _ = self.measure(rng, target, Ball(centre, whiten, radius), share)
            centre = centre + scale @ self.offset(model, released)
        if plan.is_safe:
            s = math.sqrt(1 + plan.error)
            released, info = self.measure_safely(rng, target, centre, whiten, s, last.share)
        else:
            ball = Ball(centre, whiten, last.radius)
            released, num_clipped = self.measure(rng, target, ball, last.share)
            info = Info(True, num_clipped / target.num_rows)
        return self.next_draw(rng, model, released, []), info

    def measure(
        self, rng: Streams, target: Target, ball: Ball, share: float
    ) -> tuple[Released, int]:
        """The clipped sum at a share of mu^2, and how many rows were clipped."""
        sensitivity = 2 * ball.radius
        sd = sensitivity * self.noise / math.sqrt(share)
        z, num_clipped = target.clipped_statistics(*ball)
        return Released(rng.add_noise(z, sensitivity, sd), ball, sd), num_clipped

    def measure_safely(
        self,
        rng: Streams,
        target: Target,
        centre: np.ndarray,
        whiten: np.ndarray,
        s: float,
        share: float,
    ) -> tuple[Released, Info]:
        """The last sum, with a radius and a correction by how skewed and how far rows are."""
        model, n, m = target.model, target.num_rows, len(centre)
        far = self.measure_far_rows(rng, target, centre, whiten, s)
        noise = self.noise / math.sqrt(share)
        power = model.likelihood_power
        found = safe_radius(far, laws(m, self.row_laws), n, power, noise)
        ball = Ball(centre, whiten, s * found.radius)
        released, num_clipped = self.measure(rng, target, ball, share)
        offset = released.total / (n * found.slope) - found.ratio * s * far.skew
        rows = max(s * s * found.rows_variance - (s * s - 1) / power, 1 / power) / n
        of_ratio, of_bias = s * s * found.ratio_variance, (s * found.bias) ** 2
        mean = Mean(offset, rows + (released.sd / (n * found.slope)) ** 2 + of_ratio + of_bias)
        info = Info(True, num_clipped / n, misfit=found.misfit)
        return released._replace(mean=mean), info

    def measure_far_rows(
        self, rng: Streams, target: Target, centre: np.ndarray, whiten: np.ndarray, s: float
    ) -> FarRows:
        """How skewed the rows are about a centre, and how many are far from it."""
        skew, shells = sums_of_far_rows(target.data, centre, whiten, s)
        n = target.num_rows
        skew_sd = SKEW_SENSITIVITY * self.noise / math.sqrt(SKEW_SHARE)
        shell_sd = SHELLS_SENSITIVITY * self.noise / math.sqrt(TAILS_SHARE)
        skew = rng.add_noise(skew, SKEW_SENSITIVITY, skew_sd) / n
        shells = rng.add_noise(shells, SHELLS_SENSITIVITY, shell_sd) / n
        return FarRows(skew, skew_sd / n, np.cumsum(shells[::-1])[::-1], shell_sd / n, s * s - 1)

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

    # -- What is chosen by public numbers ----------------------------------------------------------

    def chosen_settings(self, model: Model) -> dict[str, Any]:
        """Shares of mu^2 and radii of all rounds, by name; no radius that the rows decide."""
        plan = self.plan(cast(ExponentialFamily, model))
        if plan.is_safe:
            shares = [one.share / SAFE_ROUNDS for one in plan.rounds]
            return {"shares": shares, "row_laws": self.row_laws}
        return {
            "shares": [one.share for one in plan.rounds],
            "radii": [one.radius for one in plan.rounds],
        }

    def plan(self, model: ExponentialFamily) -> Plan:
        """All rounds: of those that are tried, the ones with the least error at the end.

        Errors follow round by round from the prior's, without a row.
        """
        if self.shares is not None and self.radii is not None:
            return Plan([Round(*one) for one in zip(self.shares, self.radii, strict=True)])
        is_wanted = self.row_laws != "model" and self.row_radius is None
        if is_wanted and is_mean(model):
            rounds, errors = self.best_rounds(model, ROW_MARGIN, SAFE_ROUNDS)
            if errors[-2] <= NEAR:
                return Plan(rounds, True, errors[-2])
        is_trusted = self.row_laws == "model" and is_mean(model)
        margin = ROW_MARGIN if is_trusted else HELD_MARGIN
        return Plan(self.best_rounds(model, margin)[0])

    def best_rounds(
        self, model: ExponentialFamily, margin: float, of_budget: float = 1.0
    ) -> tuple[list[Round], list[float]]:
        """Rounds with a part of mu^2, and the errors of `planned`."""
        whiten = np.linalg.inv(self.scale(model))
        _, reach = self.first_ball(model, whiten)
        row_radius = self.row_radius or math.sqrt(len(whiten)) + margin
        key = len(whiten), model.num_rows, self.noise / math.sqrt(of_budget), reach, row_radius
        tried = SHARES if self.shares is None else [tuple(self.shares)]
        known = self.first_radius, is_clip_known(model)
        plans = [planned(*key, shares, *known) for shares in tried]
        rounds, errors = min(plans, key=lambda plan: plan[1][-1])
        return [Round(of_budget * share, radius) for share, radius in rounds], errors

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

    def first_ball(self, model: ExponentialFamily, whiten: np.ndarray) -> tuple[np.ndarray, float]:
        """Centre (m,) of the first ball, in the units of t(x), and how far means are from it."""
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
        return centre, float(distances.max())

    # -- What follows from a noisy sum -------------------------------------------------------------

    def offset(self, model: ExponentialFamily, released: Released) -> np.ndarray:
        """D, (m,): mean of z whose clipped mean is that of the sum, at most the radius long."""
        mean, radius = released.total / model.num_rows, released.ball.radius
        length = math.sqrt(mean @ mean)
        found = length
        if is_clip_known(model):
            found = normal_moments(len(mean), radius).distance(length)
        return mean * (min(found, radius) / max(length, 1e-300))

    def draws(
        self, rng: np.random.Generator, model: ExponentialFamily, released: Released, size: int
    ) -> np.ndarray:
        """Draws of the posterior that the released sum gives, (size, d)."""
        n, T = model.num_rows, model.likelihood_power
        is_exact = type(model).sample_given_total is not ExponentialFamily.sample_given_total
        ball = released.ball
        scale = np.linalg.inv(ball.whiten)

        def sum_of(offset: np.ndarray) -> np.ndarray:
            return n * (ball.centre + scale @ offset)

        if released.mean is not None:
            offset, variance = released.mean
            if self.posterior == "plug-in":
                variance = 1 / (n * T)
            if is_exact:
                return model.sample_given_total(rng, sum_of(offset), size, 1 / (n * variance))
            more = math.sqrt(max(n * n * variance - n / T, 0.0)) * scale
            return GivenTotal(model, sum_of(offset), more).sample(rng, size)
        if self.posterior == "plug-in" and is_exact:
            return model.sample_given_total(rng, sum_of(self.offset(model, released)), size, T)
        if self.posterior == "plug-in":
            return GivenTotal(model, sum_of(self.offset(model, released))).sample(rng, size)
        if is_exact and model.has_constant_covariance and not is_clip_known(model):
            # n / T rows' covariance and the noise's, which is sd^2 of one row's: one power of it.
            power = 1 / (1 / T + released.sd * (released.sd / n))
            return model.sample_given_total(rng, sum_of(released.total / n), size, power)
        if is_exact and model.has_constant_covariance:
            return self.accepted(rng, model, released, size, sum_of)
        return self.by_hmc(rng, model, released, size)

    def accepted(
        self, rng: np.random.Generator, model: Any, released: Released, size: int, sum_of: Any
    ) -> np.ndarray:
        """Draws by rejection: the likelihood of the offset D is near a normal one.

        With the prior, a normal likelihood of D has exact draws. It is somewhat wider than the
        likelihood in all directions, so that their ratio is bounded.
        """
        n, T, ball = model.num_rows, model.likelihood_power, released.ball
        law, variance = NormalLaw(model, ball), released.sd**2
        offset = self.offset(model, released)
        r = np.array(math.sqrt(offset @ offset))
        mean, across, along = law.moments.at(r)
        informations = [
            (n * mean / np.maximum(r, 1e-12)) ** 2 / (n / T * across + variance),
            (n * law.moments.slope(r)) ** 2 / (n / T * along + variance),
        ]
        narrowest = float(min(informations)) / PROPOSAL_WIDTH
        for precision in narrowest / np.array(WIDER):
            kept: list[np.ndarray] = []
            most, tried = -math.inf, 0
            while sum(map(len, kept)) >= LEAST_ACCEPTED * tried:
                thetas = model.sample_given_total(rng, sum_of(offset), 2 * size, precision / n)
                means = np.array([model.statistic_mean(theta) for theta in thetas])
                offsets = (means - ball.centre) @ ball.whiten.T
                logs = law.log_density(offsets, released.total, n / T, variance)
                logs = logs + precision / 2 * ((offsets - offset) ** 2).sum(axis=1)
                most, tried = max(most, float(logs.max())), tried + len(logs)
                kept.append(thetas[-rng.standard_exponential(len(logs)) < logs - most])
                if sum(map(len, kept)) >= size:
                    return np.concatenate(kept)[:size]
        return self.by_hmc(rng, model, released, size)

    def by_hmc(
        self, rng: np.random.Generator, model: ExponentialFamily, released: Released, size: int
    ) -> np.ndarray:
        """Draws of HMC, for models whose posterior has no exact ones."""
        noise = released.sd * np.eye(len(released.total))
        if model.has_constant_covariance:
            law: Any = NormalLaw(model, released.ball)
            return GivenTotal(model, released.total, noise, law).sample(rng, size)
        scale = np.linalg.inv(released.ball.whiten)
        total = scale @ released.total + model.num_rows * released.ball.centre
        given = GivenTotal(model, total, released.sd * scale)  # as if nothing had been clipped
        if is_clip_known(model):
            for _ in range(LAWS):
                law = DrawnLaw(model, released.ball, given.mode()[0])
                given = GivenTotal(model, released.total, noise, law)
        return given.sample(rng, size)


def is_mean(model: ExponentialFamily) -> bool:
    """True if t(x) is normal with a known covariance: its mean is all that is asked for."""
    return model.has_constant_covariance and is_clip_known(model)


def is_clip_known(model: ExponentialFamily) -> bool:
    """True if the law of clipped rows is known, because the model says what rows are like."""
    return model.is_generative and type(model).simulate is not Model.simulate


@cache
def planned(
    size: int,
    num_rows: int,
    noise: float,
    reach: float,
    row_radius: float,
    shares: tuple[float, ...],
    first_radius: float | None,
    is_known: bool,
) -> tuple[list[Round], list[float]]:
    """Rounds, and the error (a mean variance, in public units) before them and after each.

    The centre of a ball is off by the prior's spread, then by the error of the round before. A
    later ball has the radius with the least error: a larger one has more noise, a smaller one clips
    more. It is at least the rows' own, and holds the mean wherever the mean may be: a ball that
    misses it says hardly more than its direction.

    Parameters
    ----------
    size, num_rows : int
        m and n.
    noise : float
        1 / mu.
    reach : float
        How far the mean may be from the first centre.
    row_radius : float
    shares : tuple of float
    first_radius : float or None
        None: as far as the mean and the rows reach.
    is_known : bool
        Whether the clip is accounted for; otherwise balls hold the rows.
    """
    rounds, radius, off = [], first_radius or reach + row_radius, reach
    before = reach**2 / size
    errors = [before]
    for i, share in enumerate(shares):
        if i:
            farthest = off * (1 + CENTRE_MARGIN / math.sqrt(size))
            held = row_radius + farthest
            radii = np.linspace(row_radius, held, RADII) if is_known else np.array([held])
            radii = np.maximum(radii, farthest)
            radii = np.minimum(radii, radius)
            of_radii = [error(size, num_rows, noise, share, R, off, is_known) for R in radii]
            radius = float(radii[int(np.argmin(of_radii))])
        rounds.append(Round(share, radius))
        found = error(size, num_rows, noise, share, radius, off, is_known)
        errors.append(found)
        before = min(before, found)
        off = math.sqrt(size * before)
    return rounds, errors


def error(
    size: int, num_rows: int, noise: float, share: float, radius: float, off: float, is_known: bool
) -> float:
    """Mean variance of a component of the mean by one round whose centre is so far off."""
    variance = (2 * radius * noise) ** 2 / share
    if not is_known:
        return (num_rows + variance) / num_rows**2
    shift, h = max(off - FAR, 0.0), 1e-3
    if radius <= shift:
        return math.inf
    radius, off = radius - shift, off - shift
    r = np.array([max(off - h, 0.0), off, off + h])
    a, b, g = mixtures(size, radius, r)
    along = b[1] + (g[1] - a[1] ** 2) * off**2
    slope = max(float((a[2] * r[2] - a[0] * r[0]) / (r[2] - r[0])), 1e-9)
    across = (num_rows * b[1] + variance) / (num_rows * a[1]) ** 2
    along = (num_rows * along + variance) / (num_rows * slope) ** 2
    return float((size - 1) * across + along) / size
