"""Verdicts and ranks by data set, on made-up ones."""

import pandas as pd
import pytest

from by_data_set import Verdicts, first_shares
from dpmcmc_studies.analysis.claims import ABSENT

SAID = {
    1: ["confirmed", "confirmed"],
    2: ["confirmed", "undecided"],
    3: ["not confirmed", "confirmed"],
    4: [ABSENT, ABSENT],
}


@pytest.fixture
def verdicts():
    rows = [
        {"claim": number, "data_set": i, "statement": f"Claim {number}", "verdict": one}
        for number, of in SAID.items()
        for i, one in enumerate(of)
    ]
    return Verdicts.of(pd.DataFrame(rows))


def test_verdicts_that_change_and_those_that_oppose_each_other_are_counted(verdicts):
    assert verdicts.changing.to_dict() == {1: False, 2: True, 3: True}
    assert verdicts.num_opposite == 1
    assert verdicts.refuted().endswith("refutes on 1 of them.")
    alike = verdicts._replace(table=verdicts.table[:2])
    assert alike.refuted() == "No data set confirms what another refutes."


def test_the_table_has_a_column_for_each_data_set(verdicts):
    rows = verdicts.rows()
    assert [row["same"] for row in rows] == ["yes", "no", "no"]
    assert rows[2] == {
        "claim": 3,
        "statement": "Claim 3",
        "same": "no",
        "data set 1": "not confirmed",
        "data set 2": "confirmed",
    }


def test_the_share_is_of_the_algorithm_that_is_first_over_all_data_sets():
    rows = [
        ("a", 0, 0.1),
        ("a", 1, 0.3),
        ("a", 2, 0.1),
        ("b", 0, 0.2),
        ("b", 1, 0.2),
        ("b", 2, 0.3),
    ]
    chains = pd.DataFrame(rows, columns=["algorithm", "data_set", "mmd"])
    chains = chains.assign(model="m", epsilon=1.0, sample=chains["data_set"])
    assert first_shares(chains).tolist() == pytest.approx([2 / 3])
