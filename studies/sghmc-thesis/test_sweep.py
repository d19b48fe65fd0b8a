"""The page on steps and friction: cells, and verdicts on made-up accuracies and widths."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import kept_sweep
from sweep import KEYS, PUBLISHED, RIGHT, Sweep

STEPS, FRICTIONS = (0.5, 1.0, 3.0), (0.1, 0.5, 2.0)
SCATTER = 1e-4 * np.linspace(-1, 1, 15)


def made_up(accuracy, off):
    """A sweep whose chains have an accuracy and an error of widths: functions of the cell."""
    cells = [(friction, step) for friction in FRICTIONS for step in STEPS]
    chains = pd.DataFrame(
        [
            {
                "friction": C,
                "step_size": step,
                "sample": seed,
                "accuracy": accuracy(C, step) + shift,
            }
            | {"iterations": 750, "mmd": 0.2, "gradient_clip_fraction": 0.5}
            for C, step in cells
            for seed, shift in enumerate(SCATTER)
        ]
    ).assign(model="m", algorithm="a")
    kept = chains[[*KEYS, "sample"]].copy()
    kept[PUBLISHED] = [off(C, step) for C, step in cells for _ in SCATTER] + np.tile(SCATTER, 9)
    kept[RIGHT] = 1.0
    spent = pd.DataFrame(cells, columns=KEYS).assign(model="m", algorithm="a")
    spent["spent_epsilon"] = spent["step_size"] / spent["friction"]
    other = pd.DataFrame({"model": ["m"], "algorithm": "a", "accuracy": 1.0, "sample": 0})
    study = SimpleNamespace(
        table={"chains": pd.concat([other, chains]), "budgets": spent}.get,
        reference=lambda model: None,
        kept=lambda name, compute: kept,
        sampler=lambda *of, **settings: SimpleNamespace(gradient_clip_bound=0.7),
    )
    return Sweep(study, "m", "p", "a", highest=0.66)


def as_said(C, step):
    """Accuracy that stays the same up to the highest friction, and then drops at large steps."""
    return 0.70 if C < 1 or step == 0.5 else 0.65


@pytest.fixture
def sweep():
    return made_up(as_said, lambda C, step: (3.0 if C > 1 else 1.0) * (2.0 - step / 3))


def test_only_chains_of_the_sweep_are_in_its_cells(sweep):
    assert len(sweep.cells) == 9 and all(len(cell) == 15 for cell in sweep.cells.values())
    assert (sweep.frictions, sweep.steps) == ([*FRICTIONS], [*STEPS])
    assert sweep.iterations == 750 and (sweep.below, sweep.above) == ([0.1, 0.5], [2.0])


def test_all_that_lose_less_than_the_margin_are_as_good_as_the_best():
    sweep = made_up(
        lambda C, step: 0.70 - 0.012 * (step == 1.0) - 0.005 * (C == 0.5), lambda *of: 1
    )
    assert sweep.best == (0.1, 0.5)
    assert [*sweep.as_good()] == [(C, step) for C in FRICTIONS for step in (0.5, 3.0)]


def test_the_table_has_each_cell(sweep):
    rows = {(row["C"], row["β"]): row for row in sweep.table()}
    row = rows[2.0, 3.0]
    assert row["accuracy"].startswith("0.6500 [") and row[PUBLISHED].startswith("3.00 [")
    assert row["ε"] == 1.5 and row["first σ / L"] == pytest.approx((4 / 3) ** 0.5 / 0.7)
    panel, _ = sweep.panels()["Accuracy"]
    assert panel.loc[2.0, 3.0] == pytest.approx(0.65) and panel.shape == (3, 3)


def test_claims_are_confirmed_by_what_they_say_and_refuted_by_the_contrary(sweep):
    rows = sweep.claims()
    assert {row["verdict"] for row in rows} == {"confirmed"} and len(rows) == 6
    assert rows[1]["measured"].startswith("-0.050 [")
    contrary = made_up(lambda C, step: 1 - as_said(C, step) - 0.1 * C, lambda C, step: step / C)
    assert [row["verdict"] for row in contrary.claims()] == [
        "not confirmed",  # accuracy falls with friction
        "confirmed",  # and does so at the largest step
        "not confirmed",  # widths are closer with more friction
        "not confirmed",
        "not confirmed",
        "not confirmed",  # and farther off with larger steps
    ]


def test_twice_as_far_is_more_than_farther(sweep):
    assert sweep.farther(2.0).value == pytest.approx(2.0)
    assert sweep.farther(2.0, times=2).value == pytest.approx(1.0)
    assert sweep.nearer(0.1).value == pytest.approx(1.0 - (2 - 0.5 / 3))


def test_widths_of_each_chain_are_kept(monkeypatch):
    draws = np.random.default_rng(1).standard_normal((2, 1, 50, 3))
    monkeypatch.setattr(kept_sweep, "run_of", lambda study, row: "run")
    monkeypatch.setattr(kept_sweep, "sample_draws", lambda *of: draws[of[-1]])
    cells = {(0.1, 0.5): pd.DataFrame({"sample": [0, 1]})}
    table = kept_sweep.widths(
        None, "m", "a", cells, {"same": draws[0, 0], "twice": 2 * draws[0, 0]}
    )
    assert table.loc[0, "same"] == 0
    assert table.loc[0, "twice"] == pytest.approx(draws[0, 0].std(axis=0, ddof=1).mean())
    assert table["sample"].tolist() == [0, 1] and table.loc[1, "same"] > 0
