"""Models check their own settings, each in one line that names the field."""

import math

import msgspec
import numpy as np
import pytest
from row_models import LogisticRows

from dpmcmc.models.banana import Banana
from dpmcmc.models.circle import Circle
from dpmcmc.models.gaussian import Gaussian, RandomGaussian, is_covariance
from dpmcmc.models.gaussian_mixture import GaussianMixture
from dpmcmc.settings import schema

SETTINGS = {
    Banana: dict(
        dimension=3,
        num_rows=100,
        curvature=20,
        prior_variance=1000,
        likelihood_variances=[20, 2.5],
        true_position=[0, 3],
    ),
    Gaussian: dict(
        num_rows=100, prior_variance=10, covariance=[[1, 0.5], [0.5, 1]], true_position=[0, 3]
    ),
    RandomGaussian: dict(
        dimension=3, num_rows=100, prior_variance=10, covariance_seed=5, true_position=[0, 3]
    ),
    GaussianMixture: dict(num_rows=100, variance=2, prior_variances=[10, 1], true_position=[0, 1]),
    Circle: dict(
        num_rows=100, sharpness=1e-5, radius_mean=3, radius_sd=1, start_mean=[0, 1], start_sd=1
    ),
}
CLASHES = [
    (
        GaussianMixture,
        "tempered_rows",
        101,
        "tempered_rows: must be at most num_rows = 100, not 101",
    ),
    (Banana, "tempered_rows", 101, "tempered_rows: must be at most num_rows = 100, not 101"),
    (
        Banana,
        "likelihood_variances",
        [1, 2, 3, 4],
        "likelihood_variances: must have at most dimension = 3 entries, not 4",
    ),
    (
        Banana,
        "true_position",
        [1, 2, 3, 4, 5],
        "true_position: must have at most dimension = 3 entries, not 5",
    ),
    (
        RandomGaussian,
        "true_position",
        [1, 2, 3, 4],
        "true_position: must have at most dimension = 3 entries, not 4",
    ),
    *(
        (
            Gaussian,
            "covariance",
            wrong,
            "covariance: must be a symmetric positive definite 2 x 2 matrix "
            "(true_position has as many entries)",
        )
        for wrong in ([[1, 0.5], [0.4, 1]], [[1, 1], [1, 1]], [[1]], [[1, 0]], [[-1, 0], [0, 1]])
    ),
]
WRONG = [
    (Banana, "dimension", [1, 1001, 2.5, "2"]),
    (Banana, "num_rows", [1, 10**9 + 1, 10.5]),
    (Banana, "curvature", [math.nan, math.inf, 1e10, None]),
    (Banana, "prior_variance", [0, -1, math.nan, math.inf]),
    (Banana, "likelihood_variances", [[], [0], [1, -1], 1.0, [[1]]]),
    (Banana, "true_position", [[], ["x"], 3]),
    (Banana, "tempered_rows", [0, -1, 1.5]),
    (Gaussian, "covariance", [[], [1], [[]], 1.0]),
    (Gaussian, "true_position", [[], 1.0]),
    (GaussianMixture, "prior_variances", [[1], [1, 2, 3], [1, 0], 2]),
    (GaussianMixture, "true_position", [[1], [1, 2, 3], [1, "a"]]),
    (RandomGaussian, "dimension", [0, 1001, 2.5]),
    (RandomGaussian, "covariance_seed", [-1, 1.5, "a"]),
    (Circle, "start_mean", [[0], [0, 1, 2]]),
    (Circle, "sharpness", [0, -1]),
    (Circle, "start_sd", [0]),
    (Circle, "radius_sd", [0]),
]


@pytest.mark.parametrize(("cls", "key", "value", "expected"), CLASHES)
def test_settings_that_clash_are_refused(cls, key, value, expected):
    with pytest.raises(ValueError) as error:
        cls(**SETTINGS[cls] | {key: value})
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("cls", "key", "value"), [(cls, key, value) for cls, key, values in WRONG for value in values]
)
def test_settings_of_another_type_or_size_are_refused(cls, key, value):
    with pytest.raises(ValueError, match=rf"^{cls.__name__}\.{key}: .*, not ") as error:
        cls(**SETTINGS[cls] | {key: value})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("cls", SETTINGS)
def test_what_is_allowed_is_kept_as_it_is(cls):
    model = cls(**SETTINGS[cls])
    for key, value in SETTINGS[cls].items():
        assert getattr(model, key) == value
        assert not isinstance(value, list) or getattr(model, key) is not value
    arrays = {k: np.array(v) if isinstance(v, list) else v for k, v in SETTINGS[cls].items()}
    data = model.simulate(np.random.default_rng(1))
    np.testing.assert_array_equal(cls(**arrays).simulate(np.random.default_rng(1)), data)
    assert data.shape == model.data_shape
    fields = msgspec.structs.fields(schema(cls))
    required = {field.name for field in fields if field.required}
    assert required <= set(SETTINGS[cls]) <= {field.name for field in fields}


def test_what_a_model_need_not_have_is_missed_in_one_line():
    model = LogisticRows(3, 10)
    with pytest.raises(NotImplementedError, match="LogisticRows has no sample_posterior"):
        model.sample_posterior(np.random.default_rng(1), np.zeros((10, 4)), 5)
    rng, same = np.random.default_rng(1), np.random.default_rng(1)
    np.testing.assert_array_equal(model.dataset(rng), model.simulate(same))


def test_a_covariance_is_symmetric_and_positive_definite():
    assert is_covariance([[2, 1, 0], [1, 2, 1], [0, 1, 2]], 3)
    assert is_covariance([[1, 0.999], [0.999, 1]], 2)
    assert not is_covariance([[1, 1], [1, 1]], 2)
    assert not is_covariance([[1, 0]], 2)
    assert not is_covariance([[1, math.nan], [math.nan, 1]], 2)
