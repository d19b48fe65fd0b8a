"""Costs of DP Barker: tables and lines on a sampler whose price is made up."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import barker_costs


@dataclass
class Priced:
    """Costs b / n a root of an iteration as published, and a tenth of it."""

    batch_size: int


@pytest.fixture
def sampler(monkeypatch):
    def epsilon(sampler, n, count, delta, accountant):
        assert delta == pytest.approx(0.1 / n)
        tenth = 1 if accountant == "barker-rdp" else 0.1
        return tenth * sampler.batch_size / n * count**0.5

    monkeypatch.setattr(barker_costs.dpmcmc, "epsilon", epsilon)
    return Priced(5)


def test_lines_are_of_each_size_and_both_accountants(sampler):
    ratios = np.array([0.001, 0.01])
    lines = barker_costs.against_ratio(sampler, [1000, 10_000], ratios, 100, 0.1)
    assert [*lines] == ["n = 1,000", "n = 10,000"]
    x, found = lines["n = 10,000"]
    assert x is ratios and found["barker-rdp"] == pytest.approx([0.01, 0.1])
    assert found["certified"] == pytest.approx([0.001, 0.01])
    counts, found = barker_costs.against_count(sampler, [10], 0.01, 10_000, 0.1)["b = 10"]
    assert (counts[0], counts[-1]) == (100, 10_000)
    assert found["barker-rdp"] == pytest.approx(0.01 * counts**0.5)


def test_the_table_has_both_costs(sampler):
    (row,) = barker_costs.cost_table(sampler, [(1000, 10)], 400, 0.1)
    assert (row["n"], row["b"], row["iterations"]) == ("1,000", 10, 400)
    assert row["ε as published"] == pytest.approx(0.2)
    assert row["ε certified"] == pytest.approx(0.02)


def test_clipped_shares_are_of_the_sweep_alone():
    chains = pd.DataFrame(
        {"proposal_scale": [0.2, 0.1, np.nan, 0.1], "sample": [0, 0, 0, 1]}
    ).assign(model="m", algorithm="a", clip_fraction=[0.4, 0.2, 0.9, 0.3])
    other = chains.assign(model="other", clip_fraction=0.0)
    swept, shares = barker_costs.clip_fractions(pd.concat([chains, other]), "m", "a")
    assert len(swept) == 3 and shares.index.tolist() == [0.1, 0.2]
    assert shares.loc[0.1].tolist() == [0.2, 0.3]
