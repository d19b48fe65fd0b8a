"""Noisy least squares: linear regression by a few private steps, the last two in a found metric.

Each step releases noisy counts of residuals, which say how large and how skewed errors are, then
the sum of clipped residuals times covariates and of their slopes, together, with normal noise
(`dpmcmc.samplers.clipped_residuals`). The first steps find the coefficients roughly, and second
moments of the covariates. These give a metric in which all directions of the covariates are alike,
so that one clip does justice to all, rare and frequent ones. The last two steps, in that metric,
give the answer: as that of `dpmcmc.samplers.noisy_newton`, it is drawn with the information
itself unknown.

Clipped errors say of an intercept where their middle is, and not their mean. What is left of the
budget buys mean and standard deviation of residuals, as those of a column of values of any law
(`dpmcmc.samplers.one_column`).
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from dpmcmc.likelihoods.information import as_matrix
from dpmcmc.likelihoods.target import Target, check_bound
from dpmcmc.models.linear_regression import LinearRegression
from dpmcmc.models.model import Model
from dpmcmc.samplers import far_outcomes
from dpmcmc.samplers.clipped_residuals import (
    BOUNDS,
    PLACES,
    SAMPLING_MARGIN,
    SENSITIVITY,
    ClippedResiduals,
    Design,
    best_of,
    clipped_variance,
)
from dpmcmc.samplers.column_range import Normal as KnownNormal
from dpmcmc.samplers.column_scale import SQUARES_SENSITIVITY, Place
from dpmcmc.samplers.drawn_information import (
    Information,
    LocalPrior,
    Mixture,
    Normal,
    Released,
    Slope,
    answer_of,
    belief_after,
    wider,
)
from dpmcmc.samplers.error_scale import Counts, ErrorScale, LogLikelihood, squares_of
from dpmcmc.samplers.far_outcomes import Far
from dpmcmc.samplers.metric import Metric
from dpmcmc.samplers.newton_settings import with_rows
from dpmcmc.samplers.one_column import Column, released_column
from dpmcmc.samplers.one_shot import OneShot, check_shares
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, Part, Shares

ANSWERING = 2  # last steps, of which the answer is
# The first four find coefficients from far away, in units of an error, for little.
SHARES = [0.02, 0.03, 0.05, 0.1, 0.3, 0.5]
COUNTS_SHARE = 0.05  # of the mu^2 of a step, for counts of residuals
ERRORS_SHARE = 0.2  # of all, for mean and standard deviation of errors in the end
# Of that, for sum and squares of each round.
ROUND_SHARES = [(0.03, 0.06), (0.04, 0.1)]
MOST_NOISE = 0.4  # of the mean square of a round, in squares of sigma
# Standard deviation, in sigmas, of the way from the middle of errors to their mean; that of
# exponential ones is .31 to their median.
SKEWNESS = 0.25
PUBLIC_ROWS = 1024


class Step(NamedTuple):
    """A step, in a metric.

    What it released is divided by the mean of M, so that all steps have one information: the sum of
    x x'.
    """

    scores: ClippedResiduals
    released: Released
    num_rows: int
    before: ErrorScale
    by_counts: LogLikelihood

    def slope(self, belief: Normal, information: np.ndarray) -> Slope:
        """Slope of its scores over a belief, whose directions count by their information.

        How long the way to the coefficients is, the counts of residuals say as well.
        """
        size = self.scores.design.size
        moments = information * (size / information.trace())
        squares = squares_of(belief, self.released.theta, moments)
        return self.scores.slope(
            self.num_rows, self.before.squares_given(self.by_counts, squares, PLACES) / size
        )

    @property
    def expected(self) -> np.ndarray:
        """Information of public rows, (p, p)."""
        return self.num_rows * self.scores.design.moments


@dataclass(frozen=True)
class NoisyLeastSquares(OneShot):
    """Private steps of a linear regression; draws of the posterior they give are free.

    Errors need not be normal: coefficients are honest for errors of many laws, skewed ones too, as
    long as a model with an intercept has one law for all rows. Without an intercept errors are
    taken as symmetric. Covariates may be long.

    Attributes
    ----------
    noise_scale : float, optional
        1 / mu: the noise's *standard deviation* over the sensitivity, of all that is released. By
        default it follows from the budget.
    clip_noise : float, optional
        Each step has the bound B that is best with this `noise_scale`, by what was released before
        and public rows. By default that is the noise itself. `check` keeps it where it leaves the
        noise out.
    shares : list of float
        Share of each step of the mu^2 that the steps have; they add up to 1.
    errors_share : float, optional
        Of mu^2, for mean and standard deviation of residuals at the end. By default a fifth. With
        so few rows or so small a budget that these are not found, it is 0: then the intercept is
        as uncertain as errors may be skewed, and ln sigma is that of normal errors.
    fit_share : float
        As of `NoisyNewton`: of mu^2, for counts of outcomes that are far out. They say if errors
        are not normal.
    """

    noise_scale: Noise | None = None
    clip_noise: Noise | None = None
    shares: Shares | None = None
    errors_share: Part | None = None
    fit_share: Part = 0.03

    normal_approximation = True

    def check(self) -> None:
        """Refuse shares that do not add up to 1, a single step, and counts that leave nothing."""
        check_shares(self.shares)
        steps = len(self.shares or SHARES)
        if steps < ANSWERING:
            raise ValueError(f"shares: must be at least {ANSWERING}, not {steps}")
        most = 1 - (ERRORS_SHARE if self.errors_share is None else self.errors_share)
        if self.fit_share >= most:
            raise ValueError(f"fit_share: must be below {most:g}, not {self.fit_share:g}")

    def chosen_settings(self, model: Model) -> dict[str, Any]:
        """Noise for which clips are best, and shares; ValueError for a model of another kind."""
        return {
            "clip_noise": self.clip_noise or self.noise,
            "shares": self.shares or SHARES,
            "errors_share": self.share_of_errors(checked(model).num_rows),
        }

    def share_of_errors(self, num_rows: int) -> float:
        """`errors_share`, or what is chosen."""
        if self.errors_share is not None:
            return self.errors_share
        share = ERRORS_SHARE * min(of_squares for _, of_squares in ROUND_SHARES)
        noise = SQUARES_SENSITIVITY * self.noise / math.sqrt(share) / num_rows
        return ERRORS_SHARE if noise <= MOST_NOISE else 0.0

    def shares_of_steps(self, num_rows: int) -> list[float]:
        """Shares of the whole mu^2 for scores, step by step; counts of residuals have the rest."""
        of_steps = (1 - self.share_of_errors(num_rows) - self.fit_share) * (1 - COUNTS_SHARE)
        return [of_steps * share for share in self.shares or SHARES]

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """All steps, each from what was released before; then the answer of the last two."""
        model = checked(target.model)
        covariates, n = target.data[:, 1:], target.num_rows
        p = covariates.shape[1]
        design = public_design(model)
        steps: list[Step] = []
        belief = prior = Normal(np.zeros(p), model.prior_variance * np.eye(p))
        scale = ErrorScale.prior(model.prior_variance)
        shares = self.shares_of_steps(n)
        first = len(shares) - ANSWERING  # of the answer
        is_located = not model.intercept
        for i, share in enumerate(shares):
            if i == first and steps:
                design, steps = whitened(design, steps), []
            residuals = residuals_of(target.data, belief.mean)
            counts = Counts.of(rng, residuals, model.prior_variance, self.noise_of_counts(share))
            location = 0.0 if is_located else counts.location
            is_located |= counts.are_precise
            residuals = residuals - location
            belief = design.metric.within(wider(belief, prior) if i else belief)
            belief = moved(belief, location, design.metric)
            squares = squares_of(belief, belief.mean, design.moments)
            before, by_counts = scale, counts.log_likelihood(location)
            scale = before.given(by_counts, squares)
            lengths = before.squares_given(by_counts, squares, PLACES)
            spread = float(lengths.mean()) / design.size
            if i <= first:  # the steps of the answer have one bound
                of_bound = share if i < first else sum(shares[first:])
                bound = self.best_bound(design, scale, spread, of_bound, n)
            scores = ClippedResiduals(design, bound, math.exp(scale.mean), spread)
            if model.intercept and counts.are_precise:
                scores, middle = centred(scores, counts, location)
                residuals, belief = residuals - middle, moved(belief, middle, design.metric)
            theta = belief.mean
            found, num_clipped = self.measure(rng, scores, theta, covariates, residuals, share)
            step = Step(scores, found, n, before, by_counts)
            steps.append(step)
            released = [one.released for one in (steps if i > first else [step])]
            information = Information.of(released, step.expected, math.inf)
            slope = partial(step.slope, information=information.estimate)
            belief = belief_after(found, belief, information, 1.0, slope)
            belief = design.metric.outside(belief)
        answer, misfit = self.answer(rng, target, design, steps, belief, scale)
        theta = np.append(answer.normal.mean[:p], scale.mean)
        far = self.far_outcomes(rng, target, theta, scale, squares)
        info = Info(True, math.nan, num_clipped / n, misfit=misfit, far=far)
        return State(answer.draw(rng.proposal), answer), info

    def answer(
        self,
        rng: Streams,
        target: Target,
        design: Design,
        steps: list[Step],
        belief: Normal,
        scale: ErrorScale,
    ) -> tuple[Mixture, float]:
        """Posterior of theta by the last steps and by residuals at their answer; and its misfit."""
        model, metric = checked(target.model), design.metric
        sigma, prior_variance = math.exp(scale.mean), model.prior_variance
        skewness = (SKEWNESS * sigma) ** 2 if model.intercept else 0.0
        variances = np.full(len(belief.mean), prior_variance)
        variances[0] += skewness
        prior = LocalPrior(np.diag(1 / variances), np.zeros(len(variances)), 1.0)
        released = [step.released for step in steps]
        information = Information.of(released, steps[-1].expected, math.inf)
        H = information.estimate
        slopes = [partial(step.slope, information=H) for step in steps]
        belief, prior = metric.within(belief), metric.prior_within(prior)
        answer, misfit = answer_of(rng.proposal, released, slopes, information, belief, prior)
        squares = squares_of(answer.normal, answer.normal.mean, design.moments)
        answer = metric.answer_outside(answer)
        errors = self.errors(rng, target, answer.normal.mean, sigma)
        if errors:
            log_sd = errors.log_sd
            of_prior = abs(log_sd.mean) / math.sqrt(prior_variance + log_sd.variance)
            misfit = max(misfit, errors.misfit, of_prior)
            likelihood = log_likelihood_of(log_sd)
            scale = ErrorScale.prior(prior_variance).exactly_given(likelihood, squares)
        if model.intercept:
            moments = (metric.inverse @ H @ metric.inverse)[0]  # of the covariates with 1
            mean = errors.mean if errors else KnownNormal(0.0, math.inf)
            answer = with_mean(answer, moments / moments[0], skewness, prior_variance, mean)
        return with_scale(answer, scale), misfit

    def errors(
        self, rng: Streams, target: Target, theta: np.ndarray, sigma: float
    ) -> Column | None:
        """Mean and standard deviation of residuals at theta, if there is a share for them."""
        share = self.share_of_errors(target.num_rows)
        if not share:
            return None
        residuals, noise = residuals_of(target.data, theta), self.noise / math.sqrt(share)
        place, power = Place(0.0, sigma), target.model.likelihood_power
        return released_column(rng, residuals, place, ROUND_SHARES, 0.0, "wide", power, noise)[0]

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw; it reads no row."""
        answer: Mixture = state.memory
        return State(answer.draw(rng.proposal), answer), Info(True, math.nan)

    def noise_of_counts(self, share: float) -> float:
        """`noise` of counts of residuals, beside scores with a share of mu^2."""
        return self.noise * math.sqrt((1 - COUNTS_SHARE) / (COUNTS_SHARE * share))

    def best_bound(
        self, design: Design, scale: ErrorScale, spread: float, share: float, num_rows: int
    ) -> float:
        """B of scores with a share of mu^2."""
        noise, sigma = (self.clip_noise or self.noise) / math.sqrt(share), math.exp(scale.mean)

        def after(bound: float) -> float:
            scores = ClippedResiduals(design, bound, sigma, spread)
            return scores.spread_after(num_rows, noise)

        return best_of(BOUNDS * ClippedResiduals(design, 1.0, sigma, spread).unit, after)

    def measure(
        self,
        rng: Streams,
        scores: ClippedResiduals,
        theta: np.ndarray,
        covariates: np.ndarray,
        residuals: np.ndarray,
        share: float,
    ) -> tuple[Released, int]:
        """`Released` at a share of mu^2, at theta within the metric; the number of clipped rows."""
        B, b, p = scores.bound, scores.ratio, len(theta)
        check_bound(B)
        gradient, information, num_clipped = scores.sums(covariates, residuals)
        sd = SENSITIVITY * B * self.noise / math.sqrt(share)
        noisy = rng.add_noise(np.append(gradient, b * information), SENSITIVITY * B, sd)
        slope = scores.mean_slope(scores.spread)
        gradient, information, sd = noisy[:p] / slope, noisy[p:] / (b * slope), sd / slope
        part = SAMPLING_MARGIN * scores.sampling / slope**2
        squares = part * float(as_matrix(information, p).trace())
        return Released(theta, gradient, sd, information, sd / b, squares), num_clipped

    def far_outcomes(
        self,
        rng: Streams,
        target: Target,
        theta: np.ndarray,
        scale: ErrorScale,
        squares: np.ndarray,
    ) -> tuple[Far, ...]:
        """Outcomes that are far out at the answer, and how many the model lets one expect there."""
        if not self.fit_share:
            return ()
        noise = self.noise / math.sqrt(self.fit_share)
        found = far_outcomes.measured(rng, target.model, theta, target.data, noise)
        variances = np.exp(2 * (scale.grid - theta[-1]))[:, None]
        variances = variances + squares * math.exp(-2 * theta[-1])
        expected = [
            float(scale.masses @ (2 * ndtr(ndtri(level / 2) / np.sqrt(variances))).mean(axis=1))
            for level in far_outcomes.LEVELS
        ]
        return far_outcomes.compared(np.array(expected), found, target.num_rows, noise)


def checked(model: Model) -> LinearRegression:
    """The model, if it is a linear regression."""
    if not isinstance(model, LinearRegression):
        raise ValueError(
            f"NoisyLeastSquares: the model must be a LinearRegression, not {type(model).__name__}"
        )
    return model


def public_design(model: LinearRegression) -> Design:
    """Simulated rows of a model."""
    small = with_rows(model, PUBLIC_ROWS)
    rows = small.simulate(np.random.default_rng(3), np.zeros(model.dimension))
    return Design(rows[:, 1:], Metric(np.eye(model.dimension - 1)))


def residuals_of(rows: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Residuals (n,) of rows (n, p + 1) at coefficients (p,); of hostile rows no numbers."""
    with np.errstate(all="ignore"):
        return rows[:, 0] - rows[:, 1:] @ theta


def moved(belief: Normal, location: float, metric: Metric) -> Normal:
    """A belief in a metric, with another intercept."""
    return belief._replace(mean=belief.mean + location * metric.inverse[:, 0])


def centred(
    scores: ClippedResiduals, counts: Counts, location: float
) -> tuple[ClippedResiduals, float]:
    """Scores for errors as they were counted, and the middle of these, to be taken off residuals.

    Location was taken off before.
    """
    design, bound, sigma, spread = scores.design, scores.bound, scores.sigma, scores.spread
    centres = counts.centres(location, sigma, scores.usual_clip)
    sd = math.hypot(sigma, math.sqrt(spread * design.size))
    excess = centres.excess(float(clipped_variance(sd, centres.usual)))
    return ClippedResiduals(design, bound, sigma, spread, centres.apart, excess), centres.middle


def whitened(design: Design, steps: list[Step]) -> Design:
    """The metric in which all directions of the covariates are nearly alike, by first steps."""
    n, released = steps[-1].num_rows, [step.released for step in steps]
    moments = Information.of(released, steps[-1].expected).estimate / n
    noise = 1 / math.sqrt(sum(one.information_sd**-2 for one in released)) / n
    return design.with_moments(moments, Metric.found(moments, noise, moments.trace()))


def with_mean(
    answer: Mixture,
    covariates: np.ndarray,
    skewness: float,
    prior_variance: float,
    mean: KnownNormal,
) -> Mixture:
    """The answer with an intercept at which errors have mean 0, in place of their middle.

    The way from the middle to the mean is N(0, skewness). What is known of the mean residual at
    theta^ is known of h . (theta - theta^), with the mean covariates h.

    Parameters
    ----------
    answer : Mixture
        Of the middle, whose prior has the variance of both.
    covariates : (p,) array
        h.
    skewness : float
    prior_variance : float
        Of the intercept.
    mean : Normal
        Of residuals at the mean of `answer`.
    """
    middle, p = answer.normal.mean, len(covariates)
    part = prior_variance / (prior_variance + skewness)  # of the middle that is the intercept
    shrink = np.diag([part, *np.ones(p - 1)])
    covariances = shrink @ answer.factors @ answer.factors.transpose(0, 2, 1) @ shrink
    covariances[:, 0, 0] += part * skewness
    means = answer.means @ shrink
    gains = covariances @ covariates
    totals = gains @ covariates + mean.variance
    off = mean.mean - (means - middle) @ covariates
    means = means + gains * (off / totals)[:, None]
    covariances -= gains[:, :, None] * gains[:, None, :] / totals[:, None, None]
    return Mixture(means, np.linalg.cholesky(covariances))


def log_likelihood_of(log_sd: KnownNormal) -> LogLikelihood:
    """Of ln S, which a release knows with a normal error."""
    return lambda logs: -((logs - log_sd.mean) ** 2) / (2 * log_sd.variance)


def with_scale(answer: Mixture, scale: ErrorScale) -> Mixture:
    """The answer with ln sigma as last component."""
    k, p = answer.means.shape
    means = np.column_stack([answer.means, np.full(k, scale.mean)])
    factors = np.zeros((k, p + 1, p + 1))
    factors[:, :p, :p] = answer.factors
    factors[:, p, p] = math.sqrt(scale.variance)
    return Mixture(means, factors)
