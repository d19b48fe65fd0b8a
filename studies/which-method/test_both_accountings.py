"""What the page on accounting says of two budgets for the same settings."""

import numpy as np
import pandas as pd

from both_accountings import audit_table, gains, iterations_figure, iterations_table
from dpmcmc_studies.reporting.study import StudyResults
from dpmcmc_studies.study.description import AlgorithmDescription

STUDY = StudyResults(results="", algorithms={"barker": AlgorithmDescription("DP Barker")})
CERTIFIED = pd.DataFrame(
    {
        "model": ["flat", "flat", "narrow"],
        "algorithm": "barker",
        "epsilon": [4.0, 1.0, 1.0],
        "allowed_iterations": [10, 0, 2],
        "certified_iterations": [4000, 300, 1400],
        "certified_epsilon": [0.0431, 0.0, 0.02],
    }
)


def test_each_panel_has_a_line_an_accountant_and_no_point_for_no_iterations():
    flat, narrow = iterations_figure(STUDY, CERTIFIED).axes
    published, certified = flat.get_lines()
    np.testing.assert_equal(published.get_ydata(), [np.nan, 10])
    np.testing.assert_equal(certified.get_ydata(), [300, 4000])
    assert narrow.get_title() == "narrow"


def test_gains_leave_out_cells_without_iterations_and_costs_are_rounded_up():
    assert gains(STUDY, CERTIFIED) == ["- DP Barker: 400.0 to 700.0 times the iterations."]
    rows = iterations_table(STUDY, CERTIFIED)
    assert [row["ε spent"] for row in rows] == [0.05, 0.0, 0.02]


def test_costs_by_the_accountant_are_rounded_up_beside_bounds_from_below():
    names = ["epsilon_by_values", "epsilon_by_positions", "mu_at_most", "mu_by_values"]
    audit = pd.DataFrame({"case": ["a"], "epsilon_at_most": [0.4301], "runs": [10]})
    audit[[*names, "noise_variance"]] = 0.4
    table = audit_table(audit)
    assert [*table][:3] == ["case", "accountant", "noisy values"] and len([*table]) == 7
    assert table["accountant"].tolist() == [0.44]
