"""Classifiers beside the accuracy of a posterior: simulated classes, counts, houses."""

import numpy as np
import pytest
from conftest import ROOT

from dpmcmc.evaluation import classification
from dpmcmc.models.softmax import Softmax
from dpmcmc.study.data_files import DataFile, data_set, model_of

SETTINGS = {"means": [0.88, 0.63], "sds": [1.08, 0.53], "prior_variance": 10}


def test_the_majority_is_counted_where_it_is_fitted():
    train = np.array([[1.0, 0], [1.0, 0], [0.0, 0]])
    test = np.array([[1.0, 0], [0.0, 0], [0.0, 0], [0.0, 0]])
    assert classification.majority(train, test) == 0.25


def test_the_baseline_is_as_good_as_the_truth():
    rng = np.random.default_rng(1)
    model = Softmax(8000, **SETTINGS)
    theta = model.sample_prior(rng)
    rows = model.simulate(rng, theta)
    found = classification.baseline(rows[:6000], rows[6000:])
    assert found == pytest.approx(model.accuracy(theta[None], rows[6000:]), abs=0.02)
    assert found > classification.majority(rows[:6000], rows[6000:]) + 0.05


def test_splits_are_of_all_rows_and_the_same_for_every_classifier():
    seen = []

    def accuracy(train, test):
        seen.append((train[:, 0], test[:, 0]))
        return float(len(seen))

    rows = np.arange(20.0).reshape(10, 2)
    found = classification.over_splits(accuracy, rows, held_out=0.3, splits=3, seed=5)
    assert found == (2.0, 1.0)
    for train, test in seen:
        assert len(test) == 3 and sorted([*train, *test]) == rows[:, 0].tolist()
    classification.over_splits(accuracy, rows, held_out=0.3, splits=3, seed=5)
    for before, after in zip(seen[:3], seen[3:], strict=True):
        np.testing.assert_array_equal(before[1], after[1])
    assert not np.array_equal(seen[0][1], seen[1][1])


@pytest.mark.parametrize(
    ("classes", "expected"), [([0, 1, 2, 3, 9], (0.718, 0.660)), ([0, 1, 2, 3], (0.735, 0.675))]
)
def test_houses_are_classified_as_well_as_can_be(classes, expected):
    file = DataFile(ROOT / "examples/radon.csv")
    model, columns = model_of(file, lambda n: Softmax(n, **SETTINGS, classes=classes))
    rows = data_set(model, file, columns)
    for accuracy, mean in zip(
        (classification.baseline, classification.majority), expected, strict=True
    ):
        found = classification.over_splits(accuracy, rows, splits=5)
        assert found.mean == pytest.approx(mean, abs=4.5 * 0.009 / np.sqrt(5))
        assert 0.002 < found.sd < 0.02
