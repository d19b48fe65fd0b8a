"""The owner's check of a study's model finds what would waste a release, and spends nothing."""

import re

import numpy as np
import pytest

import dpmcmc
from dpmcmc import cli
from dpmcmc.evaluation.checking import models
from dpmcmc.evaluation.modes import Mode
from dpmcmc.release import ledger
from dpmcmc.release.checked import is_checked
from dpmcmc.release.own_data import off_by, only_mode, without_noise
from dpmcmc.release.reading import read_part

STUDY = """
study: mine
models:
  loans:
    kind: LogisticRegression
    data: mine.csv
    columns: [repaid, age, income]
    dimension: 2
    prior_variance: 1
    covariate_bound: 2
"""
NAMES = ["age", "income"]
RAW, PUBLIC = (0.0, (50, 15), (40_000, 9_000)), (0.0, (0, 1), (0, 1))


@pytest.fixture
def of_data(monkeypatch):
    """Checks of the data alone: those of the model have tests of their own, and take seconds."""
    monkeypatch.setattr("dpmcmc.commands.check.check_model", lambda model, data=None: [])


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Exit status, table and error of the command, for a file of labels and two columns."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(STUDY)

    def write(units=PUBLIC, labels=(0, 1), rows=400, names="repaid,age,income"):
        rng = np.random.default_rng(rows)
        columns = [mean + sd * rng.standard_normal(rows) for mean, sd in units[1:]]
        table = np.column_stack([np.resize(labels, rows), *columns])
        np.savetxt("mine.csv", table, delimiter=",", header=names, comments="")

    def run(*arguments, command="check"):
        with pytest.raises(SystemExit) as caught:
            cli.main([command, *arguments])
        output = capsys.readouterr()
        return caught.value.code, output.out, output.err

    run.write = write
    run.ledger = lambda rows, epsilon="1": run(
        *("new", "mine.csv", "--epsilon", epsilon, "--delta", "1e-5", "--rows", str(rows)),
        command="ledger",
    )
    write()
    return run


def lines(output, verdict):
    return [line for line in output.splitlines() if line.endswith(verdict)]


def test_right_data_pass_with_the_number_of_rows_of_the_ledger(check):
    check.ledger(400)
    status, output, _ = check("mine.yaml", "loans")
    assert status == 0 and "loans: 30 ok, 0 FAILED, 4 not tried\n" in output
    assert output.endswith("Noted in mine.csv.ledger: a release of loans may begin\n")
    assert lines(output, "ok")[0].split()[-3:] == ["400", "400", "ok"]


STANDARDISED = """
    outcome: repaid
    labels: [1, 2]
    covariates: [age, income]
    intercept: true
    dimension: 3
    centres: [50, 40000]
    scales: [15, 9000]
    prior_variance: 1
    covariate_bound: 2
algorithms:
  newton:
    sampler: NoisyNewton
    accountant: gaussian
    settings: {loans: {gradient_clip_bound: 0.75, information_ratio: 1e-6}}
  walk:
    sampler: DPPenalty
    move: GaussianWalk
    accountant: gaussian
    settings: {loans: {noise_scale: 2, proposal_scale: 0.3, clip_bound: 1}}
"""


def test_public_units_pass_and_the_share_of_rows_that_are_cut_is_said(of_data, check, tmp_path):
    first = STUDY.partition("    columns")[0]
    (tmp_path / "mine.yaml").write_text(first + STANDARDISED.lstrip("\n"))
    check.write(RAW, labels=(1, 2), rows=1000)
    status, output, _ = check("mine.yaml", "loans")
    assert status == 0
    rng = np.random.default_rng(1000)
    lengths = np.sqrt(1 + (rng.standard_normal((2, 1000)) ** 2).sum(axis=0))
    [scaled] = [line for line in lines(output, "ok") if line.startswith("Rows longer than")]
    assert f" {(lengths > 2).mean():.0%} of the rows " in scaled
    # At theta = 0 the gradient of a row is half as long as its covariates; the mode is near.
    name = "newton at epsilon 1, without its noise: rows that it cuts"
    [cut] = [line for line in lines(output, "ok") if line.startswith(name)]
    share = float(re.search(r"([\d.]+)% of the rows", cut)[1]) / 100
    assert abs(share - (lengths > 1.5).mean()) < 0.1 and "walk at epsilon 1, without" not in output
    assert "Covariate intercept: its usual size" in output


def test_the_budget_of_the_ledger_is_tried_too(of_data, check, tmp_path):
    first = STUDY.partition("    columns")[0]
    (tmp_path / "mine.yaml").write_text(first + STANDARDISED.lstrip("\n"))
    check.write(RAW, labels=(1, 2), rows=1000)
    check.ledger(1000, "4")
    status, output, _ = check("mine.yaml", "loans")
    assert status == 0
    for epsilon in (1, 4):
        for name in ("newton", "walk"):
            assert f"The plan of {name} at epsilon {epsilon} " in output
        assert f"newton at epsilon {epsilon}, without its noise: off from the posterior" in output
    (tmp_path / "mine.csv.ledger").unlink()
    check.ledger(1000, "0.5")
    _, output, _ = check("mine.yaml", "loans")
    assert "The plan of newton at epsilon 1 " in output and "at epsilon 0.5" not in output


@pytest.mark.parametrize(
    ("labels", "names", "message"),
    [
        ((0, 1), "repaid,age,income", "column repaid must be 1 or 2, as LogisticRegression takes"),
        ((1, 2), "repaid,age,pay", "its first line does not name income"),
    ],
)
def test_what_does_not_fit_the_named_columns_is_one_line(check, tmp_path, labels, names, message):
    first = STUDY.partition("    columns")[0]
    (tmp_path / "mine.yaml").write_text(first + STANDARDISED.lstrip("\n"))
    check.write(RAW, labels=labels, names=names)
    status, output, error = check("mine.yaml", "loans")
    assert status == 2 and output == ""
    assert message in error and error.count("\n") == 1


def test_raw_units_fail(of_data, check):
    status, output, _ = check("mine.yaml", "loans")
    assert status == 0 and "no ledger yet" in output
    check.write(RAW)
    status, output, _ = check("mine.yaml", "loans")
    assert status == 1 and len(lines(output, "FAILED")) == 3
    assert "100% of the rows; subtract public centres, divide by public scales" in output


def test_another_number_of_rows_or_another_file_fails(of_data, check):
    check.ledger(399)
    status, output, _ = check("mine.yaml", "loans")
    assert status == 1 and len(lines(output, "FAILED")) == 1
    assert lines(output, "FAILED")[0].split()[-3:] == ["400", "399", "FAILED"]
    check.write(rows=399)
    status, output, _ = check("mine.yaml", "loans")
    assert status == 1 and len(lines(output, "FAILED")) == 1
    assert "another; `ledger change` records it" in lines(output, "FAILED")[0]


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        (["mine.yaml", "loans"], {"labels": (1, 2)}, "column repaid must be 0 or 1, as Logistic"),
        (["mine.yaml", "loans"], {"names": "repaid,Age,income"}, "does not name age"),
        (["mine.yaml", "loans"], {"labels": (1, np.nan)}, "row 2 of column repaid is missing"),
        (["mine.yaml", "loan"], {}, "unknown model loan; valid models: "),
        (["mine.yaml"], {}, "mine.yaml: give the id of one model: "),
        (["none.yaml", "loans"], {}, "none.yaml"),
    ],
)
def test_what_cannot_be_checked_is_one_line(check, arguments, more, message):
    check.write(**more)
    status, output, error = check(*arguments)
    assert status == 2 and output == ""
    assert error.startswith("check: ") and message in error and error.count("\n") == 1


def test_a_model_without_data_is_checked_on_simulated_ones(check, tmp_path, monkeypatch):
    monkeypatch.setattr(models, "CHECKS", models.CHECKS[:1])
    study = (
        "study: mine\nmodels:\n  two:\n    kind: LogisticRegression\n    num_rows: 100\n"
        "    dimension: 2\n    prior_variance: 1\n    covariate_bound: 2\n"
    )
    (tmp_path / "simulated.yml").write_text(study)
    status, output, _ = check("simulated.yml", "two")
    assert status == 0 and "100 rows, simulated" in output


WRONG = """
from leaking import *

kept = {{}}

def less_the_first_mean(rows):
    return rows - kept.setdefault("mean", rows.mean(axis=0))

class Wrong(Plain):
    def {}
"""


@pytest.mark.parametrize(
    "method",
    [
        "prepare(self, rows):\n        return rows - rows.mean(axis=0)",
        "prepare(self, rows):\n        return less_the_first_mean(rows)",
        "seen(self, rows, where):\n        return less_the_first_mean(rows)",
    ],
)
def test_code_that_looks_at_other_rows_spends_nothing(place, capsys, method):
    (place.folder / "wrong.py").write_text(WRONG.format(method))
    study = place.folder / "study.yaml"
    study.write_text(study.read_text().replace("leaking.py:Plain", "wrong.py:Wrong"))
    place.ledger()
    assert place.release() == 1
    assert "wrong.py:Wrong does not pass its check, so nothing was started" in (
        capsys.readouterr().err
    )
    assert place.run("ledger", "show", "data.csv") == 0
    assert "spent: epsilon 0;" in capsys.readouterr().out


def test_an_answer_without_noise_may_be_off_by_what_its_width_explains():
    mode = Mode(np.array([1.0, 10.0]), np.diag([1.0, 4.0]), 0.0)
    z = np.random.default_rng(1).standard_normal((4000, 2))
    as_wide, wider = (mode.position + factor * z * [1, 2] for factor in (1.0, 1.5))
    assert off_by("it", as_wide, mode, NAMES).passed
    far = off_by("it", as_wide + np.array([0, 6]), mode, NAMES)
    assert not far.passed and far.found.startswith(
        "income by 3.0 posterior sds; rows do not follow"
    )
    assert off_by("it", wider + np.array([0, 6]), mode, NAMES).passed
    too_far = off_by("it", wider + np.array([0, 9]), mode, NAMES)
    assert not too_far.passed and too_far.found.startswith("income by 4.5 posterior sds; rows do")


@pytest.mark.parametrize(("law", "passed"), [(None, True), ("wide errors", False)])
def test_more_far_outcomes_than_the_model_has_fail_without_noise(law, passed):
    model, rng = dpmcmc.RobustRegression(3, 5000, 1.0), np.random.default_rng(2)
    theta = model.sample_prior(rng)
    rows = model.simulate_as(law, rng, theta) if law else model.simulate(rng, theta)
    target = dpmcmc.Target(model, rows)
    sampler = dpmcmc.NoisyNewton(4.0, 0.2, [0.1, 0.3, 0.6], noise_scale=0.3)
    _, fit, *far, _ = without_noise("it", sampler, target, only_mode(target), list("abc"))
    assert fit.passed and [one.passed for one in far] == [passed] * 2
    assert far[0].tried == "it, without its noise: outcomes beyond the model's farthest 10%"
    assert ("wider errors" in far[0].found) is not passed


def test_rare_far_rows_fail_without_noise_and_rows_of_the_model_pass(of_data, check, tmp_path):
    text = """
study: mine
models:
  rows: {kind: Gaussian, data: mine.csv, columns: [a], covariance: [[1]], prior_variance: 1}
algorithms:
  sums: {sampler: NoisyStatistics, accountant: gaussian}
"""
    (tmp_path / "mine.yaml").write_text(text)
    rng = np.random.default_rng(3)
    z = rng.standard_normal(5000)
    for rows, verdict in ((z, "ok"), (z + 60 * (rng.random(5000) < 0.01), "FAILED")):
        np.savetxt("mine.csv", rows, header="a", comments="")
        (tmp_path / "mine.csv.ledger").unlink(missing_ok=True)
        check.ledger(5000)
        _, output, _ = check("mine.yaml", "rows")
        assert [
            line
            for line in lines(output, verdict)
            if line.startswith("sums at epsilon 1, without its")
        ]
        part = read_part("mine.yaml", "rows", "sums", 5000)
        assert is_checked(ledger.read("mine.csv"), part) == (verdict == "ok")
