"""Softmax regression: samples of powers, verdicts, classifiers without privacy."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import regression
from dpmcmc.data_files import DataFile, data_set, model_of
from dpmcmc.models.softmax import Softmax
from dpmcmc_studies.analysis.intervals import Estimate
from kept_sweep import sd_difference
from regression import contrasts, distance, judged

RADON = Path(__file__).parents[2] / "examples/radon.csv"
PRIOR = {"means": [0, 0], "sds": [1, 1], "prior_variance": 10, "classes": [1, 9, 0]}
SETTINGS = {"means": [0.88, 0.63], "sds": [1.08, 0.53], "prior_variance": 10}


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_contrasts_are_what_the_likelihood_sees(rng):
    free, fixed = Softmax(50, **PRIOR), Softmax(50, **PRIOR, has_baseline=True)
    draws, rows = rng.standard_normal((4, 9)), free.simulate(rng, np.zeros(9))
    seen = contrasts(free, draws)
    assert seen.shape == (4, 6) and contrasts(fixed, seen) is seen
    for theta, contrast in zip(draws, seen, strict=True):
        of_both = [m.probabilities(t, rows) for m, t in ((free, theta), (fixed, contrast))]
        assert of_both[0] == pytest.approx(of_both[1], rel=1e-12)


def test_a_sample_is_no_distance_from_itself_and_twice_as_wide_when_doubled(rng):
    sample = rng.standard_normal((500, 3))
    off, ratio = distance(rng, sample, sample)
    assert off < 0.1 and ratio == pytest.approx(1)
    off, ratio = distance(rng, 2 * sample, sample)
    assert off > 0.2 and ratio == pytest.approx(2)
    sds = sample.std(axis=0, ddof=1)
    assert sd_difference(2 * sds, sample) == pytest.approx(sds.mean())
    assert sd_difference(sds, 2 * sample) == sd_difference(2 * sds, sample)


@pytest.mark.parametrize(
    ("ranges", "verdict"),
    [
        ([(1, 2), (0.5, 3)], "confirmed"),
        ([(1, 2), (-1, 3)], "undecided"),
        ([(1, 2), (-3, -1)], "not confirmed"),
        ([], "undecided"),
    ],
)
def test_a_claim_needs_all_of_its_comparisons(ranges, verdict):
    gaps = [Estimate((low + high) / 2, low, high) for low, high in ranges]
    assert judged(gaps, above=0) == verdict


def test_figures_stand_chains_that_do_not_move_and_tables_in_any_order(rng):
    still = {"exact": rng.standard_normal((50, 2)), "still": np.ones((50, 2))}
    figure = regression.density_panels(still, ["one", "other"])
    assert [len(axis.lines) for axis in figure.axes] == [2, 0]
    table = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], index=[1, 0.1], columns=[2, 0.5])
    (axis,) = regression.sweep_panels({"numbers": (table, ".1f")}).axes
    assert [text.get_text() for text in axis.texts] == ["4.0", "3.0", "2.0", "1.0"]


def test_the_majority_is_counted_where_it_is_fitted():
    train = np.array([[1.0, 0], [1.0, 0], [0.0, 0]])
    test = np.array([[1.0, 0], [0.0, 0], [0.0, 0], [0.0, 0]])
    assert regression.majority(train, test) == 0.25


def test_the_baseline_is_as_good_as_the_truth():
    rng = np.random.default_rng(1)
    model = Softmax(8000, **SETTINGS)
    theta = model.sample_prior(rng)
    rows = model.simulate(rng, theta)
    found = regression.baseline(rows[:6000], rows[6000:])
    assert found == pytest.approx(model.accuracy(theta[None], rows[6000:]), abs=0.02)
    assert found > regression.majority(rows[:6000], rows[6000:]) + 0.05


def test_splits_are_of_all_rows_and_the_same_for_every_classifier():
    seen = []

    def accuracy(train, test):
        seen.append((train[:, 0], test[:, 0]))
        return float(len(seen))

    rows = np.arange(20.0).reshape(10, 2)
    found = regression.over_splits(accuracy, rows, held_out=0.3, splits=3, seed=5)
    assert found == (2.0, 1.0)
    for train, test in seen:
        assert len(test) == 3 and sorted([*train, *test]) == rows[:, 0].tolist()
    regression.over_splits(accuracy, rows, held_out=0.3, splits=3, seed=5)
    for before, after in zip(seen[:3], seen[3:], strict=True):
        np.testing.assert_array_equal(before[1], after[1])
    assert not np.array_equal(seen[0][1], seen[1][1])


@pytest.mark.parametrize(
    ("classes", "expected"), [([0, 1, 2, 3, 9], (0.718, 0.660)), ([0, 1, 2, 3], (0.735, 0.675))]
)
def test_houses_are_classified_as_well_as_can_be(classes, expected):
    file = DataFile(RADON)
    model, columns = model_of(file, lambda n: Softmax(n, **SETTINGS, classes=classes))
    rows = data_set(model, file, columns)
    for accuracy, mean in zip((regression.baseline, regression.majority), expected, strict=True):
        found = regression.over_splits(accuracy, rows, splits=5)
        assert found.mean == pytest.approx(mean, abs=4.5 * 0.009 / np.sqrt(5))
        assert 0.002 < found.sd < 0.02
