"""Committed pages that are older than what they show: which these are, and that they say so."""

import json

import pytest
from conftest import ROOT

from dpmcmc.jobs import stale
from dpmcmc.jobs.committed import study_of

NOTEBOOK = {"cells": [{"cell_type": "markdown", "source": ["# A page\n", "\n", "Why?"]}]}


@pytest.fixture
def pages(tmp_path):
    front, page, short = (tmp_path / name for name in ("README.md", "a.ipynb", "b.ipynb"))
    front.write_text("# A study\n\nIts answer.\n")
    page.write_text(json.dumps(NOTEBOOK))
    short.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": ["# A page"]}]}))
    return front, page, short


def test_a_page_says_that_it_is_old_below_its_title_and_no_more(pages):
    for path in pages:
        title, *rest = stale.front_of(path)[0].split("\n")
        for text in (stale.OLD_PAGE, stale.OLD_NUMBERS):
            stale.say_in(path, text)
            assert stale.said_by(path) == text
            lines = stale.front_of(path)[0].split("\n")
            assert lines[:3] == [title, "", text] and lines[3:] == rest
        stale.say_in(path, "")
        assert stale.said_by(path) == ""
        assert stale.front_of(path)[0].split("\n") == [title, *rest]


@pytest.fixture
def study():
    return study_of("noisy-statistics")


def test_a_page_is_old_once_a_table_or_its_own_notebook_changes(study, tmp_path):
    table = tmp_path / "tables/ranking.csv"
    table.parent.mkdir()
    table.write_text("model\n")
    record = {"pages": stale.page_recipe(study, table.parent)}

    def old():
        due = stale.due(study, tmp_path, record, has_old_numbers=False)
        assert set(due.values()) <= {"", stale.OLD_PAGE}
        return {path.stem for path, text in due.items() if text}

    assert old() == set()
    table.write_text("model\nm\n")
    assert old() == {"README", "summary", "intervals"}
    table.write_text("model\n")
    changed = tmp_path / "intervals.ipynb"
    changed.write_bytes(study.notebooks["intervals"].path.read_bytes() + b"\n")
    study.notebooks["intervals"] = study.notebooks["intervals"]._replace(path=changed)
    assert old() == {"intervals"}


def test_a_page_is_of_its_notebook_and_the_code_of_figures_not_of_chains(study):
    page = study.notebooks["intervals"].path
    names = {path.relative_to(ROOT).as_posix() for path in stale.source_of(str(page))}
    assert {"notebooks/intervals.ipynb", "notebooks/interval_panels.py"} <= names
    assert "src/dpmcmc/reporting/figures/style.py" in names
    assert not any("samplers" in name for name in names)


def test_old_numbers_are_said_first(study, tmp_path):
    due = stale.due(study, tmp_path, {}, has_old_numbers=True)
    assert set(due.values()) == {stale.OLD_NUMBERS} and len(due) == 3
