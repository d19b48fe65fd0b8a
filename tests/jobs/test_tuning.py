"""Search of settings: what is tried, what wins, and that an interruption changes nothing."""

import json
import math

import pandas as pd
import pytest
import yaml
from conftest import ROOT

from dpmcmc.configuration.yaml_files import merged
from dpmcmc.files import JobError
from dpmcmc.samplers.barker_correction import fit_correction
from dpmcmc_studies.jobs import samplers, tuning
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.study import StudyConfig

PAIR = "flat-banana-2d", "dp-penalty"
OPTIMUM = 0.03  # of the proposal scale of `Known`; the study's own is 0.008


@pytest.fixture
def make_spec(config):
    """Function from changes of the configuration to what the search of a pair is told."""

    def make(pair=PAIR, changes=None, **keys):
        model, algorithm = pair
        quick = {"models": {model: {"num_rows": 3000}}, "reference_draws": 100}
        section = {"models": [model], "algorithms": [algorithm], "trials": 30, "seeds": 3}
        section |= {"finalists": 3, "confirming_seeds": 5, "max_iterations": 500} | keys
        config_now = merged(merged(config, quick | {"tuning": section}), changes or {})
        study = StudyConfig(config_now, ROOT)
        return study.search(model, algorithm, study.config.tuning.epsilons[0])

    return make


REAL = tuning.Runner


class Known:
    """In place of chains: score and clip fraction that are known functions of the settings."""

    def __init__(self, spec, twins, correction):
        self.calls = 0

    def measure(self, settings, numbers):
        self.calls += 1
        scale = settings["proposal_scale"]
        score_ratio = 1 + abs(math.log(scale / OPTIMUM))
        clip_fraction = min(1.0, scale / settings["clip_bound"] * 10)  # 0.2: scale = bound / 50
        return {
            "iterations": 100,
            "spent": 1.0,
            "score_ratio": [score_ratio + 0.01 * number for number in numbers],
            "clip_fraction": [clip_fraction] * len(numbers),
        }


def search(spec, directory, correction=(), source="source"):
    files = [directory / name for name in ("a.journal", "a.csv", "a.json")]
    twins = directory / "twins.npz"
    if tuning.Runner is REAL and not twins.exists():
        tuning.twins(spec.twins, twins)
    tuning.search(spec, twins, correction, source, *files)
    return pd.read_csv(files[1]), json.loads(files[2].read_text())


def test_a_known_optimum_is_found_within_the_limit(make_spec, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "Runner", Known)
    trials, best = search(make_spec(largest_clip_fraction=1), tmp_path)
    assert best["settings"]["proposal_scale"] == pytest.approx(OPTIMUM, rel=0.2)
    assert json.loads(trials["settings"][0]) == make_spec().settings
    assert best["row"]["ratio"] > 1.5 and best["row"]["difference_high"] < 0
    # The clip bound is at most 5 x 2, so with a limit of 0.01 a scale is at most 0.01, and the
    # optimum is out of reach.
    (tmp_path / "limited").mkdir()
    trials, best = search(make_spec(largest_clip_fraction=0.01), tmp_path / "limited")
    feasible = trials[trials["is_feasible"]]
    assert (trials["is_feasible"] == (trials["clip_fraction"] <= 0.01)).all()
    assert (
        trials["score_ratio"].min() < feasible["score_ratio"].min()
    )  # one that clips too much would have won
    assert best["row"]["best_trial"] == feasible.loc[feasible["score_ratio"].idxmin(), "trial"]
    assert best["settings"]["proposal_scale"] <= 0.01
    assert best["row"]["feasible_trials"] == len(feasible)


def test_without_a_feasible_trial_the_pair_keeps_its_own_settings(make_spec, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "Runner", Known)
    _, best = search(make_spec(largest_clip_fraction=0, trials=3), tmp_path)
    assert best["settings"] is None and best["row"]["best_score_ratio"] is None
    assert best["row"]["feasible_trials"] == 0 and best["row"]["own_score_ratio"] > 0
    tuning.tuning_tables([tmp_path / "a.csv"], [tmp_path / "a.json"], tmp_path / "all")
    assert yaml.safe_load((tmp_path / "all/settings.yaml").read_text()) == {"algorithms": {}}
    (row,) = pd.read_csv(tmp_path / "all/summary.csv").to_dict("records")
    assert math.isnan(row["best_trial"]) and row["feasible_trials"] == 0


def test_the_choice_is_made_by_further_chains_and_own_settings_take_part(
    make_spec, tmp_path, monkeypatch
):
    class Fickle(Known):
        """Chances are that the search sees an optimum where further chains see none."""

        def measure(self, settings, numbers):
            result = super().measure(settings, numbers)
            if numbers.start and settings["proposal_scale"] != 0.008:
                result["score_ratio"] = [one + 9 for one in result["score_ratio"]]
            return result

    monkeypatch.setattr(tuning, "Runner", Fickle)
    trials, best = search(make_spec(largest_clip_fraction=1), tmp_path)
    assert trials["score_ratio"].idxmin() > 0 and best["row"]["best_trial"] == 1
    assert best["settings"] == make_spec().settings and best["row"]["ratio"] == 1


@pytest.mark.parametrize("kills", [[0], [1], [7], [3, 2, 8]])
def test_a_search_that_was_killed_comes_to_the_same(make_spec, tmp_path, monkeypatch, kills):
    class Fragile(Known):
        left = math.inf

        def measure(self, *arguments):
            Fragile.left -= 1
            if Fragile.left < 0:
                raise KeyboardInterrupt
            return super().measure(*arguments)

    monkeypatch.setattr(tuning, "Runner", Fragile)
    spec = make_spec(trials=16)
    (tmp_path / "through").mkdir()
    search(spec, tmp_path / "through")
    for trials in kills:
        Fragile.left = trials
        with pytest.raises(KeyboardInterrupt):
            search(spec, tmp_path)
        assert not (tmp_path / "a.csv").exists()
    if sum(kills):
        assert len(json.loads((tmp_path / "a.journal").read_text())["trials"]) == sum(kills)
    Fragile.left = math.inf
    search(spec, tmp_path)
    for name in ("a.journal", "a.csv", "a.json"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "through" / name).read_bytes()


def test_more_trials_continue_a_search_and_another_search_starts_anew(
    make_spec, tmp_path, monkeypatch
):
    runners = []

    def make(*arguments):
        runners.append(Known(*arguments))
        return runners[-1]

    monkeypatch.setattr(tuning, "Runner", make)
    further = 3 + 2  # finalists, and the choice and the study's own settings
    few, _ = search(make_spec(trials=12), tmp_path)
    more, _ = search(make_spec(trials=15), tmp_path)
    again, _ = search(make_spec(trials=12), tmp_path)
    pd.testing.assert_frame_equal(more[:12], few)
    pd.testing.assert_frame_equal(again, few)
    assert [runner.calls - further for runner in runners] == [12, 3, 0]
    search(make_spec(trials=12, epsilons=[3]), tmp_path)
    search(make_spec(trials=12, epsilons=[3]), tmp_path, source="changed")
    assert [runner.calls - further for runner in runners[3:]] == [12, 12]
    for damaged in ("{", "{}", "[]"):
        (tmp_path / "a.journal").write_text(damaged)
        with pytest.raises(JobError, match=r"a\.journal is damaged .* delete it and run again"):
            search(make_spec(), tmp_path)


def test_a_suggestion_follows_from_the_trials_before_alone(make_spec):
    spec = make_spec()
    space = tuning.search_space(spec)
    runner, trials = Known(spec, None, []), []
    for number in range(14):
        factors = tuning.suggest(space, trials, seed=number)
        assert factors == tuning.suggest(space, json.loads(json.dumps(trials)), seed=number)
        assert all(space[key].low <= factor <= space[key].high for key, factor in factors.items())
        settings = tuning.scaled(spec, factors)
        trial = {"factors": factors} | runner.measure(settings, range(3))
        trials.append(trial | {"violation": tuning.violation(spec, trial)})
    assert not trials[0]["factors"] and trials[1]["factors"].keys() == space.keys()
    assert tuning.suggest(space, trials, 1) != tuning.suggest(space, trials, 2)


def test_settings_are_scaled_to_three_digits_and_stay_what_they_are(make_spec):
    hmc = ("flat-banana-2d", "dp-hmc")
    spec = make_spec(hmc, {"algorithms": {"dp-hmc": {"settings": {hmc[0]: {"clip_bound": 2}}}}})
    settings = tuning.scaled(spec, {"num_integration_steps": 0.26, "step_size": 1.23456})
    assert settings["num_integration_steps"] == 3 and settings["step_size"] == 0.000617
    assert settings["clip_bound"] == 2  # was not searched
    assert tuning.scaled(spec, {"num_integration_steps": 0.01})["num_integration_steps"] == 1
    assert tuning.scaled(spec, {"clip_bound": 1.23456})["clip_bound"] == 2.47
    scales = {"algorithms": {"dp-penalty": {"settings": {PAIR[0]: {"proposal_scale": [1, 0.03]}}}}}
    listed = make_spec(changes=scales)
    assert tuning.scaled(listed, {"proposal_scale": 1.5})["proposal_scale"] == [1.5, 0.045]
    assert tuning.search_space(listed)["proposal_scale"].high == 10


def test_a_batch_stays_within_sixteen_rows_and_the_data_set(make_spec):
    spec = make_spec(("flat-banana-2d", "dp-barker"))
    batch = tuning.search_space(spec)["batch_size"]
    assert [
        tuning.scaled(spec, {"batch_size": f})["batch_size"] for f in (batch.low, 1.1, batch.high)
    ] == [
        16,
        1430,
        3000,
    ]


def test_bad_settings_are_improved_by_real_chains(make_spec, tmp_path, capsys):
    bad = {"proposal_scale": 0.0001, "noise_scale": 0.3}
    changes = {"algorithms": {"dp-penalty": {"settings": {PAIR[0]: bad}}}}
    factors = {"proposal_scale": 1000, "noise_scale": None, "clip_bound": None}
    spec = make_spec(changes=changes, trials=14, factors=factors)
    trials, best = search(spec, tmp_path)
    row = best["row"]
    assert row["best_score_ratio"] < row["own_score_ratio"] and row["difference_high"] < 0
    assert best["settings"]["proposal_scale"] > 0.001
    assert best["settings"]["noise_scale"] == 0.3 and row["best_clip_fraction"] < 0.3
    assert trials["iterations"].max() <= 500
    assert "trial 14 of 14: " in capsys.readouterr().out


def test_too_few_iterations_are_no_feasible_trial(make_spec, tmp_path):
    noise = {"algorithms": {"dp-penalty": {"settings": {PAIR[0]: {"noise_scale": 0.001}}}}}
    spec = make_spec(changes=noise, trials=1)
    trials, best = search(spec, tmp_path)
    assert trials["iterations"][0] == 0 and not trials["is_feasible"][0]
    assert best["settings"] is None and best["row"]["own_score_ratio"] is None


def test_settings_whose_chains_the_limit_stops_do_not_count(make_spec, tmp_path):
    noise = {"algorithms": {"dp-penalty": {"settings": {PAIR[0]: {"noise_scale": 5.0}}}}}
    trials, best = search(make_spec(changes=noise, trials=1, max_iterations=20), tmp_path)
    assert trials["iterations"][0] == 20 and 0 < trials["spent"][0] < 0.5
    assert trials["score_ratio"][0] > 1 and not trials["is_feasible"][0]
    assert best["settings"] is None and best["row"]["own_spent"] == trials["spent"][0]


def test_what_a_sampler_needs_is_read(make_spec, tmp_path):
    path = tmp_path / "needed.json"
    needed = "dpmcmc.samplers.barker_correction:Correction"
    samplers.precompute(specs.Precompute(cls=needed), path)
    name, fitted = samplers.read_precomputed(path)
    assert name == "Correction" and fitted.error == fit_correction().error
    spec = make_spec(("flat-banana-2d", "dp-barker"), trials=2, max_iterations=50)
    trials, _ = search(spec, tmp_path, [path])
    assert 1 < trials["iterations"][0] <= 50 and 1 < trials["score_ratio"][0] < 1e3


def test_a_release_whose_steps_are_free_is_searched(make_spec, tmp_path):
    settings = {"noisy-statistics": {"settings": {PAIR[0]: {"row_radius": 30.0}}}}
    pair = PAIR[0], "noisy-statistics"
    factors = {"factors": {"row_radius": 20}}
    spec = make_spec(pair, {"algorithms": settings, "tuning": factors}, trials=8, finalists=3)
    trials, best = search(spec, tmp_path)
    assert trials["is_feasible"].all() and (trials["clip_fraction"] == 0).all()
    assert (
        best["settings"]["row_radius"] < 30
        and best["row"]["best_score_ratio"] < best["row"]["own_score_ratio"]
    )
