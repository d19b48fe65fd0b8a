"""What enters a target is checked, in one line that quotes no row."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from jax_models import BananaJax
from row_models import BananaRows

from dpmcmc.extras import missing
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.banana import Banana

BANANA = Banana(3, 20, 1.5, 1000, [20, 2.5], [0, 3])
MODELS = {"affine": BANANA, "rows": BananaRows(BANANA), "JAX": BananaJax(BANANA)}
SECRET = 12345.678


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


def message(model, data, *arguments):
    with pytest.raises(ValueError) as error:
        Target(model, data, *arguments)
    text = str(error.value)
    assert "\n" not in text and "12345" not in text
    return text


def test_data_of_another_shape_are_refused(model):
    shape = model.data_shape
    assert shape == ((3, 20) if model is BANANA else (20, 3))
    expected = f"data of {type(model).__name__}: must be numbers of shape {shape}, not "
    assert message(model, np.zeros(shape[::-1])) == f"{expected}{shape[::-1]} (transposed)"
    for wrong in [(shape[0], shape[1] + 1), (60,), (*shape, 1), (), (0, 0)]:
        assert message(model, np.full(wrong, SECRET)) == f"{expected}{wrong}"


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ("12345.678", "<U9"),
        (None, "()"),
        ([[SECRET], [SECRET, 1.0]], "list"),
        (np.full((20, 3), "12345.678"), "<U9"),
        (np.full((20, 3), SECRET, complex), "complex128"),
        (np.full((20, 3), {"x": SECRET}), "object"),
        (np.zeros((20, 3), "datetime64[s]"), "datetime64[s]"),
    ],
)
def test_what_is_no_number_is_refused(data, named):
    assert message(MODELS["rows"], data).endswith(f"must be numbers of shape (20, 3), not {named}")


def test_columns_of_a_data_frame_are_taken_by_name():
    class Named(BananaRows):
        columns = ("a", "b", "c")

    model, frame = Named(BANANA), pd.DataFrame(np.full((20, 3), SECRET), columns=["c", "b", "a"])
    frame["c"] = 1.0
    assert Target(model, frame).data[0].tolist() == [SECRET, SECRET, 1.0]
    assert message(model, frame.drop(columns="b")) == (
        "data of Named: has no column b; it takes a, b, c, or an array of these in that order"
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused_unless_they_are_to_be_clipped(model, bad):
    data = np.full(model.data_shape, SECRET)
    data[1, 2] = data[2, 0] = bad
    text = message(model, data)
    assert "that are finite, and 2 of 60 are not" in text and 'nonfinite="clip"' in text
    total, count = Target(model, data, nonfinite="clip").clipped_gradient(np.ones(3), 1.0)
    assert np.isfinite(total).all() and count == 20
    assert "must be one of refuse, clip, not 'drop'" in message(model, data, "drop")


def test_numbers_whose_squares_overflow_are_finite(model):
    assert Target(model, np.full(model.data_shape, 1e300)).num_rows == 20


def test_data_are_not_copied_and_cannot_be_changed(model, tmp_path):
    data = np.random.default_rng(1).standard_normal(model.data_shape)
    np.save(tmp_path / "data.npy", data)
    mapped = np.load(tmp_path / "data.npy", mmap_mode="r")
    for given in (data, mapped):
        target = Target(model, given)
        assert np.shares_memory(target.data, given)
        with pytest.raises(ValueError, match="read-only"):
            target.data[0, 0] = 1.0
    data[0, 0] += 0  # one's own array stays as it was
    one, other = Target(model, mapped), Target(model, data)
    theta = np.array([0.1, 2.0, 0.3])
    for a, b in zip(
        one.clipped_gradient(theta, 1.0), other.clipped_gradient(theta, 1.0), strict=True
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("given", ["list", "float32", "columns", "integers"])
def test_whatever_holds_the_numbers_gives_the_same_sums(model, given):
    data = np.random.default_rng(1).integers(-4, 5, model.data_shape).astype(float)
    other = {
        "list": data.tolist(),
        "float32": data.astype(np.float32),
        "columns": np.asfortranarray(data),
        "integers": data.astype(int),
    }[given]
    theta, theta_new = np.array([0.1, 2.0, 0.3]), np.array([0.2, 1.0, 0.0])
    sums = [
        Target(model, some).clipped_log_likelihood_ratio(theta, theta_new, 1.0)
        for some in (data, other)
    ]
    assert sums[0] == sums[1]


def test_a_mask_is_of_all_rows(model):
    target = Target(model, np.zeros(model.data_shape))
    for ask in (
        lambda batch: target.clipped_batch_ratio(np.zeros(3), np.ones(3), 1.0, batch),
        lambda batch: target.clipped_batch_gradient(np.zeros(3), 1.0, batch),
    ):
        with pytest.raises(ValueError, match="a mask of 20 rows is needed, not of 19"):
            ask(np.full(19, True))
        ask(np.full(20, False))


def test_without_jax_one_line_says_so():
    code = "import sys; sys.modules['jax'] = None; import dpmcmc.models.jax"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = run.stderr.splitlines()[-1]
    assert last == f"ModuleNotFoundError: {missing('jax', 'jax')}"
    code = "import sys; import dpmcmc.models.banana, dpmcmc.models.rows, dpmcmc.likelihoods.target;"
    subprocess.run([sys.executable, "-c", f"{code} assert 'jax' not in sys.modules"], check=True)


@pytest.mark.parametrize("bound", [0.0, 1e-163, 1e-200, np.nan])
def test_a_bound_whose_square_underflows_clips_nothing_and_is_refused(small_target, bound):
    theta, batch = small_target.model.true_theta, np.arange(2)
    with pytest.raises(ValueError, match="gradient_clip_bound: must be at least 1e-140"):
        small_target.clipped_gradient(theta, bound)
    with pytest.raises(ValueError, match="gradient_clip_bound: must be at least 1e-140"):
        small_target.clipped_batch_gradient(theta, bound, batch)
    with pytest.raises(ValueError, match="radius: must be at least 1e-140"):
        small_target.clipped_statistics(np.zeros(1), np.eye(1), bound)
    total, _ = small_target.clipped_gradient(theta, 1e-140)
    assert np.linalg.norm(total) <= small_target.num_rows * 1e-140 * (1 + 1e-9)


def test_single_rows_are_what_a_batch_adds_up(small_target):
    theta, theta_new = np.full((2, small_target.model.dimension), [[0.1], [0.3]])
    rows = np.arange(0, small_target.num_rows, 3)
    ratios, is_clipped = small_target.row_ratios(theta, theta_new, 0.05, rows)
    total, squares, count = small_target.clipped_batch_ratio(theta, theta_new, 0.05, rows)
    assert ratios.sum() == pytest.approx(total) and (ratios**2).sum() == pytest.approx(squares)
    assert is_clipped.sum() == count
    gradients, is_clipped = small_target.row_gradients(theta, 0.5)
    total, count = small_target.clipped_gradient(theta, 0.5)
    assert gradients.sum(axis=0) == pytest.approx(total) and is_clipped.sum() == count
