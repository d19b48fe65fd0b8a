"""Chains of a study as ArviZ has them: every draw in its place; a line for what is not there.

It passes with ArviZ 0.x, which has an InferenceData, and with 1.x, which has a DataTree.
"""

import json
import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
from conftest import ROOT

from dpmcmc.configuration.catalogue import read_study
from dpmcmc.configuration.yaml_files import merged
from dpmcmc.evaluation.inference_data import to_arviz
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import JobError
from dpmcmc_studies.jobs.budgets import budget
from dpmcmc_studies.jobs.chains import chain
from dpmcmc_studies.jobs.data import dataset, reference
from dpmcmc_studies.jobs.reports import describe_study
from dpmcmc_studies.study.study import StudyConfig

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    import arviz

MODEL, PRIVATE, SWEPT = "tempered-banana-2d", "dp-penalty", "rwmh"
RUNS = [
    {"models": [MODEL], "algorithms": [PRIVATE], "epsilons": [0.01, 0.5, 2]},
    {"models": [MODEL], "algorithms": [PRIVATE], "iterations": [7], "max_seeds": 2},
    {
        "models": [MODEL],
        "algorithms": [SWEPT],
        "iterations": [40],
        "vary": {"clip_bound": [0.5, 1000]},
    },
]


def run_study(config, results, **changes):
    """Run the jobs of a small study that its chains need."""
    unused = ("accounting_curves", "notebooks", "tuning", "remarks", "related")
    small = {"study": "small", "seeds": 3, "reference_draws": 50, "runs": RUNS}
    small |= {"models": {MODEL: {"num_rows": 2000, "tempered_rows": 200}}}
    small |= {"algorithms": {SWEPT: {"settings": {MODEL: {"proposal_scale": 0.03}}}}}
    config = merged(config, small | dict.fromkeys(unused) | changes)
    study = StudyConfig(config, ROOT)
    place = results / study.name
    dataset(study.dataset(MODEL), place / "data.npy")
    reference(study.reference(MODEL), place / "data.npy", place / "reference.npy")
    for cell in study.cells:
        cost = place / "budgets" / cell.model / cell.algorithm / f"{cell.run}.json"
        budget(study.budget(cell), cost)
        for seed in study.seeds_of(cell):
            path = place / "chains" / cell.model / cell.algorithm / cell.run / f"seed-{seed}.npz"
            inputs = place / "data.npy", place / "reference.npy", cost, []
            chain(study.chain(cell, seed), *inputs, path)
    describe_study(study.describe_study(), place / "study.json")
    return results


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    config, _ = read_study(ROOT, [ROOT / "config.yaml"])
    return run_study(config, tmp_path_factory.mktemp("results"))


def stored(results, run, seed, algorithm=PRIVATE, study="small"):
    path = results / study / "chains" / MODEL / algorithm / run / f"seed-{seed}.npz"
    return dict(np.load(path))


def groups(data):
    """Names of the groups of an InferenceData or of a DataTree."""
    return set(data.groups()) if hasattr(data, "add_groups") else set(data.children)


def test_seeds_are_the_chains_and_burn_in_is_dropped(results):
    data = to_arviz(results, "small", MODEL, PRIVATE, 2)
    assert groups(data) == {"posterior", "sample_stats"}
    theta, accepted = data.posterior.theta, data.sample_stats.is_accepted
    assert theta.dims == ("chain", "draw", "component")
    assert theta.component.values.tolist() == [0, 1]
    for seed in range(3):
        of_job = stored(results, "epsilon-2", seed)
        assert len(of_job["positions"]) > 10
        np.testing.assert_array_equal(theta.sel(chain=seed), kept_draws(of_job["positions"]))
        np.testing.assert_array_equal(accepted.sel(chain=seed), kept_draws(of_job["is_accepted"]))
    assert accepted.dtype == bool


def test_a_run_with_fewer_seeds_has_fewer_chains(results):
    data = to_arviz(results, "small", MODEL, PRIVATE, run="iterations-7")
    assert data.posterior.sizes["chain"] == 2


def test_kept_burn_in_is_apart_from_what_arviz_looks_at(results):
    whole = to_arviz(str(results), "small", MODEL, PRIVATE, 2.0, burn_in=True)
    without = to_arviz(results, "small", MODEL, PRIVATE, epsilon=2)
    assert groups(whole) == {
        "posterior",
        "sample_stats",
        "warmup_posterior",
        "warmup_sample_stats",
    }
    np.testing.assert_array_equal(whole.posterior.theta, without.posterior.theta)
    for seed in range(3):
        of_job = stored(results, "epsilon-2", seed)
        parts = [group.sel(chain=seed) for group in (whole.warmup_posterior, whole.posterior)]
        joined = np.concatenate([part.theta for part in parts])
        np.testing.assert_array_equal(joined, of_job["positions"])
        parts = [g.sel(chain=seed) for g in (whole.warmup_sample_stats, whole.sample_stats)]
        joined = np.concatenate([part.is_accepted for part in parts])
        np.testing.assert_array_equal(joined, of_job["is_accepted"])


def test_attributes_say_what_was_run_and_at_what_cost(results):
    told = to_arviz(results, "small", MODEL, PRIVATE, 2).attrs
    cost = json.loads((results / f"small/budgets/{MODEL}/{PRIVATE}/epsilon-2.json").read_text())
    names = {"study": "small", "model": MODEL, "algorithm": PRIVATE, "run": "epsilon-2"}
    names |= {"sampler": "DPPenalty", "accountant": "gaussian"}
    numbers = {"epsilon": 2, "spent_epsilon": 2, "delta": 0.1 / 2000}
    numbers |= {"iterations": cost["iterations"]}
    assert names.items() <= told.items() and numbers.items() <= told.items()
    assert json.loads(told["settings"]) == {
        "noise_scale": 0.2,
        "proposal_scale": 0.035,
        "clip_bound": 5,
    }
    assert json.loads(told["model_settings"])["tempered_rows"] == 200
    starts = [stored(results, "epsilon-2", seed)["start"].tolist() for seed in range(3)]
    assert json.loads(told["start"]) == starts


def test_other_runs_go_by_the_names_of_their_paths(results):
    data = to_arviz(results, "small", MODEL, PRIVATE, run="iterations-7")
    assert data.posterior.sizes["draw"] == 4 and data.attrs["iterations"] == 7
    assert "epsilon" not in data.attrs and data.attrs["spent_epsilon"] > 0
    for bound in ("0.5", "1000"):
        data = to_arviz(results, "small", MODEL, SWEPT, run=f"iterations-40/clip_bound-{bound}")
        assert json.loads(data.attrs["settings"])["clip_bound"] == float(bound)
        assert not {"epsilon", "spent_epsilon", "delta", "accountant"} & data.attrs.keys()
        run = f"iterations-40/clip_bound-{bound}"
        of_job = stored(results, run, 1, SWEPT)["positions"]
        np.testing.assert_array_equal(data.posterior.theta.sel(chain=1), kept_draws(of_job))


@pytest.mark.parametrize("burn_in", [False, True])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2])
def test_it_is_the_same_from_a_file(results, tmp_path, epsilon, burn_in):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        data = to_arviz(results, "small", MODEL, PRIVATE, epsilon, burn_in=burn_in)
    data.to_netcdf(str(tmp_path / "chains.nc"))
    again = arviz.from_netcdf(str(tmp_path / "chains.nc"))
    assert again.attrs == data.attrs and groups(again) == groups(data)
    for group in groups(data):
        assert again[group].equals(data[group])


def test_chains_without_iterations_have_no_draws(results):
    data = to_arviz(results, "small", MODEL, PRIVATE, 0.01, burn_in=True)
    assert data.attrs["iterations"] == 0
    assert data.posterior.theta.shape == data.warmup_posterior.theta.shape == (3, 0, 2)
    assert len(json.loads(data.attrs["start"])) == 3


def test_arviz_finds_in_it_what_the_study_finds(results):
    from dpmcmc.evaluation.diagnostics import split_r_hat

    data = to_arviz(results, "small", MODEL, PRIVATE, 2)
    summary = arviz.summary(data, round_to="none")
    assert summary["r_hat"].max() == pytest.approx(split_r_hat(data.posterior.theta.values))


def test_thinned_positions_have_no_acceptances_beside_them(config, tmp_path):
    results = run_study(config, tmp_path, stored_draws=10)
    run = "iterations-40/clip_bound-1000"
    thinned = to_arviz(results, "small", MODEL, SWEPT, run=run, burn_in=True)
    assert groups(thinned) == {"posterior", "warmup_posterior"}
    assert thinned.attrs["iterations"] == 40
    assert thinned.warmup_posterior.sizes["draw"] == 4 and thinned.posterior.sizes["draw"] == 6
    short = to_arviz(results, "small", MODEL, PRIVATE, run="iterations-7")
    assert "sample_stats" in groups(short)


def test_components_go_by_the_names_that_the_study_tells(results, tmp_path):
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "small/study.json"
    told = json.loads(path.read_text())
    told["models"][MODEL]["parameter_names"] = ["slope", "intercept"]
    path.write_text(json.dumps(told))
    data = to_arviz(tmp_path, "small", MODEL, PRIVATE, 2)
    of_job = kept_draws(stored(results, "epsilon-2", 0)["positions"])
    np.testing.assert_array_equal(
        data.posterior.theta.sel(chain=0, component="intercept"), of_job[:, 1]
    )
    assert list(arviz.summary(data).index) == ["theta[slope]", "theta[intercept]"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"study": "large"}, "unknown study large; valid: small"),
        ({"model": "circle"}, f"unknown model circle; valid: {MODEL}"),
        ({"algorithm": "hmc"}, f"unknown algorithm hmc; valid: {PRIVATE}, {SWEPT}"),
        ({"epsilon": 3}, r"unknown run epsilon-3; valid: epsilon-0\.01, epsilon-0\.5, eps"),
        (
            {"epsilon": None, "run": "iterations-40", "algorithm": SWEPT},
            r"valid: iterations-40/clip_bound-0\.5, iterations-40/clip_bound-1000",
        ),
        ({"epsilon": None}, "either an epsilon or a run must be given"),
        ({"run": "epsilon-2"}, "either an epsilon or a run must be given"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(results, changes, message):
    wanted = {"study": "small", "model": MODEL, "algorithm": PRIVATE, "epsilon": 2} | changes
    with pytest.raises(JobError, match=message) as caught:
        to_arviz(results, **wanted)
    assert "\n" not in str(caught.value)


def test_results_that_are_not_whole_are_refused(results, tmp_path):
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    place = tmp_path / f"small/chains/{MODEL}/{PRIVATE}/epsilon-2"
    cell = tmp_path, "small", MODEL, PRIVATE, 2
    shutil.copy(place.with_name("epsilon-0.5") / "seed-1.npz", place / "seed-1.npz")
    incomplete = r"epsilon-2: not 3 chains of one length; run the study to its end"
    with pytest.raises(JobError, match=incomplete):
        to_arviz(*cell)
    (place / "seed-1.npz").write_bytes(b"PK")
    with pytest.raises(JobError, match=r"seed-1\.npz is damaged"):
        to_arviz(*cell)
    (place / "seed-1.npz").unlink()
    with pytest.raises(JobError, match=incomplete):
        to_arviz(*cell)
    (tmp_path / "small/study.json").unlink()
    with pytest.raises(
        JobError, match="unknown study small; valid: none, run the study to its end"
    ):
        to_arviz(*cell)


def test_the_notice_that_arviz_gives_once_a_day_is_not_given(tmp_path):
    """It keeps the day in a user's directory, and a new user has none."""
    places = {"HOME": str(tmp_path)} | {
        f"XDG_{x}_HOME": str(tmp_path) for x in ("CACHE", "CONFIG", "DATA", "STATE")
    }
    code = "import dpmcmc, numpy as np\n"
    code += "dpmcmc.to_arviz(dpmcmc.Chain(np.ones((5, 2)), *np.ones((4, 5))))"
    command = [sys.executable, "-c", code]
    result = subprocess.run(
        command, env=os.environ | places, capture_output=True, text=True, check=True
    )
    assert result.stderr == ""
    if arviz.__version__.startswith("0."):
        assert list(tmp_path.glob("arviz/daily_warning"))  # so it would have been
