"""What notebooks find: modules beside them, rows held out, what a page keeps of chains."""

import json

import nbformat
import numpy as np

from dpmcmc.models.softmax import Softmax
from dpmcmc.reporting.notebooks import execute
from dpmcmc.reporting.study import Study
from dpmcmc.study.sources import imported

PRIOR = {"means": [0, 0], "sds": [1, 1], "prior_variance": 10, "classes": [1, 9, 0]}


def test_a_module_beside_a_notebook_is_imported_and_in_its_digest(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "")
    (tmp_path / "helper.py").write_text("ANSWER = 42\n")
    cells = [
        nbformat.v4.new_code_cell("", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("import helper\nprint(helper.ANSWER)"),
    ]
    path = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    execute(path, tmp_path / "done.ipynb", {})
    done = nbformat.read(tmp_path / "done.ipynb", as_version=4)
    assert done.cells[-1].outputs[0].text == "42\n"
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
    held_out = Study.load(tmp_path).held_out("m")
    assert held_out.shape == (10, 3)
    rows = Softmax(30, **PRIOR).prepare(table).tolist()
    assert all(row in rows for row in held_out.tolist())
