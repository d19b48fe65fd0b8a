"""A metric of covariates, in which all directions are alike."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from row_models import PlainLogisticRows

import dpmcmc
from dpmcmc.models.model import Model
from dpmcmc.samplers.drawn_information import LocalPrior, Mixture, Normal
from dpmcmc.samplers.metric import RIDGE, Metric, can_turn

MOMENTS = np.array([[1.0, 0.3, 0.1], [0.3, 0.5, 0.0], [0.1, 0.0, 0.02]])


def test_without_noise_all_directions_become_alike_and_the_trace_is_as_asked():
    metric = Metric.found(MOMENTS, 0.0, 7.5)
    assert metric.matrix @ MOMENTS @ metric.matrix == pytest.approx(2.5 * np.eye(3), abs=1e-12)


def test_noise_keeps_a_direction_of_which_nothing_is_known_from_being_made_long():
    matrix = Metric.found(np.diag([1.0, 1e-9]), 0.01, 1.0).matrix
    ridge = RIDGE * 0.01 * math.sqrt(2)
    assert matrix[1, 1] / matrix[0, 0] == pytest.approx(math.sqrt((1 + ridge) / ridge), rel=1e-6)


@pytest.mark.parametrize("responses", [1, 2])
def test_rows_and_coefficients_within_it_have_the_same_predictors(responses):
    rng = np.random.default_rng(0)
    metric = Metric.found(MOMENTS, 0.01, 1.0, responses)
    rows, theta = rng.standard_normal((5, 4)), rng.standard_normal(3 * responses)
    inside = metric.within(Normal(theta, np.eye(3 * responses)))
    turned = metric.rows(rows)
    assert turned[:, 0] == pytest.approx(rows[:, 0])
    predictors = turned[:, 1:] @ inside.mean.reshape(3, responses)
    assert predictors == pytest.approx(rows[:, 1:] @ theta.reshape(3, responses))


def test_a_belief_a_prior_and_an_answer_are_the_same_outside_as_within():
    rng = np.random.default_rng(1)
    factor = rng.standard_normal((6, 6))
    belief = Normal(rng.standard_normal(6), factor @ factor.T)
    metric = Metric.found(MOMENTS, 0.01, 1.0, 2)
    inside = metric.within(belief)
    for one, other in zip(metric.outside(inside), belief, strict=True):
        assert one == pytest.approx(other)
    precision = np.linalg.inv(belief.covariance)
    prior = metric.prior_within(LocalPrior(precision, precision @ belief.mean, 1.0))
    assert prior.precision == pytest.approx(np.linalg.inv(inside.covariance))
    assert prior.pull == pytest.approx(prior.precision @ inside.mean)
    answer = Mixture(inside.mean[None], np.linalg.cholesky(inside.covariance)[None])
    for one, other in zip(metric.answer_outside(answer).normal, belief, strict=True):
        assert one == pytest.approx(other)


@dataclass(frozen=True)
class Bent(dpmcmc.LogisticRegression):
    """It makes something else of its covariates."""

    def bounded_scores(self, theta, rows, bound, ratio):
        rows = np.column_stack([rows[:, 0], np.tanh(rows[:, 1:])])
        return super().bounded_scores(theta, rows, bound, ratio)


class Mute(dpmcmc.RobustRegression):
    """It makes no data."""

    simulate = Model.simulate


@dataclass(frozen=True)
class Exposed(dpmcmc.PoissonRegression):
    """It has a further column."""

    @property
    def row_length(self):
        return 2 + self.num_covariates


def test_a_metric_is_for_models_of_coefficients_alone():
    several = dpmcmc.SoftmaxRegression(
        50, 1.0, outcome="y", covariates=["a", "b"], labels=[0.0, 1.0, 2.0], intercept=True
    )
    kinds = dpmcmc.LogisticRegression, dpmcmc.RobustRegression, dpmcmc.PoissonRegression
    for model in [*(kind(4, 50, 1.0, intercept=True) for kind in kinds), several]:
        assert can_turn(model) and can_turn(getattr(model, "locating", model))
    for kind in (dpmcmc.LinearRegression, PlainLogisticRows, Bent, Mute, Exposed):
        assert not can_turn(kind(4, 50, 1.0))
