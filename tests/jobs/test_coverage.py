"""Intervals over many data sets: of models without exact draws too, and of short budgets."""

import numpy as np
import pytest
from conftest import ROOT
from msgspec.structs import replace

from dpmcmc.evaluation.coverage import of_data_set, summary
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.jobs.coverage import LEAST_ITERATIONS, intervals
from dpmcmc_studies.study.loading import load_study


def test_a_model_without_exact_draws_has_coverage_and_a_short_budget_has_none(tmp_path):
    study = load_study(ROOT, [ROOT / "studies/which-method/study.yaml"])
    spec = study.intervals("robust-1000")
    tried = {("noisy-newton", 4), ("dp-hmc", 0.25)}
    cells = [
        study.budget(cell)
        for cell in study.cells_of("robust-1000")
        if (cell.algorithm, study.runs[cell].epsilon) in tried
    ]
    intervals(replace(spec, cells=cells, data_sets=10), tmp_path / "intervals.csv")
    newton, hmc = read_csv(tmp_path / "intervals.csv").to_dict("records")
    assert newton["data_sets"] == 10 and 0.7 <= newton["coverage_90"] <= 1
    assert np.isnan([newton[name] for name in ("exact_coverage_90", "width_90", "sd_ratio")]).all()
    assert hmc["iterations"] < LEAST_ITERATIONS and hmc["data_sets"] == 0
    assert np.isnan(hmc["coverage_90"])


def test_a_chain_that_never_moves_covers_nothing_and_has_no_width():
    found = of_data_set(np.zeros(2), np.ones((9, 2)), np.random.default_rng(1).normal(size=(50, 2)))
    assert (found["coverage_90"], found["width_90"], found["sd_ratio"]) == (0, 0, 0)
    assert found["exact_coverage_90"] == pytest.approx(1)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_a_chain_that_diverges_covers_nothing_and_makes_no_summary_missing(value):
    rng, truth = np.random.default_rng(1), np.zeros(2)
    sound, exact = rng.normal(size=(99, 2)), rng.normal(size=(50, 2))
    far = np.full((99, 2), value)
    far[:60] *= np.random.default_rng(2).choice([-1, 1], (60, 2))
    one, other = (of_data_set(truth, draws, exact) for draws in (sound, far))
    assert (other["coverage_90"], other["width_90"], other["sd_ratio"]) == (0, np.inf, np.inf)
    row = summary([one, one, other])
    assert row["diverged"] == 1 and row["coverage_90"] == pytest.approx(2 / 3)
    assert row["width_90"] == one["width_90"] and np.isfinite(list(row.values())).all()
    assert sum(row[f"rank_{i}"] for i in range(10)) == pytest.approx(1)
    assert summary([other, other])["width_90"] == np.inf
    assert np.isnan(of_data_set(truth, far, None)["width_90"])
