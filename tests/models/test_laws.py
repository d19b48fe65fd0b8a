"""Laws of rows that leave their model: means stay, and what is said of them holds."""

import math
from typing import ClassVar

import numpy as np
import pytest

import dpmcmc
from dpmcmc.models.covariates import LEVELLED, RARE
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.laws import ERRORS, SPREAD, rare
from dpmcmc.models.linear_regression import LinearRegression
from dpmcmc.models.model import laws_of
from dpmcmc.models.poisson_regression import SHAPE, PoissonRegression
from dpmcmc.models.regression import LogisticRegression
from dpmcmc.models.softmax_regression import SoftmaxRegression

N = 100_000
REGRESSIONS = {
    "logistic": LogisticRegression(3, N, 1.0, intercept=True),
    "robust": dpmcmc.RobustRegression(3, N, 1.0, intercept=True, scale=0.5),
    "linear": LinearRegression(3, N, 1.0, intercept=True),
    "poisson": PoissonRegression(3, N, 1.0, intercept=True),
    "softmax": SoftmaxRegression(
        N, 1.0, intercept=True, outcome="y", covariates=["a"], labels=[1, 2, 3, 4]
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_the_mean_0_and_the_variance_that_is_said(name):
    law, _ = ERRORS[name]
    draws = law(np.random.default_rng(1), (2, N))
    along = draws.sum(axis=0) / math.sqrt(2)  # the direction of far rows
    assert abs(along.mean()) < 4 * along.std() / math.sqrt(N)
    variance = {"wide errors": SPREAD**2, "far rows": 1 + 25 * 0.05 * 0.95}.get(name, 1.0)
    # Student's t with 3 degrees has no fourth moment, so its sample variance settles slowly.
    assert along.var() == pytest.approx(variance, rel=0.1 if name == "heavy tails" else 0.02)
    skewness = (along**3).mean() / along.std() ** 3
    assert (skewness > 0.5) == (name in ("skewed errors", "far rows")) or name == "heavy tails"


def test_rows_of_a_normal_mean_have_the_errors_in_the_units_of_its_covariance():
    model = dpmcmc.Gaussian(N, 1.0, [[4.0, 1.0], [1.0, 1.0]])
    for name in ("skewed errors", "wide errors"):
        rows = model.simulate_as(name, np.random.default_rng(1), np.array([1.0, -1.0]))
        assert rows.shape == model.data_shape
        factor = SPREAD**2 if name == "wide errors" else 1
        np.testing.assert_allclose(np.cov(rows), factor * model.covariance_matrix, atol=0.1)
        np.testing.assert_allclose(rows.mean(axis=1), [1, -1], atol=0.05)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_each_law_of_a_regression_makes_its_data(name):
    model, rng = REGRESSIONS[name], np.random.default_rng(1)
    theta = model.sample_prior(rng)
    own = model.simulate(np.random.default_rng(2), theta)
    assert {RARE, LEVELLED} <= {*model.other_laws}
    for law in model.other_laws:
        rows = model.simulate_as(law, np.random.default_rng(2), theta)
        assert rows.shape == own.shape and np.isfinite(rows).all()
        assert model.is_outcome(rows[:, 0]).all() and (rows[:, 1] == 1).all()
        assert (rows[:, 2:] == own[:, 2:]).all() == (law != RARE)
        assert not (rows[:, 0] == own[:, 0]).all()


def test_effects_level_off_and_counts_are_overdispersed():
    theta, rng = np.array([0.5, 1.0, 0.0]), np.random.default_rng(1)
    model = REGRESSIONS["poisson"]
    rows = model.simulate_as(LEVELLED, rng, theta)
    means = np.exp(0.5 + np.tanh(rows[:, 2]))
    assert abs(((rows[:, 0] - means) / np.sqrt(means)).mean()) < 4 / math.sqrt(N)
    rows = model.simulate_as("overdispersed counts", rng, np.array([1.0, 0.0, 0.0]))
    mean = math.e
    assert rows[:, 0].mean() == pytest.approx(mean, rel=0.02)
    assert rows[:, 0].var() == pytest.approx(mean + mean**2 / SHAPE, rel=0.05)


def test_errors_of_a_robust_regression_are_wider_than_it_says():
    model, theta = REGRESSIONS["robust"], np.zeros(3)
    own = model.simulate(np.random.default_rng(1), theta)[:, 0]
    wide = model.simulate_as("wide errors", np.random.default_rng(1), theta)[:, 0]
    np.testing.assert_allclose(wide, SPREAD * own)


def test_rare_covariates_have_mean_0_and_variance_1():
    draws = rare(np.random.default_rng(1), (N, 2))
    assert len(np.unique(draws[:, 0])) == 2
    np.testing.assert_allclose(draws.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(draws.var(axis=0), 1, rtol=0.1)


@pytest.mark.parametrize(
    ("base", "settings"), [(LogisticRegression, (3, 10, 1.0)), (Gaussian, (10, 1.0, [[1.0]]))]
)
def test_a_class_that_simulates_rows_of_its_own_has_no_other_laws(base, settings):
    class Own(base):
        def simulate(self, rng, theta=None):
            return super().simulate(rng, theta)

    class With(Own):
        other_laws: ClassVar = {"far": "far off"}

        def simulate_as(self, law, rng, theta):
            return self.simulate(rng, theta)

    assert laws_of(base(*settings)) and laws_of(Own(*settings)) == {}
    assert laws_of(With(*settings)) == {"far": "far off"}
