"""Pages: text escaped, code folded, nothing fetched; and what a study came from."""

import html
import json
import math
import shutil

import nbformat
import pandas as pd
import pytest
from conftest import ROOT

from dpmcmc.evaluation.analysis import Estimate
from dpmcmc.reporting import pages, provenance, words
from dpmcmc.reporting.study import Study
from dpmcmc.study.notebooks import heading


def test_a_table_escapes_text_and_sets_numbers_right():
    table = pd.DataFrame(
        {
            "a<b": ["<script>alert(1)</script>", "x & y", "x & y"],
            "c<d": ["x", "<i>", "y"],
            "n": [1234567, 2, 3],
            "p": [0.123456, 2.0, None],
        }
    )
    shown = pages.table_html(table, {"p": ".2f"}, group="a<b")
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    assert "c&lt;d" in shown and "<td>&lt;i&gt;</td>" in shown
    assert shown.count("x &amp; y") == 1  # shown once for the group
    assert '<td class="number">1,234,567</td>' in shown
    assert '<td class="number">0.12</td>' in shown and '<td class="number">2.00</td>' in shown
    assert '<td class="number">–</td>' in shown


def test_words_for_lists_and_intervals():
    assert words.about_seeds(20) == "" and "one sample" in words.about_seeds(1)
    assert words.percent(0) == "0.00 %" and words.percent(3e-9) == "<0.01 %"
    assert words.percent(0.0317) == "3.17 %"
    assert words.number(1.046, ".2f") == "1.05" and words.number(math.nan, ".2f") == "–"
    assert words.listing(["a"]) == "a"
    assert words.listing(["a", "b", "c"]) == "a, b and c"
    assert words.interval(1, -0.5, 2.25).split() == ["1.000", "[-0.500,", "2.250]"]
    median = Estimate(1, 0.5, 1.5)
    assert words.of_chains(median, range(6), ".1f") == words.interval(1, 0.5, 1.5, ".1f")
    assert words.of_chains(median, [1, 0, 2]) == "1.000 (0.000 to 2.000)"


def test_a_column_against_epsilon_has_labels_and_increasing_epsilons():
    study = Study("", models={"m": {"label": "M"}}, algorithms={"a": {"label": "A"}})
    cells = [("m", "a", 4.0, 1), ("m", "a", 4.0, 4), ("m", "a", 0.5, 1000), ("m", "b", 4.0, 7)]
    table = pd.DataFrame(cells, columns=["model", "algorithm", "epsilon", "n"])
    wide = words.by_epsilon(study, table, "n", ",.1f")
    assert [*wide] == ["model", "algorithm", "ε = 0.5", "ε = 4"]
    assert wide.iloc[0].tolist() == ["M", "A", "1,000.0", "2.5"]
    assert wide.iloc[1].tolist()[1:] == ["b", pytest.approx(math.nan, nan_ok=True), "7.0"]
    assert '<td class="number">–</td>' in pages.table_html(wide)


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
    order = {name: {"title": f"The {name} & more"} for name in ("first", "n", "last")}
    page = pages.notebook_page(executed, "n", order)
    assert 'rel="prev" href="first.html">← The first &amp; more' in page
    assert 'rel="next" href="last.html">The last &amp; more →' in page
    assert 'rel="prev"' not in pages.notebook_page(executed, "first", order)
    assert 'rel="next"' not in pages.notebook_page(executed, "last", order)
    assert page.count('<details class="code">') == 1
    assert "<title>Title &amp; more</title>" in page and "<b>result</b>" in page
    folded = page.partition('<details class="code">')[2].partition("</details>")[0]
    assert "shown" in folded
    assert 'a "quoted" caption' in html.unescape(page.partition("alt=")[2][:60])
    assert "<script" not in page and "http" not in page
    assert '<meta name="viewport"' in page


def test_a_notebook_opens_with_its_question(executed):
    notebook = nbformat.read(executed, as_version=4)
    assert heading(notebook.cells) == ("Title & more", "What is asked?")
    assert heading(notebook.cells[1:]) == heading([]) == ("", "")


@pytest.fixture
def results(tmp_path, config):
    record = provenance.record(config, "0123")
    (tmp_path / "provenance.json").write_text(json.dumps(record))
    notebooks = {
        "second": {"title": "A & b", "question": "Why?", "figures": {"figure-1": "A < b"}},
        "first": {"title": "Words", "question": "", "figures": {}},
    }
    study = {
        "seeds": 1,
        "chains_per_sample": 1,
        "notebooks": notebooks,
        "models": {"m": {"label": "The m", "num_rows": 5000}},
        "algorithms": {
            name: {"label": name.upper(), "accountant": "rdp", "about": "is it"} for name in "abc"
        },
        "remarks": ["Mind < this"],
        "related": {"other": "is bigger"},
    }
    (tmp_path / "study.json").write_text(json.dumps(study))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/models.csv").write_text("model,d\nnan,2\n")
    return tmp_path


def test_an_index_shows_what_the_study_has_in_its_order(results):
    contents = pages.contents(results)
    assert [notebook["name"] for notebook in contents["notebooks"]] == ["second", "first"]
    index = pages.render("index.html.j2", **contents)
    assert 'href="notebooks/second.html"' in index and "A &lt; b" in index
    assert index.index("A &amp; b") < index.index("Words")
    assert "models.csv" in index and "chains.csv" not in index


def test_a_page_for_readers_has_claims_if_the_study_has(results):
    readme = pages.render("readme.md.j2", **pages.contents(results))
    assert "claim" not in readme and "**Figure 1.**" in readme
    columns = ["claim", "section", "statement", "comparisons", "left_out", "for", "against", "open"]
    columns += ["verdict", "one_decides"]
    rows = [
        [1, "6.1", "It works", 3, 4, 2, 1, 0, "undecided", True],
        [2, "6.1", "It flies", 0, 0, 0, 0, 0, "not in this study", False],
    ]
    pd.DataFrame(rows, columns=columns).to_csv(results / "tables/claims.csv", index=False)
    readme = pages.render("readme.md.j2", **pages.contents(results))
    assert "| 1 | 6.1 | It works | 3 | 4 | 2 | 1 | 0 | undecided (one decides) |" in readme
    assert "It flies" not in readme


def test_readers_are_told_what_to_use_before_all_else(results):
    rows = [
        # of b and c, told apart from a, only b is nearer than never moving
        ["m", "a", 1.0, 1, 0.5, True, False],
        ["m", "b", 1.0, 1, 0.6, True, False],
        ["m", "c", 1.0, 1, 0.7, False, False],
        ["m", "a", 2.0, 1, 0.1, True, False],
        ["m", "b", 2.0, 2, 0.2, True, True],
    ]
    names = ["model", "algorithm", "epsilon", "rank", "mmd", "is_nearer", "is_usable"]
    ranking = pd.DataFrame(rows, columns=names).assign(
        mmd_low=0.01, mmd_high=0.9, iterations=1234, r_hat=1.05, ess=9.5, way_from_start=0.25
    )
    ranking["times_exact"] = ranking["mmd"] / 0.02
    ranking.to_csv(results / "tables/ranking.csv", index=False)
    timings = ranking[["model", "algorithm", "epsilon"]].assign(cpu_seconds=0.5, seed=0)
    timings.to_csv(results / "tables/timings.csv", index=False)
    contents = pages.contents(results)
    few, first, item = contents["answers"]
    assert few.startswith("**This study has one sample a cell")
    assert "for 1 of 2 problems" in first and "at most 1.1" in first and "at most 3 times" in first
    assert item == (
        "- **The m**, n = 5,000. "
        "At ε = 1, **nothing is usable**. Nearest: A at 1 and B at 1 of 1 ε; "
        "times as far as exact samples: 25.0 at ε = 1. "
        "At ε = 2, use: B at 1 of 1 ε; times as far as exact samples: 10.0 at ε = 2."
    )
    readme = pages.render("readme.md.j2", **contents)
    row = "| The m | 1 | A and B | 0.500 [0.010, 0.900] | 1,234 | 0.50 | 25.0 | 25% |"
    assert row in readme.replace("\N{NO-BREAK SPACE}", " ")
    assert "- **A** (accountant rdp): is it" in readme
    assert readme.index("What to use") < readme.index("## Pages")
    assert "[The study other](../other/README.md): is bigger" in readme
    ranking.assign(rank=math.nan, mmd=math.nan).to_csv(results / "tables/ranking.csv", index=False)
    nothing = pages.contents(results)  # no budget allows an iteration
    assert "for none of 0 problems" in nothing["answers"][1] and len(nothing["answers"]) == 2
    assert "| posterior |" not in pages.render("readme.md.j2", **nothing)
    index = pages.render("index.html.j2", **contents)
    assert "Mind &lt; this" in index and "ε = 2: B" in index and "<strong>The m</strong>" in index


@pytest.fixture
def checkout(tmp_path):
    for part in ("src/dpmcmc", "notebooks", "studies", "workflow", "envs"):
        shutil.copytree(ROOT / part, tmp_path / part)
    for file in ("config.yaml", "Snakefile"):
        shutil.copy(ROOT / file, tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "file",
    [
        "src/dpmcmc/evaluation/claims.py",
        "src/dpmcmc/reporting/templates/style.css",
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
    from dpmcmc import cli

    def status(*changes):
        paths = [str(checkout / name) for name in ("docs", ".", *changes)]
        cli.main(["docs-status", "--docs", paths[0], "--root", paths[1], "--changes", *paths[2:]])
        return capsys.readouterr().out

    with pytest.raises(SystemExit, match=r"provenance.json is missing; `make docs` writes it"):
        status()
    (checkout / "docs").mkdir()
    record = provenance.record(config, provenance.tree_digest(checkout))
    assert {"numpy", "snakemake"} <= set(record["packages"])
    (checkout / "docs/provenance.json").write_text(json.dumps(record))
    assert "is up to date" in status()
    (checkout / "more.yaml").write_text("seeds: 3\n")
    assert "is older than the code: the settings have changed" in status("more.yaml")
    (checkout / "src/dpmcmc/evaluation/claims.py").write_text("")
    assert "the source is" in status()
