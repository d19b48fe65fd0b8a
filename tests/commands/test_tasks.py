"""A task and its score: a method in plain NumPy, honest ones and others, and broken folders."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from dpmcmc import cli
from dpmcmc.commands.score import committed_methods
from dpmcmc.commands.tasks import read_task
from dpmcmc.evaluation import scores
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.study import specs

STUDY = """
study: doors
models:
  normal: {kind: Gaussian, num_rows: 500, prior_variance: 4, covariance: [[1, 0], [0, 1]]}
  normal-more: {kind: Gaussian, num_rows: 5000, prior_variance: 4, covariance: [[1, 0], [0, 1]]}
"""
SETS = 20


def run(*arguments):
    """Exit status of a command, None or a line."""
    with pytest.raises(SystemExit) as stopped:
        cli.main(list(map(str, arguments)))
    return stopped.value.code


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("task")
    (folder / "study.yaml").write_text(STUDY)
    options = "--study", folder / "study.yaml", "--output", folder / "task"
    assert run("task", "normal", *options, "--data-sets", SETS) is None
    return folder / "task"


@pytest.fixture
def task(made, tmp_path):
    return shutil.copytree(made, tmp_path / "task")


def submit(task, name, scale=1.0, shift=0.0, epsilon=1.0, seed=0, size=1000):
    """Draws of the exact posterior by NumPy alone, wider and shifted in its standard deviations."""
    rng = np.random.default_rng(seed)
    folder = task / "submissions" / name
    folder.mkdir()
    for i in range(SETS):
        rows = np.loadtxt(task / f"data/{i}.csv", delimiter=",", skiprows=1)
        variance = 1 / (len(rows) + 1 / 4)
        noise = shift + scale * rng.standard_normal((size, 2))
        draws = rows.sum(axis=0) * variance + np.sqrt(variance) * noise
        np.savetxt(folder / f"{i}.csv", draws, delimiter=",", header="theta_1,theta_2", comments="")
    (folder / "spent.csv").write_text(f"epsilon,delta\n{epsilon},0.0002\n")
    return folder


def scored(task, capsys, *options):
    """Cells of the printed table, by method, and the table of each data set."""
    capsys.readouterr()
    assert run("score", task, *options) is None
    printed = capsys.readouterr().out.split("\n\n")[0].splitlines()[1:]
    return {line.split()[0]: line for line in printed}, read_csv(task / "scores.csv")


def summary(table, method):
    rows = table[table["algorithm"] == method]
    return scores.summary({name: rows[name] for name in [*rows.columns[5:]]}, rows["data_set"])


def test_a_task_is_the_data_sets_of_a_study_and_their_posteriors(made):
    facts = json.loads((made / "task.json").read_text())
    assert (facts["rows"], facts["epsilon"], facts["delta"]) == (500, 1.0, 0.1 / 500)
    assert facts["model"]["prior_variance"] == 4 and "prior theta ~ N_d(0" in str(facts["words"])
    np.testing.assert_allclose(facts["prior"]["sd"], 2, rtol=0.05)
    for i in range(SETS):
        rows = np.load(made / f"data/{i}.npy")
        text = np.loadtxt(made / f"data/{i}.csv", delimiter=",", skiprows=1)
        np.testing.assert_array_equal(rows, text)
        reference = np.load(made / f"reference/{i}.npy")
        assert rows.shape == (500, 2) and reference.shape == (1000, 2)
        error = reference.mean(axis=0) - rows.sum(axis=0) / 500.25
        assert (abs(error) < 5 / np.sqrt(500.25 * 1000)).all()
    assert len({np.load(made / f"data/{i}.npy").tobytes() for i in range(SETS)}) == SETS


def test_data_are_those_of_the_chains_of_a_study(made):
    from dpmcmc_studies.jobs.data import simulate

    facts = json.loads((made / "task.json").read_text())
    spec = specs.Dataset(
        study_seed=facts["seed"],
        model="normal",
        model_entry=facts["model"],
        data_sets=SETS,
        theta="prior",
    )
    for i in (0, 7):
        np.testing.assert_array_equal(simulate(spec, "data", i).T, np.load(made / f"data/{i}.npy"))


def test_an_exact_posterior_is_worth_its_rows_and_a_wider_or_shifted_one_is_not(task, capsys):
    for name, settings in {"exact": {}, "wide": {"scale": 2}, "off": {"shift": 1.5}}.items():
        submit(task, name, **settings)
    lines, table = scored(task, capsys)
    exact, wide, off = (summary(table, name) for name in ("exact", "wide", "off"))
    assert abs(exact["worth"] - 1) < 0.01  # six standard deviations over seeds
    assert exact["worth_se"] < 0.003
    assert exact["honest"] == wide["honest"] == "honest" and off["honest"] == "not honest"
    assert wide["width"] == pytest.approx(2, rel=0.03) and wide["worth"] < 0.7
    assert list(lines) == ["exact", "wide", "off"]  # honest ones first
    assert f"{exact['worth']:.0%}" in lines["exact"].split()
    assert f"({off['worth']:.0%})" in lines["off"].split()
    assert lines["off"].endswith("submitted, not honest")


def test_a_method_with_too_few_draws_is_scored_by_the_prior_and_said(task, capsys):
    submit(task, "one", size=1)
    lines, table = scored(task, capsys)
    assert f"no intervals ({SETS} samples)" in lines["one"]
    assert not table["is_scored"].any() and table["width"].min() > 10


def test_more_than_the_budget_is_said(task, capsys):
    submit(task, "dear", epsilon=1.5)
    lines, _ = scored(task, capsys)
    assert lines["dear"].endswith("over the budget")


def test_draws_may_be_arrays_without_names(task, capsys):
    folder = submit(task, "arrays")
    for i in range(SETS):
        draws = np.loadtxt(folder / f"{i}.csv", delimiter=",", skiprows=1)
        np.save(folder / f"{i}.npy", draws)
        (folder / f"{i}.csv").unlink()
    _, table = scored(task, capsys)
    assert abs(summary(table, "arrays")["worth"] - 1) < 0.05


def write(text):
    return lambda file: file.write_text(text)


@pytest.mark.parametrize(
    ("name", "harm", "line"),
    [
        ("3.csv", lambda file: file.unlink(), "has draws for 19 of 20 data sets; missing: 3"),
        (
            "3.csv",
            write("theta_1,theta_2\n1,x\n"),
            "3.csv: row 1 of column theta_2 is no number; recode it",
        ),
        ("3.csv", write("theta_1,theta_2\n1,nan\n"), "column theta_2 is missing, NaN or infinite"),
        ("3.csv", write("a,b\n1,2\n"), "does not name theta_1, theta_2"),
        ("3.csv", write("theta_1,theta_2\n1,2,3\n"), "more entries than there are names"),
        ("3.npy", write("no array"), "has both 3.csv and 3.npy"),
        ("spent.csv", lambda file: file.unlink(), "has no spent.csv"),
        ("spent.csv", write("epsilon,delta\n"), "spent.csv: must have one line"),
        ("spent.csv", write("epsilon,delta\n-1,0\n"), "must have one line of numbers, none neg"),
        ("../../reference/2.npy", lambda file: file.unlink(), "task: has no reference/2.npy"),
        ("../../prior.npy", write(""), "prior.npy is damaged"),
        ("../../task.json", lambda file: file.unlink(), "has no task.json"),
        ("../../task.json", write("{}"), "task.json"),
    ],
)
def test_a_folder_that_is_not_whole_gives_one_line(task, name, harm, line):
    harm(submit(task, "mine") / name)
    found = run("score", task)
    assert line in found and "\n" not in found and found.startswith("score: ")
    assert not (task / "scores.csv").exists()


def test_a_task_without_submissions_says_so(task):
    assert "has no submission" in run("score", task)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["no-such"], "unknown model no-such; valid models: "),
        (["circle"], "Circle has no sample_prior"),
        (["normal"], "unknown model normal"),
        (["gauss-30d", "--epsilon", "x"], "--epsilon: must be a number, not x"),
        (["gauss-30d", "--epsilon", "-1"], "--epsilon: must be a number > 0"),
        (["gauss-30d", "--data-sets", "0"], "--data-sets: must be a whole number >= 1"),
        (["gauss-30d", "--data-sets", "1.5"], "--data-sets: must be a whole number"),
        (["gauss-30d", "--study", "none.yaml"], "none.yaml"),
        (["gauss-30d", "--output", "."], "exists already"),
    ],
)
def test_a_task_that_cannot_be_made_gives_one_line(tmp_path, monkeypatch, options, line):
    monkeypatch.chdir(tmp_path)
    found = run("task", *options)
    assert line in found and "\n" not in found and found.startswith("task: ")
    assert not any(tmp_path.iterdir())


def worth_row(algorithm, epsilon, ratio):
    """A row of the table `worth`, of twenty samples with a score ratio."""
    keys = {"model": "normal", "algorithm": algorithm, "epsilon": epsilon, "iterations": 9}
    metrics = {"score_ratio": [ratio] * 20, "coverage": [0.9] * 20, "width": [1.2] * 20}
    return keys | scores.summary(metrics | {"is_scored": [True] * 20}) | {"spent": 1, "rank": 1}


@pytest.fixture
def committed(task, tmp_path, monkeypatch):
    """A checkout whose study `doors` has two methods on the model of the task."""
    facts = json.loads((task / "task.json").read_text())
    docs = tmp_path / "checkout/docs/doors"
    (docs / "tables").mkdir(parents=True)
    (tmp_path / "checkout/Snakefile").touch()
    about = {"models": {"normal": {"entry": facts["model"]}}}
    about["algorithms"] = {"a": {"label": "Method A"}, "b": {"label": "Method B"}}
    (docs / "study.json").write_text(json.dumps(about))
    rows = [("a", 1, 1.25), ("b", 1.0, 2), ("a", 4, 1.0), ("b", "", 1.0)]
    pd.DataFrame([worth_row(*row) for row in rows]).to_csv(docs / "tables/worth.csv", index=False)
    monkeypatch.chdir(tmp_path / "checkout")
    return docs


def test_committed_methods_stand_beside(task, committed, capsys, tmp_path):
    submit(task, "exact")
    lines, _ = scored(task, capsys, "--plot", tmp_path / "figure.png")
    assert list(lines) == ["exact", "Method"]  # two methods, of one first word
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    a, b = committed_methods(read_task(task))
    assert (a["method"], a["worth"], a["honest"]) == ("Method A", 1.25**-2, "honest")
    assert b["worth"] == 0.25 and a["coverage"] == pytest.approx(0.9)


def test_methods_on_another_model_of_that_name_do_not(task, committed):
    about = json.loads((committed / "study.json").read_text())
    about["models"]["normal"]["entry"]["prior_variance"] = 5
    (committed / "study.json").write_text(json.dumps(about))
    assert committed_methods(read_task(task)) == []


def test_a_figure_of_no_known_kind_is_one_line(task):
    submit(task, "exact")
    assert "figure.nothing cannot be drawn" in run("score", task, "--plot", "figure.nothing")


def test_the_method_of_the_guide_is_worth_what_its_noise_leaves(tmp_path, monkeypatch, capsys):
    """Given the noise its posterior is exact, so its worth is about a ratio of variances."""
    monkeypatch.chdir(tmp_path)
    assert run("task", "normal-10000", "--data-sets", 10) is None
    text = (ROOT / "docs/own.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    [code] = [block for block in blocks if "normal-10000" in block]
    variables = {}
    exec(code.replace("default_rng()", "default_rng(0)"), variables)
    _, table = scored(tmp_path / "normal-10000", capsys)
    found = summary(table, "noisy-sum")
    of_noise = 10_000 / (10_000 + variables["noise_sd"] ** 2)
    assert found["honest"] != "not honest" and 0.4 < of_noise < 0.7
    assert abs(found["worth"] - of_noise) < 0.14  # four standard deviations over seeds
