"""Checks of models: all models here pass, and their parts do what they say."""

import math

import numpy as np
import pytest
from conftest import chosen
from jax_models import BananaJax, LogisticJax
from row_models import BananaRows, LogisticRows, PlainBananaRows, PlainLogisticRows

from dpmcmc.configuration.entries import read_model
from dpmcmc.evaluation.checking.cases import Case
from dpmcmc.evaluation.checking.findings import near_zero, relative, z_scores
from dpmcmc.evaluation.checking.models import check_model
from dpmcmc.evaluation.checking.posteriors import kernels, path
from dpmcmc.evaluation.checking.row_independence import other_rows_stay
from dpmcmc.evaluation.checking.rows import between
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana
from dpmcmc.models.regression import LogisticRegression, RobustRegression
from dpmcmc.samplers.streams import Streams

SMALL = Banana(
    dimension=3,
    num_rows=300,
    curvature=1.5,
    prior_variance=4.0,
    likelihood_variances=[2.0, 0.5, 1.0],
    true_position=[0.5, 1.0, 0.0],
)
OURS = [
    "flat-banana-2d",
    "flat-banana-10d",
    "tempered-banana-2d",
    "tempered-banana-10d",
    "gauss-30d",
    "narrow-banana-2d",
    "correlated-gauss-2d",
    "circle",
    "flat-banana-10d-n100000",
]


def not_tried(findings):
    """What was not tried; all else passed."""
    findings = list(findings)
    assert not [finding for finding in findings if finding.passed is False]
    return [finding.tried for finding in findings if finding.passed is None]


@pytest.mark.parametrize("name", chosen(OURS, "tempered-banana-2d", "circle"))
def test_models_of_the_study_pass(config, name):
    model = read_model(name, config["models"][name], ".", ".").model
    few = 4 + 4 * (name == "circle") + name.startswith("tempered")
    assert len(not_tried(check_model(model))) == few


def test_these_are_all(config):
    assert config["models"].keys() == set(OURS)


@pytest.mark.torture
@pytest.mark.parametrize(
    "model", [LogisticRegression(2, 300, 1.0, 4.0), RobustRegression(2, 300, 1.0, 3.0)]
)
def test_regressions_of_the_package_pass(model):
    assert len(not_tried(check_model(model))) < 5


@pytest.mark.parametrize("kind", chosen([PlainBananaRows, BananaRows, BananaJax], BananaRows))
def test_rewritten_bananas_pass(kind):
    assert len(not_tried(check_model(kind(SMALL)))) == 4 + (kind is BananaJax)


@pytest.mark.parametrize(
    "kind", chosen([PlainLogisticRows, LogisticRows, LogisticJax], LogisticRows)
)
def test_logistic_regressions_pass(kind):
    assert len(not_tried(check_model(kind(2, 300)))) == 4 + (kind is LogisticJax)


def test_a_model_in_jax_is_given_theta_as_its_likelihood_gives_it():
    case = Case(BananaJax(SMALL), np.random.default_rng(1))
    assert other_rows_stay(case, np.random.default_rng(2)).passed


def test_data_of_ones_own_are_read_in_place_of_simulated_ones():
    rng = np.random.default_rng(3)
    data = np.column_stack([rng.standard_normal((7000, 2)), np.ones(7000)])
    case = Case(LogisticRows(2, 7000), rng, data)
    assert case.target.data.shape == (5000, 3)
    assert (case.target.data[:, 2] == 1).all()
    assert len(np.unique(case.target.data[:, 0])) == 5000  # no row twice
    findings = {f.tried: f for f in check_model(LogisticRows(2, 7000), data)}
    assert findings["Data: finite numbers, of the shape data_shape"].found == (
        "7000 rows, 5000 of them used, given"
    )


def test_a_bound_parts_values_and_equals_none():
    values = np.array([1.0, 2.0, 3.0, 7.0, 8.0, 9.0])
    assert between(values) == 5.0
    assert between(np.array([0.0] * 3 + [2.0] * 9)) == pytest.approx(1.4)
    assert between(np.zeros(4)) > 0


def test_a_number_that_is_none_is_the_largest_error():
    assert relative([0.0, 0.0], 0.0) == 0
    assert relative([0.0, 1.0], [0.0, 4.0]) == 0.25
    assert relative([0.0, 1.0], [1.0, 0.0]) == math.inf
    assert math.isnan(relative([math.nan, 1.0], 1.0))
    assert not near_zero(np.array([0.0, math.nan])).passed


def test_z_scores_are_standard_normal():
    z = z_scores(3.0 * np.random.default_rng(2).standard_normal((500, 4000)))
    assert abs(z.mean()) < 4 / math.sqrt(4000)
    assert abs(z.var() - 1) < 4 * math.sqrt(2 / 4000)
    assert near_zero(z).passed
    assert not near_zero(np.append(z, 6.0)).passed
    assert z_scores(np.zeros((5, 1))) == 0
    assert abs(z_scores(np.full((100, 1), 1e-9), floor=1e-3)) < 1e-4  # rounding errors


def test_steps_of_a_path_reach_the_posterior():
    """The kernels move: from far off, they come to where exact draws are."""
    rng = np.random.default_rng(4)
    target = Target(SMALL, SMALL.simulate(rng))
    exact = SMALL.sample_posterior(rng, target.data, 4000)
    streams, samplers = Streams(*rng.spawn(3)), kernels(exact.std(axis=0))
    positions, accepted = path(target, samplers, streams, SMALL.true_theta, range(6000))
    assert np.mean(accepted) > 0.3
    assert abs(np.mean(positions[100:], axis=0) - exact.mean(axis=0)).max() < 0.2 * exact.std()
