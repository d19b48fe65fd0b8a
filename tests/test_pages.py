"""Pages: text escaped, code folded, nothing fetched; and what a study came from."""

import html
import json
import shutil

import nbformat
import pandas as pd
import pytest
from conftest import ROOT

from dpmcmc import cli
from dpmcmc.reporting import captions, pages, provenance


def test_a_table_escapes_text_and_sets_numbers_right():
    table = pd.DataFrame(
        {
            "a<b": ["<script>alert(1)</script>", "x & y", "x & y"],
            "n": [1234567, 2, 3],
            "p": [0.123456, 2.0, None],
        }
    )
    shown = pages.table_html(table, {"p": ".2f"}, group="a<b")
    assert "<script>" not in shown and "&lt;script&gt;" in shown and "a&lt;b" in shown
    assert shown.count("x &amp; y") == 1  # shown once for the group
    assert '<td class="number">1,234,567</td>' in shown
    assert '<td class="number">0.12</td>' in shown and '<td class="number">2.00</td>' in shown
    assert '<td class="number">–</td>' in shown


def test_words_for_lists_and_intervals():
    assert pages.link("a", "text", ["a"]) == "[text](a.html)"
    assert pages.link("b", "text", ["a"]) == "text"
    assert pages.about_seeds(20) == "" and "one chain" in pages.about_seeds(1)
    assert pages.percent(0) == "0.00 %" and pages.percent(3e-9) == "<0.01 %"
    assert pages.percent(0.0317) == "3.17 %"
    assert pages.listing(["a"]) == "a"
    assert pages.listing(["a", "b", "c"]) == "a, b and c"
    assert pages.interval(1, -0.5, 2.25).split() == ["1.000", "[-0.500,", "2.250]"]


@pytest.fixture
def executed(tmp_path):
    cells = [
        nbformat.v4.new_markdown_cell("# Title & more\n\nWhat is\nasked?\n\nThen the rest."),
        nbformat.v4.new_code_cell("secret_default = 1", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(
            "shown = 2",
            outputs=[
                nbformat.v4.new_output("display_data", {"text/html": "<b>result</b>"}),
                nbformat.v4.new_output(
                    "display_data",
                    {"image/png": "iVBORw0KGgo="},
                    metadata={"image/png": {"alt": 'a "quoted" caption'}},
                ),
            ],
        ),
    ]
    path = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_a_page_shows_results_and_folds_code(executed):
    page = pages.notebook_page(executed)
    assert "<title>Title &amp; more</title>" in page and "<b>result</b>" in page
    assert "secret_default" not in page
    folded = page.partition('<details class="code">')[2].partition("</details>")[0]
    assert "shown" in folded
    assert 'a "quoted" caption' in html.unescape(page.partition("alt=")[2][:60])
    assert "<script" not in page and "http" not in page
    assert '<meta name="viewport"' in page


def test_a_notebook_opens_with_its_question(executed):
    notebook = nbformat.read(executed, as_version=4)
    assert pages.heading(notebook) == ("Title & more", "What is asked?")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        title, question = pages.heading(nbformat.read(path, as_version=4))
        assert title and "?" in question


def test_every_figure_and_table_has_a_caption(quick, schema):
    from dpmcmc.study.study import Study

    study = Study(quick, schema)
    figures = {figure for notebook in study.notebooks().values() for figure in notebook.figures}
    assert figures == set(captions.FIGURES)
    assert set(study.all_tables) == set(captions.TABLES)


@pytest.fixture
def checkout(tmp_path):
    for part in ("src/dpmcmc", "notebooks", "workflow", "envs"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for file in ("config.yaml", "Snakefile"):
        shutil.copy(ROOT / file, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "file",
    [
        "src/dpmcmc/claims.py",
        "src/dpmcmc/templates/style.css",
        "notebooks/circle.ipynb",
        "workflow/rules/common.smk",
        "envs/requirements.txt",
        "Snakefile",
    ],
)
def test_the_digest_of_a_checkout_follows_its_source(checkout, file):
    before = provenance.tree_digest(checkout)
    (checkout / "src/dpmcmc/x.pyc").write_text("")
    assert provenance.tree_digest(checkout) == before
    with (checkout / file).open("a") as stream:
        stream.write("\n")
    assert provenance.tree_digest(checkout) != before


def test_docs_say_whether_they_are_of_this_source(checkout, config, capsys):
    def status(*changes):
        paths = [str(checkout / name) for name in ("docs", ".", *changes)]
        cli.main(["docs-status", "--docs", paths[0], "--root", paths[1], "--changes", *paths[2:]])
        return capsys.readouterr().out

    with pytest.raises(SystemExit, match=r"provenance.json is missing; `make docs` writes it"):
        status()
    (checkout / "docs").mkdir()
    record = provenance.record(config, [], provenance.tree_digest(checkout))
    assert {"numpy", "snakemake"} <= set(record["packages"])
    (checkout / "docs/provenance.json").write_text(json.dumps(record))
    assert "is up to date" in status()
    (checkout / "more.yaml").write_text("seeds: 3\n")
    assert "is older than the code: the settings have changed" in status("more.yaml")
    (checkout / "src/dpmcmc/claims.py").write_text("")
    assert "the source is" in status()
