"""Widths along axes: the table of the page, and the theory behind it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from kept_temperature import in_theory
from spread import LEAST_ESS, spread_table


def test_the_table_has_the_narrowest_and_the_widest_axis_that_mix():
    table = pd.DataFrame(
        {
            "variance": [0.1, 4.0, 1.0, 9.0],
            "ratio": [0.5, 1.5, 1.0, 3.0],
            "ess": [LEAST_ESS, LEAST_ESS + 1, 500, LEAST_ESS - 1],
        }
    ).assign(model="m", temperature=2.0, step_size=0.1)
    table = table.assign(low=table["ratio"] - 0.1, high=table["ratio"] + 0.1)
    still = table.assign(temperature=1.0, ess=1.0)
    study = SimpleNamespace(model_label=str.upper)
    mixed, unmixed = spread_table(study, pd.concat([table, still]))
    assert mixed["model"] == "M" and mixed["axes that mix"] == "3 of 4"
    assert mixed["square root of the temperature"] == "1.414"
    assert mixed["narrowest of these"] == "0.500 [0.400,\N{NO-BREAK SPACE}0.600]"
    assert mixed["widest of these"] == "1.500 [1.400,\N{NO-BREAK SPACE}1.600]"
    assert unmixed["axes that mix"] == "0 of 4" and unmixed["widest of these"] == "–"


def test_small_steps_on_all_rows_leave_the_root_of_the_temperature():
    sampler = SimpleNamespace(step_size=1e-9, batch_size=100, temperature=2.0)
    assert in_theory(sampler, 100, np.array([0.5, 2.0])) == pytest.approx(2**0.5)
    sampler = SimpleNamespace(step_size=8.0, batch_size=100, temperature=2.0)
    assert np.isnan(in_theory(sampler, 100, np.array([1.0])))  # not stable
