"""The page on the costs of SGHMC: quotients, slopes and verdicts on made-up epsilons."""

import numpy as np
import pytest

import add_remove_pld
import costs
import privacy
from costs import MOMENTS, PLD, RENYI, Costs, linear_verdict, share_verdict

PRINTED = {"pld": [1.0, 2.2], "ma": [3.0, 5.0]}


@pytest.fixture
def made_up(monkeypatch):
    """Epsilons of which the moments' are 3 at the smaller delta and 4 times PLD at the larger."""

    def epsilons(run, iterations, delta):
        pld = iterations / 100
        return {PLD: pld, MOMENTS: (3 if delta < 1e-4 else 4) * pld, RENYI: 1.5 * pld}

    monkeypatch.setattr(costs, "epsilons", epsilons)
    return Costs("run", 10, 100, 1e-5, [1e-5, 1e-3], [100, 200])


def test_the_gap_is_shared_between_the_bound_and_the_moments(made_up):
    assert made_up.at(1e-5) == {PLD: 1.0, MOMENTS: 3.0, RENYI: 1.5}
    assert made_up.older == pytest.approx(0.75)
    assert made_up.quotients(PLD, MOMENTS) == [3, 4, 3, 3]
    same = {"pld": [1.0, 1.0]}
    assert made_up.largest_difference(same, {"pld": [1.0, 2.5]}) == pytest.approx(0.2)


def test_slopes_are_in_epsilon_a_thousand_steps(made_up):
    assert made_up.slopes() == pytest.approx([2.0])  # 2 more by 1,000 steps more
    assert made_up.slopes(PRINTED) == pytest.approx([0.8])


def test_claims_follow_the_epsilons(made_up):
    rows = made_up.claims(PRINTED)
    verdicts = ["confirmed", "not confirmed", "confirmed", "confirmed"]
    assert [row["verdict"] for row in rows] == verdicts
    assert rows[1]["measured"] == "1.50 to 1.50 times"
    assert rows[2]["measured"] == "3.00 times at 1e-05, 4.00 at 0.001"
    assert rows[3]["measured"].endswith("as printed, 0.800 and 0.800")


def test_tables_and_panels_hold_ours_beside_what_is_printed(made_up):
    first, last = made_up.length_table(PRINTED)
    assert first["steps"] == "1,000" and last["MA, ours"] == 6.0 and last["MA, thesis"] == 5.0
    assert [row["δ"] for row in made_up.delta_table(PRINTED)] == ["1e-05", "0.001"]
    x, ours, printed = made_up.panels(PRINTED, PRINTED)["Steps, δ = 1e-05"]
    assert x == [1000, 2000] and ours[PLD] == [1, 2] and printed[PLD] == PRINTED["pld"]


@pytest.mark.parametrize(
    ("holds", "verdict"),
    [([True, True], "confirmed"), ([True, False], "undecided"), ([False], "not confirmed")],
)
def test_a_claim_about_cells_needs_all_of_them(holds, verdict):
    assert share_verdict(np.array(holds)) == verdict


def test_growth_is_linear_within_a_fifth():
    assert linear_verdict([1.0, 0.9]) == "confirmed"
    assert linear_verdict([1.0, 0.7]) == "not confirmed"


def test_a_run_is_priced_with_what_it_releases():
    data = {"num_rows": 1000, "batch_size": 10}
    run = {"step_size": 3, "friction": 1, "gradient_clip_bound": 0.7, "printed": 1.0}
    (row,) = costs.other_runs([run], 2, 3, 1e-4, **data)
    settings = {name: value for name, value in run.items() if name != "printed"}
    of = costs.releases_of(num_integration_steps=2, **data, **settings)
    assert row["first σ"] == pytest.approx((2 / 3) ** 0.5 / 0.7)  # sigma^2 = 2 C / (h L^2)
    assert row["ε, ours"] == privacy.epsilon(add_remove_pld, of, 3, 1e-4)
    assert row["ε, ours"] < row["replaced, fixed size"]


def test_a_bound_is_written_without_its_factor_of_one():
    row = {"relation": "a", "sampling": "b", "accountant": "c", "epsilon": 1.0}
    rows = costs.relation_table([row | {"moved": 1}, row | {"moved": 2}])
    assert [of["one row moves the sum by"] for of in rows] == ["L", "2 L"]
