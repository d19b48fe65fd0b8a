"""`check` of what noisy Newton asks of a model: the package's passes; what is wrong does not."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import dpmcmc
from dpmcmc.evaluation.checking.cases import Case
from dpmcmc.evaluation.checking.posteriors import (
    bounded_scores_have_mean_zero,
    near_zero_where,
    outcomes_are_as_seldom_far,
)


def outcome(model, seed=0, check=bounded_scores_have_mean_zero):
    case = Case(model, np.random.default_rng(seed))
    return check(case, np.random.default_rng([1, seed]))


@pytest.mark.parametrize(
    "model",
    [
        dpmcmc.LogisticRegression(3, 1000, 1.0),
        dpmcmc.RobustRegression(3, 1000, 1.0),
        dpmcmc.PoissonRegression(3, 1000, 0.2),
        dpmcmc.LinearRegression(3, 1000, 0.2),
    ],
)
def test_ours_pass(model):
    assert outcome(model).passed


@dataclass(frozen=True)
class SeesTheOutcome(dpmcmc.LogisticRegression):
    """The weight of a row is that of its own score, in place of the largest over outcomes."""

    def bounded_scores(self, theta, rows, bound, ratio):
        found = super().bounded_scores(theta, rows, bound, ratio)
        lengths = np.linalg.norm(found.scores, axis=1)
        return found._replace(largest=lengths)


@dataclass(frozen=True)
class ForgetsTheClip(dpmcmc.RobustRegression):
    """Says the slope of a score that is not clipped."""

    def bounded_scores(self, theta, rows, bound, ratio):
        found = super().bounded_scores(theta, rows, bound, ratio)
        return found._replace(roots=super().bounded_scores(theta, rows, 1e9, 1e-9).roots)


@pytest.mark.parametrize("kind", [SeesTheOutcome, ForgetsTheClip])
def test_a_weight_that_sees_the_outcome_or_a_wrong_slope_is_found(kind):
    assert not outcome(kind(3, 1000, 1.0)).passed


@pytest.mark.parametrize(
    ("centre", "z", "where"),
    [
        ([0, 0], [[9, 0], [1, 1]], "at theta = 0"),
        ([0, 0], [[[1], [1]], [[1], [1]], [[0], [9]], [[1], [1]]], "at a theta near 0"),
        ([0, 2], [[1, 0], [1, -9]], "at a theta near the true theta"),
    ],
)
def test_the_theta_at_which_scores_are_off_is_said(centre, z, where):
    found = near_zero_where(SimpleNamespace(centre=np.array(centre)), np.array(z))
    assert not found.passed and found.found == f"|z| = 9.0 {where}"


@dataclass(frozen=True)
class ForgetsASide(dpmcmc.LinearRegression):
    """Says the probability of one side alone."""

    def tail_probabilities(self, theta, rows):
        return super().tail_probabilities(theta, rows) / 2


@pytest.mark.parametrize(
    ("model", "passed"),
    [
        (dpmcmc.RobustRegression(3, 1000, 1.0), True),
        (dpmcmc.LinearRegression(3, 1000, 0.2), True),
        (dpmcmc.PoissonRegression(3, 1000, 0.2), True),
        (ForgetsASide(3, 1000, 0.2), False),
    ],
)
def test_outcomes_are_no_more_often_far_than_a_model_says(model, passed):
    assert outcome(model, check=outcomes_are_as_seldom_far).passed is passed
