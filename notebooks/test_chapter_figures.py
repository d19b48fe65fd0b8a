"""Figures of the pages of chapter 6 alone."""

import numpy as np
import pandas as pd
import pytest

from accounting_curves import accounting_panels, best_accounting_figure
from clipped_chains import most_clipped
from dpmcmc_studies.reporting.study import StudyResults
from dpmcmc_studies.study.description import AlgorithmDescription, ModelDescription

STUDY = StudyResults(
    results="",
    algorithms={
        "dp-hmc": AlgorithmDescription("DP HMC", colour="#009E73"),
        "dp-penalty": AlgorithmDescription(),
    },
)


@pytest.mark.parametrize("accountants", [["zcdp", "gaussian"], ["gaussian"]])
def test_accounting_figures_draw_a_line_an_accountant(accountants):
    curves = pd.DataFrame(
        [
            {"algorithm": algorithm, "accountant": name, "epsilon": e, "iterations": int(e * i)}
            for algorithm in ("dp-penalty", "dp-hmc")
            for i, name in enumerate(accountants, start=1)
            for e in (0.5, 1.0, 2.0)
        ]
    )
    panels = accounting_panels(STUDY, curves).axes
    assert [len(axis.lines) for axis in panels] == [len(accountants)] * 2
    highest = curves["iterations"].max()
    assert all(axis.get_ylim()[0] == 0 and axis.get_ylim()[1] >= highest for axis in panels)
    best = best_accounting_figure(STUDY, curves).axes[0]
    assert len(best.lines) == 2
    assert max(best.lines[0].get_ydata()) == 2 * len(accountants)
    assert min(best.lines[0].get_ydata()) > 0  # a log scale


def test_chains_that_clip_much_are_counted_where_medians_hide_them():
    once = AlgorithmDescription("Noisy sum", has_free_steps=True)
    study = StudyResults(
        results="",
        models={"a": ModelDescription("A"), "b": ModelDescription("B")},
        algorithms=STUDY.algorithms | {"noisy-sum": once},
    )
    rows = [
        (algorithm, model, epsilon, share)
        for algorithm, shares in {"dp-hmc": [0.01, 0.02, 0.512], "dp-penalty": [0.01] * 3}.items()
        for model in ("a", "b")
        for epsilon, factor in ((1.0, 1.0), (2.0, 0.1))
        for share in factor * np.array(shares)
    ]
    rows.append(("noisy-sum", "a", 1.0, 0.003))
    chains = pd.DataFrame(rows, columns=["algorithm", "model", "epsilon", "clip_fraction"])
    chains.loc[8, "clip_fraction"] = 0.6
    assert most_clipped(study, chains).splitlines() == [
        "- DP HMC: medians from 0.2% to 2.0% (*A*, ε = 1). **2 of 12 chains clip more than 10%**: "
        "1 of 6 on *A* and 1 of 6 on *B*. The largest share is 60.0% (*B*, ε = 1).",
        "- dp-penalty: medians from 0.1% to 1.0% (*A*, ε = 1). "
        "**0 of 12 chains clip more than 10%**.",
        "- Noisy sum has no ratios, so it is not drawn. It clips the statistics of the rows, once: "
        "at most 0.3% of them.",
    ]
