"""The README's answer is that of the committed page, word for word."""

from conftest import ROOT

from dpmcmc_studies.study.notebooks import ANSWER_MARKS


def between_marks(path):
    """Text between the marks of an answer in a file."""
    text = path.read_text(encoding="utf-8")
    return text.partition(ANSWER_MARKS[0])[2].partition(ANSWER_MARKS[1])[0].strip()


def test_the_answer_of_the_readme_is_that_of_the_page():
    page = between_marks(ROOT / "docs/which-method/pages/which-method.md")
    assert between_marks(ROOT / "README.md") == page
    assert "\n- At ε = 1, 10,000 rows of a normal mean (d = 10) are worth about" in page
    assert page.index("*honest* if") < page.index("of these are honest")
    assert "rows that follow the model" in page
