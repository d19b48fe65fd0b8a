"""Committed results are never gone, whenever `publish` is killed."""

import os

import pytest

from dpmcmc_studies.jobs import publishing


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
