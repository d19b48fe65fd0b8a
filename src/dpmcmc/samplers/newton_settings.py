"""What Noisy Newton knows without data: simulated twins of the rows, and the settings they lead to.

The numbers that decide are public: the model, its prior and its number of rows, and the noise that
the budget needs. All random numbers are the same each time, so the choice is deterministic.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dpmcmc.likelihoods.bounded_scores import Sums, are_cut, bounded_sums
from dpmcmc.likelihoods.information import as_matrix
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.model import Model
from dpmcmc.samplers import far_outcomes
from dpmcmc.samplers.drawn_information import Normal, Slope, prior_information

PRIOR_DRAWS = 1000
ROWS = 512  # of a twin
PLACES = 48  # of theta in a belief, at which twins are simulated for a slope
LEAST_RATIO = 0.1  # of a slope that is averaged over a belief
PLANNED = 4  # draws of the prior, with a twin each, by which settings are chosen
BOUNDS = 2.0 ** np.arange(-2.5, 2.5, 0.5)  # tried, in root mean squares of a row's gradient
CUT_BOUNDS = 2.0 ** np.arange(0, 10, 0.5)  # tried where gradients are cut, which biases
RATIOS = 2.0 ** np.arange(-4.0, 2.0, 1.0)  # tried, in bounds over the trace of a row's information
SHARES = [0.1, 0.3, 0.6], [0.06, 0.12, 0.3, 0.52], [0.03, 0.06, 0.11, 0.3, 0.5]
LOCATING = [0.01, 0.01, 0.01]  # shares of further first steps of models with `locating`
NEARER = 0.3  # way that a step leaves at least, of the way before it, as scores are not linear
RATIO_SD = 0.02  # of a slope's ratio, by as many rows as are simulated for it
NEAR = 0.02  # of the least width: settings that are as good
FAR = 1e9  # a bound and a ratio at which nothing has a weight


class Twins:
    """Simulated rows of a model at any theta, with bounded scores.

    Parameters
    ----------
    model : Model
    bound, ratio : float
        B and b.
    """

    def __init__(self, model: Model, bound: float, ratio: float) -> None:
        self.model, self.bound, self.ratio = model, bound, ratio

    @cached_property
    def small(self) -> Model:
        """The model of few rows."""
        return with_rows(self.model, ROWS)

    @cached_property
    def can_simulate(self) -> bool:
        """Whether the model makes data at a theta."""
        return self.model.is_generative and type(self.model).simulate is not Model.simulate

    def rows(self, rng: np.random.Generator, theta: np.ndarray) -> np.ndarray:
        """Rows at theta."""
        data = self.small.simulate(rng, theta)
        return data.T if isinstance(self.small, ExponentialFamily) else data

    def information(self, theta: np.ndarray) -> np.ndarray:
        """Information of as many rows as there are, (d, d), positive definite."""
        d, n = len(theta), self.model.num_rows
        if not self.can_simulate:
            return n * self.bound**2 / (4 * d) * np.eye(d)
        rows = self.rows(np.random.default_rng(0), theta)
        sums = self.sums(theta, rows)
        H = as_matrix(sums.information, d) * (n / len(rows))
        return H + 1e-6 * max(H.trace() / d, np.finfo(float).tiny) * np.eye(d)

    def slope(self, theta: np.ndarray, belief: Normal, information: np.ndarray) -> Slope:
        """`Slope` of scores at theta, averaged over a belief.

        Where theta is uncertain, the mean score is not linear over all that may be. The slope that
        is best on average is that of a regression of mean scores on theta (Stein's identity); what
        it leaves is a further noise. Its variance comes from two halves of rows, whose own noise is
        independent; and that of the ratio, from few rows, adds to it by the square of the way.

        Of each row the score where it was simulated, whose mean is zero, is taken off. So what
        is left of the rows' own noise is in proportion to the way.
        """
        if not self.can_simulate:
            return Slope(1.0, 0.0)
        rng, d, n = np.random.default_rng(1), len(theta), self.model.num_rows
        of_row = self.information(theta) / n
        turn = np.linalg.solve(np.linalg.cholesky(of_row).T, np.linalg.cholesky(information / n).T)
        factor = turn @ np.linalg.cholesky(belief.covariance)
        way = turn @ (belief.mean - theta)
        found, linear = [], []
        for _ in range(PLACES):
            place = theta + way + factor @ rng.standard_normal(d)
            rows = self.rows(rng, place)
            middle = len(rows) // 2
            for some in (rows[:middle], rows[middle:]):
                here, there = (self.sums(at, some) for at in (theta, place))
                found.append((here.gradient - there.gradient) / middle)
                linear.append(as_matrix(here.information, d) @ (place - theta) / middle)
        # In the metric of the information, as components of theta may have unlike units.
        whiten = np.linalg.inv(np.linalg.cholesky(of_row)).T
        scores, ways = (np.reshape(of, (PLACES, 2, d)) @ whiten for of in (found, linear))
        squares = max(float((ways**2).sum()), 1e-300)
        ratio = float((scores * ways).sum() / squares)
        ratio = min(max(ratio, LEAST_RATIO), 1 / LEAST_RATIO)
        rest = scores - ratio * ways
        variance = max(float((rest[:, 0] * rest[:, 1]).sum()), 0.0) / PLACES
        of_ratio = float(((rest * ways).sum(axis=(1, 2)) ** 2).sum()) / squares**2
        return Slope(ratio, n / d * (variance + of_ratio * squares / (2 * PLACES)))

    def far_outcomes(self, theta: np.ndarray, belief: Normal) -> np.ndarray:
        """Shares of rows that are far out at theta, if they are simulated at draws of a belief."""
        if not self.can_simulate:
            return np.array(far_outcomes.LEVELS)
        rng, factor = np.random.default_rng(4), np.linalg.cholesky(belief.covariance)
        shares = []
        for _ in range(PLACES):
            place = belief.mean + factor @ rng.standard_normal(len(theta))
            rows = self.rows(rng, place)
            shares.append(far_outcomes.counts(self.small, theta, rows) / len(rows))
        return np.mean(shares, axis=0)

    def sums(self, theta: np.ndarray, rows: np.ndarray) -> Sums:
        """Sums of bounded scores at theta."""
        return bounded_sums(self.model, theta, rows, self.bound, self.ratio)


def locating(model: Model) -> Model:
    """The model that a model has for steps from far away, or the model itself."""
    return getattr(model, "locating", model)


def schedules(model: Model) -> list[list[float]]:
    """Shares of steps that are tried."""
    further = [] if locating(model) is model else LOCATING
    rest = 1 - sum(further)
    return [[*further, *(rest * share for share in shares)] for shares in SHARES]


def with_rows(model: Model, num_rows: int) -> Model:
    """The model with another number of rows, if that can be set."""
    fields: Any = model
    try:
        return replace(fields, num_rows=min(num_rows, model.num_rows))
    except (TypeError, ValueError):
        return model


def prior_of(model: Model) -> Normal:
    """Mean and covariance of the prior; by its curvature at 0 where it has no draws."""
    d = model.dimension
    if type(model).sample_prior is Model.sample_prior:
        precision = prior_information(model, np.zeros(d)) + 1e-9 * np.eye(d)
        covariance = np.linalg.inv(precision)
        return Normal(covariance @ model.grad_log_prior(np.zeros(d)), covariance)
    rng = np.random.default_rng(0)
    draws = np.array([model.sample_prior(rng) for _ in range(PRIOR_DRAWS)])
    covariance = np.atleast_2d(np.cov(draws.T))
    return Normal(draws.mean(axis=0), covariance)


def best_settings(
    model: Model,
    noise: float,
    bound: float | None,
    ratio: float | None,
    shares: Sequence[float] | None,
) -> tuple[float, float, list[float]]:
    """B, b and shares for a narrow answer on twins, as far as they are not given.

    Widths are those that the steps' own recursion predicts, over the exact posterior's. Of settings
    that are nearly as good as the best, those with the largest B are taken: then fewest rows have a
    weight, and rows that do not follow the model bias the answer least. A model without bounded
    scores of its own gets a B at which no gradient of a twin is cut.

    Parameters
    ----------
    model : Model
    noise : float
        1 / mu.
    bound, ratio, shares
        Given ones stay.

    Raises
    ------
    ValueError
        If the model cannot simulate rows, or no bound is large enough.
    """
    given_bound, twins = bound is not None, Twins(model, FAR, 1 / FAR)
    if not twins.can_simulate:
        raise ValueError(
            "gradient_clip_bound, information_ratio and shares: must be given, as "
            f"{type(model).__name__} has no simulate: it cannot make data to choose them by"
        )
    prior, d, n = prior_of(model), model.dimension, model.num_rows
    rng = np.random.default_rng(2)
    factor = np.linalg.cholesky(prior.covariance)
    places = [prior.mean + factor @ rng.standard_normal(d) for _ in range(PLANNED)]
    data = [twins.rows(rng, theta) for theta in places]

    def informations(bound: float, ratio: float) -> list[tuple[np.ndarray, float]]:
        """H and the share of J in it, at each place; none if a gradient would be cut."""
        found = []
        for theta, rows in zip(places, data, strict=True):
            sums = bounded_sums(model, theta, rows, bound, ratio)
            if are_cut(model) and sums.num_weighted and not given_bound:
                return []
            H = as_matrix(sums.information, d) * (n / len(rows))
            found.append((H, sums.squares * (n / len(rows)) / max(H.trace(), 1e-300)))
        return found

    full = informations(FAR, 1 / FAR)
    size = float(np.median([H.trace() / n for H, _ in full]))
    T = model.likelihood_power
    exact = [posterior_sds(H, prior, 0.0, J / T) for H, J in full]
    tried: list[tuple[float, float, float, list[float]]] = []
    bounds = math.sqrt(size) * (CUT_BOUNDS if are_cut(model) else BOUNDS)
    for B in [bound] if bound else bounds:
        for b in [ratio] if ratio else B / size * RATIOS:
            found = informations(B, b)
            for some in ([shares] if shares else schedules(model)) if found else []:
                width = np.mean(
                    [
                        (predicted_sds(H, J / T, prior, B, b, some, noise) / sds).mean()
                        for (H, J), sds in zip(found, exact, strict=True)
                    ]
                )
                tried.append((float(width), float(B), float(b), list(some)))
    if not tried:
        raise ValueError(
            "gradient_clip_bound: must be given, as simulated rows of "
            f"{type(model).__name__} have gradients that are too long"
        )
    near = (1 + NEAR) * min(width for width, *_ in tried)
    _, B, b, some = max((one for one in tried if one[0] <= near), key=lambda one: (one[1], -one[0]))
    return B, b, some


def posterior_sds(H: np.ndarray, prior: Normal, v: float, share: float) -> np.ndarray:
    """Standard deviations of the posterior, (d,): information H, errors share H + v I."""
    d = len(H)
    gain = np.linalg.solve(share * H + v * np.eye(d) + 1e-12 * H.trace() * np.eye(d), H)
    covariance = np.linalg.inv(np.linalg.inv(prior.covariance) + H @ gain)
    return np.sqrt(np.diag(covariance))


def predicted_sds(
    H: np.ndarray,
    sampling: float,
    prior: Normal,
    bound: float,
    ratio: float,
    shares: Sequence[float],
    noise: float,
) -> np.ndarray:
    """Standard deviations that the answer will have, (d,), by the recursion of its steps.

    A step's noise is that of its scores, and of its information times the way to theta, which is
    as long as the step before has left it. A slope that is not quite right counts as noise, too.
    """
    d = len(H)
    way = prior.covariance.trace()
    most = (H.trace() / d) ** 2 / d  # variance of an entry before it is measured
    variances = [(2 * bound * noise) ** 2 / share for share in shares]

    def total(v: float) -> float:
        of_entry = 1 / (1 / most + ratio**2 / v)
        of_slope = (RATIO_SD * H.trace() / d) ** 2 * way / d
        return v + of_entry * way * (d + 1) / (2 * d) + of_slope

    for v in variances[:-1]:
        left = max(float((posterior_sds(H, prior, total(v), sampling) ** 2).sum()), NEARER**2 * way)
        way = min(way, left)
    v = 1 / sum(1 / v for v in variances[-2:])
    return posterior_sds(H, prior, total(v), sampling)
