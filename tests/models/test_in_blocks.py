"""Functions of rows of one's own see a fixed number of rows, whatever the data."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from jax_models import LogisticJax
from row_models import LogisticRows

from dpmcmc.likelihoods.bounded_scores import Scores
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.in_blocks import BLOCK, in_blocks
from dpmcmc.models.regression import LogisticRegression
from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Rows

SIZES = [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 3 * BLOCK + 7]
seen = []


@dataclass(frozen=True)
class Watched(RowsModel):
    """x ~ Normal(theta, 1); it notes how many rows it sees, and whether they belong to more."""

    num_rows: Rows = 100
    dimension = row_length = 1

    def note(self, rows):
        seen.append((len(rows), rows.base is None))
        return rows

    def prepare(self, rows):
        rows = self.note(rows)
        return rows[rows[:, 0] > 0] * 2.0

    def is_outcome(self, outcomes):
        return self.note(outcomes) < 1

    def log_likelihood(self, theta, rows):
        return -0.5 * (self.note(rows)[:, 0] - theta[0]) ** 2

    def gradient(self, theta, rows):
        return self.note(rows) - theta

    def bounded_scores(self, theta, rows, bound, ratio):
        g = self.gradient(theta, rows)
        return Scores(g, abs(g[:, 0]), g[:, None, :], g[:, 0] ** 2)

    def log_prior_ratio(self, theta, theta_new):
        return 0.0

    def grad_log_prior(self, theta):
        return np.zeros(1)


class Static(Watched):
    @staticmethod
    def gradient(theta, rows):
        seen.append((len(rows), rows.base is None))
        return rows - theta


@pytest.mark.parametrize("model", [Watched(), Static()])
@pytest.mark.parametrize("size", SIZES)
def test_a_block_has_always_as_many_rows(model, size):
    a, b = np.array([0.3]), np.array([0.5])
    rows = np.random.default_rng(size).standard_normal((2 * size, 1))[::2]
    blocked = in_blocks(model)
    seen.clear()
    found = [
        blocked.log_likelihood_ratio(a, b, rows),
        blocked.gradient(a, rows),
        *blocked.bounded_scores(a, rows, 1.0, 1.0),
    ]
    assert set(seen) == {(BLOCK, True)}
    expected = [
        model.log_likelihood_ratio(a, b, rows),
        model.gradient(a, rows),
        *model.bounded_scores(a, rows, 1.0, 1.0),
    ]
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one, other)


def test_rows_of_a_file_are_seen_one_by_one():
    rows = np.random.default_rng(1).standard_normal((50, 1))
    blocked = in_blocks(Watched())
    seen.clear()
    kept = blocked.prepare(rows)
    is_outcome = blocked.is_outcome(kept[:, 0])
    assert set(seen) == {(1, True)}
    assert np.array_equal(kept, 2 * rows[rows[:, 0] > 0])
    assert np.array_equal(is_outcome, kept[:, 0] < 1)


@dataclass(frozen=True)
class Squares(ExponentialFamily):
    num_rows: Rows = 100
    dimension = 2

    def statistics(self, rows):
        assert len(rows) == 1
        return np.vstack([rows[:, 0], rows[:, 0] ** 2])

    log_prior_ratio = grad_log_prior = lambda *_: None


def test_so_are_those_of_which_statistics_are_taken():
    rows = np.arange(5.0)[:, None]
    assert np.array_equal(in_blocks(Squares()).statistics(rows), [rows[:, 0], rows[:, 0] ** 2])


def test_models_of_the_package_and_of_jax_stay_as_they_are():
    for model in (
        Gaussian(50, 1.0, [[1.0]], [0.0]),
        LogisticRegression(2, 50, 1.0, 2.0),
        LogisticJax(2, 50),
    ):
        assert in_blocks(model) is model


def test_it_is_the_same_model_but_for_that():
    model = LogisticRows(2, 50, prior_variance=3.0)
    blocked = in_blocks(model)
    assert isinstance(blocked, LogisticRows) and repr(blocked) == repr(model)
    assert in_blocks(blocked) is blocked
    fewer = replace(blocked, num_rows=20)
    assert type(fewer) is type(blocked) and fewer.num_rows == 20


class OneTerm(Watched):
    def gradient(self, theta, rows):
        return np.zeros((1, 1))


class NoRows(Watched):
    def log_likelihood(self, theta, rows):
        return 0.0


class TwoRows(Watched):
    def prepare(self, rows):
        return np.vstack([rows, rows])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda rows: in_blocks(OneTerm()).gradient(np.zeros(1), rows),
            r"OneTerm\.gradient: must return terms of 256 rows, not of shape \(1, 1\)",
        ),
        (
            lambda rows: in_blocks(NoRows()).log_likelihood(np.zeros(1), rows),
            r"NoRows\.log_likelihood: must return terms of 256 rows, not of shape \(\)",
        ),
        (
            lambda rows: in_blocks(TwoRows()).prepare(rows),
            r"TwoRows\.prepare: must return terms of 1 rows, not of shape \(2, 1\)",
        ),
    ],
)
def test_other_shapes_are_refused_in_one_line(call, expected):
    with pytest.raises(ValueError, match=expected):
        call(np.zeros((5, 1)))


def test_no_rows_are_no_block():
    assert in_blocks(Watched()).gradient(np.zeros(1), np.empty((0, 1))).shape == (0, 1)
