"""Several data sets of a model, each with its own theta, reference and chain; carried settings."""

import numpy as np
import pytest
from conftest import ROOT
from msgspec.structs import replace

from dpmcmc import registry
from dpmcmc.configuration.yaml_files import ConfigError, merged
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.jobs.baseline_tables import baseline_table
from dpmcmc_studies.jobs.budgets import budget
from dpmcmc_studies.jobs.chain_tables import TABLES, chain_table, of_data_set
from dpmcmc_studies.jobs.chains import chain
from dpmcmc_studies.jobs.data import baselines, dataset, reference, simulate
from dpmcmc_studies.jobs.reuse import Reuse
from dpmcmc_studies.study.data_sets import truth
from dpmcmc_studies.study.runs import Cell
from dpmcmc_studies.study.study import StudyConfig

UNUSED = ("accounting_curves", "notebooks", "tuning", "remarks", "related", "claims")
NORMAL = {"kind": "Gaussian", "prior_variance": 4, "covariance": [[1, 0], [0, 2]]}
SMALL = {
    "study": "small",
    "seeds": 4,
    "data_sets": 2,
    "reference_draws": 60,
    "baseline_samples": 3,
    "models": {
        "few": NORMAL | {"num_rows": 100, "same_settings_as": "many", "data_sets": 4},
        "many": NORMAL | {"num_rows": 400},
    },
    "algorithms": {
        "walk": {
            "sampler": "DPPenalty",
            "move": "GaussianWalk",
            "accountant": "gaussian",
            "powers_of_n": {"clip_bound": -0.5},
            "settings": {"many": {"noise_scale": 2, "proposal_scale": 0.1, "clip_bound": 1.5}},
        },
        "batches": {
            "sampler": "DPSGLD",
            "accountant": "certified",
            "powers_of_n": {"batch_size": 1},
            "settings": {"many": {"step_size": 1e-3, "batch_size": 50, "gradient_clip_bound": 3}},
        },
    },
    "runs": [{"models": ["few", "many"], "algorithms": ["walk", "batches"], "epsilons": [4]}],
}


OF_WALK = [{"models": ["few", "many"], "algorithms": ["walk"], "epsilons": [4]}]


def study_of(config, **changes):
    return StudyConfig(merged(config, SMALL | dict.fromkeys(UNUSED) | changes), ROOT)


def test_settings_of_an_epsilon_are_carried_too_and_stand_in_the_place_of_others(config):
    at = {"many": {4: {"clip_bound": 1.0}, 1: {"noise_scale": 9}}, "few": {4: {"noise_scale": 5}}}
    entry = SMALL["algorithms"]["walk"]
    study = study_of(config, algorithms={"walk": entry | {"settings_at": at}}, runs=OF_WALK)
    walk = study.algorithms["walk"]
    own = {"noise_scale": 2, "proposal_scale": 0.1, "clip_bound": 1.5}
    assert walk.settings_on("many", epsilon=4) == own | {"clip_bound": 1.0}
    assert walk.settings_on("many", epsilon=2) == walk.settings_on("many") == own
    assert walk.settings_on("few", epsilon=4) == own | {"clip_bound": 2.0, "noise_scale": 5}
    assert walk.settings_on("few", {"clip_bound": 7}, 4)["clip_bound"] == 7  # a sweep is last
    cell = next(cell for cell in study.cells if cell[:2] == ("few", "walk"))
    assert study.settings(cell)["noise_scale"] == 5
    wrong = {"many": {4: {"clip_bound": 0}}}
    with pytest.raises(ConfigError, match=r"walk\.settings_at\.many\.4\.clip_bound: must be a num"):
        study_of(config, algorithms={"walk": entry | {"settings_at": wrong}}, runs=OF_WALK)
    with pytest.raises(ConfigError, match=r"walk\.settings_at: unknown model nowhere; valid"):
        study_of(
            config, algorithms={"walk": entry | {"settings_at": {"nowhere": {4: {}}}}}, runs=OF_WALK
        )


def test_settings_are_carried_by_powers_of_n(config):
    study = study_of(config)
    walk, batches = (study.algorithms[name].settings["few"] for name in ("walk", "batches"))
    assert walk == {"noise_scale": 2, "proposal_scale": 0.1, "clip_bound": 3.0}
    assert batches == {"step_size": 1e-3, "batch_size": 12, "gradient_clip_bound": 3}
    own = {"walk": {"settings": {"few": {"clip_bound": 7}}}}
    assert study_of(config, algorithms=merged(SMALL["algorithms"], own)).algorithms[
        "walk"
    ].settings["few"] == walk | {"clip_bound": 7}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"models": {"few": {"same_settings_as": "none"}}},
            "models.few.same_settings_as: unknown model",
        ),
        (
            {"models": {"many": {"same_settings_as": "few"}}},
            "models.few.same_settings_as: many itself has",
        ),
        ({"chains_per_sample": 2}, "chains_per_sample: must be 1 with several data sets of "),
    ],
)
def test_what_cannot_be_is_refused(config, changes, problem):
    with pytest.raises(ConfigError, match=problem):
        study_of(config, **merged(SMALL, changes))


def test_each_data_set_has_its_own_theta_reference_and_chains(config, tmp_path):
    study = study_of(config)
    spec = study.dataset("few")
    assert spec.data_sets == 4 and study.dataset("many").data_sets == 2
    paths = [tmp_path / f"{name}.npy" for name in ("data", "reference", "baselines")]
    dataset(spec, paths[0])
    reference(study.reference("few"), *paths[:2])
    baselines(study.baselines("few"), paths[0], paths[2])
    data, sample, exact = map(np.load, paths)
    assert (data.shape, sample.shape, exact.shape) == ((4, 2, 100), (4, 60, 2), (4, 3, 60, 2))
    model = study.models["few"].model
    thetas = [truth(spec, model, "data", i) for i in range(4)]
    # The mean of 100 rows, and the posterior, are about the theta of their own data set.
    sd = np.sqrt([1 / 100, 2 / 100])
    for i, theta in enumerate(thetas):
        assert (abs(data[i].mean(axis=1) - theta) < 4 * sd).all()
        assert (abs(sample[i].mean(axis=0) - data[i].mean(axis=1)) < sd).all()
    assert min(np.ptp(thetas, axis=0)) > 4 * max(sd)

    cell = Cell("few", "walk", "epsilon-4")
    files = tmp_path / "budgets/few/walk/epsilon-4.json"
    files.parent.mkdir(parents=True)
    budget(study.budget(cell), files)
    place = tmp_path / "chains/few/walk/epsilon-4"
    place.mkdir(parents=True)
    for seed in range(4):
        chain(study.chain(cell, seed), *paths[:2], files, [], place / f"seed-{seed}.npz")
        start = np.load(place / f"seed-{seed}.npz")["start"]
        assert (abs(start - thetas[seed]) < 8 * sd).all()

    out = {name: tmp_path / f"{name}.csv" for name in TABLES}
    rows = Reuse(study).rows(f"chains/{'/'.join(cell)}")
    chain_table(study.chain_table("few", [cell]), rows, tmp_path, paths[1], **out)
    rows = read_csv(out["chains"])
    assert rows["data_set"].tolist() == [0, 1, 2, 3]
    assert rows["coverage"].between(0, 1).all()
    assert read_csv(out["mixing"])["r_hat"].isna().all()
    rows = Reuse(study).rows("baselines/few")
    made = tmp_path / "b.csv", tmp_path / "s.csv"
    baseline_table(study.baseline_table("few"), rows, *paths[1:], *made)
    compared, starts = read_csv(tmp_path / "b.csv"), read_csv(tmp_path / "s.csv")
    assert compared["baseline"].tolist() == list(range(12)) and len(starts) == 4
    assert compared["posterior_sd"].nunique() == 4
    assert compared["mmd"].max() < 0.5 < starts["mmd"].min()


def test_data_sets_of_a_model_that_is_not_generative_have_no_theta(config, tmp_path):
    """The likelihood of the circle is no density, so coverage is not a number."""
    circle = config["models"]["circle"] | {"num_rows": 50, "data_sets": 2}
    runs = [{"models": ["circle"], "algorithms": ["start"], "iterations": [10]}]
    study = study_of(config, models={"circle": circle}, algorithms={}, runs=runs)
    dataset(study.dataset("circle"), tmp_path / "data.npy")
    data = np.load(tmp_path / "data.npy")
    assert data.shape == (2, 1, 50) and len(np.unique(data)) == 100
    covered = of_data_set(study.chain_table("circle"), study.models["circle"].model, data, 1)
    assert covered["data_set"] == 1 and np.isnan(covered["coverage"])


def test_a_twin_has_a_theta_of_the_prior_whatever_the_model_says(config):
    study = StudyConfig(config, ROOT)
    spec = replace(study.dataset("correlated-gauss-2d"), theta="prior")
    model = registry.build(spec.model_entry)
    theta = truth(spec, model, "tuning-data")
    assert theta.tolist() != model.true_theta.tolist()
    mean = simulate(spec, "tuning-data").mean(axis=1)
    np.testing.assert_allclose(mean, theta, atol=5 / np.sqrt(model.num_rows))
