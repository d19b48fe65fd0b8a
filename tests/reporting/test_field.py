"""The page of the field: what it says of this project is in committed tables."""

import pytest
from conftest import ROOT

import dpmcmc
from dpmcmc.configuration.catalogue import read_study

PAGE = ROOT / "docs/field.md"
MODELS = ["normal-10000", "logistic-10000", "robust-10000"]
EPSILON = 1


def rows():
    """Rows of the table of the page: worth and coverage of each method, a cell for each model."""
    table = dpmcmc.results("which-method", "worth")
    table = table[table["model"].isin(MODELS) & (table["epsilon"] == EPSILON)]
    cells = table.set_index(["algorithm", "model"]).to_dict("index")
    labels = read_study(ROOT, [ROOT / "studies/which-method/study.yaml"])[0]["algorithms"]
    for algorithm in [name for name in labels if name in set(table["algorithm"])]:
        texts = [text_of(cells.get((algorithm, model))) for model in MODELS]
        yield f"| {labels[algorithm]['label']} | {' | '.join(texts)} |"


def text_of(cell):
    """Worth and coverage in percent, or why there is none."""
    if cell is None:
        return "–"
    if cell["honest"] == "no intervals":
        return "too few draws"
    worth = f"{100 * cell['worth']:.0f}"
    worth = worth if cell["honest"] == "honest" else f"({worth})"
    return f"{worth}, {100 * cell['coverage']:.0f}"


def test_what_is_measured_here_is_what_the_tables_say():
    """Fails after a run that changes them: then these are the rows that the page needs."""
    text = PAGE.read_text(encoding="utf-8")
    expected = "\n".join(rows())
    assert expected.count("\n") > 8
    assert expected in text, f"docs/field.md must have these rows:\n{expected}"


@pytest.mark.parametrize("table", ["## Methods", "## Libraries"])
def test_every_row_has_all_columns_and_a_source_for_what_is_from_outside(table):
    part = PAGE.read_text(encoding="utf-8").partition(table)[2].partition("\n## ")[0]
    header, _, *lines = [line for line in part.splitlines() if line.startswith("|")]
    assert len(lines) > 5
    for line in lines:
        assert line.count(" | ") == header.count(" | "), line
        assert "](" in line or "ICML" in line, line


def test_prices_are_those_of_the_page_of_errors():
    page, errors = PAGE.read_text("utf-8"), (ROOT / "docs/errors.md").read_text("utf-8")
    for number in ("1.0004", "0.0316", "2.65 to 3.79", "109,672", "395,830", "3.51"):
        assert number in page and number in errors
