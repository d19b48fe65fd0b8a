"""Errors of fitted corrections and the verdict on the mixture, on made-up fits."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

import corrections
from corrections import MIXTURE, OURS, RIDGE, TARGETS, Corrections

ERRORS = {RIDGE: 1e-3, OURS: 1e-7, (MIXTURE, 0): 5e-5, (MIXTURE, 1): 9e-5, (MIXTURE, 2): 2e-4}


@pytest.fixture
def fit(monkeypatch):
    def fit(starts):
        monkeypatch.setattr(corrections, "ridge", lambda variance, places: (RIDGE, variance))
        monkeypatch.setattr(corrections, "atoms", lambda variance: (OURS, variance))
        monkeypatch.setattr(corrections, "mixture", lambda variance, start: (start, variance))
        monkeypatch.setattr(corrections, "generator", lambda seed, name, start: (MIXTURE, start))
        monkeypatch.setattr(
            corrections, "largest_error", lambda of, variance: variance * ERRORS[of[0]]
        )
        return Corrections(1, [0.5, 1, 2], starts, 10)

    return fit


def test_the_mixture_is_better_where_all_fits_have_a_tenth_of_the_error(fit):
    two, three = fit(2), fit(3)
    assert two.verdict(2) == "confirmed" and two.is_better(2).tolist() == [True, True]
    assert three.verdict(2) == "undecided" and three.is_better(2).tolist() == [True, True, False]


def test_errors_are_medians_over_the_fits_and_the_first_one_is_kept(fit):
    page = fit(3)
    assert page.median[MIXTURE, 2] == pytest.approx(1.8e-4)
    assert page.median[RIDGE, 1] == pytest.approx(1e-3)
    assert page.fitted[MIXTURE, 1] == ((MIXTURE, 0), 1)
    assert page.accuracy(1) == pytest.approx(1e-7) and len(page.errors) == 15


def test_the_table_has_shares_of_negative_masses_for_ridge_regression_alone(fit):
    page = fit(2)
    page.fitted[RIDGE, 2] = SimpleNamespace(negative_share=0.3)
    table = page.table([2])
    assert table["C"].tolist() == ["C = 2"] * 3
    assert table.set_index("correction").loc[MIXTURE, "most of the fits"] == pytest.approx(1.8e-4)
    assert table["of masses below 0"].tolist() == pytest.approx([0.3, np.nan, np.nan], nan_ok=True)
    assert corrections.error_formats().keys() < {*table}


def test_walks_with_the_logistic_distribution_have_no_bias_and_others_have(fit):
    page = fit(2)
    exact = SimpleNamespace(distribution=lambda x, noise_variance: expit(x))
    steep = SimpleNamespace(distribution=lambda x, noise_variance: expit(2 * x))
    page.fitted[OURS, 1], page.fitted[RIDGE, 1] = exact, steep
    density = TARGETS["Normal(0, 1)"]
    assert page.bias(OURS, 1, density, 0.5) < 1e-10 > corrections.rounding()
    # Twice the slope samples the square of the density: half the variance.
    assert page.bias(RIDGE, 1, density, 0.5) == pytest.approx(0.166, abs=0.01)
