"""Noisy Newton: a few private Newton steps, and the posterior that the last two of them give.

Each step releases the sum of the rows' bounded scores and of their slopes, together, with normal
noise (after Avella-Medina, Bradshaw and Loh 2023, Algorithm 2; scores and sensitivity are those of
`dpmcmc.likelihoods.bounded_scores`). Draws of the answer are free.

With information H, a noisy score G at theta_k is a measurement of H theta: it is near
H (theta - theta_k) + e, where e is the sampling error of the rows, of covariance J <= H. All
steps have the same e. So the last two together have little more noise than one release of both
shares would have. H itself is known with noise only; it is drawn given all that was released, as
`dpmcmc.samplers.drawn_information` says, so that intervals are honest where rows are few.

Noise is the same in all directions, and in a file's units some covariates say much less than
others: rare flags, and the differences of related ones. So where covariates have coefficients, the
last two steps have them in the metric that the information of the first ones gives.
"""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.likelihoods.bounded_scores import SQUARES_RATIO
from dpmcmc.likelihoods.target import Target, check_bound
from dpmcmc.models.covariates import CovariateModel
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.model import Model
from dpmcmc.samplers import far_outcomes
from dpmcmc.samplers.drawn_information import (
    Information,
    LocalPrior,
    Mixture,
    Normal,
    Released,
    answer_of,
    belief_after,
    wider,
)
from dpmcmc.samplers.far_outcomes import Far
from dpmcmc.samplers.metric import Metric, can_turn
from dpmcmc.samplers.newton_settings import Twins, best_settings, locating, prior_of
from dpmcmc.samplers.one_shot import OneShot, check_shares
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, Number, Numbers, Part, Positive, Shares

ANSWERING = 2  # last steps whose releases the answer is of
METRIC_RATIO = 4.0  # times b, in the steps before these: they find the metric


class Chosen(NamedTuple):
    """Settings of a release, whether given or chosen from public numbers."""

    gradient_clip_bound: float  # B
    information_ratio: float  # b
    shares: list[float]  # of mu^2, of each step


@dataclass(frozen=True)
class NoisyNewton(OneShot):
    """Private Newton steps from a public start; draws of the posterior they give are free.

    It is for posteriors that are nearly normal, of models that bound their scores: regressions,
    softmax, and your own with `bounded_scores`. Other models' gradients are cut to the bound's
    length, which biases unless errors are symmetric.

    What is not given is chosen from public numbers: the model with its prior and number of rows,
    and the noise that the budget needs. `chosen` returns it, and a release writes it down.

    Attributes
    ----------
    gradient_clip_bound : float, optional
        B: one row in place of another moves a release by 2 B at most. A row whose score or slope
        could be longer gets a weight. A small B needs little noise and loses some of what
        the rows say; and many weights bias the answer where rows do not follow the model.
    information_ratio : float, optional
        b: slopes are released in units of 1 / b. The larger it is, the more exactly the
        information is known, and the smaller are the weights. Steps that find a metric have four
        times b: their weights do not move the answer.
    shares : list of float, optional
        Share of each step of the mu^2 that the steps have; they add up to 1. Three to five, which
        grow, do best. A model with `locating` has three cheap ones before them by default, and
        takes its scores in all but the last two.
    noise_scale : float, optional
        1 / mu: the noise's *standard deviation* over the sensitivity, for all steps together.
        By default it follows from the budget.
    start : float or list of float
        A public point at which the steps start: one number for all components or one for each.
    fit_share : float
        Share of mu^2 for counts of outcomes that are far out (`dpmcmc.samplers.far_outcomes`), by
        which a release says if the model does not fit. 0: there are no counts. Models without
        `tail_probabilities` have none, and spend nothing on them.
    """

    gradient_clip_bound: Positive | None = None
    information_ratio: Positive | None = None
    shares: Shares | None = None
    noise_scale: Noise | None = None
    start: Number | Numbers = 0.0
    fit_share: Part = 0.03

    normal_approximation = True  # of the posterior; `check` then does not ask for more

    def check(self) -> None:
        """Refuse shares that do not add up to 1."""
        check_shares(self.shares)

    def chosen(self, model: Model) -> Chosen:
        """`Chosen` settings for a model; those that are given stay.

        Raises
        ------
        ValueError
            If some must be chosen, and the model cannot simulate rows.
        """
        key = repr(model)
        if key not in self._chosen:
            given = self.gradient_clip_bound, self.information_ratio, self.shares
            found: Any = given
            if None in given:
                found = best_settings(model, self.noise_of_steps(model), *given)
            self._chosen[key] = Chosen(*found)
        return self._chosen[key]

    def chosen_settings(self, model: Model) -> dict[str, Any]:
        """B, b and shares."""
        return self.chosen(model)._asdict()

    @cached_property
    def _chosen(self) -> dict[str, Chosen]:
        return {}

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Newton steps, each from what was released before; then the answer of the last two."""
        model = target.model
        B, b, shares = self.chosen(model)
        sharper = METRIC_RATIO if can_turn(model) else 1.0
        belief = prior = prior_of(model)
        theta, rows = self.start_of(model), rows_of(target)
        metric, steps = Metric(np.eye(model.dimension)), list[Released]()
        first, num_weighted = len(shares) - ANSWERING, 0  # first step of the answer
        for i, share in enumerate(shares):
            twins = Twins(model, B, b) if i >= first else Twins(locating(model), B, b * sharper)
            if i == first and steps and can_turn(model):
                metric = metric_of(model, Information.of(steps, twins.information(theta)))
                belief, prior = metric.within(belief), metric.within(prior)
                rows, theta, steps = metric.rows(rows), belief.mean, []
            released, num_weighted = self.measure(rng, rows, twins, theta, share)
            steps.append(released)
            if i:
                belief = wider(belief, prior)
            information = Information.of(steps, twins.information(theta))
            slope = partial(twins.slope, theta, information=information.estimate)
            belief = belief_after(released, belief, information, model.likelihood_power, slope)
            theta = belief.mean
        last = steps[-ANSWERING:]
        information = Information.of(last, twins.information(theta))
        H = information.estimate
        local = metric.prior_within(LocalPrior.of(model, metric.turn @ theta))
        slopes = [partial(twins.slope, step.theta, information=H) for step in last]
        answer, off = answer_of(rng.proposal, last, slopes, information, belief, local)
        far = self.far_outcomes(rng, rows, answer.normal, twins)
        info = Info(True, math.nan, num_weighted / target.num_rows, misfit=off, far=far)
        answer = metric.answer_outside(answer)
        return State(answer.draw(rng.proposal), answer), info

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw; it reads no row."""
        answer: Mixture = state.memory
        return State(answer.draw(rng.proposal), answer), Info(True, math.nan)

    def measure(
        self, rng: Streams, rows: np.ndarray, twins: Twins, theta: np.ndarray, share: float
    ) -> tuple[Released, int]:
        """`Released` at a share of mu^2, and how many rows have a weight below 1."""
        B, b = twins.bound, twins.ratio
        check_bound(B)
        sums = twins.sums(theta, rows)
        sd = 2 * B * self.noise_of_steps(twins.model) / math.sqrt(share)
        c = b * SQUARES_RATIO
        parts = sums.gradient, b * sums.information, [c * sums.squares]
        noisy, d = rng.add_noise(np.concatenate(parts), 2 * B, sd), len(theta)
        gradient, information, squares = noisy[:d], noisy[d:-1] / b, float(noisy[-1] / c)
        return Released(theta, gradient, sd, information, sd / b, squares), sums.num_weighted

    def noise_of_steps(self, model: Model) -> float:
        """`noise` of all steps together."""
        return self.noise / math.sqrt(1 - self.share_of_fit(model))

    def share_of_fit(self, model: Model) -> float:
        """`fit_share`, or 0 for a model without `tail_probabilities`."""
        return self.fit_share if far_outcomes.has_tails(model) else 0.0

    def far_outcomes(
        self, rng: Streams, rows: np.ndarray, belief: Normal, twins: Twins
    ) -> tuple[Far, ...]:
        """Outcomes that are far out at the answer, and how many the model lets one expect there."""
        model, theta = twins.model, belief.mean
        share = self.share_of_fit(model)
        if not share:
            return ()
        noise = self.noise / math.sqrt(share)
        found = far_outcomes.measured(rng, model, theta, rows, noise)
        expected = twins.far_outcomes(theta, belief)
        return far_outcomes.compared(expected, found, len(rows), noise)

    def start_of(self, model: Model) -> np.ndarray:
        """The start as a position, (d,)."""
        start, d = np.asarray(self.start, dtype=float), model.dimension
        if start.shape not in ((), (d,)):
            raise ValueError(f"start: must be a number or a list of {d} numbers, not {start.size}")
        return np.broadcast_to(start, d).copy()


def metric_of(model: CovariateModel, information: Information) -> Metric:
    """The metric in which directions of the covariates inform alike, by first steps.

    Together they inform as much as those of simulated rows, by which B and b were chosen.
    """
    H, r = information.estimate, model.num_responses
    p = len(H) // r
    of_covariates = np.einsum("irjr->ij", H.reshape(p, r, p, r)) / r
    size = float((information.root**2).sum()) / r
    return Metric.found(of_covariates, math.sqrt(information.variance), size, r)


def rows_of(target: Target) -> np.ndarray:
    """Rows of a data set, (n, p)."""
    return target.data.T if isinstance(target.model, ExponentialFamily) else target.data
