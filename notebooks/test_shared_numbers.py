"""Numbers and texts of pages that several studies have: starts, clips, circles, intervals."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import start_points
from accounting_curves import gains, iterations_table
from gradient_clips import clip_table
from interval_panels import coverage_text, interval_table
from leapfrog_frames import noisy_trajectory, path_length
from sides import sides, thinning

STUDY = SimpleNamespace(algorithm_label=str.upper, model_label=str.title, seed=1, seeds=3)


def test_a_gain_is_that_of_the_most_generous_accountant_over_the_least():
    rows = [
        ("a", "zcdp", 0.5, 0),
        ("a", "zcdp", 1.0, 10),
        ("a", "zcdp", 2.0, 40),
        ("a", "gaussian", 0.5, 5),
        ("a", "gaussian", 1.0, 20),
        ("a", "gaussian", 2.0, 60),
        ("b", "zcdp", 1.0, 7),
    ]
    curves = pd.DataFrame(rows, columns=["algorithm", "accountant", "epsilon", "iterations"])
    assert gains(STUDY, curves) == (
        "- A: exact allows 2 times the iterations of zCDP at ε = 1, the smallest at which that "
        "allows any, and 1.5 times at ε = 2."
    )
    table = iterations_table(STUDY, curves, columns=2)
    assert [*table] == ["algorithm", "accountant", "ε = 0.5", "ε = 1", "ε = 2"]
    assert table["ε = 1"].tolist() == [10, 20, 7]


def test_coverage_is_told_with_the_largest_difference_from_the_exact_posterior():
    rows = [("m", 1.0, "a", 0.8, 0.9), ("n", 4.0, "a", 0.95, 0.9), ("m", 1.0, "b", 0.5, np.nan)]
    columns = ["model", "epsilon", "algorithm", "coverage_90", "exact_coverage_90"]
    intervals = pd.DataFrame(rows, columns=columns)
    first, second = coverage_text(STUDY, intervals).splitlines()
    assert first.startswith("- A: between 80.0% and 95.0%. The largest difference")
    assert first.endswith("is on M at ε = 1: 80.0% in place of 90.0%.")
    assert second == "- B: between 50.0% and 50.0%."
    more = intervals.assign(coverage_50=0.4, coverage_50_se=0.01, coverage_90_se=0.02)
    row = interval_table(STUDY, more.assign(width_90=1.0, mean_error=0.1, sd_ratio=np.nan))[0]
    assert row["covers, 90 %"] == "80.0% ± 2.0%" and row["sd ratio"] == "–"


@pytest.fixture
def chains():
    rows = [(1.0, "a", 0.9, 5), (4.0, "a", 0.9, 9), (4.0, "a", 0.1, 9), (4.0, "b", 0.2, 7)]
    table = pd.DataFrame(rows, columns=["epsilon", "algorithm", "mean_error", "kept_draws"])
    return table.assign(model="m", iterations=1000, mmd_draws=7)


def test_chains_that_saw_one_side_are_counted_at_the_largest_epsilon(chains):
    ring = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    study = SimpleNamespace(**vars(STUDY), reference=lambda model: ring)
    head, _, first, second = sides(study, chains, ["m"]).splitlines()
    assert head == "On *M*, the posterior has the mean radius 1.00. At the largest ε:"
    assert "A, ε = 4, 1,000 iterations: median distance 0.50; 1 of 2 chains" in first
    assert "0 of 1 chains" in second


def test_thinned_chains_are_counted(chains):
    text = thinning(chains, ["m"])
    assert text == (
        " For it, the kept draws of 2 chains were thinned evenly to 7; the longest had 9."
    )
    assert thinning(chains, ["other"]) == ""


def test_clipped_gradients_are_ranges_of_medians():
    chains = pd.DataFrame(
        {"epsilon": [1, 1, 1, 4], "gradient_clip_fraction": [0.1, 0.2, 0.6, 0.3]}
    ).assign(model="m", acceptance_rate=0.5)
    (row,) = clip_table(STUDY, chains)
    assert row["gradients clipped"] == "20.0% to 30.0%"
    assert (row["largest of a chain"], row["acceptance rate"]) == ("60.0%", "0.50")


def test_a_start_is_off_where_the_density_is_below_that_of_nearly_all_draws():
    target = SimpleNamespace(log_density_ratio=lambda old, new: old @ old - new @ new)
    reference = np.linspace(0, 1, 201)[:, None]
    starts = np.array([[0.5], [0.98], [0.999], [-2.0]])
    assert start_points.num_off(target, reference, starts) == 2


def test_starts_are_those_of_the_chains(monkeypatch):
    monkeypatch.setattr(start_points, "start_point", lambda *of: np.full(2, of[-1]))
    found = start_points.starts_of(STUDY, "m", SimpleNamespace(model=None), None)
    assert found.tolist() == [[0, 0], [1, 1], [2, 2]]


def test_a_trajectory_without_noise_turns_on_its_ellipse():
    class Exact:
        inverse_mass_matrix, step_size = 1.0, 0.01

        def noisy_gradient(self, rng, target, theta):
            return -theta, 3

    study = SimpleNamespace(
        seed=1,
        target=lambda model: SimpleNamespace(num_rows=12),
        reference=lambda model: np.array([[3.0, 4.0]]),
        sampler=lambda *of, num_integration_steps: Exact(),
    )
    positions, clipped = noisy_trajectory(study, "m", "a", 628)
    assert positions.shape == (629, 2) and set(clipped) == {0.25}
    np.testing.assert_allclose(positions[-1], positions[0], atol=0.02)  # after 2 pi
    np.testing.assert_allclose(positions[314], -positions[0], atol=0.02)
    assert path_length(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]])) == 6
