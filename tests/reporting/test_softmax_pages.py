"""What pages on softmax regression compare."""

import json

import numpy as np
import pytest

from dpmcmc.evaluation.analysis import Estimate
from dpmcmc.models.softmax import Softmax
from dpmcmc.reporting.figures.sghmc import density_panels, sweep_panels
from dpmcmc.reporting.softmax import contrasts, distance, judged, sd_difference
from dpmcmc.reporting.study import Study

PRIOR = {"means": [0, 0], "sds": [1, 1], "prior_variance": 10, "classes": [1, 9, 0]}


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_contrasts_are_what_the_likelihood_sees(rng):
    free, fixed = Softmax(50, **PRIOR), Softmax(50, **PRIOR, has_baseline=True)
    draws, rows = rng.standard_normal((4, 9)), free.simulate(rng, np.zeros(9))
    seen = contrasts(free, draws)
    assert seen.shape == (4, 6) and contrasts(fixed, seen) is seen
    for theta, contrast in zip(draws, seen, strict=True):
        of_both = [m.probabilities(t, rows) for m, t in ((free, theta), (fixed, contrast))]
        assert of_both[0] == pytest.approx(of_both[1], rel=1e-12)


def test_a_sample_is_no_distance_from_itself_and_twice_as_wide_when_doubled(rng):
    sample = rng.standard_normal((500, 3))
    off, ratio = distance(rng, sample, sample)
    assert off < 0.1 and ratio == pytest.approx(1)
    off, ratio = distance(rng, 2 * sample, sample)
    assert off > 0.2 and ratio == pytest.approx(2)
    assert sd_difference(2 * sample, sample) == pytest.approx(sample.std(axis=0, ddof=1).mean())
    assert sd_difference(sample, 2 * sample) == sd_difference(2 * sample, sample)


@pytest.mark.parametrize(
    ("ranges", "verdict"),
    [
        ([(1, 2), (0.5, 3)], "confirmed"),
        ([(1, 2), (-1, 3)], "undecided"),
        ([(1, 2), (-3, -1)], "refuted"),
        ([], "undecided"),
    ],
)
def test_a_claim_needs_all_of_its_comparisons(ranges, verdict):
    gaps = [Estimate((low + high) / 2, low, high) for low, high in ranges]
    assert judged(gaps, lambda gap: gap.low > 0, lambda gap: gap.high < 0) == verdict


def test_a_page_finds_the_rows_that_the_study_held_out(tmp_path, rng):
    table = np.column_stack([rng.choice([0, 1, 9], 40), rng.standard_normal((40, 2))])
    file, columns = tmp_path / "houses.npy", ["floor", "log_radon", "log_uranium"]
    np.save(file, table)
    entry = {"class": "dpmcmc.models.softmax:Softmax", "num_rows": 30, **PRIOR}
    told = {"file": str(file), "columns": columns, "digest": "", "held_out": 0.25}
    (tmp_path / "study.json").write_text(
        json.dumps({"seed": 3, "models": {"m": {"data": told, "entry": entry}}})
    )
    held_out = Study.load(tmp_path).held_out("m")
    assert held_out.shape == (10, 3)
    rows = Softmax(30, **PRIOR).prepare(table).tolist()
    assert all(row in rows for row in held_out.tolist())


def test_figures_stand_chains_that_do_not_move_and_tables_in_any_order(rng):
    import pandas as pd

    still = {"exact": rng.standard_normal((50, 2)), "still": np.ones((50, 2))}
    figure = density_panels(still, ["one", "other"])
    assert [len(axis.lines) for axis in figure.axes] == [2, 0]
    table = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], index=[1, 0.1], columns=[2, 0.5])
    (axis,) = sweep_panels({"numbers": (table, ".1f")}).axes
    assert [text.get_text() for text in axis.texts] == ["4.0", "3.0", "2.0", "1.0"]
