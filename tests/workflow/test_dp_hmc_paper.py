"""The study of the DP HMC paper, made small, to its last page; its settings, those of the paper."""

import re

import pandas as pd
import pytest
import yaml
from conftest import ROOT
from running import snakemake

from dpmcmc_studies.study.loading import load_study

PUBLISHED = ["dp-penalty", "dp-hmc", "dp-sgld", "dp-sgnht"]
CERTIFIED = ["dp-sgld-certified", "dp-sgld-corrected", "dp-sgnht-certified"]
SMALL = {
    "study": "small-paper",
    "seeds": 4,
    "chains_per_sample": 2,
    "reference_draws": 100,
    "baseline_samples": 2,
    "stored_draws": 100,
    "max_iterations": 150,
    "runs": [
        {"models": ["banana", "gauss"], "algorithms": PUBLISHED, "epsilons": [15]},
        {
            "models": ["banana"],
            "algorithms": CERTIFIED,
            "epsilons": [15],
            "max_iterations": 200,
        },
        {
            "models": ["banana"],
            "algorithms": ["dp-sgld"],
            "iterations": [150],
            "vary": {"step_size": [2e-5], "temperature": [0.5, 1], "gradient_clip_bound": [2]},
        },
        {
            "models": ["gauss"],
            "algorithms": ["dp-sgld"],
            "iterations": [150],
            "vary": {"step_size": [1e-7], "temperature": [0.5, 1], "gradient_clip_bound": [100]},
        },
        {
            "models": ["banana"],
            "algorithms": ["rwmh"],
            "iterations": [50],
            "vary": {"clip_bound": [0.1, 10]},
        },
    ],
    "models": {name: {"num_rows": 4000} for name in ("banana", "gauss")},
}


@pytest.fixture(scope="module")
def overlay():
    return yaml.safe_load((ROOT / "studies/dp-hmc-paper/study.yaml").read_text())


@pytest.fixture
def study():
    return load_study(ROOT, [ROOT / "studies/dp-hmc-paper/study.yaml"])


def test_settings_are_those_of_the_paper(study):
    """Part A of the published studies: eta / n for the step sizes, in the package's terms."""
    n, samples = 100_000, {}
    for (model, algorithm), expected in {
        ("banana", "dp-penalty"): {"noise_scale": 0.17, "proposal_scale": 0.06, "clip_bound": 0.15},
        ("gauss", "dp-penalty"): {"noise_scale": 0.05, "proposal_scale": 7e-4, "clip_bound": 10},
        ("banana", "dp-sgnht"): {"step_size": 100 / n, "diffusion": 50, "gradient_clip_bound": 0.2},
        ("gauss", "dp-sgnht"): {"step_size": 0.2 / n, "diffusion": 30, "gradient_clip_bound": 12},
        ("banana", "dp-sgld"): {"step_size": 2 / n, "temperature": 0.5, "gradient_clip_bound": 0.2},
        ("gauss", "dp-sgld"): {
            "step_size": 0.016 / n,
            "temperature": 0.5,
            "gradient_clip_bound": 15,
        },
        ("banana", "dp-sgld-corrected"): {"step_size": 1 / n, "gradient_clip_bound": 0.2},
        ("gauss", "dp-sgld-corrected"): {"step_size": 0.008 / n, "gradient_clip_bound": 15},
    }.items():
        settings = study.algorithms[algorithm].settings_on(model)
        assert settings == expected | ({"batch_size": 1000} if "dp-sg" in algorithm else {})
        samples[model, algorithm] = study.models[model].model.num_rows
    assert set(samples.values()) == {n}
    for name in ("dp-sgld", "dp-sgnht"):
        both = [study.algorithms[f"{name}{suffix}"].settings for suffix in ("", "-certified")]
        assert {m: both[0][m] for m in both[1]} == both[1]
    assert study.chains_per_sample == 4 and len(study.seeds) == 40
    banana = study.algorithms["dp-hmc"].settings["banana"]
    assert (banana["num_integration_steps"], banana["gradient_clip_bound"]) == (25, 0.05)


@pytest.mark.torture
def test_the_study_runs_to_its_last_page(fresh, overlay):
    (fresh / "small.yaml").write_text(yaml.safe_dump(SMALL))
    files = ["--configfile", "studies/dp-hmc-paper/study.yaml", "small.yaml"]
    snakemake(fresh, "--cores", 2, *files)
    results = fresh / "results/small-paper"
    pages = {path.stem for path in results.glob("site/pages/*.html")}
    assert pages == {"summary", "models", "clipping", "dp-hmc-paper", "temperature"}
    figures = {path.stem for path in results.glob("figures/*.png")}
    assert {f"figure-paper-{i}" for i in (1, 2, 3, 4)} | {"figure-temperature"} <= figures
    chains = pd.read_csv(results / "tables/chains.csv")
    assert set(chains["sample"]) == {0, 1}
    budgets = pd.read_csv(results / "tables/budgets.csv")
    assert set(budgets["chains_per_sample"]) == {2}
    capped = budgets[budgets["algorithm"].isin(CERTIFIED)]
    assert set(capped["iterations"]) == {200} and (capped["spent_epsilon"].fillna(99) < 15).all()
    assert set(budgets.loc[budgets["algorithm"] == "dp-sgld", "iterations"]) == {150}
    page = (results / "site/pages/dp-hmc-paper.html").read_text()
    assert "claims of the paper" in page and "allowed a sample" in page
    claims = [pd.read_csv(results / f"tables/claims{kind}.csv") for kind in ("", "-certified")]
    assert all(len(table) == len(overlay["claims"]) for table in claims)
    text = re.sub("<[^>]*>", " ", (results / "site/pages/temperature.html").read_text())
    assert "In theory" in text and "0.707" in text
