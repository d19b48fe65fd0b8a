"""The study of the thesis on SGHMC, small, to its last page; its settings, those of the thesis."""

import re

import pandas as pd
import pytest
import yaml
from conftest import ROOT
from running import snakemake

from dpmcmc_studies.study.loading import load_study

HOUSES = {"classes": [1, 9, 0]}  # the others are too few
COMPARED = [
    "dp-penalty",
    "dp-hmc",
    "dp-barker-certified",
    "dp-sgld-certified",
    "dp-sgnht-certified",
    "dp-sghmc-certified",
]
BATCHES = ["sghmc", "subsampled-hmc", "subsampled-hmc-constant"]
PRIVATE = ["dp-sghmc", "dp-sghmc-quiet", "dp-sghmc-noisy"]
LARGE_BATCHES = ["dp-barker-certified", "dp-sgld-certified", "dp-sgnht-certified"]
TABLE_6_2 = {  # but for private runs with a uniform prior, which are not among the small ones
    *("0.731", "0.004", "0.732", "0.002", "0.730", "0.003", "0.001"),
    *("0.716", "0.021", "0.722", "0.013", "0.616", "0.122", "0.728", "0.009", "0.711"),
}
SMALLER = {"radon-batch": {"batch_size": 20}, "radon-batch-uniform": {"batch_size": 20}}
SMALL = {
    "study": "small-sghmc",
    "seeds": 2,
    "reference_draws": 100,
    "baseline_samples": 2,
    "runs": [
        {
            "models": ["normal-mean"],
            "algorithms": [
                "hmc",
                "subsampled-hmc",
                "subsampled-hmc-tenth",
                "subsampled-hmc-small-steps",
                "sghmc",
                "sghmc-tenth",
            ],
            "iterations": [20],
        },
        {"models": ["radon", "radon-mean-loss"], "algorithms": ["hmc"], "iterations": [20]},
        {
            "models": ["radon-batch", "radon-batch-uniform"],
            "algorithms": BATCHES,
            "iterations": [20],
        },
        {"models": ["radon-batch"], "algorithms": PRIVATE, "iterations": [10]},
        {
            "models": ["radon-batch"],
            "algorithms": ["dp-sghmc-quiet"],
            "iterations": [10],
            "vary": {"friction": [0.03]},
        },
        {
            "models": ["radon-batch"],
            "algorithms": ["dp-sghmc"],
            "iterations": [20],
            "vary": {"step_size": [1, 3], "friction": [0.05, 1]},
        },
        {"models": ["radon"], "algorithms": COMPARED, "epsilons": [4], "max_iterations": 100},
    ],
    "models": {
        "radon": HOUSES,
        "radon-mean-loss": HOUSES,
        "radon-batch": HOUSES | {"tempered_rows": 20},
        "radon-batch-uniform": HOUSES | {"tempered_rows": 300},  # fewer would leave it flat
    },
    "algorithms": {name: {"settings": SMALLER} for name in BATCHES}
    | {name: {"settings": {"radon-batch": {"batch_size": 20}}} for name in PRIVATE}
    | {name: {"settings": {"radon": {"batch_size": 300}}} for name in LARGE_BATCHES},
    "notebooks": {
        "phase-space": {"num_trajectories": 50, "seeds": 2},
        "sghmc-privacy": {"iterations": 4, "lengths": [2, 4, 6, 8], "other_iterations": 4},
    },
}


@pytest.fixture(scope="module")
def overlay():
    return yaml.safe_load((ROOT / "studies/sghmc-thesis/study.yaml").read_text())


@pytest.fixture
def study():
    return load_study(ROOT, [ROOT / "studies/sghmc-thesis/study.yaml"])


def settings(study, algorithm, model):
    """Settings with the names that the thesis has for them."""
    names = {
        "step_size": "beta",
        "num_integration_steps": "J",
        "batch_size": "b",
        "friction": "C",
        "gradient_clip_bound": "L",
    }
    found = study.algorithms[algorithm].settings_on(model)
    return {names[key]: value for key, value in found.items() if key in names}


def test_models_are_those_of_the_thesis(study):
    """Part C of the published studies."""
    mean = study.models["normal-mean"].model
    assert (mean.num_rows, mean.prior_variance, mean.covariance) == (500, 1, [[4]])
    assert mean.true_position == [1]
    for name, power in (
        ("radon", 1),
        ("radon-batch", 100 / 10_058),
        ("radon-mean-loss", 1 / 10_058),
    ):
        model = study.models[name].model
        assert (model.num_rows, model.likelihood_power) == (10_058, pytest.approx(power))
        assert model.prior_variance == 10 and model.num_classes == 5
        assert study.config.delta_times_n / model.num_rows == pytest.approx(1e-5, rel=1e-12)
    assert study.models["radon-batch"].model.dimension == 15
    assert study.models["radon-uniform"].model.prior_bound == 1000
    assert len(study.seeds) == 15


def test_covariates_are_standardised_by_all_houses(study):
    houses = pd.read_csv(ROOT / "examples/radon.csv")[["log_radon", "log_uranium"]]
    model = study.models["radon"].model
    assert model.means == pytest.approx(houses.mean().to_list(), abs=1e-6)
    assert model.sds == pytest.approx(houses.std(ddof=0).to_list(), abs=1e-6)


def test_settings_are_those_of_the_thesis(study):
    mean, rows = "normal-mean", "radon-batch"
    assert settings(study, "hmc", mean) == {"beta": 0.1, "J": 15}
    assert settings(study, "hmc", "radon-mean-loss") == {"beta": 3, "J": 23}
    few = {"beta": 1, "J": 100, "b": 5, "L": 0.7}
    many = few | {"J": 10, "b": 50}
    assert settings(study, "sghmc", mean) == few | {"C": 0.005}
    assert settings(study, "sghmc-tenth", mean) == many | {"C": 0.005}
    assert settings(study, "subsampled-hmc", mean) == few
    assert settings(study, "subsampled-hmc-tenth", mean) == many
    assert settings(study, "subsampled-hmc-small-steps", mean) == many | {"beta": 0.002}
    published = {"beta": 1.7, "J": 100, "b": 100, "C": 0.15, "L": 1}
    for algorithm, changed in {
        "sghmc": {},
        "dp-sghmc": {"J": 10},
        "dp-sghmc-quiet": {"J": 10, "beta": 2, "C": 0.05, "L": 0.7},
        "dp-sghmc-noisy": {"J": 10, "beta": 3, "C": 0.7, "L": 0.8},
    }.items():
        assert settings(study, algorithm, rows) == published | changed
        if algorithm != "sghmc":
            twin = settings(study, f"{algorithm}-certified", rows)
            assert twin == published | changed
            accountant = study.algorithms[algorithm].accountant
            assert accountant.endswith("studies/sghmc-thesis/add_remove_pld.py")
            told = study.describe_study().algorithms[algorithm]
            assert told.accountant == "add-remove-pld"  # as in tables
    iterations = {
        cell.algorithm: run.iterations
        for cell, run in study.runs.items()
        if cell.model == rows and not run.varied
    }
    assert set(iterations.values()) == {1500}
    swept = [run.varied for run in study.runs.values() if run.iterations == 750]
    assert len(swept) == 28 and {"step_size": 2, "friction": 0.66} in swept


SAID = {  # by page
    "sghmc-radon": "SGHMC is as accurate as HMC",
    "sghmc-sweep": "of the best accuracy",
    "private-classification": "closest to the posterior",
}


@pytest.mark.torture
def test_the_study_runs_to_its_last_page(fresh, overlay):
    houses = pd.read_csv(ROOT / "examples/radon.csv")
    (fresh / "examples").mkdir()
    houses[:: len(houses) // 800].to_csv(fresh / "examples/radon.csv", index=False)
    (fresh / "small.yaml").write_text(yaml.safe_dump(SMALL))
    files = ["--configfile", "studies/sghmc-thesis/study.yaml", "small.yaml"]
    snakemake(fresh, "--cores", 2, *files)
    results = fresh / "results/small-sghmc"
    pages = {path.stem for path in results.glob("site/pages/*.html")}
    assert pages == {name for name, told in overlay["notebooks"].items() if told is not None} | {
        "summary"
    }
    figures = {path.stem for path in results.glob("figures/*.png")}
    assert {f"figure-sghmc-{name}" for name in ("6.6", "6.7", "6.9")} <= figures
    assert "figure-private-classification" in figures
    chains = pd.read_csv(results / "tables/chains.csv")
    of_radon = chains["model"].str.startswith("radon")
    assert chains.loc[of_radon, "accuracy"].between(0.2, 1).all()
    assert chains.loc[~of_radon, "accuracy"].isna().all()
    for name, said in SAID.items():
        text = (results / f"pages/{name}.md").read_text()
        assert said in text
        if name == "sghmc-radon":  # the thesis's Table 6.2 is beside ours
            assert set(re.findall(r"(?<![\d.])0\.\d{3}(?!\d)", text)) >= TABLE_6_2
