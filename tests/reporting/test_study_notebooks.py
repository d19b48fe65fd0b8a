"""What notebooks declare, and what a study makes of it: names checked, the absent left out."""

import ast
import json
import re
from types import SimpleNamespace

import nbformat
import pytest
from conftest import ROOT

from dpmcmc.configuration.yaml_files import ConfigError
from dpmcmc_studies.study.notebooks import read_source, study_notebooks

DECLARED = {
    "figures": [
        {"name": "figure-z", "shows": "One", "if": ["panels"]},
        {"name": "figure-a", "shows": "Two", "if": ["panels", "table.audit", "vary.step_size"]},
    ],
    "tables": ["chains"],
    "kept": {"moments": "kept_moments.py"},
    "models": ["panels", "one"],
    "algorithms": ["shown"],
    "data": ["one"],
}
CODE = 'results = ""\npanels = []\none = ""\nshown = []\nsteps = 4\nother = float("inf")'
MOST_LINES = 21  # of a cell that has no parameters
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
        (tmp_path / "kept_moments.py").touch()

    return write


@pytest.fixture
def resolve(tmp_path, write):
    write("a")

    def resolve(entries, tables=("chains",), folders=(tmp_path,), swept=()):
        study = SimpleNamespace(
            config=SimpleNamespace(notebooks=entries),
            models=dict.fromkeys("mnx"),
            algorithms=dict.fromkeys("pqx"),
            model_ids=["m", "n"],
            algorithm_ids=["p", "q"],
            all_tables=list(tables),
            swept=list(swept),
            title="The study",
        )
        return study_notebooks(study, list(folders))

    return resolve


def test_a_notebook_is_told_what_runs(resolve, tmp_path):
    (notebook,) = resolve({"a": {"panels": ["n", "x", "m"], "one": "m", "steps": 7}}).values()
    assert notebook.path == tmp_path / "a.ipynb"
    assert (notebook.title, notebook.question) == ("Title", "What is it?")
    assert notebook.figures == {"figure-z": "One"}
    assert notebook.data_models == ["m"] and notebook.chain_models == []
    assert notebook.kept == {"moments": tmp_path / "kept_moments.py"}
    assert notebook.parameters == {"panels": ["n", "m"], "one": "m", "shown": [], "steps": 7}


def test_a_figure_is_drawn_where_all_is_there_that_it_needs(resolve):
    entries, tables = {"a": {"panels": ["m"], "one": "x"}}, ["audit", "chains"]
    (notebook,) = resolve(entries, tables, swept=["step_size"]).values()
    assert list(notebook.figures) == ["figure-z", "figure-a"]  # in the order of the notebook
    assert notebook.data_models == [] and notebook.parameters["one"] == ""
    for options in ({"tables": tables}, {"swept": ["step_size"]}):
        assert list(resolve(entries, **options)["a"].figures) == ["figure-z"]


def test_a_notebook_without_its_figures_is_left_out(resolve, write):
    assert resolve({"a": {"panels": ["x"]}}, tables=[]) == {}
    write("words", {})
    assert list(resolve({"words": {}, "a": {}})) == ["words"]


def test_a_notebook_of_ones_own_lies_beside_the_study(resolve, write, tmp_path):
    (tmp_path / "mine").mkdir()
    write("mine/own", {})
    notebooks = resolve({"mine/own.ipynb": {}}, folders=[ROOT / "notebooks", tmp_path])
    assert notebooks["own"].path == tmp_path / "mine/own.ipynb"


def test_a_name_is_looked_for_beside_the_study_first(resolve, write, tmp_path):
    (tmp_path / "mine").mkdir()
    write("mine/a", {})
    write("b", {})
    notebooks = resolve({"a": {}, "b": {}}, folders=[tmp_path / "mine", tmp_path])
    assert [page.path.parent.name for page in notebooks.values()] == ["mine", tmp_path.name]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"b": {}}, "notebooks: unknown notebook b; there are a$"),
        ({"b.ipynb": {}}, "notebooks: unknown notebook b.ipynb; there are a$"),
        (
            {"a": {"steeps": 1}},
            "notebooks.a: unknown key steeps; valid keys: panels, one, shown, steps, other$",
        ),
        ({"a": {"results": "x"}}, "unknown key results"),
        ({"a": {"panels": ["k"]}}, "notebooks.a.panels: unknown model k; valid models: m, n, x"),
        ({"a": {"shown": ["m"]}}, "notebooks.a.shown: unknown algorithm m"),
        ({"a": {"panels": 3}}, "notebooks.a.panels: must be a list, not 3"),
        ({"a": {"steps": [3]}}, "notebooks.a.steps: must be a number, not "),
        ({"a": {"panels": [["m"]]}}, r"notebooks.a.panels\[0\]: must be a text, not "),
        ({"a": {"panels": ["m"]}, "a.ipynb": {"panels": ["m"]}}, "there is another notebook"),
    ],
)
def test_what_is_unknown_is_named_in_one_line(resolve, tmp_path, entries, message):
    with pytest.raises(ConfigError, match=message) as error:
        resolve(entries)
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
        ({"figure": []}, "unknown key figure; valid keys: figures, tables, models"),
        ({"figures": {"a": "x"}}, "figures: must be a list"),
        ({"figures": ["a"]}, r"figures\[0\]: must be a map"),
        ({"tables": "chains"}, "tables: must be a list"),
        ({"figures": [{"name": "a/b", "shows": "x"}]}, r"figures\[0\].name: 'a/b' is not a valid"),
        ({"figures": [{"name": "a"}]}, r"figures\[0\]: missing key shows"),
        (
            {"figures": [{"name": "a", "shows": "x", "if": ["y"]}]},
            "unknown name y; valid names",
        ),
        ({"models": ["nothing"]}, "models: unknown parameter nothing; valid parameters: panels"),
        (
            {"models": ["one"], "data": ["panels"]},
            "data: unknown parameter panels; valid parameters: o",
        ),
        ({"models": ["one"], "chains": ["panels"]}, "chains: unknown parameter panels"),
    ],
)
def test_a_notebook_that_declares_nonsense_is_refused(resolve, write, declared, message):
    write("b", declared)
    with pytest.raises(ConfigError, match=message):
        resolve({"b": {}})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": [], "metadata": 1}', '{"cells": [1]}'])
def test_a_file_that_is_no_notebook_is_named(resolve, tmp_path, text):
    (tmp_path / "b.ipynb").write_text(text)
    with pytest.raises(ConfigError, match=r"b.ipynb is not a notebook"):
        resolve({"b": {}})


def test_parameters_are_read_beside_magics_and_with_types(resolve, write):
    write("b", {}, code="%matplotlib inline\nn: int = 3\n!ls\nx, y = 1, 2\nd = {}\nd[0] = 1")
    (notebook,) = resolve({"b": {"n": 4}}).values()
    assert notebook.parameters == {"n": 4}
    write("c", {}, code="n = 3\nm == = 4")
    with pytest.raises(ConfigError, match=r"c\.ipynb: line 2 of the cell tagged parameters"):
        resolve({"c": {}})


def cells_of(path):
    """Code cells of a notebook."""
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


def modules_of(path):
    """Modules beside a notebook that it imports, itself or by way of others."""
    found, waiting = set(), ["\n".join(cells_of(path))]
    while waiting:
        for name in re.findall(r"^(?:from|import) (\w+)", waiting.pop(), re.MULTILINE):
            module = path.with_name(f"{name}.py")
            if module.is_file() and module not in found:
                found.add(module)
                waiting.append(module.read_text(encoding="utf-8"))
    return sorted(found)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_the_notebooks_of_the_tree_declare_what_they_use(path):
    title, question, declared, _ = read_source(path)
    assert title and "?" in question
    code = "\n".join(cells_of(path))
    for module in modules_of(path):
        code += module.read_text(encoding="utf-8")
    if "joined(study.table" in code:  # which reads these
        code += '"ranking" "timings" "intervals"'
    assert all(f'"{table}"' in code for table in declared.tables)
    drawn = {figure.name for figure in declared.figures}
    assert set(re.findall(r'"(figure-.*?)"', code)) == drawn


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_cell_is_parameters_or_a_few_calls(path):
    cells = cells_of(path)
    calls = [cell.count("\n") + 1 for cell in cells[1:]]
    assert all(lines <= MOST_LINES for lines in calls), calls
    assert max(len(line) for cell in cells for line in cell.splitlines()) <= 100


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_no_text_of_a_page_shows_code_in_braces(path):
    """A piece of an f-string that lacks its f would print what it should compute."""
    modules = [module.read_text(encoding="utf-8") for module in modules_of(path)]
    for code in [*cells_of(path), *modules]:
        for part in ast.walk(ast.parse(code)):
            if isinstance(part, ast.Constant) and " " in str(part.value):  # prose
                assert not re.search(r"\{[A-Za-z_]\w*(?:[.\[(:][^{}]*)?\}", part.value)


def test_a_study_is_described_by_its_file(tmp_path):
    from dpmcmc_studies.reporting.study import StudyResults

    contents = {
        "study": "s",
        "models": {"m": {"label": ""}},
        "algorithms": {
            "a": {"label": "A", "colour": "#123456", "variant_of": None, "entries": {}},
            "b": {"variant_of": "a"},
        },
        "notebooks": {"n": {"title": "", "question": "", "figures": {"figure-1": "One"}}},
    }
    (tmp_path / "study.json").write_text(json.dumps(contents))
    study = StudyResults.load(tmp_path)
    assert study.stand_ins == {"a": "b"}
    assert [study.algorithm_label(name) for name in "abc"] == ["A", "b", "c"]
    assert study.algorithm_colour("a") == "#123456" != study.algorithm_colour("b")
    assert study.model_label("m") == "m"
    assert study.link("n", "text") == "[text](../pages/n.md)" and study.link("o", "text") == "text"
    with pytest.raises(ValueError, match="a does not run on m in the study s"):
        study.sampler("a", "m")
    with pytest.raises(ValueError, match="figure-2 is not among the figures"):
        study.show(None, "figure-2")
