"""Sorted columns, blocks and coded rows against the pass over all rows: the same sum and count."""

import itertools
import math

import numpy as np
import pytest
from conftest import chosen

from dpmcmc.kernels.ratios import clipped_ratio_sum
from dpmcmc.likelihoods.blocks import Blocks, arranged
from dpmcmc.likelihoods.ratio_sums import (
    PASSES_BEFORE_CODING,
    PASSES_BEFORE_SORTING,
    PREFIX_BLOCK,
    BatchRatioSums,
    BlockedRatios,
    CodedRows,
    RatioSums,
    SortedColumn,
    prefix_sums,
)

NUM_ROWS = 6000
BAD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e160, 1e20]


def proposals(rng, statistics, used):
    """Slopes, intercepts and bounds: from few rows clipped to all, and exactly at a row."""
    num_statistics, num_rows = statistics.shape
    for _ in range(60):
        slope = np.zeros(num_statistics)
        slope[used] = 10.0 ** rng.uniform(-6, 3) * rng.standard_normal(len(used))
        centre = np.nan_to_num(statistics[:, 1]) + 10.0 ** rng.uniform(-3, 1)
        intercept = slope @ centre
        spread = np.abs(slope).max()
        for bound in (0.0, 1e-30, *spread * 10.0 ** rng.uniform(-2, 2, size=4), 1e100, math.inf):
            yield slope, intercept, bound
        for i in rng.integers(num_rows, size=4):
            row = np.ascontiguousarray(statistics[:, i : i + 1])
            at_a_row, _, _ = clipped_ratio_sum(row, slope, intercept, math.inf)
            if math.isfinite(at_a_row):
                yield slope, intercept, abs(at_a_row)
                yield slope, intercept, np.nextafter(abs(at_a_row), 0.0)


def check(result, statistics, slope, intercept, bound):
    expected, _, num_clipped = clipped_ratio_sum(statistics, slope, intercept, bound)
    total, count = result
    assert count == num_clipped
    used = slope != 0
    with np.errstate(all="ignore"):
        terms = np.abs(slope[used, None] * statistics[used]).sum(axis=0) + abs(intercept)
    scale = np.nansum(np.minimum(terms, bound)) + NUM_ROWS**0.5 * np.abs(terms).max()
    if math.isfinite(expected):
        assert total == pytest.approx(expected, rel=1e-12, abs=1e-14 * scale)


@pytest.mark.parametrize("data", ["normal", "skewed", "ties", "constant", "one far", "sorted"])
def test_a_sorted_column_gives_the_sum_and_the_count_of_all_rows(data):
    rng = np.random.default_rng(3)
    column = {
        "normal": 3 + rng.standard_normal(NUM_ROWS),
        "skewed": rng.normal(3, 1, NUM_ROWS) ** 2,
        "ties": rng.integers(-3, 4, NUM_ROWS).astype(float),
        "constant": np.full(NUM_ROWS, 2.5),
        "one far": np.append(rng.standard_normal(NUM_ROWS - 1), 1e9),
        "sorted": np.linspace(-1, 1, NUM_ROWS),
    }[data]
    statistics = np.vstack([np.full(NUM_ROWS, math.nan), column])
    prepared, answers = SortedColumn(statistics, 1), 0
    for slope, intercept, bound in proposals(rng, statistics, [1]):
        result = prepared.at(slope, intercept, bound)
        if result is not None:
            answers += 1
            check(result, statistics, slope, intercept, bound)
    assert answers > (100 if data == "one far" else 300)  # where it is too far, all are read


@pytest.mark.parametrize("num_statistics", [1, 2, 7, 30])
@pytest.mark.parametrize("data", ["normal", "skewed", "ties", "constant", "one far"])
def test_coded_rows_give_the_sum_and_the_count_of_all_rows(num_statistics, data):
    rng = np.random.default_rng(3)
    statistics = 3 + rng.standard_normal((num_statistics, NUM_ROWS))
    if data == "skewed":
        statistics **= 2
    elif data == "ties":
        statistics = np.rint(statistics)
    elif data == "constant":
        statistics[0] = 2.5
    elif data == "one far":
        statistics[0, 5] = 30.0
    prepared, answers, num_clipped = CodedRows(statistics), 0, 0
    used = np.arange(num_statistics)
    for slope, intercept, bound in proposals(rng, statistics, used):
        result = prepared.at(slope, intercept, bound)
        if result is not None:
            answers += 1
            num_clipped += result[1]
            check(result, statistics, slope, intercept, bound)
    assert answers > 100 and (num_clipped > 0 or data == "constant")


COORDINATES = {
    "straight": np.eye,
    "slanted": lambda d: np.tri(d) * 50,
    "turned": lambda d: np.ones((d, d)) - 2 * np.tri(d, k=-1),
    "nearly parallel": lambda d: np.ones((d, d)) + 1e-5 * np.eye(d),
    "none": lambda d: np.zeros((d, d)),
}


DATA = ["normal", "skewed", "ties", "constant", "one far", "shifted", "shifted ties"]
BLOCKED = list(itertools.product(COORDINATES, [2, 3, 10], DATA))


@pytest.mark.parametrize(("coordinates", "num_statistics", "data"), chosen(BLOCKED, *BLOCKED[::8]))
def test_blocks_give_the_sum_and_the_count_of_all_rows(coordinates, num_statistics, data):
    rng = np.random.default_rng(3)
    statistics = 3 + rng.standard_normal((num_statistics, NUM_ROWS))
    if data == "skewed":
        statistics **= 2
    elif data.endswith("ties"):
        statistics = np.rint(statistics)
    elif data == "constant":
        statistics[0] = 2.5
    elif data == "one far":
        statistics[0, 5] = 1e9
    if data.startswith("shifted"):
        statistics += 1e6 / 3
    jacobian = COORDINATES[coordinates](num_statistics)
    statistics = arranged(statistics, jacobian)
    prepared = BlockedRatios(Blocks(statistics, jacobian))
    num_clipped, num_active = [], []
    for slope, intercept, bound in proposals(rng, statistics, [0, 1]):
        result = prepared.at(slope, intercept, bound)
        if result is None:
            assert bound == math.inf
            continue
        check(result, statistics, slope, intercept, bound)
        num_clipped.append(result[1])
        if not data.startswith("shifted"):  # those have lost the digits before
            expected, _, _ = clipped_ratio_sum(statistics, slope, intercept, bound)
            assert abs(result[0] - expected) <= 1e-9 * bound + 1e-12 * abs(expected)
        if bound > 0.01 * np.abs(slope).max():
            num_active.append(len(prepared.settled(slope, intercept, bound)[1]))
    assert 0 in num_clipped and NUM_ROWS in num_clipped
    # Data shifted so far are read row by row.
    if num_statistics == 2 and coordinates != "nearly parallel" and not data.startswith("shifted"):
        assert np.mean(num_active) < 0.5 * len(prepared.blocks.lengths)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("far", [*BAD, 1e6, 3e7, 1e9, 1e12, 1e16, 1e17, 1e18])
@pytest.mark.parametrize("coordinates", ["straight", "slanted", "turned"])
def test_one_row_moves_the_sum_by_no_more_than_the_clip(coordinates, far):
    """Substituting a row by one far away, where the ratio may not see how far: 2 bounds."""
    rng = np.random.default_rng(3)
    jacobian = COORDINATES[coordinates](2)
    statistics = 3 + rng.standard_normal((2, NUM_ROWS))
    for across in [np.array([1.0, 0.0]), *np.linalg.inv(jacobian)]:
        substituted = statistics.copy()
        substituted[:, 100] = far * across / np.abs(across).max()
        pair = [BlockedRatios(Blocks(some, jacobian)) for some in (statistics, substituted)]
        for slope in (*jacobian, *jacobian.T, rng.standard_normal(2)):
            for bound in np.abs(slope).max() * np.array([0.1, 1.0, 3.0, 10.0]):
                intercept = slope @ np.array([3.0, 3.1])
                totals = [sums.at(slope, intercept, bound)[0] for sums in pair]
                assert abs(totals[1] - totals[0]) <= 2 * bound * (1 + 1e-9)
                expected, _, _ = clipped_ratio_sum(substituted, slope, intercept, bound)
                assert abs(totals[1] - expected) <= 1e-9 * bound


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_far_values_of_a_statistic_that_is_not_used_do_no_harm():
    statistics = np.random.default_rng(3).standard_normal((3, NUM_ROWS))
    statistics[0, :2] = 1.5e308
    proposal = np.array([0.0, 1.0, 1.0]), 0.0, 6.0
    check(BlockedRatios(Blocks(statistics, np.eye(3))).at(*proposal), statistics, *proposal)


@pytest.mark.parametrize("scale", [1e-170, 1e-300])
def test_tiny_slopes_are_clipped_as_well(scale):
    statistics = np.random.default_rng(3).standard_normal((4, NUM_ROWS))
    prepared = BlockedRatios(Blocks(statistics, np.eye(4)))
    slope = np.array([0.0, 0.0, scale, scale])
    for bound in (1e-5 * scale, scale, 9 * scale):
        check(prepared.at(slope, 0.0, bound), statistics, slope, 0.0, bound)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", chosen(BAD, math.nan, -math.inf, 1e308, 1e20))
@pytest.mark.parametrize("used", [[0], [1], [0, 3], range(8)])
def test_a_bad_row_is_clipped_like_any_other(bad, used):
    rng = np.random.default_rng(3)
    statistics = rng.standard_normal((8, NUM_ROWS))
    statistics[0, 17] = bad
    sums = RatioSums(statistics, lambda: Blocks(statistics, np.eye(8)))
    for slope, intercept, bound in proposals(rng, statistics, list(used)):
        result = sums.at(slope, intercept, bound)
        expected, _, num_clipped = clipped_ratio_sum(statistics, slope, intercept, bound)
        assert result[1] == num_clipped
        if math.isfinite(bound):
            scale = NUM_ROWS * min(bound, np.abs(slope).max()) + bound
            assert result[0] == pytest.approx(expected, rel=1e-12, abs=1e-11 * scale)
    assert sums.prepared


def test_preparation_waits_until_it_pays():
    rng = np.random.default_rng(3)
    statistics = rng.standard_normal((8, NUM_ROWS))
    sums = RatioSums(statistics, lambda: Blocks(statistics, np.eye(8)))
    one, few, many = np.eye(8)[2], np.ones(8) * (np.arange(8) < 3), np.ones(8)
    for i in range(PASSES_BEFORE_SORTING + 5):
        assert (2 in sums.prepared) == (i > PASSES_BEFORE_SORTING)
        sums.at(one, 0.1, 2.0)
    assert list(sums.prepared) == [2]
    for _ in range(PASSES_BEFORE_CODING + 1):
        assert "many" not in sums.prepared
        sums.at(many, 0.1, 9.0)
    coded = sums.prepared["many"]
    assert coded.at(many, 0.1, 9.0) == sums.at(many, 0.1, 9.0)
    assert coded.at(many, 0.1, 3.0) is None  # three rows in ten are clipped
    for _ in range(PASSES_BEFORE_CODING + 1):
        assert "few" not in sums.prepared
        sums.at(few, 0.1, 9.0)
    assert list(sums.prepared) == [2, "many", "few"]
    assert sums.prepared["few"].at(few, 0.1, 9.0) == sums.at(few, 0.1, 9.0)
    sums.at(np.zeros(8), 0.1, 9.0)  # none at all
    assert list(sums.prepared) == [2, "many", "few"]


@pytest.mark.parametrize("size", [1, PREFIX_BLOCK - 1, PREFIX_BLOCK, PREFIX_BLOCK + 1, 100_000])
def test_prefix_sums_keep_the_digits_of_small_differences(size):
    values = np.sort(np.random.default_rng(3).standard_normal(size))
    exact = np.append(0.0, values.cumsum(dtype=np.longdouble))
    scale = np.abs(exact).max()
    assert np.abs(prefix_sums(values) - exact).max() < 2e-15 * scale
    if size == 100_000:  # where one running sum loses digits
        assert np.abs(values.cumsum() - exact[1:]).max() > 4e-15 * scale


@pytest.mark.parametrize("bound", [0.0, 0.7, math.inf])
@pytest.mark.parametrize("num_statistics", [1, 2, 10, 30])
def test_batches_have_the_same_sums_before_and_after_the_data_are_copied_by_row(
    num_statistics, bound
):
    rng = np.random.default_rng(3)
    statistics, slope = rng.standard_normal((num_statistics, NUM_ROWS)), rng.standard_normal(30)
    statistics[-1, ::7] = math.nan
    sums, slope = BatchRatioSums(statistics), slope[:num_statistics]
    slope[1:] *= rng.random(num_statistics - 1) < 0.7
    for i in range(20):
        batch = rng.choice(NUM_ROWS, 500 + 200 * (i > 15), replace=False)
        result = sums.at(slope, 0.1, bound, batch)
        expected = clipped_ratio_sum(statistics[:, batch], slope, 0.1, bound)
        assert result == pytest.approx(expected, rel=1e-12, abs=1e-11)
        assert result[2] == expected[2]
        assert (sums.rows is None) == (i < 11)
