"""DP MALA beside other algorithms, on made-up chains."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from mala import CLOSER, FARTHER, OPEN, Mala

MMD = {  # by model, epsilon and algorithm
    ("m", 1.0): {"mala": 0.1, "hmc": 0.5, "penalty": 0.1},
    ("m", 4.0): {"mala": 0.1, "hmc": 0.5, "penalty": 0.05},
    ("n", 1.0): {"mala": 0.3, "hmc": 0.2},
    ("o", 1.0): {"mala": 0.3, "hmc": 0.3},
}


@pytest.fixture
def page():
    rng = np.random.default_rng(1)
    rows = [
        {"model": model, "epsilon": epsilon, "algorithm": name, "sample": seed, "mmd": mmd + shift}
        for (model, epsilon), of in MMD.items()
        for name, mmd in of.items()
        for seed, shift in enumerate(1e-3 * rng.permutation(np.linspace(-1, 1, 15)))
    ]
    chains = pd.DataFrame(rows)
    others = pd.concat([chains.assign(algorithm="x"), chains.assign(model="x")])
    study = SimpleNamespace(
        table=lambda name: pd.concat([chains, others, chains.assign(epsilon=np.nan)]),
        algorithm_label=str.upper,
        model_label=str.title,
    )
    return Mala(study, ["m", "n", "o"], "mala", ["hmc", "penalty"], {"hmc": ["n"]}, ["o"])


def test_a_side_is_taken_where_the_interval_excludes_0(page):
    sides = {one[:3]: one.side for one in page.comparisons}
    assert sides == {
        ("m", 1.0, "hmc"): CLOSER,
        ("m", 1.0, "penalty"): OPEN,
        ("m", 4.0, "hmc"): CLOSER,
        ("m", 4.0, "penalty"): FARTHER,
        ("n", 1.0, "hmc"): FARTHER,
        ("o", 1.0, "hmc"): OPEN,
    }


def test_totals_are_given_with_and_without_cells_that_no_search_served(page):
    hmc, penalty = page.totals().splitlines()
    assert (
        "closer to the posterior in 2 of 4 cells, farther in 1, no detectable difference in 1"
        in hmc
    )
    assert hmc.endswith("guess for MALA: closer in 2 of 2, farther in 0.")
    assert penalty.endswith("no detectable difference in 1.")


def test_settings_that_no_search_found_are_named(page):
    text = page.not_searched()
    assert text.startswith(" HMC was not searched on N, and")
    assert text.endswith(
        "For MALA the search found nothing better than the guess that it started from on O."
    )
