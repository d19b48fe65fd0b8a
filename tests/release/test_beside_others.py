"""What a model says of rows beside others is compared with what it says in a release."""

import numpy as np
import pytest
from hostile_rows import (
    DrawsAboutKept,
    KeepsAMean,
    KeepsTheLargest,
    Missing,
    Normal,
    PowerOfKept,
    PriorAboutKept,
    RatioAboutKept,
    ScoresOfAll,
    kept,
)

from dpmcmc.models.regression import LogisticRegression
from dpmcmc.release.beside_others import is_same, said

ODD = 77_777.25  # which no check tries


class Takes(Missing):
    """The same, of a code that the data alone have."""

    def seen(self, rows):
        return super().seen(np.where(rows == ODD, -999, rows))


class Far(Normal):
    """Scales rows by the largest, where it is far."""

    def seen(self, rows):
        return rows / max(1.0, np.nanmax(rows) / 1e5)


class Late(Normal):
    """From some block on, rows are taken about one that it has kept."""

    calls = 40

    def seen(self, rows):
        kept["calls"] = kept.get("calls", 0) + 1
        if kept["calls"] == 1:
            kept["first"] = rows.mean(axis=0)
        return rows - kept["first"] * (kept["calls"] > self.calls)


class Whole(Normal):
    """Reaches for the data behind a block."""

    def seen(self, rows):
        whole = rows if rows.base is None else rows.base
        return rows - whole.mean(axis=0) if len(whole) > 256 else rows


def data(rows=3001):
    found = np.random.default_rng(4).standard_normal((rows, 2))
    found[::50, 0] = ODD
    found[rows // 3] = 4e6
    return found


def compared(model, rows, start="prior", before=0):
    """Whether a model passes that has computed `before` with the rows some times in its chain."""
    kept.clear()
    expected = said(model, rows, start, are_others=True)
    kept.clear()
    model.prepare(rows)  # as some keep what they have seen
    for _ in range(before):
        said(model, rows, start)
    found = said(model, rows, start)
    kept.clear()
    return is_same(found, expected)


@pytest.mark.parametrize("rows", [2, 3, 100, 256, 257, 3001])
@pytest.mark.parametrize("start", ["prior", [0.1, 0.3]])
def test_a_model_that_looks_at_each_row_by_itself_passes(rows, start):
    assert compared(Normal(rows), data(rows), start)


def test_rows_that_are_no_numbers_are_compared_too():
    rows = data()
    rows[7], rows[8, 1] = np.nan, np.inf
    assert compared(Normal(len(rows)), rows)


@pytest.mark.parametrize("rows", [100, 101, 3001])
@pytest.mark.parametrize("cls", [Takes, Far, ScoresOfAll, KeepsAMean, KeepsTheLargest])
def test_one_that_looks_at_others_does_not(cls, rows):
    assert not compared(cls(rows), data(rows))


@pytest.mark.parametrize("cls", [DrawsAboutKept, PowerOfKept, PriorAboutKept, RatioAboutKept])
def test_nor_does_one_whose_prior_knows_of_rows(cls):
    assert not compared(cls(3001), data())


def test_nor_one_that_looks_at_others_late():
    assert not compared(Late(3001), data(), before=3)


def test_a_block_is_a_copy_so_that_the_others_cannot_be_reached():
    assert compared(Whole(3001), data())


def test_models_of_the_package_are_not_asked():
    assert said(LogisticRegression(2, 50, 1.0, 2.0), data(), "prior").size == 0
