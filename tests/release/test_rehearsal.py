"""A rehearsal: what intervals are worth, on twins, and nothing is spent or read."""

import numpy as np
import pytest
from scipy.stats import norm

from dpmcmc.files import JobError
from dpmcmc.release.plan import plan
from dpmcmc.release.reading import read_part
from dpmcmc.release.rehearsal import HONEST, mass_within, mean_and_error, rehearsal, table

STUDY = """
study: twins
models:
  normal: {kind: Gaussian, num_rows: 2000, prior_variance: 1, covariance: [[1]], true_position: [0]}
algorithms:
  penalty:
    sampler: DPPenalty
    move: GaussianWalk
    accountant: gaussian
    settings: {normal: {noise_scale: 1, proposal_scale: 0.02, clip_bound: 3}}
  plug-in:
    sampler: NoisyStatistics
    accountant: gaussian
    settings: {normal: {posterior: plug-in}}
"""


@pytest.fixture
def plans(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)

    def of(algorithm, *epsilons, start=None, draws=400):
        part = read_part("study.yaml", "normal", algorithm)
        return [plan(part, epsilon, 5e-5, 1, start, draws) for epsilon in epsilons]

    return of


def test_a_method_that_knows_its_noise_covers_and_is_usable(plans):
    exact, little, much = rehearsal(plans("noisy-statistics", 0.05, 1), twins=60)
    assert exact["width"] == 1.0 and exact["coverage"] == 0.9
    assert much["verdict"] == "usable" and 1 <= much["width"] < 1.3
    assert abs(much["coverage"] - 0.9) < 2 * much["error"] < 0.1
    assert little["width"] > 3 and little["verdict"] == "more than 3 times as wide"


@pytest.mark.parametrize(("epsilon", "coverage"), [(0.05, 0.15), (0.5, 0.75), (0.6, 0.8)])
def test_one_that_does_not_is_never_usable(plans, epsilon, coverage):
    _, row = rehearsal(plans("plug-in", epsilon), twins=30)
    assert abs(row["coverage"] - coverage) < 0.1
    assert row["verdict"] == "intervals are too short: not to be believed"


def test_what_lies_between_is_left_open(plans):
    _, row = rehearsal(plans("noisy-statistics", 0.3), twins=20)
    assert row["coverage"] - row["error"] < 0.87 < row["coverage"] + row["error"]
    assert row["verdict"] == "cannot tell if they cover 87%: take more --twins"


def test_the_mass_within_intervals_is_that_of_the_posterior():
    exact = np.random.default_rng(1).standard_normal((20_000, 2))
    within = np.quantile(exact, [0.05, 0.95], axis=0)
    narrower = np.linspace(*within, 1000)  # of whose middle nine tenths count
    expected = 2 * norm.cdf(0.9 * norm.ppf(0.95)) - 1
    assert mass_within(narrower, exact) == pytest.approx(expected, abs=0.01)
    assert mass_within(exact, exact) == pytest.approx(0.9, abs=1e-3)
    assert mass_within(exact + np.array([0, 9]), exact) == pytest.approx(0.45, abs=1e-3)


def test_methods_that_are_now_and_then_far_off_are_seldom_called_better_than_they_are():
    rng = np.random.default_rng(4)
    masses = 1 - 0.1 * rng.chisquare(1, (4000, 50)).clip(0, 10)
    mean = 1 - 0.1 * rng.chisquare(1, 10**6).clip(0, 10).mean()
    centres, errors = np.transpose([mean_and_error(values) for values in masses])
    assert 0.03 < (centres - errors > mean).mean() < 0.07  # 0.01 if they were normal
    hits = (rng.random((4000, 50)) < 0.78).astype(float)
    centres, errors = np.transpose([mean_and_error(values) for values in hits])
    assert (centres - errors >= HONEST).mean() < 0.002


def test_a_chain_that_is_too_short_says_so(plans):
    rows = rehearsal(plans("penalty", 0.25, start="prior", draws=5), twins=2)
    assert rows[-1]["verdict"] == "too few draws"
    assert "too few draws" in table(rows, 2)


def test_few_twins_call_nothing_usable(plans):
    assert rehearsal(plans("noisy-statistics", 4), 20)[1]["verdict"] == "usable"
    few = rehearsal(plans("noisy-statistics", 4), 19)
    assert few[1]["verdict"] == "cannot tell: at least 20 twins are needed"


def test_the_same_twins_each_time(plans):
    of = plans("noisy-statistics", 1)
    assert rehearsal(of, 3) == rehearsal(of, 3) != rehearsal(of, 3, seed=1)
    with pytest.raises(JobError, match="--twins: must be at least 2"):
        rehearsal(of, 1)


def test_the_table_explains_itself(plans):
    text = table(rehearsal(plans("noisy-statistics", 1), 3), 3)
    lines = text.splitlines()
    assert lines[0].split() == [
        "epsilon",
        "draws",
        "90%_cover",
        "+-",
        "width",
        "mean_off",
        "verdict",
    ]
    assert lines[1].split()[:2] == ["-", "500"] and lines[2].split()[:2] == ["1", "400"]
    assert all(name in text for name in ("90%_cover:", "width:", "mean_off:", "usable:"))
    assert "does not show raw units, a missing intercept or wrong\noutcomes" in text


def test_no_data_are_opened_and_no_ledger_is_needed(place, capsys):
    (place.folder / "data.csv").unlink()
    arguments = ["study.yaml", "--model", "mine", "--algorithm", "newton"]
    arguments += ["--epsilon", "1", "5", "--twins", "3", "--draws", "50"]
    assert place.run("rehearse", *arguments) == 1
    assert "--rows: must be given, because there is no ledger" in capsys.readouterr().err
    assert place.run("rehearse", *arguments, "--rows", "500") == 0
    assert len(capsys.readouterr().out.splitlines()) == 12


def test_a_model_that_cannot_make_twins_is_named(place, capsys):
    (place.folder / "mine.py").write_text(
        "from leaking import *\nfrom dpmcmc.models.model import Model\n\n"
        "class Mine(Plain):\n    sample_prior = Model.sample_prior\n"
    )
    study = place.folder / "study.yaml"
    study.write_text(study.read_text().replace("leaking.py:Plain", "mine.py:Mine"))
    of = "study.yaml", "--model", "mine", "--algorithm", "newton", "--epsilon", "1"
    assert place.run("rehearse", *of, "--rows", "500") == 1
    assert "models.mine: Mine has no sample_prior" in capsys.readouterr().err
