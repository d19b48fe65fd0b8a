"""Committed tables as data frames."""

import pytest
from conftest import ROOT

import dpmcmc
from dpmcmc_studies.frames import read_csv


@pytest.mark.parametrize("table", ["summary", "chains"])
def test_a_committed_table_is_a_data_frame(table):
    found = dpmcmc.results("which-method", table)
    assert found.equals(read_csv(ROOT / f"docs/which-method/tables/{table}.csv"))
    assert len(found) > 100


def test_a_folder_of_results_has_its_tables(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/summary.csv").write_text("model,epsilon\n007,1.5\nnan,\n")
    found = dpmcmc.results(tmp_path)
    assert [*found.columns] == ["model", "epsilon"] and [*found["model"]] == ["007", "nan"]


def test_what_is_not_there_is_refused_with_the_valid_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"no-such is no study.*chapter-6.*which-method"):
        dpmcmc.results("no-such")
    with pytest.raises(ValueError, match=r"which-method has no table sumary; .*summary"):
        dpmcmc.results("which-method", "sumary")
