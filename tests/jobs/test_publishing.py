"""Committed results are never gone, whenever `publish` is killed."""

import os
from types import SimpleNamespace

import pytest

from dpmcmc.files import JobError
from dpmcmc_studies.jobs import publishing
from dpmcmc_studies.jobs.parts import read_parts, write_parts


def folder(path, text):
    path.mkdir()
    (path / "provenance.json").write_text(text, encoding="utf-8")
    return path


def texts(directory):
    return {path.name: (path / "provenance.json").read_text() for path in directory.iterdir()}


@pytest.mark.parametrize("moment", [0, 1])
def test_a_folder_is_whole_at_every_moment(tmp_path, monkeypatch, moment):
    """Killed at either rename, the old results are there; the next run puts the new ones there."""
    place, replace, calls = folder(tmp_path / "study", "old"), os.replace, []

    def killed(*paths):
        if len(calls) == moment:
            raise KeyboardInterrupt
        calls.append(paths)
        replace(*paths)

    monkeypatch.setattr(publishing.os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        publishing.replace_folder(folder(tmp_path / ".study.new", "new"), place)
    assert "old" in texts(tmp_path).values()
    monkeypatch.undo()
    publishing.replace_folder(tmp_path / ".study.new", place)
    assert texts(tmp_path) == {"study": "new"}


def test_folders_of_a_run_that_was_killed_are_no_studies(tmp_path, monkeypatch):
    monkeypatch.setattr(publishing, "DOCS", tmp_path)
    for name in ("b", "a", ".a.new", ".b.old"):
        folder(tmp_path / name, "")
    assert publishing.committed_studies() == ["a", "b"]


def test_a_committed_reference_stays_where_a_run_needed_none(tmp_path, monkeypatch):
    """A run with reuse that takes all rows of a model makes no reference sample of it."""
    docs, results = tmp_path / "docs/s", tmp_path / "results/s"
    for directory in (docs / "reference", results / "reference"):
        directory.mkdir(parents=True)
    for name in ("study.json", "README.md", "provenance.json"):
        (results / name).write_text(name, encoding="utf-8")
    monkeypatch.setattr(publishing, "ROOT", tmp_path)
    monkeypatch.setattr(publishing, "DOCS", docs.parent)
    study = SimpleNamespace(name="s", notebooks={}, all_tables=[])
    monkeypatch.setattr(publishing, "committed_files", lambda study: ["reference/m"])

    def published(fingerprint):
        write_parts({"reference/m": fingerprint}, results / "parts.csv")
        publishing.publish_study(study)
        return {path.name: path.read_text() for path in docs.glob("reference/*")}

    (docs / "reference/m.npy").write_text("committed", encoding="utf-8")
    write_parts({"reference/m": "1-2"}, docs / "parts.csv")
    assert published("1-2") == {"m.npy": "committed"}
    with pytest.raises(JobError, match=r"reference/m\.npy is missing: run the study first"):
        published("1-3")
    assert (docs / "reference/m.npy").read_text() == "committed"
    (results / "reference/m.npy").write_text("new", encoding="utf-8")
    assert published("1-3") == {"m.npy": "new"}
    assert read_parts(docs) == {"reference/m": "1-3"}
