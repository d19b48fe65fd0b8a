"""The figure and the table of docs/release.md are those of the draws that are kept for them."""

import re
import runpy

import numpy as np
from conftest import ROOT

FOLDER = ROOT / "docs/release"
NUMBER = re.compile(r"-?\d+\.\d+")


def test_the_figure_and_the_table_of_the_page_are_those_of_their_script(tmp_path):
    script = runpy.run_path(str(FOLDER / "figure.py"))
    draws = dict(np.load(FOLDER / "radon.npz"))
    assert draws.keys() == {*script["RELEASED"], "exact"}
    script["draw"](draws, tmp_path / "radon.svg")
    drawn, committed = (
        (folder / "radon.svg").read_text(encoding="utf-8") for folder in (tmp_path, FOLDER)
    )
    assert NUMBER.sub("", drawn) == NUMBER.sub("", committed)
    numbers = [np.array(NUMBER.findall(text), float) for text in (drawn, committed)]
    np.testing.assert_allclose(*numbers, atol=0.01)  # of a point
    page = (ROOT / "docs/release.md").read_text(encoding="utf-8")
    assert all(row in page for row in script["table"](draws))
