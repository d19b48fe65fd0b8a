"""What runs again after a change: just what the change concerns."""

import json
import os

import pytest
import yaml
from running import TINY, planned

TABLES = ["budgets", "chains", "claim-comparisons", "claims", "mixing", "models", "ranking"]
TABLES += ["baselines", "starts", "summary", "timings"]
PARTS = ["budgets", "chains", "mixing", "timings"]
MODELS = ["flat-banana-2d", "tempered-banana-2d"]


def chains(model, algorithm, epsilons=(2, 4), seeds=3):
    return [
        f"chains/{model}/{algorithm}/epsilon-{epsilon}/seed-{seed}.npz"
        for epsilon in epsilons
        for seed in range(seeds)
    ]


def after_chains(*models):
    """What follows from chains of some models."""
    parts = [f"tables/models/{model}/{name}.csv" for model in models for name in PARTS]
    return [*parts, *(f"tables/{name}.csv" for name in TABLES)]


def overlay(directory, changes):
    path = directory / "overlay.yaml"
    path.write_text(yaml.safe_dump(changes))
    return [*TINY, path]


def test_nothing_changed_runs_nothing(tiny):
    assert planned(tiny, *TINY) == []


def test_a_touched_source_or_the_same_setting_in_other_words_runs_nothing(tiny, finished):
    os.utime(finished / "src/dpmcmc/kernels/ratios.py")
    os.utime(finished / "config.yaml")
    same = {"algorithms": {"dp-penalty": {"settings": {"flat-banana-2d": {"clip_bound": None}}}}}
    config = yaml.safe_load((finished / "config.yaml").read_text())
    settings = config["algorithms"]["dp-penalty"]["settings"]["flat-banana-2d"]
    same["algorithms"]["dp-penalty"]["settings"]["flat-banana-2d"] = dict(
        reversed(settings.items())
    )
    same["runs"] = yaml.safe_load((finished / "studies/tiny/study.yaml").read_text())["runs"]
    same["runs"][0]["epsilons"] = [2.0, 4.00]
    assert planned(finished, *overlay(finished, same)) == []


def test_a_setting_reruns_the_chains_of_its_algorithm_on_its_model(tiny, finished):
    change = {"dp-penalty": {"settings": {"tempered-banana-2d": {"clip_bound": 0.5}}}}
    expected = chains("tempered-banana-2d", "dp-penalty") + after_chains("tempered-banana-2d")
    expected += [f"budgets/tempered-banana-2d/dp-penalty/epsilon-{e}.json" for e in (2, 4)]
    assert planned(finished, *overlay(finished, {"algorithms": change})) == sorted(expected)


def test_a_setting_of_an_algorithm_that_does_not_run_here_runs_nothing(tiny, finished):
    change = {"dp-hmc": {"settings": {"flat-banana-2d": {"step_size": 0.01}}}}
    assert planned(finished, *overlay(finished, {"algorithms": change})) == []


def test_a_setting_of_the_tuning_runs_nothing(tiny, finished):
    assert planned(finished, *overlay(finished, {"tuning": {"trials": 3}})) == []
    assert planned(finished, *overlay(finished, {"tuning": None})) == []


def test_a_setting_of_a_model_reruns_all_of_that_model(tiny, finished):
    changes = {"models": {"flat-banana-2d": {"curvature": 3}}}
    model = "flat-banana-2d"
    expected = [f"{made}/{model}.npy" for made in ("data", "reference", "baselines")]
    expected += chains(model, "dp-penalty") + chains(model, "dp-barker") + after_chains(model)
    expected += [f"tables/models/{model}/{name}.csv" for name in ("baselines", "starts")]
    assert planned(finished, *overlay(finished, changes)) == sorted(expected)


def test_a_new_seed_and_epsilon_add_chains_alone(tiny, finished):
    changes = yaml.safe_load((finished / "studies/tiny/study.yaml").read_text())
    changes["runs"][0]["epsilons"] = [2, 4, 6]
    files = planned(finished, *overlay(finished, changes), "--config", "seeds=4")
    everything = [
        c for m in MODELS for a in ("dp-penalty", "dp-barker") for c in chains(m, a, (2, 4, 6), 4)
    ]
    there = [c for m in MODELS for a in ("dp-penalty", "dp-barker") for c in chains(m, a)]
    expected = sorted(set(everything) - set(there))
    assert [file for file in files if file.startswith("chains")] == expected
    assert not [file for file in files if file.startswith(("data", "reference", "baselines"))]


@pytest.mark.parametrize(
    ("file", "algorithms", "and_data"),
    [
        ("kernels/ratios.py", ("dp-penalty", "dp-barker"), True),
        ("study/streams.py", ("dp-penalty", "dp-barker"), True),
        ("samplers/chain.py", ("dp-penalty", "dp-barker"), True),
        ("samplers/dp_penalty.py", ("dp-penalty",), False),
        ("samplers/batches.py", ("dp-barker",), False),
        ("samplers/hmc.py", (), False),
        ("models/circle.py", (), False),
        ("likelihoods/rows.py", (), False),
        ("evaluation/claims.py", (), False),
    ],
)
def test_a_changed_source_reruns_the_chains_that_import_it(
    tiny, finished, file, algorithms, and_data
):
    path = finished / "src/dpmcmc" / file
    path.write_text(path.read_text() + "\n")
    expected = [c for m in MODELS for a in algorithms for c in chains(m, a)]
    files = planned(finished, *TINY)
    assert [f for f in files if f.startswith("chains")] == sorted(expected)
    assert (f"data/{MODELS[0]}.npy" in files) == and_data
    assert ("tables/claims.csv" in files) == bool(algorithms or file == "evaluation/claims.py")


def test_the_prose_of_a_notebook_concerns_no_table(tiny, finished):
    path = finished / "notebooks/summary.ipynb"
    notebook = json.loads(path.read_text())
    cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    cell["source"] = [*cell["source"], "\nOne more sentence."]
    path.write_text(json.dumps(notebook))
    assert planned(finished, *TINY) == []


def test_a_deleted_table_is_made_anew_and_nothing_before_it(tiny, finished):
    (finished / "results/tiny/tables/chains.csv").unlink()
    assert planned(finished, *TINY) == sorted(after_chains())
