"""The page on the central limit: which proposals it names, on a made-up table."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import kept_places
import normal_sums
from dpmcmc_studies.study.description import AlgorithmDescription
from normal_sums import NormalSums

COLUMNS = ["model", "algorithm", "proposal", "batch_size", "is_own", "clip_fraction"]
COLUMNS += ["distance", "error", "berry_esseen"]
TABLE = pd.DataFrame(
    [
        ("m", "barker", 0, 1000, True, 0.0, 0.010, 1e-3, 0.04),
        ("m", "barker", 1, 1000, True, 0.0005, 0.020, -8e-3, 0.04),
        ("m", "barker", 1, 10, False, 0.9, 0.500, 0.9, 0.60),
        ("n", "penalty", 0, 1000, True, 0.4, np.nan, 2e-3, 0.08),
        ("n", "penalty", 1, 1000, True, 0.2, 0.015, 1e-4, 0.09),
    ],
    columns=COLUMNS,
).assign(standard_error=1e-3, skewness=0.1, self_normalised=1.0, printed=2.0, probability=0.5)


@pytest.fixture
def page():
    study = SimpleNamespace(algorithm_label=str.upper, model_label=str.title)
    found = NormalSums(study, ["m", "n"], ["barker", "penalty"], 2, 100, [10])
    vars(found).update(table=TABLE)
    return found


def test_only_published_batch_sizes_are_judged(page):
    assert len(page.own) == 4
    assert page.own["reach"].tolist() == pytest.approx([0.003, 0.010, 0.004, 0.0021])
    assert page.named(page.farthest) == page.named(page.most) == "BARKER on M"
    assert page.bound_over_distance == pytest.approx(4)  # of 4, 2 and 6; one has no distance


def test_errors_beyond_chance_are_counted_and_the_largest_is_named(page):
    text = page.about_errors()
    assert "for 1 of the proposals" in text and "-0.00800 ± 0.00200 (BARKER on M)" in text
    vars(page).update(table=TABLE.assign(error=0.0))
    vars(page).pop("own")
    assert page.about_errors() == "No error is 3.5 standard errors from 0"


def test_what_hardly_clips_is_named(page):
    assert page.about_unclipped().startswith("The proposals of BARKER on M clip fewer")
    vars(page).update(own=page.own.assign(clip_fraction=0.1))
    assert page.about_unclipped() == ""


def test_the_table_has_ranges_and_the_worst_error(page):
    first, second = page.rows()
    assert first["clipped"] == "0.0 to 0.1 %" and first["Berry, Esseen"] == "0.040"
    assert first["off by"] == "-0.00800 ± 0.00200"
    assert second["off by"] == "+0.00200 ± 0.00200" and second["b"] == 1000


def test_the_worst_proposal_of_each_algorithm_is_drawn(page, monkeypatch):
    proposals = [SimpleNamespace(name=i, target=SimpleNamespace(num_rows=9)) for i in range(4)]
    keys = ("barker", "m"), ("penalty", "n")
    vars(page).update(proposals={keys[0]: proposals[:2], keys[1]: proposals[2:]})
    monkeypatch.setattr(
        normal_sums.clt, "clipped", lambda study, one, b: (None, None, (one.name, b))
    )
    assert page.worst([10, 1000]) == [
        ("M", 9, [(1, 10), (1, 1000)]),
        ("N", 9, [(3, 10), (3, 1000)]),
    ]


def test_places_are_spread_evenly_over_the_first_chain(monkeypatch):
    monkeypatch.setattr(kept_places, "run_of", lambda study, row: "run")
    monkeypatch.setattr(kept_places, "sample_draws", lambda *of: np.arange(20.0).reshape(1, 10, 2))
    study = SimpleNamespace(algorithms={"a": AlgorithmDescription(settings={"m": {}})})
    cells = {("a", "m"): pd.DataFrame({"model": ["m"], "algorithm": ["a"]})}
    kept = kept_places.all_places(study, cells, 3)
    assert kept["a/m"][:, 0].tolist() == [0, 8, 18]
