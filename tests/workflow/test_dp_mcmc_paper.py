"""The study of the DP MCMC paper, small, to its last page; its settings, those of the paper."""

import re

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT
from running import snakemake

import dpmcmc
from dpmcmc import registry
from dpmcmc_studies.reporting.study import StudyResults as Reported
from dpmcmc_studies.study.loading import load_study

BANANAS = ["flat-banana-2d", "tempered-banana-2d"]
ON_BATCHES = ["dp-barker", "minibatch-dp-penalty", "minibatch-dp-penalty-ocu-gwmh"]
NOT_PRIVATE = ["minibatch-barker", "minibatch-barker-clipped"]
SMALL = {
    "study": "small-mcmc",
    "seeds": 3,
    "reference_draws": 100,
    "baseline_samples": 2,
    "stored_draws": 200,
    "max_iterations": 200,
    "runs": [
        {
            "models": ["gmm"],
            "algorithms": ["dp-barker"],
            "iterations": [400],
            "vary": {"proposal_scale": [0.070711, 0.1]},
        },
        {
            "models": ["gmm"],
            "algorithms": [*NOT_PRIVATE, "dp-sgld", "dp-sgld-corrected"],
            "iterations": [400],
        },
        {
            "models": ["gmm"],
            "algorithms": ["dp-barker-certified"],
            "iterations": [600],
            "max_seeds": 2,
        },
        {
            "models": BANANAS,
            "algorithms": ["dp-penalty", "dp-hmc", "dp-mala", *ON_BATCHES],
            "epsilons": [4],
        },
    ],
    "notebooks": {
        "barker-privacy": {
            "num_rows": [100_000],
            "ratios": {"from": 0.001, "to": 0.01, "count": 2},
            "batch_sizes": [1000],
            "most_iterations": 1000,
        },
        "correction": {"noise_variances": [1, 2], "shown": [1, 2], "starts": 1, "places": 200},
        "central-limit": {"count": 1, "batches": 200, "sizes": [10, 100]},
        "dp-mcmc-paper": {"rows": 2000},
    },
    "models": {"gmm": {"num_rows": 20_000}} | {name: {"num_rows": 20_000} for name in BANANAS},
}


SAID = [  # on the page on the mixture
    "Indistinguishable?",
    "Both modes are visited",
    "causes a bias that longer chains do not remove",
    "Clipping causes at least half of the variance that privacy costs",
]


@pytest.fixture(scope="module")
def overlay():
    return yaml.safe_load((ROOT / "studies/dp-mcmc-paper/study.yaml").read_text())


@pytest.fixture
def study():
    return load_study(ROOT, [ROOT / "studies/dp-mcmc-paper/study.yaml"])


def test_settings_are_those_of_the_paper(study, overlay):
    """Part B of the published studies."""
    model = study.models["gmm"].model
    assert (model.num_rows, model.likelihood_power) == (10**6, 1e-4)
    assert (model.variance, model.prior_variances) == (2, [10, 1])
    barker = study.algorithms["dp-barker"].settings_on("gmm")
    assert (barker["batch_size"], barker["proposal_scale"]) == (1000, 0.1)
    clipped = study.algorithms["minibatch-barker-clipped"].settings_on("gmm")
    bound = dpmcmc.DPBarker(dpmcmc.GaussianWalk(0.1), 1000).row_bound(model, None, None)
    assert clipped["clip_bound"] == pytest.approx(bound, rel=1e-12)
    sgld = study.algorithms["dp-sgld"].settings_on("gmm")
    n, T, eta = model.num_rows, model.likelihood_power, 70
    assert sgld["step_size"] == pytest.approx(2 * eta / n) and sgld["temperature"] == 0.5
    assert sgld["batch_size"] == 100 and sgld["gradient_clip_bound"] * T == pytest.approx(0.01)
    swept = overlay["runs"][0]["vary"]["proposal_scale"]
    assert np.square(swept) == pytest.approx(np.linspace(0.005, 0.02, 10), rel=1e-4)
    for name in overlay["tuning"]["models"]:
        assert study.algorithms["dp-mala"].settings_on(name)["num_integration_steps"] == 1


@pytest.mark.parametrize(
    ("accountant", "b", "expected"),
    [
        ("barker-rdp", 1000, 0.4994),
        ("barker-rdp", 10_000, 5.2916),
        ("certified", 1000, 0.0149),
        ("certified", 10_000, 0.0498),
    ],
)
def test_an_iteration_costs_what_part_b_says(accountant, b, expected):
    sampler = dpmcmc.DPBarker(dpmcmc.GaussianWalk(0.1), b, batch_variance="published")
    spent = dpmcmc.epsilon(sampler, 10**6, 5000, 1e-6, accountant)
    assert spent == pytest.approx(expected, rel=0.005)


def test_the_longest_chains_spend_all_of_epsilon_1(study):
    (longest,) = (
        cell
        for cell, run in study.runs.items()
        if run.max_seeds is not None and cell.algorithm == "dp-barker-certified"
    )
    spec = study.budget(longest)
    sampler = registry.build(spec.sampler)
    given = spec.num_rows, 1, spec.delta, spec.accountant, spec.likelihood_power
    assert dpmcmc.iterations(sampler, *given) == spec.iterations


@pytest.mark.torture
def test_the_study_runs_to_its_last_page(fresh, overlay):
    (fresh / "small.yaml").write_text(yaml.safe_dump(SMALL))
    files = ["--configfile", "studies/dp-mcmc-paper/study.yaml", "small.yaml"]
    snakemake(fresh, "--cores", 2, *files)
    results = fresh / "results/small-mcmc"
    pages = {path.stem for path in results.glob("site/pages/*.html")}
    names = {"dp-mcmc-paper", "barker-privacy", "correction", "central-limit", "dp-mala"}
    assert pages == names | {"summary"}
    figures = {path.stem for path in results.glob("figures/*.png")}
    assert {"figure-mcmc-1", "figure-mcmc-1c", "figure-mcmc-2", "figure-mcmc-3"} <= figures
    assert {"figure-clt-distance", "figure-clt-distributions", "figure-mala"} <= figures
    budgets = pd.read_csv(results / "tables/budgets.csv").set_index("algorithm")
    spent = budgets.loc[budgets["iterations"] == 400].loc["dp-barker", "spent_epsilon"]
    assert (spent == spent.iloc[0]).all() and spent.iloc[0] > 0
    text = re.sub("<[^>]*>", " ", (results / "site/pages/dp-mcmc-paper.html").read_text())
    assert all(sentence in text for sentence in SAID)
    reporting = Reported.load(results)
    long = reporting.table("chains").query("algorithm == 'dp-barker-certified'")
    assert list(long["sample"]) == [0, 1] and set(long["iterations"]) == {600}
    assert "pays for 600 iterations. 2 such chains have a median MMD of" in text
