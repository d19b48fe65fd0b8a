"""What is published: it means what it says, and says nothing that is not declared or priced."""

import hashlib
import io
import json
import math
import os
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
import xarray
from places import ROWS
from scipy.stats import norm

from dpmcmc.accounting.joint import gaussian_delta, largest_mu
from dpmcmc.models.gaussian import Gaussian
from dpmcmc.models.regression import LogisticRegression
from dpmcmc.release import code, command, ledger, statement
from dpmcmc.release.data_process import SAME
from dpmcmc.release.launcher import LARGEST, Drawn, understood
from dpmcmc.release.plan import parameter_names


@pytest.fixture
def made_up(monkeypatch):
    """Draws are made up, so that it is quick; the list has what is to go wrong next."""
    problems = []

    def draws(planned, budget):  # without a budget no data are read
        problem = problems.pop() if problems and budget else None
        return problem, Drawn(np.arange(planned.kept, dtype=float).reshape(1, -1, 1))

    monkeypatch.setattr(command, "run_data_process", draws)
    monkeypatch.setattr("dpmcmc.release.own_code.check_own_code", lambda _: None)
    return problems


def published(place, output="out"):
    """Facts and page of a release of five made-up draws."""
    assert place.release("newton", 0.5, output, "--draws", 5) == 0
    folder = place.folder / output
    return json.loads((folder / "statement.json").read_text()), (
        folder / "statement.txt"
    ).read_text()


# -- Words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "is_free", "settings", "chosen", "said"),
    [
        ("DPPenalty", False, {}, {}, "a chain may not have mixed"),
        (
            "NoisyStatistics",
            True,
            {},
            {},
            "includes what the noise of the method adds, if the rows",
        ),
        ("NoisyStatistics", True, {}, {"row_laws": "wide"}, "laws of rows that docs/release.md"),
        ("NoisyStatistics", True, {"posterior": "plug-in"}, {"row_laws": "wide"}, "too narrow"),
        ("DPVI", True, {}, {}, "so it may be too narrow"),
    ],
)
def test_the_page_says_of_the_spread_what_is_known(algorithm, is_free, settings, chosen, said):
    facts = {"algorithm": algorithm, "draws_are_free": is_free}
    facts |= {"settings": settings, "chosen": chosen}
    assert said in statement.spread(facts)


def test_chosen_settings_are_one_line():
    chosen = {"shares": [0.05, 0.95], "row_laws": "wide", "gradient_clip_bound": 1.23456}
    said = "shares 0.05, 0.95; row_laws wide; gradient_clip_bound 1.235"
    assert command.in_words(chosen) == said


@pytest.mark.parametrize(
    ("misfit", "share", "is_good", "said"),
    [
        (None, 0.1, None, ""),
        (
            0.91,
            0.1,
            True,
            "it released is within 0.9 standard deviations\n  of what these draws lead to expect",
        ),
        (0.91, 0.1, True, "farthest 10 %: 10.0 +- 1.0 %, expected 9.8 %."),
        (5.01, 0.1, False, "IT DOES NOT FIT, so its intervals do not hold"),
        (0.91, 0.3, False, "more outcomes are far out than the"),
    ],
)
def test_a_statement_says_whether_the_answer_fits(misfit, share, is_good, said):
    far = {"level": 0.1, "expected": 0.098, "found": share, "sd": 0.01}
    facts = {"misfit": misfit, "far_outcomes": [far]}
    assert statement.does_fit(facts) is is_good
    assert said in statement.agreement(facts)


@pytest.mark.parametrize("misfit", [None, 0.5, 40.0])
def test_who_releases_what_does_not_fit_learns_of_it(place, monkeypatch, capsys, misfit):
    draws = np.zeros((1, 5, 1))
    monkeypatch.setattr(command, "run_data_process", lambda *_: (None, Drawn(draws, misfit)))
    monkeypatch.setattr("dpmcmc.release.own_code.check_own_code", lambda _: None)
    place.ledger()
    capsys.readouterr()
    facts, _ = published(place)
    assert facts["misfit"] == misfit
    assert ("it does not fit" in capsys.readouterr().err) == (misfit == 40.0)
    with xarray.open_dataset(place.folder / "out/chain.nc", group="posterior") as dataset:
        assert dataset.attrs.get("misfit") == misfit and dataset.attrs["epsilon"] <= 0.5
        assert dataset.attrs.get("does_fit") == (None if misfit is None else misfit < 5)
        assert not [name for name in dataset.attrs if name.startswith("far")]


@pytest.mark.parametrize(
    ("misfit", "expected"), [(math.inf, LARGEST), (math.nan, None), (0.5, 0.5)]
)
def test_an_infinite_misfit_is_published_as_one_that_does_not_fit(misfit, expected):
    model = SimpleNamespace(in_file_units=lambda draws: draws)
    planned = SimpleNamespace(chains=1, kept=1, names=["theta"], model=model)
    answer = {"end": "finished", "shape": [1, 1, 1], "misfit": misfit, "far": []}
    pipe = io.BytesIO(SAME + json.dumps(answer).encode() + b"\n" + np.zeros(1).tobytes())
    problem, drawn = understood(pipe, planned, False)
    assert problem is None and drawn.misfit == expected
    fits = statement.does_fit({"misfit": drawn.misfit, "far_outcomes": []})
    assert fits is (None if expected is None else misfit < 5)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 8.0])
@pytest.mark.parametrize("prior", statement.PRIORS)
def test_no_set_of_results_makes_a_reader_surer_than_the_page_says(epsilon, prior):
    """The sets of largest odds of a Gaussian mechanism, which costs all of epsilon and delta."""
    delta = 1e-5
    mu = largest_mu(epsilon, delta)
    assert gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-6)
    most = statement.most_percent(prior, epsilon)
    chances = np.geomspace(statement.RARE * delta, 1, 1000)
    others = norm.sf(norm.isf(chances) + mu)  # of the same set, if the row has its other value
    reached = 100 * prior * chances / (prior * chances + (1 - prior) * others)
    assert reached.max() <= most
    exact = 100 * prior / (prior + (1 - prior) * np.exp(-epsilon))  # at delta = 0
    assert exact <= most <= 1.01 * exact + 0.01


def test_the_words_are_those_of_epsilon(place, made_up):
    place.ledger(20, ROWS, "--for", "full-data")
    factors = {}
    for epsilon, percent in ((1, "73.31"), (8, "99.97")):
        assert place.release("newton", epsilon, f"out{epsilon}", "--draws", 5) == 0
        text = (place.folder / f"out{epsilon}/statement.txt").read_text()
        assert f"A probability of 50 % for one of them can become {percent} % at most" in text
        factors[epsilon] = float(re.search(r"e\^epsilon = ([\d,.]*\d)", text)[1].replace(",", ""))
    for epsilon, factor in factors.items():
        assert np.exp(epsilon) <= factor <= 1.001 * np.exp(epsilon)


# -- Nothing of failures, of undeclared counts or of a repository ----------------------------------


def test_failures_change_nothing_in_what_is_published(place, made_up):
    """A failure may hang on one row."""
    outcomes = []
    for problems in ([], ["the chain could not be finished"]):
        place.ledger()
        made_up[:] = problems
        for problem in problems:
            assert place.release("newton", 1, "failed", "--draws", 5) == 3, problem
        facts, text = published(place, f"out{len(problems)}")
        assert len(ledger.read("data.csv").releases) == 1 + len(problems)
        head = facts.pop("ledger_head")
        outcomes.append((facts, text.replace(head[:16], "")))
    assert outcomes[0] == outcomes[1]


def test_the_number_of_rows_is_declared_and_published_once(place, made_up):
    place.ledger()
    of = "study.yaml", "--model", "mine", "--algorithm", "newton", "--epsilon", 0.5
    rest = "--draws", 5, "--output", "out"
    assert place.run("release", *of, *rest, "--rows", 59) == 1
    assert not ledger.read("data.csv").releases
    assert place.run("ledger", "change", "data.csv", "--rows", 59, "--reason", "known") == 0
    assert place.run("release", *of, *rest) == 1  # which of both must be said
    assert place.run("release", *of, *rest, "--rows", 59) == 0
    for name in ("statement.json", "statement.txt"):
        text = (place.folder / "out" / name).read_text()
        assert len(re.findall(r"\b59\b", re.sub("[0-9a-f]{16,}", "", text))) == 1, name
        assert not re.search(rf"\b{ROWS}\b", re.sub("[0-9a-f]{16,}", "", text)), name
    assert "number of rows is public, because the owner has declared it" in text


def test_the_history_of_the_budget_is_published(place, made_up):
    place.ledger(1)
    facts, text = published(place)
    assert [budget["epsilon"] for budget in facts["all_releases"]["budgets"]] == [1]
    assert "has changed the budget" not in text
    for change in (("--epsilon", 50, "--reason", "the board agreed"), ("--reason", "row 3")):
        assert place.run("ledger", "change", "data.csv", *change) == 0
    facts, text = published(place, "more")
    whole = facts["all_releases"]
    assert whole.keys() == {"epsilon", "delta", "budgets"}  # nothing that counts releases
    assert whole["epsilon"] == 50 and whole["delta"] == 1e-3
    assert [budget["epsilon"] for budget in whole["budgets"]] == [1, 50]
    assert "epsilon = 50, delta = 0.001, because: the board agreed\n" in text
    assert "row 3" not in text + json.dumps(facts)  # the data's, not the budget's


def test_the_code_is_named_by_the_package_s_own_files(tmp_path):
    copy = tmp_path / "elsewhere"
    shutil.copytree(
        code.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyi")
    )
    (copy / "data.csv").write_text("secret")
    (copy / "__pycache__").mkdir()
    (copy / "__pycache__/files.cpython-311.pyc").touch()
    assert code.digest_of_package(copy) == code.digest_of_package()
    file = copy / "release/noise.py"
    contents = file.read_bytes()
    file.write_bytes(contents.replace(b"ceil", b"floor", 1))
    assert code.digest_of_package(copy) != code.digest_of_package()
    file.write_bytes(contents)
    file.rename(copy / "release/other.py")
    assert code.digest_of_package(copy) != code.digest_of_package()


# -- Files -----------------------------------------------------------------------------------------


def test_the_files_of_a_release_belong_together(place, made_up):
    place.ledger()
    facts, _ = published(place)
    folder = place.folder / "out"
    assert {file.name for file in folder.iterdir()} == {*statement.FILES}
    for name in ("chain.csv", "chain.nc"):
        contents = (folder / name).read_bytes()
        assert facts["sha256"][name] == hashlib.sha256(contents).hexdigest()
    own = hashlib.sha256((place.folder / "leaking.py").read_bytes()).hexdigest()
    assert facts["code"] == {
        "version": "0.1.0",
        "sha256": code.digest_of_package(),
        "own": [{"file": "leaking.py", "sha256": own}],
    }
    times = {path.stat().st_mtime for path in (folder, *folder.iterdir())}
    assert len(times) == 1 and times.pop() % 60 == 0  # midnight: not when it was made


def write_and_move(folder, output):
    """A small release."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(statement, "page", lambda _: "page")
        statement.write(folder, {"date": "2026-11-27"}, np.zeros((1, 2, 1)), ["a"])
        statement.move(folder, output)


def contents_of(folder):
    """What its files hold, by the names that they have or will have."""
    return {file.name.removesuffix(".partial"): file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("call", ["fsync", "utime", "rename"])
def test_a_release_that_is_killed_leaves_nothing_that_looks_like_one(tmp_path, monkeypatch, call):
    """As by `kill -9`, after which nothing is tidied up: names are given when all is on disk."""
    write_and_move(tmp_path / "folder", tmp_path / "whole")
    whole, genuine = contents_of(tmp_path / "whole"), getattr(os, call)
    for fatal in range(20):
        left = iter([True] * fatal)

        def killed(*arguments, left=left):
            if not next(left, False):
                raise SystemExit
            return genuine(*arguments)

        folder, output = tmp_path / f".{fatal}.x.partial", tmp_path / f"{fatal}"
        with monkeypatch.context() as patched:
            patched.setattr(os, call, killed)
            try:
                write_and_move(folder, output)
                break
            except SystemExit:
                pass
        found = output if output.exists() else folder
        names = {file.name for file in found.iterdir()}
        if names & {*statement.FILES}:
            assert contents_of(found) == whole
        assert names == {*statement.FILES} or found == folder
    assert fatal > 3 and contents_of(output) == whole


def test_what_is_left_of_a_twin_does_not_look_like_a_release(place, made_up, monkeypatch):
    """As by `kill -9` before it is thrown away."""
    place.ledger()
    monkeypatch.setattr(command.shutil, "rmtree", lambda *_, **__: None)
    monkeypatch.setattr(command, "spend", lambda *_: 0)
    assert place.release("newton", 0.5, "out", "--draws", 5) == 0
    files = [file for file in place.folder.glob(".out.partial/**/*") if file.is_file()]
    assert {file.name for file in files} == {f"{name}.partial" for name in statement.FILES}


@pytest.mark.parametrize("umask", [0o077, 0o000])
def test_everybody_may_read_a_release_and_nobody_else_change_it(place, made_up, umask):
    place.ledger()
    before = os.umask(umask)
    try:
        published(place)
    finally:
        os.umask(before)
    folder = place.folder / "out"
    assert folder.stat().st_mode & 0o777 == 0o755
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o644}


def test_what_a_killed_release_left_is_named_and_not_replaced(place, made_up, capsys):
    place.ledger()
    for name in (".out.partial", ".other.partial"):
        (place.folder / name).mkdir()
    assert place.release("newton", 0.5, "out", "--draws", 5) == 1
    said = capsys.readouterr().err
    assert ".out.partial is of another release to out, which still runs, was killed" in said
    assert ".other" not in said
    (place.folder / ".out.partial").rmdir()
    published(place)


def test_a_column_names_the_coefficient_that_belongs_to_it():
    model = LogisticRegression(dimension=2, num_rows=9, prior_variance=1, covariate_bound=2)
    assert parameter_names(model, ["repaid", "age", "income"]) == ["age", "income"]
    for columns in ([], ["repaid", "age"], ["repaid", "age", "a,b"], ["repaid", "age", "draw"]):
        assert parameter_names(model, columns) == ["theta_0", "theta_1"]


def test_columns_name_the_means_that_belong_to_them():
    model = Gaussian(num_rows=9, prior_variance=1.0, covariance=[[1.0, 0.0], [0.0, 1.0]])
    assert parameter_names(model, ["income", "age"]) == ["income", "age"]
    assert parameter_names(model) == ["theta_0", "theta_1"]


def test_a_file_of_draws_has_the_verdict_and_the_numbers_of_far_outcomes():
    far = [{"level": 0.1, "expected": 0.1, "found": 0.3, "sd": 0.01}]
    far.append({"level": 0.01, "expected": 0.01, "found": 0.02, "sd": 0.003})
    facts = {"algorithm": "NoisyNewton", "rows": 9, "epsilon": 1.0, "delta": 1e-3}
    facts |= {"misfit": 0.9, "far_outcomes": far}
    found = statement.attributes(facts)
    assert found["does_fit"] == 0 and found["misfit"] == 0.9 and found["delta"] == 1e-3
    assert found["far_level"] == [0.1, 0.01] and found["far_found"] == [0.3, 0.02]
    assert found["far_expected"] == [0.1, 0.01] and found["far_sd"] == [0.01, 0.003]
