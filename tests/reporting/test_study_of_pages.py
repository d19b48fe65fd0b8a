"""What notebooks find: modules beside them, rows held out, what a page keeps of chains."""

import json

import nbformat
import numpy as np
import pandas as pd
import pytest

from dpmcmc.files import JobError
from dpmcmc.models.softmax import Softmax
from dpmcmc_studies.reporting.notebooks import execute
from dpmcmc_studies.reporting.study import StudyResults
from dpmcmc_studies.study.description import ModelDescription, PageDescription
from dpmcmc_studies.study.sources import imported

PRIOR = {"means": [0, 0], "sds": [1, 1], "prior_variance": 10, "classes": [1, 9, 0]}


def test_a_module_beside_a_notebook_is_imported_and_in_its_digest(tmp_path, monkeypatch):
    """In a notebook without a language, with magics, and under a matplotlibrc of the user's."""
    monkeypatch.setenv("PYTHONPATH", "")
    (tmp_path / "helper.py").write_text("ANSWER = 42\n")
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    monkeypatch.setenv("MATPLOTLIBRC", str(tmp_path))
    cells = [
        nbformat.v4.new_code_cell("n: int = 1", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("%%capture\n!true\nimport helper, matplotlib\nhelper?"),
        nbformat.v4.new_code_cell("print(helper.ANSWER + n, matplotlib.rcParams['text.usetex'])"),
    ]
    path = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    execute(path, tmp_path / "done.ipynb", {"n": 0})
    done = nbformat.read(tmp_path / "done.ipynb", as_version=4)
    assert done.cells[-1].outputs[0].text == "42 False\n"
    assert tmp_path / "helper.py" in imported(str(path))[0]


def test_a_page_finds_the_rows_that_the_study_held_out(tmp_path):
    rng = np.random.default_rng(1)
    table = np.column_stack([rng.choice([0, 1, 9], 40), rng.standard_normal((40, 2))])
    file, columns = tmp_path / "houses.npy", ["floor", "log_radon", "log_uranium"]
    np.save(file, table)
    entry = {"class": "dpmcmc.models.softmax:Softmax", "num_rows": 30, **PRIOR}
    told = {"file": str(file), "columns": columns, "digest": "", "held_out": 0.25}
    (tmp_path / "study.json").write_text(
        json.dumps({"seed": 3, "models": {"m": {"data": told, "entry": entry}}})
    )
    held_out = StudyResults.load(tmp_path).held_out("m")
    assert held_out.shape == (10, 3)
    rows = Softmax(30, **PRIOR).prepare(table).tolist()
    assert all(row in rows for row in held_out.tolist())


def test_delta_is_a_number_where_it_is_one():
    rows = {"a": 10_058, "b": 10_058, "c": 20_000}
    study = StudyResults(
        "", delta_times_n=0.10058, models={m: ModelDescription(num_rows=n) for m, n in rows.items()}
    )
    assert study.delta_text(["a", "b", "a"]) == "1e-5"
    assert study.delta_text(rows) == "0.10058 / *n*"
    assert study.delta_text([]) == ""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "chains").mkdir()
    return StudyResults(str(tmp_path), notebooks={"page": PageDescription(kept=["spread"])})


VALUES = {
    "a table": pd.DataFrame({"model": ["007"], "ratio": [0.1 + 0.2], "low": [np.nan]}),
    "arrays": {"shares": np.array([0.1, 0.2]), "draws": np.ones((3, 2), dtype=np.float32)},
}


@pytest.mark.parametrize("part", ["", "dp-hmc/epsilon-0.5"])
@pytest.mark.parametrize("kind", VALUES)
def test_what_a_page_keeps_of_chains_is_the_same_without_them(study, tmp_path, kind, part):
    first = study.kept("spread", lambda: VALUES[kind], part)
    (file,) = (path for path in tmp_path.glob("kept/**/*") if path.is_file())
    contents = file.read_bytes()
    study.kept("spread", lambda: VALUES[kind], part)
    assert file.read_bytes() == contents
    (tmp_path / "chains").rmdir()
    again = study.kept("spread", pytest.fail, part)
    assert repr(again) == repr(first) == repr(VALUES[kind])


def test_a_cell_whose_chains_are_gone_is_read(study):
    def compute():
        raise FileNotFoundError

    with pytest.raises(JobError, match=r"kept/spread: neither the chains"):
        study.kept("spread", compute)
    study.kept("spread", lambda: VALUES["arrays"])
    assert list(study.kept("spread", compute)) == ["shares", "draws"]


def test_what_no_notebook_declares_is_not_kept(study):
    with pytest.raises(ValueError, match="widths is not among what the notebook keeps"):
        study.kept("widths", pytest.fail)
