"""The scale of a study's summary: chains beside exact samples of as many draws."""

import numpy as np
import pandas as pd
import pytest

from dpmcmc.evaluation.metrics import mmd
from dpmcmc_studies.analysis.claims import Claim
from dpmcmc_studies.analysis.tables import analysis_tables, of_more_draws, summarise

CELL = {"model": "m", "algorithm": "a", "epsilon": 1.0}


def summary_of(draws, mmd):
    """Row of the summary of a cell whose chains keep so many draws, beside exact samples of 100."""
    of = {"iterations": 9, "clip_fraction": 0.0, "ess": 5.0, "mmd": mmd, "mmd_draws": draws}
    of |= {"sd_ratio": 0.8, "mean_error": 0.1}
    chains = pd.DataFrame([CELL | of | {"sample": seed} for seed in range(3)])
    baselines = pd.DataFrame({"model": "m", "mmd": [0.1, 0.2, 0.3], "mmd_draws": 100})
    baselines["posterior_sd"] = 0.5
    starts = pd.DataFrame({"model": ["m"], "mmd": [1.2]})
    return summarise(chains, baselines, starts, pd.DataFrame([CELL | {"r_hat": 1.0}])).iloc[0]


def test_chains_are_compared_with_exact_samples_of_as_many_draws():
    assert summary_of(100, 0.6)["times_exact"] == 0.6 / 0.2
    assert summary_of(300, 0.6)["times_exact"] == pytest.approx(3 / np.sqrt(2 / 3))
    assert summary_of(300, 0.6)["distance_closed"] == pytest.approx(0.6)
    assert "mmd_draws" not in summary_of(100, 0.6)
    assert summary_of(100, 0.6)[["sd_ratio", "mean_error"]].tolist() == [0.8, 0.2]


def test_fewer_draws_do_not_excuse_a_chain():
    assert summary_of(7, 0.6)["times_exact"] == summary_of(0, 0.6)["times_exact"] == 0.6 / 0.2


def test_exact_samples_of_more_draws_are_nearer_by_what_is_said():
    """Medians of 400 samples of each size, none from the same reference sample."""
    rng = np.random.default_rng(1)

    def median(draws, reference=50):
        pairs = (rng.standard_normal((400, n, 2)) for n in (draws, reference))
        return np.median([mmd(x, y, 1.7) for x, y in zip(*pairs, strict=True)])

    unit = median(50)
    for times in (2, 6):
        found, expected = median(50 * times) / unit, of_more_draws(times)
        assert found == pytest.approx(expected, rel=0.1) and expected < 0.9


def test_claims_are_judged_on_each_data_set_alone_too():
    """On one data set a is nearer than b, on the other it is farther."""
    rng = np.random.default_rng(3)
    rows = [
        {"model": "m", "algorithm": name, "epsilon": 1.0, "delta": 0.1, "sample": seed}
        | {"mmd": (0.2 if (name == "a") == (seed % 2 == 0) else 0.6) + 0.01 * rng.random()}
        | {"clip_fraction": 0.0, "iterations": 9, "ess": 5.0, "mmd_draws": 50, "sd_ratio": 1.0}
        | {"mean_error": 0.1, "data_set": seed % 2, "coverage": 0.9}
        for name in "ab"
        for seed in range(20)
    ]
    chains = pd.DataFrame(rows)
    starts = pd.DataFrame({"model": "m", "sample": range(20), "mmd": 1.0})
    starts["data_set"] = starts["sample"] % 2
    baselines = pd.DataFrame({"model": "m", "mmd": 0.1, "mmd_draws": 50, "data_set": [0, 1]})
    baselines["posterior_sd"] = 0.5
    mixing = pd.DataFrame(
        {"model": "m", "algorithm": ["a", "b"], "epsilon": 1.0, "r_hat": [np.nan, np.nan]}
    )
    summary = summarise(chains, baselines, starts, mixing)
    of = [{"model": "m", "lower": "a", "higher": "b"}]
    claim = Claim("1", "a is nearer", "lower", of)
    tables = analysis_tables(chains, baselines, starts, None, {}, [], [claim], summary=summary)
    verdicts = tables["claims-by-data-set"].set_index("data_set")["verdict"]
    assert verdicts.to_dict() == {0: "confirmed", 1: "not confirmed"}
    ranking = tables["ranking"].set_index("algorithm")
    assert ranking["share_first"].to_dict() == {"a": 0.5, "b": 0.5}
    assert ranking["coverage"].tolist() == pytest.approx([0.9, 0.9])
