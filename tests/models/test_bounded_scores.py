"""Bounded scores: mean zero at the true theta, where a plain clip fails; slopes; sensitivity."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import stats

import dpmcmc
from dpmcmc.likelihoods.bounded_scores import SQUARES_RATIO, bounded_sums
from dpmcmc.likelihoods.information import as_matrix
from dpmcmc.models.laws import normal, rare

N = 100_000
LABELLED = {"outcome": "y", "covariates": ["a", "b"], "intercept": True, "labels": [0.0, 1.0, 2.0]}
SOFTMAX = {"classes": [0.0, 1.0, 2.0], "has_baseline": True, "prior_variance": 1.0}


def models(n):
    return {
        "logistic": dpmcmc.LogisticRegression(3, n, 1.0),
        "robust": dpmcmc.RobustRegression(3, n, 1.0),
        "poisson": dpmcmc.PoissonRegression(3, n, 1.0),
        "linear": dpmcmc.LinearRegression(4, n, 1.0),
        "softmax": dpmcmc.Softmax(n, [0.0, 0.0], [1.0, 1.0], **SOFTMAX),
        "softmax regression": dpmcmc.SoftmaxRegression(n, 1.0, **LABELLED),
    }


def theta_of(model):
    return np.resize([0.9, -0.4, 0.5], model.dimension)


def simulated(name, n, law, seed=0):
    model, rng = models(n)[name], np.random.default_rng(seed)
    theta = theta_of(model)
    rows = (
        model.simulate_as("rare covariates", rng, theta)
        if law == "rare"
        else model.simulate(rng, theta)
    )
    return model, theta, rows


def sums_over_blocks(model, theta, rows, bound, ratio):
    """Means of scores over blocks of rows, for a standard error."""
    blocks = np.array_split(rows, 50)
    found = [bounded_sums(model, theta, some, bound, ratio).gradient / len(some) for some in blocks]
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(len(blocks))


CASES = [
    (name, law)
    for name, law in product(models(2), ["normal", "rare"])
    if (name, law) != ("softmax", "rare")
]


@pytest.mark.parametrize(
    "n", [N, pytest.param(1_000_000, marks=pytest.mark.torture)], ids=["1e5", "1e6"]
)
@pytest.mark.parametrize(("name", "law"), CASES)
def test_the_mean_is_zero_at_the_true_theta(name, law, n):
    model, theta, rows = simulated(name, n, law)
    for bound, ratio in ((0.7, 0.5), (2.0, 0.1)):
        mean, error = sums_over_blocks(model, theta, rows, bound, ratio)
        assert (abs(mean) < 4 * error + 1e-12).all()


@pytest.mark.parametrize("name", ["logistic", "poisson", "linear"])
def test_a_plain_clip_of_the_gradient_has_another_mean(name):
    model, theta, rows = simulated(name, N, "rare")
    gradients = model.gradient(theta, rows)
    lengths = np.linalg.norm(gradients, axis=1)
    clipped = gradients * np.minimum(1, 0.7 / np.maximum(lengths, 1e-300))[:, None]
    error = clipped.std(axis=0, ddof=1) / math.sqrt(N)
    assert (abs(clipped.mean(axis=0)) > 10 * error).any()


@pytest.mark.parametrize(("name", "law"), CASES)
def test_slope_and_squares_are_those_of_the_scores(name, law):
    """The slope is E score gradient'; mean squares are no larger than its trace."""
    model, theta, rows = simulated(name, 50_000, law, 1)
    d, bound, ratio = model.dimension, 1.0, 0.3
    gradients = model.gradient(theta, rows)
    scores = np.array(
        [bounded_sums(model, theta, row[None], bound, ratio).gradient for row in rows[:3000]]
    )
    products = scores[:, :, None] * gradients[:3000, None, :]
    sums = bounded_sums(model, theta, rows, bound, ratio)
    error = products.std(axis=0, ddof=1) * math.sqrt(1 / 3000 + 1 / len(rows)) + 1e-9
    slope = as_matrix(sums.information, d) / len(rows)
    assert (abs(products.mean(axis=0) - slope) < 4.5 * error).all()
    squares = (scores**2).sum(axis=1)
    error = squares.std(ddof=1) * math.sqrt(1 / 3000 + 1 / len(rows))
    assert abs(squares.mean() - sums.squares / len(rows)) < 4 * error
    assert sums.squares <= slope.trace() * len(rows) * (1 + 1e-9)


@pytest.mark.parametrize("degrees", [1.0, 4.0, 50.0])
def test_scores_of_students_t_level_off_and_their_slope_and_square_agree(degrees):
    """A residual that is far away says where to go; no clip has a larger square than slope."""
    model = dpmcmc.RobustRegression(2, 10, 1.0, degrees=degrees, scale=0.3).locating
    near, far = model.score_factors(math.sqrt(degrees) * np.array([[0.5, 1.0], [1.0, 1e9]]))
    assert near[0] < near[1] == far[0] == far[1]
    assert (
        model.score_factors(-np.array([0.1, 7.0])) == -model.score_factors(np.array([0.1, 7.0]))
    ).all()
    clips, slopes, squares = model.table_of_clips
    law = stats.t(degrees)
    for clip in (0.3 * far[0], far[0]):

        def mean(factor, clip=clip):
            """E clip(s(r)) factor(r)."""
            clipped = partial(np.clip, a_min=-clip, a_max=clip)
            return 2 * law.expect(lambda r: clipped(model.score_factors(r)) * factor(r), lb=0)

        slope = mean(lambda r: (degrees + 1) / 0.3 * r / (degrees + r * r))
        square = mean(lambda r, clip=clip: min(model.score_factors(r), clip))
        assert np.interp(clip, clips, slopes) == pytest.approx(slope, rel=1e-3)
        assert np.interp(clip, clips, squares) == pytest.approx(square, rel=1e-3)
    assert square == pytest.approx(slope, rel=1e-3)
    assert (squares <= slopes * (1 + 1e-12)).all()


@pytest.mark.parametrize("settings", [(0.3, 0.1), (1.0, 1.0), (4.0, 0.1)])
def test_few_rows_of_a_robust_regression_need_a_weight_beside_their_clip(settings):
    model, theta, rows = simulated("robust", 10_000, "rare")
    assert bounded_sums(model, theta, rows, *settings).num_weighted < 20
    short = rows * [1, 1e-3, 1e-3, 1e-3]  # and a clip of short rows is as wide as can be
    assert bounded_sums(model, theta, short, *settings).gradient == pytest.approx(
        (model.score_factors(model._residuals(theta, short))[:, None] * short[:, 1:]).sum(axis=0),
        rel=2e-3,
    )


EXTREMES = [0.0, 1.0, -1.0, 0.3, 20.0, -1e3, 1e6]


@pytest.mark.parametrize("name", models(2))
def test_no_row_in_place_of_another_moves_a_release_by_more_than_2_B(name):
    """Of all pairs of some hundred rows, long and short, with outcomes far and near."""
    model = models(2)[name]
    theta, rng = theta_of(model), np.random.default_rng(3)
    rows = rng.choice(EXTREMES, (500, 4)) * rng.choice([1, 0.1, 3.0], (500, 1))
    rows[:, 0] = {
        "logistic": rng.integers(0, 2, 500),
        "softmax": rng.integers(0, 3, 500),
        "softmax regression": rng.integers(0, 3, 500),
        "poisson": rng.poisson(rng.choice([0.5, 50.0], 500)),
    }.get(name, rows[:, 0])
    rows = rows[:, : model.row_length]
    for bound, ratio in ((1.0, 0.5), (1.0, 5.0), (0.01, 100.0)):
        found = [bounded_sums(model, theta, row[None], bound, ratio) for row in rows]
        released = np.array(
            [
                [*s.gradient, *(ratio * s.information), ratio * SQUARES_RATIO * s.squares]
                for s in found
            ]
        )
        squares = (released**2).sum(axis=1)
        largest = (squares[:, None] + squares - 2 * released @ released.T).max()
        assert bound < math.sqrt(largest) <= 2 * bound * (1 + 1e-9)


class Liar(dpmcmc.LogisticRegression):
    """Says that its scores are short."""

    def bounded_scores(self, theta, rows, bound, ratio):
        found = super().bounded_scores(theta, rows, bound, ratio)
        return found._replace(scores=1e3 * found.scores, squares=-found.squares)


def test_a_model_that_is_wrong_about_its_scores_moves_no_more():
    model, rows = Liar(2, 2, 1.0), np.array([[1.0, 30.0, 2.0], [0.0, 30.0, 2.0]])
    one, two = (bounded_sums(model, np.zeros(2), row[None], 1.0, 0.1).gradient for row in rows)
    assert np.linalg.norm(one - two) <= 2


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e200])
@pytest.mark.parametrize("name", models(2))
def test_a_row_that_is_not_finite_counts_as_nothing(name, value):
    model, theta, rows = simulated(name, 50, "normal")
    rows[7] = value
    with_it = bounded_sums(model, theta, rows, 1.0, 0.2)
    without = bounded_sums(model, theta, np.delete(rows, 7, axis=0), 1.0, 0.2)
    np.testing.assert_allclose(with_it.gradient, without.gradient, atol=1 + 1e-9)
    assert np.isfinite(with_it.information).all()


def test_laws_of_covariates_have_mean_0_and_variance_1():
    for law in (normal, rare):
        x = law(np.random.default_rng(0), (400_000, 2))
        assert abs(x.mean(axis=0)).max() < 0.01 and abs(x.var(axis=0) - 1).max() < 0.2
