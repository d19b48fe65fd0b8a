"""What notebooks declare, and what a study makes of it: names checked, the absent left out."""

import ast
import json
import re

import nbformat
import pytest
from conftest import ROOT

from dpmcmc.study.config import ConfigError
from dpmcmc.study.notebooks import listed, read_source, study_notebooks
from dpmcmc.study.tables import TABLES

DECLARED = {
    "figures": [
        {"name": "figure-z", "shows": "One", "if": ["panels"]},
        {"name": "figure-a", "shows": "Two", "if": ["panels", "table.audit", "vary.step_size"]},
    ],
    "tables": ["chains"],
    "kept": ["moments"],
    "models": ["panels", "one"],
    "algorithms": ["shown"],
    "data": ["one"],
}
CODE = 'results = ""\npanels = []\none = ""\nshown = []\nsteps = 4\nother = float("inf")'
PATHS = sorted([*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("studies/*/*.ipynb")])


@pytest.fixture
def write(tmp_path):
    def write(name, declared=DECLARED, code=CODE, text="# Title\n\nWhat\nis it?\n\nThis."):
        notebook = nbformat.v4.new_notebook(
            metadata={"dpmcmc": declared},
            cells=[
                nbformat.v4.new_markdown_cell(text),
                nbformat.v4.new_code_cell(code, metadata={"tags": ["parameters"]}),
            ],
        )
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")

    return write


@pytest.fixture
def resolve(tmp_path, write):
    write("a")

    def resolve(entries, tables=("chains",), directory=tmp_path, **options):
        config = {
            "notebooks": entries,
            "models": dict.fromkeys("mnx"),
            "algorithms": dict.fromkeys("pqx"),
        }
        running = {"models": ["m", "n"], "algorithms": ["p", "q"]}
        return study_notebooks(config, directory, running, list(tables), **options)

    return resolve


def test_a_notebook_is_told_what_runs(resolve, tmp_path):
    (notebook,) = resolve({"a": {"panels": ["n", "x", "m"], "one": "m", "steps": 7}}).values()
    assert notebook.path == tmp_path / "a.ipynb"
    assert (notebook.title, notebook.question) == ("Title", "What is it?")
    assert notebook.figures == {"figure-z": "One"}
    assert notebook.tables == ["chains"]
    assert notebook.data_models == ["m"]
    assert notebook.parameters == {"panels": ["n", "m"], "one": "m", "shown": [], "steps": 7}
    json.dumps(notebook.described())


def test_optional_tables_are_read_and_drawn_where_the_study_makes_them(resolve):
    (notebook,) = resolve({"a": {"panels": ["m"], "one": "x"}}, ["audit", "chains"]).values()
    assert list(notebook.figures) == ["figure-z", "figure-a"]  # in the order of the notebook
    assert notebook.tables == ["chains", "audit"]
    assert notebook.data_models == [] and notebook.parameters["one"] == ""


def test_a_notebook_without_its_figures_is_left_out(resolve, write):
    assert resolve({"a": {"panels": ["x"]}}, tables=[]) == {}
    write("words", {})
    assert list(resolve({"words": {}, "a": {}})) == ["words"]


def test_the_order_is_that_of_the_configuration(resolve, write):
    write("0", {"figures": [{"name": "figure-0", "shows": "Zero"}]})
    assert list(resolve({"a": {"panels": ["m"]}, "0": {}})) == ["a", "0"]


def test_a_notebook_of_ones_own_lies_beside_the_study(resolve, write, tmp_path):
    (tmp_path / "mine").mkdir()
    write("mine/own", {})
    for directory in (tmp_path, ROOT / "notebooks"):
        notebooks = resolve({"mine/own.ipynb": {}}, directory=directory, beside=[tmp_path])
        assert notebooks["own"].path == tmp_path / "mine/own.ipynb"


def test_a_name_is_looked_for_beside_the_study_first(resolve, write, tmp_path):
    (tmp_path / "mine").mkdir()
    write("mine/a", {})
    write("b", {})
    notebooks = resolve({"a": {}, "b": {}}, beside=[tmp_path / "mine"])
    assert [page.path.parent.name for page in notebooks.values()] == ["mine", tmp_path.name]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"b": {}}, "notebooks: unknown notebook b; valid names: a, or the path of one's own"),
        ({"b.ipynb": {}}, "notebooks.b.ipynb: there is no file"),
        (
            {"a": {"steeps": 1}},
            "notebooks.a: unknown parameter steeps; valid parameters: panels, one, shown, steps, "
            "other$",
        ),
        ({"a": {"results": "x"}}, "unknown parameter results"),
        ({"a": {"panels": ["k"]}}, "notebooks.a.panels: k is none of the models; valid ids: m, n"),
        ({"a": {"shown": ["m"]}}, "notebooks.a.shown: m is none of the algorithms"),
        ({"a": {"panels": 3}}, "notebooks.a.panels: must be a list, not 3"),
        ({"a": {"panels": [["m"]]}}, "notebooks.a.panels: must be an id or a list of ids"),
        ({"a": {"panels": ["m"]}, "a.ipynb": {"panels": ["m"]}}, "there is another notebook"),
    ],
)
def test_what_is_unknown_is_named_in_one_line(resolve, tmp_path, entries, message):
    with pytest.raises(ConfigError, match=message) as error:
        resolve(entries, beside=[tmp_path])
    assert "\n" not in str(error.value)


def test_a_notebook_is_left_out_of_a_study_that_does_not_make_its_tables(resolve, write):
    write("b", {"tables": ["accounting"]})
    assert list(resolve({"a": {"panels": ["m"]}, "b": {}})) == ["a"]


def test_two_notebooks_do_not_draw_one_figure(resolve, write):
    write("b")
    with pytest.raises(ConfigError, match=r"notebooks.b: a draws figure-z, too"):
        resolve({"a": {"panels": ["m"]}, "b": {"panels": ["m"]}})


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"figure": []}, "unknown key figure; valid keys: figures, tables, optional_tables"),
        ({"figures": {"a": "x"}}, "figures: must be a list of maps"),
        ({"figures": ["a"]}, "figures: must be a list of maps"),
        ({"tables": "chains"}, "tables: must be a list of names"),
        ({"figures": [{"name": "a/b", "shows": "x"}]}, "needs a name that is one of a file"),
        ({"figures": [{"name": "a"}]}, "a needs a caption, shows"),
        ({"figures": [{"name": "a", "shows": "x", "if": "y"}]}, "has no parameter y"),
        ({"models": ["nothing"]}, "models: the notebook has no parameter nothing"),
        ({"models": ["one"], "data": ["panels"]}, "data: panels must be one of its models"),
        ({"models": ["one"], "chains": ["panels"]}, "chains: panels must be one of its models"),
    ],
)
def test_a_notebook_that_declares_nonsense_is_refused(resolve, write, declared, message):
    write("b", declared)
    with pytest.raises(ConfigError, match=message):
        resolve({"b": {}})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": [], "metadata": 1}', '{"cells": [1]}'])
def test_a_file_that_is_no_notebook_is_named(resolve, tmp_path, text):
    (tmp_path / "b.ipynb").write_text(text)
    with pytest.raises(ConfigError, match=r"b.ipynb is no notebook"):
        resolve({"b": {}})


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_notebooks_of_the_tree_declare_what_they_use(path):
    source = read_source(path)
    assert source.title and "?" in source.question
    code = "\n".join(
        cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"
    )
    tables = {*source.declared["tables"], *source.declared["optional_tables"]}
    assert tables <= set(TABLES)
    conditions = {
        name for figure in source.declared["figures"] for name in listed(figure.get("if", []))
    }
    assert all(f'"{table}"' in code or table in conditions for table in tables)
    assert set(re.findall(r'study\.table\("(.*?)"\)', code)) <= tables
    drawn = {figure["name"] for figure in source.declared["figures"]}
    assert set(re.findall(r'"(figure-.*?)"', code)) == drawn


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_no_text_of_a_notebook_shows_code_in_braces(path):
    """A piece of an f-string that lacks its f would print what it should compute."""
    for cell in nbformat.read(path, as_version=4).cells:
        for part in ast.walk(ast.parse(cell.source if cell.cell_type == "code" else "")):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                assert not re.search(r"\{[A-Za-z_]\w*(?:[.\[(:][^{}]*)?\}", part.value)


def test_a_study_is_described_by_its_file(tmp_path):
    from dpmcmc.reporting.study import Study

    contents = {
        "study": "s",
        "models": {"m": {"label": None}},
        "algorithms": {
            "a": {"label": "A", "colour": "#123456", "in_place_of": None, "entries": {}},
            "b": {"in_place_of": "a"},
        },
        "notebooks": {"n": {"title": "", "question": "", "figures": {"figure-1": "One"}}},
    }
    (tmp_path / "study.json").write_text(json.dumps(contents))
    study = Study.load(tmp_path)
    assert study.stand_ins == {"a": "b"}
    assert [study.algorithm_label(name) for name in "abc"] == ["A", "b", "c"]
    assert study.algorithm_colour("a") == "#123456" != study.algorithm_colour("b")
    assert study.model_label("m") == "m"
    assert study.link("n", "text") == "[text](n.html)" and study.link("o", "text") == "text"
    with pytest.raises(ValueError, match="a does not run on m in the study s"):
        study.sampler("a", "m")
    with pytest.raises(ValueError, match="figure-2 is not among the figures"):
        study.show(None, "figure-2")
