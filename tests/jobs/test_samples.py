"""Several chains a sample: one budget, one sample, one row; start points likewise."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT, SMALL_MODELS
from msgspec.structs import asdict

from dpmcmc import registry
from dpmcmc.configuration.yaml_files import ConfigError, merged
from dpmcmc.evaluation.diagnostics import effective_sample_size, split_r_hat
from dpmcmc.evaluation.metrics import compare, kept_draws
from dpmcmc.random_streams import generator
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.jobs.baseline_tables import baseline_table
from dpmcmc_studies.jobs.budgets import budget
from dpmcmc_studies.jobs.chain_files import ChainFile
from dpmcmc_studies.jobs.chain_tables import AVERAGED, TABLES, chain_table, sample_row
from dpmcmc_studies.jobs.chains import chain
from dpmcmc_studies.jobs.data import baselines, dataset, reference
from dpmcmc_studies.jobs.reuse import Reuse
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.study import StudyConfig

MODEL = "tempered-banana-2d"
RUNS = [
    {"models": [MODEL], "algorithms": ["dp-penalty"], "epsilons": [2, 4]},
    {
        "models": [MODEL],
        "algorithms": ["dp-penalty"],
        "epsilons": [6],
        "max_iterations": 9,
        "max_seeds": 3,
    },
    {"models": [MODEL], "algorithms": ["start"], "iterations": [60]},
    {
        "models": [MODEL],
        "algorithms": ["rwmh"],
        "iterations": [40],
        "vary": {"clip_bound": [0.5]},
    },
]
UNUSED = ("accounting_curves", "notebooks", "tuning", "remarks", "related", "claims")
SMALL = {
    "study": "small",
    "seeds": 6,
    "chains_per_sample": 3,
    "reference_draws": 90,
    "baseline_samples": 2,
    "runs": RUNS,
    "models": {MODEL: {"num_rows": 2000, "tempered_rows": 200}},
    "algorithms": {"rwmh": {"settings": {MODEL: {"proposal_scale": 0.03}}}},
}


def study_of(config, **changes):
    return StudyConfig(merged(config, SMALL | dict.fromkeys(UNUSED) | changes), ROOT)


@pytest.fixture
def made(config, tmp_path):
    """The study, where it ran, and its tables of chains, budgets, timings, mixing and starts."""
    study, place = study_of(config), tmp_path
    data, sample = place / "data.npy", place / "reference.npy"
    dataset(study.dataset(MODEL), data)
    reference(study.reference(MODEL), data, sample)
    baselines(study.baselines(MODEL), data, place / "baselines.npy")
    for cell in study.cells:
        cost = place / "budgets" / "/".join(cell[:2]) / f"{cell.run}.json"
        budget(study.budget(cell), cost)
        for seed in study.seeds_of(cell):
            path = place / "chains" / "/".join(cell) / f"seed-{seed}.npz"
            chain(study.chain(cell, seed), data, sample, cost, [], path)
    paths = {name: place / f"{name}.csv" for name in TABLES}
    rows = Reuse(study).rows(*(f"chains/{'/'.join(cell)}" for cell in study.cells))
    chain_table(study.chain_table(MODEL), rows, place, sample, **paths)
    of_samples = place / "baselines.csv", place / "starts.csv"
    rows = Reuse(study).rows(f"baselines/{MODEL}")
    baseline_table(study.baseline_table(MODEL), rows, sample, place / "baselines.npy", *of_samples)
    tables = {name: read_csv(path) for name, path in paths.items()}
    return study, place, tables | {"starts": read_csv(of_samples[1])}


def stored(place, algorithm, run, seed):
    return dict(np.load(place / "chains" / MODEL / algorithm / run / f"seed-{seed}.npz"))


def test_chains_that_share_a_budget_are_one_sample(made):
    study, place, tables = made
    chains = tables["chains"].set_index(["algorithm", "epsilon", "sample"])
    model, reference = registry.build(study.models[MODEL].spec), np.load(place / "reference.npy")
    for number in range(2):
        parts = [
            stored(place, "dp-penalty", "epsilon-4", seed)
            for seed in range(3 * number, 3 * number + 3)
        ]
        kept = np.array([kept_draws(part["positions"]) for part in parts])
        row = chains.loc[("dp-penalty", 4, number)]
        rng = generator(study.config.seed, "bandwidth", MODEL, "dp-penalty", "4", number)
        expected = compare(rng, np.concatenate(kept), reference, model, **asdict(study.config.mmd))
        for name, value in expected.items():
            assert row[name] == pytest.approx(value, rel=1e-9)
        assert row["kept_draws"] == kept.shape[0] * kept.shape[1]
        assert row["r_hat"] == pytest.approx(split_r_hat(kept))
        assert row["ess"] == pytest.approx(effective_sample_size(kept))
        records = [json.loads(str(part["record"])) for part in parts]
        for name in ("acceptance_rate", "clip_fraction"):
            assert row[name] == pytest.approx(np.mean([record[name] for record in records]))
        assert {len(part["positions"]) for part in parts} == {row["iterations"]}


def test_tables_say_what_a_chain_and_what_a_release_has(made):
    _, place, tables = made
    seeds = tables["chains"].groupby(["algorithm", "epsilon"], dropna=False)["sample"].agg(list)
    assert seeds.pop(("dp-penalty", 6)) == [0] and list(seeds) == [[0, 1]] * 4
    chains = tables["timings"].set_index(["algorithm", "epsilon"])["chains"]
    assert chains.pop(("dp-penalty", 6)) == 3 and list(chains) == [6] * 4
    budgets = tables["budgets"]
    assert (budgets["chains_per_sample"] == 3).all()
    private = budgets[budgets["epsilon"].notna()].set_index("epsilon")
    uncapped = private.loc[[2, 4]]
    assert (uncapped["iterations"] == uncapped["allowed_iterations"] // 3).all()
    assert private.loc[6, "iterations"] == 9
    assert private.loc[6, "spent_epsilon"] < 6 and private.loc[6, "allowed_iterations"] > 27
    # R-hat of all chains of a cell: what the samples say of each other, too.
    mixing = tables["mixing"].set_index(["algorithm", "epsilon"])
    kept = [
        kept_draws(stored(place, "dp-penalty", "epsilon-4", seed)["positions"]) for seed in range(6)
    ]
    assert mixing.loc[("dp-penalty", 4), "r_hat"] == pytest.approx(split_r_hat(np.array(kept)))


def test_a_sample_that_diverges_has_the_worst_of_each_number_and_none_is_missing():
    model = SMALL_MODELS["gaussian"]
    draws = np.random.default_rng(1).normal(size=(60, 2))
    spec = specs.ChainTable(
        study_seed=1,
        model="gaussian",
        model_entry={},
        data_sets=1,
        chains_per_sample=1,
        mmd={"bandwidth_pairs": 100, "max_draws": 100},
        cells=[],
    )
    given = SimpleNamespace(spec=spec, model=model, reference=draws[None], held_out=None)
    for far in (np.full((40, 2), np.nan), np.resize([[np.inf], [-np.inf]], (40, 2))):
        chain = ChainFile(dict.fromkeys(AVERAGED, 0.5), {}, {}, {}, far)
        row = sample_row(given, [chain], "dp-sgld", "eps-1", 0)
        assert row["ess"] == row["coverage"] == 0 and row["sd_ratio"] == np.inf
        assert not any(np.isnan(value) for value in row.values())


def test_decisions_that_clipping_has_changed_add_up(made):
    _, place, tables = made
    row = tables["chains"][tables["chains"]["algorithm"] == "rwmh"].iloc[1]
    parts = [stored(place, "rwmh", "iterations-40/clip_bound-0.5", seed) for seed in (3, 4, 5)]
    changed = [json.loads(str(part["changed"]))["changed_decisions"] for part in parts]
    assert row["changed_decisions"] == sum(changed) > 0


def test_start_points_that_are_never_left_are_compared_as_a_release(made):
    """The pseudo-algorithm has 30 draws of each point, 90 in all, as the table of starts has."""
    _, _, tables = made
    found = tables["chains"][tables["chains"]["algorithm"] == "start"].set_index("sample")
    starts = tables["starts"].set_index("sample")
    assert len(starts) == 2
    for name in ("mean_error", "covariance_error", "sd_ratio"):
        np.testing.assert_allclose(found[name], starts[name], rtol=0.02)
    np.testing.assert_allclose(found["mmd"], starts["mmd"], rtol=0.1)  # bandwidths are random
    assert np.isinf(found["r_hat"]).all() and (found["ess"] == 3).all()


def test_chains_must_make_whole_releases(config):
    with pytest.raises(ConfigError, match="seeds: must be a multiple of chains_per_sample = 3"):
        study_of(config, seeds=7)
    with pytest.raises(ConfigError, match=r"runs\[1\].max_seeds: must be a multiple"):
        study_of(config, runs=[RUNS[0], RUNS[1] | {"max_seeds": 4}])


def test_fewer_seeds_than_the_most_of_a_run_are_all_that_it_has(config):
    study = study_of(config, seeds=3, runs=[RUNS[1] | {"max_seeds": 6}])
    assert list(study.seeds_of(study.cells[0])) == [0, 1, 2]


def test_a_cap_goes_with_epsilons(config):
    run = {"models": [MODEL], "algorithms": ["start"], "iterations": [60], "max_iterations": 9}
    with pytest.raises(ConfigError, match=r"runs\[0\].max_iterations: goes with epsilons"):
        study_of(config, runs=[run])


def test_another_cap_is_another_run(config):
    entry = RUNS[0] | {"epsilons": [6]}
    with pytest.raises(ConfigError, match="runs twice as epsilon-6, with different numbers"):
        study_of(config, runs=[RUNS[1], entry])
