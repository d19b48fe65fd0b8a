"""Pages: text escaped, code left out, the front page of a study; and what a study came from."""

import json
import math
import re

import nbformat
import numpy as np
import pandas as pd
import pytest

from dpmcmc_studies.analysis.intervals import Estimate
from dpmcmc_studies.reporting import notebooks, pages, provenance, recommendation, words
from dpmcmc_studies.reporting.study import StudyResults
from dpmcmc_studies.study.description import AlgorithmDescription, ModelDescription
from dpmcmc_studies.study.notebooks import heading


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
    assert '<td align="right">1,234,567</td>' in shown
    assert '<td align="right">0.12</td>' in shown and '<td align="right">2.00</td>' in shown
    assert '<td align="right">–</td>' in shown


def test_words_for_lists_and_intervals():
    assert words.about_seeds(20) == "" and "one sample" in words.about_seeds(1)
    assert words.percent(0) == "0.00 %" and words.percent(3e-9) == "<0.01 %"
    assert words.percent(0.0317) == "3.17 %"
    assert words.number(1.046, ".2f") == "1.05" and words.number(math.nan, ".2f") == "–"
    assert words.listing(["a"]) == "a"
    assert words.listing(["a", "b", "c"]) == "a, b and c"
    assert words.interval(math.nan, 0, 1) == "–"
    assert words.interval(1, -0.5, 2.25).split() == ["1.000", "[-0.500,", "2.250]"]
    median = Estimate(1, 0.5, 1.5)
    assert words.of_chains(median, range(6), ".1f") == words.interval(1, 0.5, 1.5, ".1f")
    assert words.of_chains(median, [1, 0, 2]) == "1.000 (0.000 to 2.000)"


def test_a_table_in_markdown_sets_numbers_right():
    table = words.markdown_table(pd.DataFrame({"a": ["|x|", "y"], "n": ["1.5 [1, 2]", "–"]}))
    assert table == "| a | n |\n| --- | ---: |\n| \\|x\\| | 1.5 [1, 2] |\n| y | – |"


def test_a_column_against_epsilon_has_labels_and_increasing_epsilons():
    study = StudyResults(
        "", models={"m": ModelDescription("M")}, algorithms={"a": AlgorithmDescription("A")}
    )
    cells = [("m", "a", 4.0, 1), ("m", "a", 4.0, 4), ("m", "a", 0.5, 1000), ("m", "b", 4.0, 7)]
    table = pd.DataFrame(cells, columns=["model", "algorithm", "epsilon", "n"])
    wide = words.by_epsilon(study, table, "n", ",.1f")
    assert [*wide] == ["model", "algorithm", "ε = 0.5", "ε = 4"]
    assert wide.iloc[0].tolist() == ["M", "A", "1,000.0", "2.5"]
    assert wide.iloc[1].tolist()[1:] == ["b", pytest.approx(math.nan, nan_ok=True), "7.0"]
    assert '<td align="right">–</td>' in pages.table_html(wide)


@pytest.fixture
def executed(tmp_path):
    cells = [
        nbformat.v4.new_markdown_cell("# {study}: what?\n\nWhat is\nasked?\n\nThen the {rest}."),
        nbformat.v4.new_code_cell("secret_default = 1", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(
            "shown = 2",
            metadata={"papermill": {"start_time": "today"}},
            outputs=[nbformat.v4.new_output("display_data", {"text/html": "<b>result</b>"})],
            execution_count=7,
        ),
    ]
    path = tmp_path / "n.ipynb"
    metadata = {"papermill": {"input_path": "/home/me"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)
    return path


def test_an_executed_notebook_is_a_page_the_same_whenever_it_ran(executed):
    notebooks.tidy(executed, "The study & more")
    page = nbformat.read(executed, as_version=4)
    assert page.cells[0].source.startswith("# The study & more: what?")
    assert page.cells[0].source.endswith("Then the {rest}.")
    assert page.cells[2].outputs[0].data["text/html"] == "<b>result</b>"
    text = executed.read_text()
    assert "today" not in text and "/home/me" not in text and '"execution_count": 7' not in text


FIGURE = {
    "image/png": "iVBORw0KGgo=",
    "text/markdown": "![It](../figures/f.png)",
    "text/plain": "I",
}


def test_a_page_has_prose_and_outputs_without_code(executed):
    notebook = nbformat.read(executed, as_version=4)
    notebook.cells[2].outputs.append(nbformat.v4.new_output("display_data", FIGURE))
    nbformat.write(notebook, executed)
    shown = ["# {study}: what?", "What is\nasked?", "Then the {rest}."]
    shown += ["<b>result</b>", "![It](../figures/f.png)\n"]
    assert notebooks.markdown(executed) == "\n\n".join(shown)


def test_a_notebook_opens_with_its_question(executed):
    notebook = nbformat.read(executed, as_version=4)
    assert heading(notebook.cells) == ("{study}: what?", "What is asked?")
    assert heading(notebook.cells[1:]) == heading([]) == ("", "")


FIGURES = {"figure-1": "A < b's", "figure-6.2": "Another"}


@pytest.fixture
def results(tmp_path, config):
    record = provenance.record(config)
    (tmp_path / "provenance.json").write_text(json.dumps(record))
    notebooks = {
        "second": {"title": "A & b", "question": "Why *not*?", "figures": FIGURES},
        "first": {"title": "Words", "question": "", "figures": {}},
    }
    study = {
        "study": "s",
        "title": "The study",
        "seeds": 1,
        "chains_per_sample": 1,
        "notebooks": notebooks,
        "models": {"m": {"label": "The m", "num_rows": 5000}},
        "algorithms": {
            name: {"label": name.upper(), "accountant": "rdp", "about": "It's"} for name in "abc"
        },
        "remarks": ["Mind < this"],
        "related": {"other": {"title": "The other", "difference": "is *bigger*"}},
    }
    (tmp_path / "study.json").write_text(json.dumps(study))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/models.csv").write_text("model,d\nnan,2\n")
    return tmp_path


def test_a_front_page_leads_to_what_the_study_has_in_its_order(results):
    page = pages.front_page(results)
    first = "[![A & b](figures/figure-1.png)](pages/second.md)\n\n*A < b's.*\n"
    assert page.startswith(f"# The study\n\n{first}")
    assert page.index("- [A & b](pages/second.md): Why *not*?") < page.index("- [Words](")
    assert "(figures/figure-6.2.png)](pages/second.md)\n\n*Figure 6.2. Another.*" in page
    assert page.count("Another") == 1
    assert page.count("figure-1.png") == 1
    assert "[models.csv](tables/models.csv): The models" in page and "chains.csv" not in page
    assert "\n\nOn 20" in page and "[provenance.json](provenance.json)" in page
    assert "claim" not in page and "no algorithm is usable" not in page
    assert "- Mind < this" in page and "[The other](../other/README.md): is *bigger*" in page


def test_a_front_page_has_the_claims_that_are_judged(results):
    columns = ["claim", "section", "statement", "comparisons", "left_out", "for", "against", "open"]
    columns += ["verdict", "one_decides"]
    rows = [
        [1, "6.1", "It works", 3, 4, 2, 1, 0, "undecided", True],
        [2, "6.1", "It flies", 0, 0, 0, 0, 0, "not in this study", False],
    ]
    pd.DataFrame(rows, columns=columns).to_csv(results / "tables/claims.csv", index=False)
    page = pages.front_page(results)
    assert "| 1 | 6.1 | It works | 3 | 4 | 2 | 1 | 0 | undecided (one decides) |" in page
    assert "It flies" not in page
    labelled = pages.with_labels(pd.DataFrame(rows, columns=columns), {"1": "It works here"})
    assert list(labelled["statement"]) == ["It works here", "It flies"]


def ranked(*rows):
    """A ranking of rows: algorithm, epsilon, rank, mmd, is_nearer, is_usable."""
    names = ["algorithm", "epsilon", "rank", "mmd", "is_nearer", "is_usable"]
    return pd.DataFrame(rows, columns=names).assign(
        model="m",
        mmd_low=0.01,
        mmd_high=0.9,
        iterations=1234,
        r_hat=1.05,
        ess=9.5,
        distance_closed=0.25,
        mean_error=0.4,
        sd_ratio=0.8,
        times_exact=lambda table: table["mmd"] / 0.02,
    )


@pytest.fixture
def answers():
    """What is said of a ranking: the items, and the rows of the table."""

    def answers(ranking):
        timings = ranking[["model", "algorithm", "epsilon"]].assign(cpu_seconds=0.5)
        model = ModelDescription("The m", num_rows=5000)
        labels = {"m": model}, {a: AlgorithmDescription(a) for a in "abc"}
        found = {"ranking": ranking, "timings": timings}
        solved = recommendation.problems(recommendation.joined(found.get, found))
        table = recommendation.problem_table(*labels, solved).replace("\N{NO-BREAK SPACE}", " ")
        return recommendation.recommendations(*labels, solved), table.splitlines()[2:-2]

    return answers


def test_the_heading_of_an_answer_says_the_number_of_rows_once():
    model = ModelDescription("Normal mean", num_rows=5000)
    assert recommendation.heading(model) == "**Normal mean**, n = 5,000."
    carried = ModelDescription("Normal mean, n = 5,000", num_rows=5000)
    assert recommendation.heading(carried) == "**Normal mean, n = 5,000**."


@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        (
            [["a", epsilon, 1, 0.04 / epsilon, True, True] for epsilon in (1, 2)],
            "At ε = 1 and 2, use a. Its MMD is 2.0 times that of exact samples at ε = 1 and 1.0 "
            "times at ε = 2.",
        ),
        (
            [
                ["a", 1, 1, 0.04, True, True],
                ["a", 2, 1, 0.03, True, True],
                ["b", 2, 1, 0.02, True, True],
            ],
            "At ε = 1 and 2, use a (ε = 1 and 2) or b (ε = 2). The lowest MMD is 2.0 times that of "
            "exact samples at ε = 1 and 1.0 times at ε = 2.",
        ),
        (
            [
                ["a", 1, 1, 0.5, True, False],
                ["a", 2, 1, 0.4, True, False],
                ["b", 3, 1, 0.3, True, False],
                ["c", 3, 2, 0.4, True, False],
            ],
            "At each of the 3 ε from 1 to 3, **no algorithm is usable**. The closest are a (ε = 1 "
            "and 2) and b (ε = 3). The lowest MMD is 25 times that of exact samples at ε = 1 and "
            "15 times at ε = 3.",
        ),
        (  # of a usable one and a closer one, the usable one; what ties but never moved is no help
            [
                ["a", 1, 1, 0.5, True, False],
                ["b", 1, 1, 0.6, False, False],
                ["a", 2, 1, 0.1, True, False],
                ["b", 2, 2, 0.2, True, True],
            ],
            "At ε = 1, **no algorithm is usable**. The closest is a. Its MMD is 25 times that of "
            "exact samples. At ε = 2, use b. Its MMD is 10 times that of exact samples.",
        ),
    ],
)
def test_what_to_use_is_said_for_one_and_for_many(answers, rows, sentences):
    (item,), _ = answers(ranked(*rows))
    assert item.startswith("- **The m**, n = 5,000. At ") and sentences in item


def test_where_nothing_is_closer_than_never_moving_no_numbers_are_shown(answers):
    ranking = ranked(["a", 1, 1, 0.5, False, False], ["a", 2, 1, 0.4, True, False])
    (item,), rows = answers(ranking)
    assert "At ε = 1, **no algorithm is usable**, and none is closer than never moving. At" in item
    assert rows == [
        f"| The m | 1 {'| – ' * 11}|",
        "| The m | 2 | a | 0.400 [0.010, 0.900] | 1,234 | 0.50 | 20.0 | 25% | 0.40 | 0.80 | 1.05 | "
        "9.5 | no |",
    ]


@pytest.mark.parametrize(
    ("count", "total", "sentence"),
    [
        (0, 45, "None of the 45 combinations of posterior and ε has a usable algorithm."),
        (1, 45, "One of the 45 combinations of posterior and ε has a usable algorithm."),
        (2, 45, "2 of the 45 combinations of posterior and ε have a usable algorithm."),
        (2, 2, "Both combinations of posterior and ε have a usable algorithm."),
        (45, 45, "All 45 combinations of posterior and ε have a usable algorithm."),
        (1, 1, "The only combination of posterior and ε has a usable algorithm."),
        (0, 1, "The only combination of posterior and ε has no usable algorithm."),
        (0, 0, "No algorithm has a rank, so there is nothing to compare."),
    ],
)
def test_how_many_have_a_usable_algorithm_is_a_sentence(count, total, sentence):
    assert recommendation.how_many_usable(count, total) == sentence


def test_readers_are_told_what_to_use_before_all_else(results):
    ranking = ranked(["a", 1, 1, 0.5, True, False], ["b", 1, 1, 0.6, True, False])
    ranking.to_csv(results / "tables/ranking.csv", index=False)
    timings = ranking[["model", "algorithm", "epsilon"]].assign(cpu_seconds=0.5, sample=0)
    timings.to_csv(results / "tables/timings.csv", index=False)
    page = pages.front_page(results)
    assert "*A < b's.*\n\n**This study has only one sample per cell" in page
    assert "has no usable algorithm.** An algorithm is *usable* if" in page
    assert "at most 1.1" in page and "at most 3 times" in page
    assert (
        "- **The m**, n = 5,000. At ε = 1, **no algorithm is usable**. The closest are A and B."
        in page
    )
    assert "| The m | 1 | A and B |" in page
    assert "- **A** (accounting: RDP): It's" in page and "**C**" not in page
    assert page.index("no algorithm is usable") < page.index("<details>") < page.index("## Pages")
    ranking.assign(rank=math.nan, mmd=math.nan).to_csv(results / "tables/ranking.csv", index=False)
    nothing = pages.front_page(results)  # no budget allows an iteration
    assert "No algorithm has a rank" in nothing and "| posterior |" not in nothing


def test_a_notebook_can_give_the_answer_of_its_study(results, executed):
    notebook = nbformat.read(executed, as_version=4)
    notebook.cells[2].metadata["tags"] = ["answer"]
    nbformat.write(notebook, executed)
    with pytest.raises(notebooks.NotebookError, match="the tag `answer` must show Markdown first"):
        notebooks.markdown(executed)
    answer = nbformat.v4.new_output("display_data", {"text/markdown": "**Take\n\nb.**"})
    notebook.cells[2].outputs.insert(0, answer)
    nbformat.write(notebook, executed)
    (results / "pages").mkdir()
    (results / "pages/second.md").write_text(notebooks.markdown(executed))
    page = pages.front_page(results)
    assert "*A < b's.*\n\n**Take\n\nb.**\n\n## What" in page  # nothing is ranked here
    ranking = ranked(["a", 1, 1, 0.5, True, False])
    ranking.to_csv(results / "tables/ranking.csv", index=False)
    timings = ranking[["model", "algorithm", "epsilon"]].assign(cpu_seconds=0.5, sample=0)
    timings.to_csv(results / "tables/timings.csv", index=False)
    page = pages.front_page(results)
    assert "*A < b's.*\n\n**Take\n\nb.**\n\nAn algorithm is *usable* if" in page
    assert "in words</summary>" in page and page.count("An algorithm is *usable* if") == 1


def test_coverage_is_that_over_many_data_sets_where_a_cell_has_it():
    ranking = ranked(["a", 1, 1, 0.5, True, False], ["b", 1, 1, 0.6, True, False])
    timings = ranking[["model", "algorithm", "epsilon"]].assign(cpu_seconds=0.5)
    intervals = timings[:1].assign(coverage_90=0.89)
    tables = {"ranking": ranking, "timings": timings, "intervals": intervals}
    covered = tables | {"ranking": ranking.assign(coverage=0.7)}
    assert list(recommendation.joined(covered.get, covered)["coverage"]) == [0.89, 0.7]
    found = recommendation.joined(tables.get, tables)
    assert found["coverage"].iloc[0] == 0.89 and np.isnan(found["coverage"].iloc[1])
    assert "coverage" not in recommendation.joined(tables.get, ["ranking", "timings"])


def test_provenance_names_what_digits_hang_on(config):
    record = provenance.record(config)
    assert record["study"] == config["study"] and re.fullmatch(r"[0-9a-f]{7,}\+?", record["commit"])
    assert {"numpy", "snakemake"} <= set(record["packages"])
    assert {"python", "kernels", "scipy"} <= set(record["digits"])
