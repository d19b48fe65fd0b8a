"""Compiled passes against plain NumPy, which is the truth here."""

import math

import numpy as np
import pytest

from dpmcmc.kernels.blocks import BOX
from dpmcmc.kernels.compiling import OPTIONS
from dpmcmc.kernels.gradients import clipped_gradient_block_sum, clipped_gradient_sum
from dpmcmc.kernels.ratios import clipped_ratio_sum


def numpy_ratio_sum(statistics, slope, intercept, bound):
    read = slope != 0
    ratio = slope[read] @ statistics[read] - intercept
    clipped = np.clip(np.where(np.isnan(ratio), 0.0, ratio), -bound, bound)
    return math.fsum(clipped), math.fsum(clipped**2), int((~(np.abs(ratio) <= bound)).sum())


def numpy_gradient_sum(statistics, jacobian, offset, bound):
    num_rows = statistics.shape[1]
    total, num_clipped = np.zeros(len(offset)), 0
    for i in range(num_rows):
        row = statistics[:, i]
        gradient = np.array(
            [column[column != 0] @ row[column != 0] for column in jacobian.T] - offset
        )
        norm = np.linalg.norm(gradient)
        num_clipped += not (norm <= bound and math.isfinite(norm))
        if math.isfinite(norm):
            total += gradient if norm <= bound else gradient * (bound / norm)
    return total, num_clipped


SHAPES = [(1, 1), (2, 7), (1, 1024), (3, 1025), (2, 5000), (30, 257)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bound", [0.0, 0.3, 2.0, math.inf])
def test_ratio_sum_is_that_of_numpy(shape, bound):
    rng = np.random.default_rng(shape[1])
    statistics, slope = rng.standard_normal(shape), rng.standard_normal(shape[0])
    total, squares, clipped = clipped_ratio_sum(statistics, slope, 0.1, bound)
    expected = numpy_ratio_sum(statistics, slope, 0.1, bound)
    assert total == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
    assert squares == pytest.approx(expected[1], rel=1e-12)
    assert clipped == expected[2]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bound", [0.3, 2.0, math.inf])
def test_gradient_sum_is_that_of_numpy(shape, bound):
    rng = np.random.default_rng(shape[1])
    statistics = rng.standard_normal(shape)
    jacobian = rng.standard_normal((shape[0], 4)) * (rng.random((shape[0], 4)) < 0.7)
    offset = rng.standard_normal(4)
    total, clipped = clipped_gradient_sum(statistics, jacobian, offset, bound)
    expected = numpy_gradient_sum(statistics, jacobian, offset, bound)
    np.testing.assert_allclose(total, expected[0], rtol=1e-11, atol=1e-11)
    assert clipped == expected[1]


def test_sums_over_many_rows_are_accurate():
    # Terms of one sign and a running sum far above them: one accumulator loses digits here.
    statistics = np.full((1, 200_000), 0.1)
    statistics[0, 0] = 1e6
    exact = math.fsum(statistics[0])
    naive = np.add.accumulate(statistics[0])[-1]
    total, _, _ = clipped_ratio_sum(statistics, np.array([1.0]), 0.0, math.inf)
    gradient, _ = clipped_gradient_sum(statistics, np.ones((1, 1)), np.zeros(1), math.inf)
    assert abs(naive - exact) > 1e-12 * exact
    assert abs(total - exact) < 2e-14 * exact
    assert abs(gradient[0] - exact) < 2e-14 * exact


@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_of_rows_are_summed_like_any_rows(shape):
    rng = np.random.default_rng(shape[1])
    statistics, offset = rng.standard_normal(shape), rng.standard_normal(4)
    jacobian = rng.standard_normal((shape[0], 4)) * (rng.random((shape[0], 4)) < 0.7)
    size = BOX
    blocks = np.flatnonzero(rng.random(-(-shape[1] // size)) < 0.6)
    chosen = np.isin(np.arange(shape[1]) // size, blocks)
    expected = numpy_gradient_sum(statistics[:, chosen], jacobian, offset, 1.5)
    statistics[:, ~chosen] = math.nan  # not touched
    total, count = clipped_gradient_block_sum(statistics, blocks, jacobian, offset, 1.5)
    np.testing.assert_allclose(total, expected[0], rtol=1e-12, atol=1e-12 * shape[1])
    assert count == expected[1]


BAD = [math.nan, math.inf, -math.inf, 1e308, -1e308]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("position", [0, 500, 1023, 1024, 1999])
def test_a_bad_row_moves_the_ratio_sum_by_no_more_than_the_clip(bad, position):
    rng = np.random.default_rng(3)
    statistics = rng.standard_normal((2, 2000))
    slope, bound = np.array([0.5, -2.0]), 0.4
    others = np.delete(statistics, position, axis=1)
    clean, _, _ = clipped_ratio_sum(others, slope, 0.1, bound)
    statistics[1, position] = bad
    total, squares, clipped = clipped_ratio_sum(statistics, slope, 0.1, bound)
    contribution = 0.0 if math.isnan(bad) else math.copysign(bound, -bad)
    assert total == pytest.approx(clean + contribution, abs=1e-11)
    assert math.isfinite(squares)
    expected = numpy_ratio_sum(statistics, slope, 0.1, bound)
    assert (total, clipped) == (pytest.approx(expected[0], abs=1e-11), expected[2])


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("bound", [0.4, math.inf])
@pytest.mark.parametrize("position", [0, 255, 256, 1999])
def test_a_bad_row_counts_as_the_zero_gradient(bad, bound, position):
    rng = np.random.default_rng(3)
    statistics = rng.standard_normal((2, 2000))
    jacobian, offset = np.array([[0.5, 0.0], [1.0, -2.0]]), np.array([0.1, 0.2])
    clean, clean_clipped = clipped_gradient_sum(
        np.delete(statistics, position, axis=1), jacobian, offset, bound
    )
    statistics[1, position] = bad
    total, clipped = clipped_gradient_sum(statistics, jacobian, offset, bound)
    np.testing.assert_allclose(total, clean, atol=1e-11)
    assert clipped == clean_clipped + 1


def test_a_gradient_of_norm_zero_is_the_zero_vector():
    total, clipped = clipped_gradient_sum(np.ones((1, 10)), np.ones((1, 2)), np.ones(2), 0.5)
    assert (total == 0).all() and clipped == 0


def test_the_compiler_may_not_assume_that_nan_and_infinity_do_not_occur():
    assert OPTIONS["fastmath"] <= {"reassoc", "contract", "nsz"}


@pytest.mark.parametrize("wrong", [np.ones(3), np.ones((1, 2, 3)), None, "text"])
def test_machine_code_gets_a_matrix_or_nothing(wrong):
    with pytest.raises((TypeError, ValueError)):
        clipped_ratio_sum(wrong, np.ones(2), 0.0, 1.0)


@pytest.mark.parametrize("name", ["columns", "transposed", "single", "read-only"])
def test_any_layout_of_the_rows_gives_the_same_sum(name):
    rows = np.random.default_rng(1).standard_normal((2, 900)).astype(np.float32).astype(float)
    layouts = {
        "columns": np.repeat(rows, 2, axis=1)[:, ::2],
        "transposed": np.asfortranarray(rows),
        "single": rows.astype(np.float32),
        "read-only": rows.copy(),
    }
    layouts["read-only"].flags.writeable = False
    arguments = (np.array([0.5, -2.0]), 0.1, 0.4)
    expected = clipped_ratio_sum(rows, *arguments)
    assert clipped_ratio_sum(layouts[name], *arguments) == expected


def test_a_ratio_at_the_bound_is_not_clipped():
    statistics = np.array([[-3.0, -2.0, 0.0, 2.0, 3.0]])
    total, squares, clipped = clipped_ratio_sum(statistics, np.ones(1), 0.0, 2.0)
    assert (total, squares, clipped) == (0.0, 16.0, 2)
    _, clipped = clipped_gradient_sum(statistics, np.ones((1, 1)), np.zeros(1), 2.0)
    assert clipped == 2


def test_one_component_moves_read_one_column():
    # A column with slope zero is not read: what stands there cannot reach the sum.
    statistics = np.vstack([np.ones(100), np.full(100, np.nan)])
    total, _, _ = clipped_ratio_sum(statistics, np.array([0.1, 0.0]), 0.0, 1.0)
    assert total == pytest.approx(10)


@pytest.mark.parametrize("bound", [1e-150, 1e-100, 0.01, 1.0, 3.0, 1e100])
def test_a_clipped_gradient_has_the_length_of_the_bound(bound):
    """To some units in the last place; on both sides of where single precision ends."""
    rng = np.random.default_rng(8)
    powers = np.concatenate([rng.uniform(0, 45, 500), rng.uniform(18.9, 19.1, 100), [1e-15] * 50])
    angles = rng.uniform(0, 2 * np.pi, len(powers))
    for power, angle in zip(powers, angles, strict=True):
        row = bound * 10.0**power * np.array([[np.cos(angle)], [np.sin(angle)]])
        total, num_clipped = clipped_gradient_sum(row, np.eye(2), np.zeros(2), bound)
        length = math.hypot(*row[:, 0])
        assert num_clipped == (length > bound) or abs(length / bound - 1) < 1e-15
        np.testing.assert_allclose(math.hypot(*total), min(length, bound), rtol=1e-15)
        np.testing.assert_allclose(total * length, row[:, 0] * min(length, bound), rtol=2e-15)


def test_rows_within_the_bound_are_not_scaled():
    rng = np.random.default_rng(9)
    rows = rng.standard_normal((3, 1000)) * 10.0 ** rng.uniform(-60, 0, 1000) / 6
    total, num_clipped = clipped_gradient_sum(rows[:, :1], np.eye(3), np.zeros(3), 1.0)
    assert (total == rows[:, 0]).all() and num_clipped == 0
    rows[:, 7] = 1e30  # for which the whole block is worked out anew
    total, num_clipped = clipped_gradient_sum(rows, np.eye(3), np.zeros(3), 1.0)
    expected = np.delete(rows, 7, axis=1).sum(axis=1) + 3**-0.5
    np.testing.assert_allclose(total, expected, rtol=1e-12)
    assert num_clipped == 1
