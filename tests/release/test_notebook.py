"""Releases, rehearsals and ledgers from Python."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dpmcmc
from dpmcmc.files import JobError
from dpmcmc.release import ledger, notebook

OF = {"study": "study.yaml", "model": "mine", "algorithm": "newton"}


def test_from_a_file_to_what_a_notebook_shows(place):
    budget = dpmcmc.Ledger.new("data.csv", epsilon=3, delta=1e-3, rows=60, kinds="full-data")
    rehearsal = dpmcmc.rehearse(**OF, epsilon=1, twins=2, draws=200)
    (row,) = rehearsal.rows
    assert (row["rows"], row["samples"], row["law"]) == (60, 2, "rows of the model")
    assert "Exact draws by" in repr(rehearsal) and len(rehearsal.to_frame()) == 1
    assert "verdict" in rehearsal._repr_html_() and budget.spent_epsilon == 0
    released = dpmcmc.release(
        **OF, epsilon=1, output="out", draws=200, unchecked=True, rehearsal=rehearsal
    )
    assert budget.spent_epsilon == pytest.approx(1, abs=2e-5) and len(budget.releases) == 1
    assert released.statement["ledger_head"] == budget.releases[0]["hash"]
    assert "newton on 60 rows  published" in repr(budget)
    frame = released.to_frame()
    assert [*frame.columns] == ["chain", "draw", "theta_0"] and len(frame) == 200
    draws = released.draws[0, :, 0]
    assert released.draws.shape == (1, 200, 1) and (draws == frame["theta_0"]).all()
    assert (released.to_arviz().posterior["theta"].to_numpy() == released.draws).all()
    (summary,) = released.summary()
    assert summary["mean"] == draws.mean()
    assert summary["low"] == pytest.approx(np.quantile(draws, 0.05))
    shown = released._repr_html_()
    assert "spent epsilon 1 at delta 0.001" in shown
    assert "Rehearsed with rows of the model: worth" in shown
    assert f"<td>{draws.mean():.4g}</td>" in shown and "data:image/png" in shown
    with pytest.raises(JobError, match="does not allow it: of epsilon 3") as caught:
        dpmcmc.release(**OF, epsilon=3, output="more", unchecked=True)
    assert not isinstance(caught.value, dpmcmc.SpentError) and len(budget.releases) == 1
    with pytest.raises(JobError, match=r"^epsilon: must be a number between 0.001 and 100, not 50"):
        dpmcmc.release(**OF, epsilon=500, output="more")
    budget.change("more people agreed", epsilon=4)
    assert budget.budget.epsilon == 4


def fake(monkeypatch, code):
    """Python code stands in place of the command."""
    start = subprocess.Popen
    monkeypatch.setattr(
        notebook.subprocess,
        "Popen",
        lambda _, **options: start([sys.executable, "-c", code], **options),
    )


@pytest.mark.parametrize(
    ("status", "kind"), [(1, JobError), (3, dpmcmc.SpentError), (9, dpmcmc.SpentError)]
)
def test_an_exception_says_whether_something_is_spent(monkeypatch, status, kind):
    fake(monkeypatch, f"import sys; print('release: no', file=sys.stderr); sys.exit({status})")
    with pytest.raises(JobError) as caught:
        notebook.run("release", [])
    assert type(caught.value) is kind
    said = "release was killed. `ledger show` says what is spent" if status == 9 else "no"
    assert str(caught.value) == said


def test_a_release_that_is_published_and_not_noted_is_no_error(monkeypatch):
    fake(monkeypatch, "import sys; print('out'); print('release: a', file=sys.stderr); sys.exit(4)")
    with pytest.warns(UserWarning, match="release: a"):
        assert notebook.run("release", []) == "out\n"


def test_an_interrupt_is_passed_on_and_the_command_says_what_is_spent(monkeypatch, tmp_path):
    began = tmp_path / "began"
    fake(
        monkeypatch,
        "import sys, time, pathlib\n"
        "try:\n"
        f"    pathlib.Path({str(began)!r}).touch(); time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    print('release: the run was interrupted. It is spent.', file=sys.stderr)\n"
        "    sys.exit(3)\n",
    )

    # The shell that started the tests may have it ignored, also for their children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    here = threading.get_ident()  # a signal to the process may reach another thread

    def interrupt():
        while not began.exists():
            time.sleep(0.01)
        signal.pthread_kill(here, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(dpmcmc.SpentError, match=r"interrupted\. It is spent"):
            notebook.run("release", [])
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)


def test_what_a_release_shows_has_nothing_of_other_releases(monkeypatch, tmp_path):
    """Whether one failed may hang on a row."""
    (tmp_path / "chain.csv").write_text("chain,draw,a<b\n1,1,2.5\n1,2,3.5\n")
    (tmp_path / "statement.json").write_text(
        '{"algorithm": "A", "rows": 9, "epsilon": 1, "delta": 0.1, "chains": 1,'
        ' "all_releases": {"epsilon": 3, "delta": 0.1}}'
    )
    monkeypatch.setattr(ledger, "read", None)  # it is not asked
    shown = dpmcmc.Release(tmp_path)
    assert "a<b: 3, 90 % between 2.55 and 3.45" in repr(shown)
    assert "a&lt;b" in shown._repr_html_()
    with pytest.raises(JobError, match="is no release"):
        dpmcmc.Release(tmp_path / "none")


def test_what_was_rehearsed_stands_beside_a_release_for_each_law(tmp_path):
    (tmp_path / "chain.csv").write_text("chain,draw,a\n1,1,2.5\n1,2,3.5\n")
    (tmp_path / "statement.json").write_text(
        '{"algorithm": "A", "rows": 9, "epsilon": 0.998, "delta": 0.1, "chains": 1,'
        ' "all_releases": {"epsilon": 3, "delta": 0.1}}'
    )
    row = {"rows": 9, "epsilon": 1, "law": "rows of the model", "samples": 4, "not_scored": 0}
    row |= {"worth": 0.5, "worth_se": 0.1, "coverage": 0.9, "coverage_se": 0.01}
    rare = row | {"law": "rare covariates", "honest": "not honest", "worth": 0.2}
    rows = [row | {"honest": "honest"}, rare, rare | {"epsilon": 2}, rare | {"rows": 10}]
    shown = dpmcmc.Release(tmp_path, dpmcmc.Rehearsal(rows))
    assert shown.rehearsed == rows[:2]
    text = repr(shown)
    assert "Rehearsed with rows of the model: worth 50% ± 10% of the rows" in text
    assert "Rehearsed with rare covariates: worth 20% ± 10% of the rows" in text
    rows[1] |= {"not_scored": 4}
    assert "Rehearsed with rare covariates: no intervals" in repr(shown)


def test_the_package_of_releases_is_the_function(place):
    assert dpmcmc.release.notebook is notebook
    with pytest.raises(JobError, match=r"no ledger|ledger new"):
        dpmcmc.release(**OF, epsilon=1, output="out", unchecked=True)


def test_a_picture_of_a_rehearsal_shows_rare_covariates_apart(monkeypatch, tmp_path):
    from matplotlib import rcParams

    from dpmcmc.release.plot import draw

    rows = [
        {
            "law": law,
            "rows": size,
            "epsilon": epsilon,
            "samples": 4,
            "not_scored": 0,
            "worth": 0.5,
            "worth_se": 0.1,
            "coverage": 0.9,
            "coverage_se": 0.01,
            "honest": "honest",
        }
        for law in ("rows of the model", "rare covariates")
        for size in (100, 1000)
        for epsilon in (1, 4)
    ]
    monkeypatch.setitem(rcParams, "svg.fonttype", "none")  # texts as they are
    for path, shown in ((tmp_path / "one.svg", rows[:4]), (tmp_path / "two.svg", rows)):
        draw(shown, path)
        assert "not shown honest" in path.read_text(encoding="utf-8")
    for path, count in ((tmp_path / "one.svg", 0), (tmp_path / "two.svg", 2)):
        assert path.read_text(encoding="utf-8").count(">rare covariates<") == count
