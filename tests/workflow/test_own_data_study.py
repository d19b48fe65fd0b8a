"""A study with a model and data of one's own, and a long run for its reference, end to end."""

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import once
from running import TINY, copy_tree, planned, snakemake

MODEL = '''
"""A regression of counts."""

from dataclasses import dataclass

import numpy as np

from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Rows


@dataclass(frozen=True)
class Poisson(RowsModel):
    """y ~ Poisson(exp(theta_1 + theta_2 x)), prior theta ~ N(0, I)."""

    num_rows: Rows

    dimension = row_length = 2
    columns = ("x", "count")

    def prepare(self, rows):
        return rows[rows[:, 1] >= 0]

    def log_likelihood(self, theta, rows):
        log_rate = theta[0] + theta[1] * rows[:, 0]
        return rows[:, 1] * log_rate - np.exp(log_rate)

    def gradient(self, theta, rows):
        residual = rows[:, 1] - np.exp(theta[0] + theta[1] * rows[:, 0])
        return np.column_stack([residual, residual * rows[:, 0]])

    def log_prior_ratio(self, theta, theta_new):
        return (theta - theta_new) @ (theta + theta_new) / 2

    def grad_log_prior(self, theta):
        return -theta

    def accuracy(self, draws, rows):
        theta = draws.mean(axis=0)
        return float(np.mean(np.exp(theta[0] + theta[1] * rows[:, 0]).round() == rows[:, 1]))
'''
ARGUMENTS = [*TINY, "mine/study.yaml"]
SETTINGS = {"noise_scale": 2, "proposal_scale": 0.05, "clip_bound": 3}
OVERLAY = {
    "study": "own",
    "seeds": 2,
    "runs": [
        {"models": ["flat-banana-2d", "counts"], "algorithms": ["dp-penalty"], "epsilons": [4]}
    ],
    "models": {"counts": {"kind": "poisson.py:Poisson", "data": "counts.csv"}},
    "algorithms": {"dp-penalty": {"settings": {"counts": SETTINGS}}},
}
OVERLAY["models"]["counts"] |= {"reference": "long-run", "held_out": 0.2}


def write_study(directory):
    """Write a study's file, its model and its data to a directory; returns this."""
    place = directory / "mine"
    place.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, 400).round(3)
    counts = rng.poisson(np.exp(0.5 + x))
    counts[:5] = -1  # not observed
    pd.DataFrame({"id": range(400), "count": counts, "x": x}).to_csv(
        place / "counts.csv", index=False
    )
    (place / "poisson.py").write_text(MODEL)
    (place / "study.yaml").write_text(yaml.safe_dump(OVERLAY))
    return directory


@pytest.fixture(scope="session")
def own_study(tmp_path_factory):
    """A copy of the tree in which such a study has run; not to be changed."""

    def make(directory):
        snakemake(write_study(copy_tree(directory)), "--cores", 2, *ARGUMENTS)

    return once(tmp_path_factory, "own", make)


def test_data_of_ones_own_come_to_tables(own_study):
    results = own_study / "results/own"
    assert np.load(results / "data/counts.npy").shape == (316, 2)
    assert np.load(results / "reference/counts.npy").shape == (200, 2)
    assert np.load(results / "baselines/counts.npy").shape == (3, 200, 2)
    models = pd.read_csv(results / "tables/models.csv").set_index("model")
    assert models.loc["counts", ["kind", "n", "reference"]].tolist() == ["Poisson", 316, "long-run"]
    assert models.loc["flat-banana-2d", "reference"] == "exact"
    chains = pd.read_csv(results / "tables/chains.csv").set_index("model")
    assert len(chains.loc["counts"]) == 2 and (chains.loc["counts", "mmd"] < 1.2).all()
    budgets = pd.read_csv(results / "tables/budgets.csv").set_index("model")
    assert budgets.loc["counts", "target_delta"] == 0.1 / 316
    baselines = pd.read_csv(results / "tables/baselines.csv").set_index("model")
    assert (baselines.loc["counts", "mmd"] < 0.15).all()


def test_accuracy_is_of_the_rows_held_out(own_study):
    tables = {
        name: pd.read_csv(own_study / f"results/own/tables/{name}.csv").set_index("model")
        for name in ("chains", "baselines", "starts", "summary")
    }
    for name in ("chains", "baselines", "starts"):
        accuracy = tables[name]["accuracy"]
        assert accuracy["flat-banana-2d"].isna().all()
        held_out = 79 * accuracy["counts"]  # rows that are right: a whole number
        np.testing.assert_allclose(held_out, held_out.round(), atol=1e-9)
    assert (tables["baselines"].loc["counts", "accuracy"] > 0.2).all()
    median = tables["chains"].loc["counts", "accuracy"].median()
    assert tables["summary"].loc["counts", "accuracy_median"] == median


def test_a_changed_value_reruns_what_depends_on_it_and_a_touched_file_nothing(own_study, tmp_path):
    directory = Path(shutil.copytree(own_study, tmp_path / "tree"))
    path = directory / "mine/counts.csv"
    path.touch()
    assert planned(directory, *ARGUMENTS) == []
    path.write_text(re.sub(r"(?m)^9,\d,", "9,7,", path.read_text()))
    files = planned(directory, *ARGUMENTS)
    assert {file for file in files if file.startswith(("data", "reference", "baselines"))} == {
        f"{made}/counts.npy" for made in ("data", "reference", "baselines")
    }
    chains = [file for file in files if file.startswith("chains")]
    assert chains == [f"chains/counts/dp-penalty/epsilon-4/seed-{seed}.npz" for seed in (0, 1)]
    assert not any("flat-banana-2d" in file for file in files)
