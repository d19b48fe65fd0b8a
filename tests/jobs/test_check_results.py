"""Differences between a committed table and one of the present code, in words."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpmcmc_studies.jobs.check_results import (
    frame_differences,
    known_old,
    needless,
    old_results,
    renew_fingerprints,
    within,
)
from dpmcmc_studies.jobs.parts import read_parts, write_parts
from dpmcmc_studies.study.old import Old
from dpmcmc_studies.study.runs import Cell


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ([1.0, np.nan], [1.0, np.nan], []),
        ([1.0, 2.0], [1.0, 2.5], ["t.csv: x differs in 1 of 2 rows, by at most 0.5: 1"]),
        ([np.nan, 2.0], [1.0, 2.5], ["t.csv: x differs in 2 of 2 rows: 0; 1"]),
        ([True, False], [True, True], ["t.csv: x differs in 1 of 2 rows, by at most 1: 1"]),
        (["a", "b"], ["a", "c"], ["t.csv: x differs in 1 of 2 rows: 1"]),
        ([1.0, 2.0], [1.0], ["t.csv: 2 rows, now 1; columns in only one of them: none"]),
    ],
)
def test_columns_that_differ_are_named_with_their_first_rows(was, now, said):
    tables = (pd.DataFrame({"x": values, "y": 1.0}) for values in (was, now))
    assert frame_differences("t.csv", *tables) == said


def test_what_is_run_fits_into_a_time_and_one_chain_may_be_long():
    assert within([5, 1, 4, 30, 2, 1], count=9, total=9, most=3) == [0, 1, 4, 5]
    assert within([5, 1, 4, 30, 2, 1], count=2, total=9, most=3) == [0, 1]


def test_known_old_parts_are_named_with_their_cost_and_needless_entries_fail(tmp_path):
    lines = [f"m,{name},epsilon-1,{30 * (1 + i)}" for i, name in enumerate("aab")]
    (tmp_path / "tables").mkdir()
    text = "\n".join(["model,algorithm,run,cpu_seconds", *lines, ""])
    (tmp_path / "tables/timings.csv").write_text(text)
    study = SimpleNamespace(
        old=[Old(names=["m/a", "m/c"], reason="its steps were longer.")],
        cells=[Cell("m", name, "epsilon-1") for name in "ab"],
        seeds_of=lambda cell: range(4),
    )
    parts = [f"chains/m/{name}/epsilon-1" for name in "ab"]
    reuse = SimpleNamespace(study=study, directory=tmp_path, old=lambda: parts)
    assert known_old(reuse) == parts[:1]
    [line] = old_results(reuse)
    assert line.startswith("1 old parts, not compared, as its steps were longer: m/a, m/c")
    assert line.endswith("took 3.0 CPU minutes")
    assert needless(reuse) == ["docs/old.yaml: m/c is not old any more: take it out"]


def test_renewing_fingerprints_keeps_those_of_parts_that_a_study_has_no_more(tmp_path):
    was = {f"baselines/{name}": "1-1" for name in "abc"}
    write_parts(was, tmp_path / "parts.csv")

    class Fingerprints(dict):
        names = ("baselines/a", "baselines/b")

    reuse = SimpleNamespace(
        study=SimpleNamespace(old=[Old(names=["b"], reason="")], model_ids=[], notebooks={}),
        directory=tmp_path,
        committed=was,
        fingerprints=Fingerprints(dict.fromkeys(Fingerprints.names, "2-2")),
        old=lambda: ["baselines/b"],
    )
    reuse.study.models = {}
    renew_fingerprints(reuse)
    assert read_parts(tmp_path) == was | {"baselines/a": "2-2"}
