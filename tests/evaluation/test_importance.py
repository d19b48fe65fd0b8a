"""Draws by weighted proposals about the mode, in one pass over the rows."""

import numpy as np
import pytest
from two_normals import Mixture, mixture_data

from dpmcmc.evaluation import importance, independence
from dpmcmc.evaluation.modes import find_modes
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.regression import LogisticRegression, RobustRegression
from dpmcmc.models.rows import RowsModel

SIZE = 1000


def regression(kind, num_rows, seed=1, dimension=3):
    model = kind(dimension=dimension, num_rows=num_rows, prior_variance=1.0, covariate_bound=4.0)
    rng = np.random.default_rng(seed)
    return Target(model, model.simulate(rng))


def differences(draws, reference):
    """z of means and of log standard deviations of two samples of independent draws."""
    means = (draws.mean(axis=0) - reference.mean(axis=0)) / reference.std(axis=0)
    logs = np.log(draws.std(axis=0) / reference.std(axis=0))
    share = 1 / len(draws) + 1 / len(reference)
    return np.concatenate([means / np.sqrt(share), logs / np.sqrt(share / 2)])


@pytest.mark.parametrize("kind", [LogisticRegression, RobustRegression])
@pytest.mark.parametrize("num_rows", [60, 700])
def test_all_ratios_at_once_are_those_of_single_positions(kind, num_rows):
    target = regression(kind, num_rows)
    rng = np.random.default_rng(2)
    theta, positions = rng.normal(size=3), rng.normal(size=(20, 3))
    found = importance.log_density_ratios(target, theta, positions)
    expected = [target.log_density_ratio(theta, position) for position in positions]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-10)
    rows = target.data
    default = RowsModel.log_likelihood_ratios(target.model, theta, positions, rows)
    own = target.model.log_likelihood_ratios(theta, positions, rows)
    np.testing.assert_allclose(own, default, rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("kind", [LogisticRegression, RobustRegression])
def test_a_position_beyond_the_range_of_numbers_is_nan_and_not_likely(kind):
    target = regression(kind, 60)
    far = np.full((1, 3), 1e200)
    with np.errstate(all="ignore"):
        assert np.isnan(target.model.log_likelihood_ratios(np.zeros(3), far, target.data)).all()


@pytest.mark.parametrize("kind", [LogisticRegression, RobustRegression])
@pytest.mark.parametrize("num_rows", [40, 3000])  # of few rows the posterior is skewed
def test_draws_are_those_of_a_chain(kind, num_rows):
    target = regression(kind, num_rows)
    draws, how = importance.sample(np.random.default_rng(5), target, 2 * SIZE)
    reference = independence.sample(np.random.default_rng(6), target, 4 * SIZE)
    assert how == importance.ALL_ROWS and draws.shape == (2 * SIZE, 3)
    assert abs(differences(draws, reference)).max() < 4
    for part in (draws[:SIZE], draws[SIZE:]):  # in random order
        assert abs(differences(part, reference)).max() < 4


def test_many_rows_are_read_for_slope_and_curvature_alone():
    target = regression(LogisticRegression, importance.MOST_ROWS + 1)
    draws, how = importance.sample(np.random.default_rng(5), target, SIZE)
    assert how == importance.SOME_ROWS
    exact = importance.log_density_ratios(target, draws[0], draws[1:40])
    estimate = from_some_rows(target, draws.mean(axis=0))
    relative = estimate(draws[1:40]) - estimate(draws[:1])
    assert 0 < abs(relative - exact).max() < 0.01  # by single rows alone it would be off by ten


def from_some_rows(target, centre):
    steps = np.full(len(centre), 1e-3)
    hessian = importance.curvature(target, centre, steps)
    return importance.FromSomeRows(np.random.default_rng(7), target, centre, hessian, steps)


def test_estimates_that_are_not_precise_are_not_taken(monkeypatch):
    monkeypatch.setattr(importance, "ROWS_OF_WEIGHTS", 40)
    monkeypatch.setattr(importance, "MOST_ROWS", 80)
    target = regression(LogisticRegression, 200)
    assert (
        from_some_rows(target, np.zeros(3))(np.random.default_rng(8).normal(size=(50, 3))) is None
    )
    draws, how = importance.sample(np.random.default_rng(5), target, SIZE)
    assert how == importance.ALL_ROWS and len(draws) == SIZE


def test_bad_weights_leave_it_to_the_chain(monkeypatch):
    target = regression(LogisticRegression, 300)
    monkeypatch.setattr(importance, "LEAST_SHARE", 1.01)
    draws, how = importance.sample(np.random.default_rng(5), target, SIZE)
    assert how == importance.CHAIN and draws.shape == (SIZE, 3)


def test_weights_that_are_no_numbers_are_worth_nothing():
    assert importance.share(np.zeros(8)) == 1
    assert importance.share(np.array([0.0, -np.inf])) == 0.5
    assert not importance.share(np.array([0.0, np.nan])) >= 0


def test_two_modes_are_refused():
    target = Target(Mixture(num_rows=12), mixture_data(8.0, 12))
    assert len(find_modes(np.random.default_rng(1), target)) == 2
    with pytest.raises(JobError, match="2 modes were found"):
        importance.sample(np.random.default_rng(1), target, SIZE)


def test_some_rows_count_for_all():
    target = regression(RobustRegression, 4000)
    some = importance.SomeRows(np.random.default_rng(3), target, 2000)
    theta = np.zeros(3)
    assert some.num_rows == 2000 and target.num_rows == 4000
    gradients = some.gradient(theta), target.gradient(theta)
    spread = 2 * np.sqrt((target.row_gradients(theta)[0] ** 2).sum(axis=0))
    assert (abs(gradients[0] - gradients[1]) < 4 * spread).all()
    assert (
        importance.SomeRows(np.random.default_rng(3), target, 5000).likelihood is target.likelihood
    )
