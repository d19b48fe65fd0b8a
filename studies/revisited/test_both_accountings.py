"""Figures of both kinds of accounting."""

import pandas as pd
import pytest

from both_accountings import accounting_comparison
from dpmcmc.reporting.study import Study


@pytest.mark.parametrize("swapped", [False, True])
def test_both_kinds_of_accounting_lie_within_their_common_axes(swapped):
    def chains(level):
        keys = {"model": "m", "algorithm": "dp-barker", "epsilon": 1.0, "iterations": 9}
        return pd.DataFrame([keys | {"clip_fraction": level + i / 100} for i in range(5)])

    kinds = [chains(0.8), chains(0.1)][:: -1 if swapped else 1]
    samples = pd.DataFrame({"model": ["m"], "mmd": [0.1]})
    figure = accounting_comparison(
        Study(results=""), *kinds, "clip_fraction", ["m"], samples, samples
    )
    assert all(axis.get_ylim()[1] > 84 for axis in figure.axes)
