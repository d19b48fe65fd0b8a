"""The figure on chains of noisy gradients, and what its page says of it."""

import runpy

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

FOLDER = ROOT / "docs/accounting"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(FOLDER / "chain.py"))


def test_combined_releases_of_a_chain_are_worth_one_release(script):
    rows = [row for seed in range(40) for row in script["measured"](30, seed)]
    table = script["summary"](rows).set_index("answer")
    one, combined, chain = table.loc[["one release", "its releases, combined", "the chain"]].iloc
    assert abs(combined.error - one.error) < 4 * np.hypot(combined.error_se, one.error_se)
    assert abs(combined.coverage - one.coverage) < 4 * np.hypot(
        combined.coverage_se, one.coverage_se
    )
    assert chain.error - one.error > 4 * np.hypot(chain.error_se, one.error_se)


def test_the_figure_is_that_of_its_table(script, tmp_path):
    script["draw"](pd.read_csv(FOLDER / "chain.csv"), tmp_path / "chain.svg")
    drawn, committed = (
        (folder / "chain.svg").read_text(encoding="utf-8") for folder in (tmp_path, FOLDER)
    )
    assert drawn == committed
