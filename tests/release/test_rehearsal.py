"""A rehearsal: what a release is worth, on twins, and nothing is spent or read."""

from unittest.mock import Mock

import numpy as np
import pytest
from two_normals import Mixture, mixture_data

from dpmcmc.evaluation.independence import NotNearlyNormal
from dpmcmc.files import JobError
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.laws import ERRORS
from dpmcmc.release import rehearsed
from dpmcmc.release.plan import plan
from dpmcmc.release.reading import read_part
from dpmcmc.release.rehearsal import OWN_LAW, NoExactDraws, exact_draws, rehearsal, table

STUDY = """
study: twins
models:
  normal: {kind: Gaussian, num_rows: 2000, prior_variance: 1, covariance: [[1]], true_position: [0]}
  columns: {kind: NormalColumns, num_rows: 9000, variables: [age], prior_variance: 1}
  counts: {kind: PoissonRegression, num_rows: 2000, dimension: 2, prior_variance: 0.25}
algorithms:
  noisy-newton: {sampler: NoisyNewton, accountant: gaussian}
  noisy-columns: {sampler: NoisyColumns, accountant: gaussian}
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

    def of(algorithm, *epsilons, start=None, draws=400, rows=None, model="normal"):
        part = read_part("study.yaml", model, algorithm, rows)
        return [plan(part, epsilon, 5e-5, 1, start, draws) for epsilon in epsilons]

    return of


def test_a_method_that_knows_its_noise_is_honest_and_worth_what_its_noise_leaves(plans):
    little, much = rehearsal(plans("noisy-statistics", 0.05, 2), twins=60)[:2]
    # Its posterior is a normal that has the noise in it, so worth is a ratio of variances.
    assert abs(much["worth"] - much["width"] ** -2) < 4 * much["worth_se"] < 0.2
    assert abs(much["coverage"] - 0.9) < 0.03
    assert much["honest"] == "honest" and 0.8 < much["worth"] < 1
    assert little["width"] > 3 and little["worth"] < 0.1
    assert (much["rows"], much["epsilon"], much["draws"]) == (2000, 2, 400)


@pytest.mark.parametrize(("epsilon", "coverage"), [(0.05, 0.19), (0.5, 0.75)])
def test_one_that_does_not_is_never_honest(plans, epsilon, coverage):
    row = rehearsal(plans("plug-in", epsilon), twins=30)[0]
    assert abs(row["coverage"] - coverage) < 0.12
    assert row["honest"] == "not honest"
    worth = table([row]).splitlines()[1].split()[3]
    assert worth == f"({row['worth']:.0%})"


def test_few_twins_call_nothing_honest(plans):
    many, few = (rehearsal(plans("noisy-statistics", 4), twins)[0] for twins in (20, 9))
    assert many["honest"] == "honest" and table([many]).splitlines()[1].endswith(" honest")
    assert table([few]).splitlines()[1].endswith("undecided: take --twins 20")
    # A mean so near to the limit that hardly any number of twins decides.
    near = few | {"coverage": 0.871, "coverage_se": 0.01}
    assert table([near]).splitlines()[1].endswith("undecided: too near 87%")


def test_other_numbers_of_rows_are_worth_more(plans):
    few, many = (rehearsal(plans("noisy-statistics", 1, rows=n), 20)[0] for n in (300, 100_000))
    assert (few["rows"], many["rows"]) == (300, 100_000)
    assert few["worth"] + 2 * few["worth_se"] < 0.9 < 0.95 < many["worth"]


def test_a_chain_without_intervals_counts_as_the_prior_and_says_so(plans):
    row = rehearsal(plans("penalty", 0.25, start="prior", draws=1), twins=2)[0]
    assert row["not_scored"] == 2 and row["worth"] < 1e-3
    assert table([row]).splitlines()[1].endswith("-  no intervals: too few draws, or they diverge")
    assert row["honest"] == "no intervals"
    some = row | {"not_scored": 1}
    assert table([some]).splitlines()[1].endswith("  no intervals in 1 of 2 twins")


def test_the_same_twins_each_time(plans):
    of = plans("noisy-statistics", 1)
    assert rehearsal(of, 3) == rehearsal(of, 3) != rehearsal(of, 3, seed=1)
    with pytest.raises(JobError, match="--twins: must be at least 2"):
        rehearsal(of, 1)


def test_the_table_explains_itself(plans):
    lines = table(rehearsal(plans("noisy-statistics", 1), 3)[:1]).splitlines()
    header = ["rows", "epsilon", "draws", "worth", "+-", "90%_cover", "+-", "width", "verdict"]
    assert lines[0].split() == header
    assert lines[1].split()[:3] == ["2,000", "1", "400"]
    text = "\n".join(lines[2:])
    assert all(name in text for name in ("3 twins", "worth:", "90%_cover:", "width:", "honest:"))
    assert "Exact draws by the model itself." in text
    assert "such as raw units or wrong outcomes" in text and "does not fit:" not in text


def test_rows_that_leave_the_model_are_rehearsed_by_law(plans):
    rows = rehearsal(plans("noisy-statistics", 1), 20)
    assert [row["law"] for row in rows] == [OWN_LAW, *ERRORS]
    # This method allows for the other laws.
    assert [row["law"] for row in rows if row["honest"] == "not honest"] == ["far rows"]
    text = table(rows)
    for law, (_, words) in ERRORS.items():
        assert f"; {law}" in text and f"{law}: {words}\n" in text


def test_twins_whose_statement_would_say_that_it_does_not_fit_are_counted(plans):
    [row, *_] = rehearsal(plans("noisy-statistics", 4), 3)
    assert not row["does_not_fit"]
    text = table([row | {"does_not_fit": 2}])
    assert "; does not fit: 2 of 3\n" in text and "intervals do not hold" in text


def test_twins_with_too_many_far_outcomes_are_counted(plans):
    rows = rehearsal(plans("noisy-newton", 4, model="counts"), 2)
    unfit = {row["law"]: row["does_not_fit"] for row in rows}
    assert unfit["overdispersed counts"] == 2 and unfit[OWN_LAW] == 0


def test_no_data_are_opened_and_no_ledger_is_needed(place, capsys):
    (place.folder / "data.csv").unlink()
    arguments = ["study.yaml", "--model", "mine", "--algorithm", "newton"]
    arguments += ["--epsilon", "1", "5", "--twins", "2", "--draws", "50"]
    assert place.run("rehearse", *arguments) == 1
    assert "--rows: must be given, because there is no ledger" in capsys.readouterr().err
    assert place.run("rehearse", *arguments, "--rows", "500", "1e3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 14
    assert [line.split()[0] for line in lines[1:5]] == ["500", "500", "1,000", "1,000"]


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


def test_the_worth_of_single_components_is_said_where_it_differs(plans):
    rows = rehearsal(plans("noisy-columns", 1, model="columns", rows=9000), twins=8)
    worths = rows[0]["components"]
    assert list(worths) == ["age", "log_sd_age"] and worths["age"] > 0.6 > worths["log_sd_age"]
    ratios = [worth**-0.5 for worth in worths.values()]
    assert sum(ratios) / 2 == pytest.approx(rows[0]["score_ratio"])
    assert not any(row["components"] for row in rows[1:])
    line = table(rows).splitlines()[-1]
    assert line == f"epsilon 1: age {worths['age']:.0%}, log_sd_age {worths['log_sd_age']:.0%}"
    kept = rehearsed.kept(rows[0])
    assert kept["components"] == [worths["log_sd_age"], worths["age"]]
    said = f"single components: worth {worths['log_sd_age']:.0%} to {worths['age']:.0%}"
    assert rehearsed.in_words([kept])[1] == said
    even = rehearsal(plans("noisy-statistics", 1), twins=2)
    assert "Worth by component" not in table(even)
    assert "single components" not in str(rehearsed.in_words([rehearsed.kept(even[0])]))


def test_twins_that_are_not_nearly_normal_have_the_reference_of_the_study():
    target = Target(Mixture(40), mixture_data(3.0, 40))
    with pytest.raises(NotNearlyNormal):
        exact_draws(np.random.default_rng(0), target)
    draws, kind = exact_draws(np.random.default_rng(0), target, "grid")
    assert kind == "reference: grid" and draws.shape == (1000, 2)
    share = (draws[:, 0] < draws[:, 1]).mean()  # of one of two modes that are alike
    assert abs(share - 0.5) < 4 * 0.5 / 1000**0.5


def test_a_twin_whose_reference_fails_is_left_out_and_counted(plans, monkeypatch):
    answers = iter([None] + [(np.linspace([-1], [1], 9), "by hand")] * 99)

    def exact(*_):
        if (answer := next(answers)) is None:
            raise NoExactDraws("R-hat 2")
        return answer

    monkeypatch.setattr("dpmcmc.release.rehearsal.exact_draws", exact)
    rows = rehearsal(plans("noisy-statistics", 1), twins=3)
    assert [row["samples"] for row in rows] == [2, *[3] * (len(rows) - 1)]
    assert "nothing gives their exact posterior: 1." in table(rows)
    monkeypatch.undo()
    fails = Mock(side_effect=JobError("no mode"))
    monkeypatch.setattr("dpmcmc.evaluation.references.sample", fails)
    with pytest.raises(NoExactDraws, match="no mode"):
        exact_draws(np.random.default_rng(0), Target(Mixture(40), mixture_data(3.0, 40)), "grid")


def test_a_law_that_is_undecided_says_what_would_decide(plans):
    [few, *_] = rehearsal(plans("noisy-statistics", 4), twins=9)
    near = rehearsed.kept(few | {"coverage": 0.871, "coverage_se": 0.01})
    assert rehearsed.in_words([near])[-1].startswith("intervals: undecided: too near 87% (90 %")
