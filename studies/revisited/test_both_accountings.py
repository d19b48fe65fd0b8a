"""Figures of both kinds of accounting, and where algorithms stand."""

import numpy as np
import pandas as pd
import pytest

from both_accountings import accounting_comparison, standing
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


def cells(medians, model="banana", epsilon=4.0):
    """Chains of each algorithm, 20 seeds; the same spread about each median."""
    spread = np.random.default_rng(5).normal(0, 0.01, 20)
    return pd.concat(
        pd.DataFrame(
            {"model": model, "epsilon": epsilon, "algorithm": name, "seed": range(20)}
        ).assign(mmd=median + spread - np.median(spread))
        for name, median in medians.items()
    )


def test_an_algorithm_stands_against_the_best_of_its_rivals_and_no_other():
    rng = np.random.default_rng(6)
    chains = cells({"worse": 0.5, "full": 0.2, "slower": 0.3, "better": 0.1, "leader": 0.01})
    noise = rng.normal(0, 0.2, 20)
    noisy = cells({"even": 0.21}).assign(mmd=lambda table: table["mmd"] + noise - np.median(noise))
    missing = cells({"missing": np.nan})
    names = ["worse", "better", "even", "missing", "absent"]
    table = standing(pd.concat([chains, noisy, missing]), names, ["slower", "full", "gone"])
    assert (table["rival"] == "full").all()
    places = dict(zip(table["algorithm"], table["place"], strict=True))
    assert places == {"worse": "behind", "better": "ahead", "even": "even"}
    assert table.set_index("algorithm")["difference"]["better"] == pytest.approx(-0.1)
    assert standing(chains, names, ["gone"]).empty
