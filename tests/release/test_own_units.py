"""A release of a regression on columns in their own units: names, labels, units, what is stated."""

import json

import numpy as np
import pytest
import yaml

from dpmcmc import LogisticRegression, Target
from dpmcmc.evaluation import independence
from dpmcmc.release.plan import plan
from dpmcmc.release.reading import read_part
from dpmcmc.release.rehearsal import LEFT_OUT, rehearsal
from dpmcmc.release.rehearsal import table as table_of

ROWS, DELTA = 3000, 1e-5
LOANS = {
    "kind": "LogisticRegression",
    "data": "data.csv",
    "outcome": "repaid",
    "labels": [1, 2],
    "covariates": ["age", "income"],
    "intercept": True,
    "dimension": 3,
    "centres": {"age": 50, "income": 40_000},
    "scales": {"age": 20, "income": 20_000},
    "covariate_bound": 4,
    "prior_variance": 1,
}
NEWTON = {"sampler": "NoisyNewton", "accountant": "gaussian"}
COLUMNS = ("repaid", "age", "income")


def table():
    """Rows of the file: outcomes 1 and 2, ages, incomes."""
    rng = np.random.default_rng(3)
    z = rng.standard_normal((ROWS, 2))
    is_repaid = rng.random(ROWS) < 1 / (1 + np.exp(-(0.5 + z @ [1.2, -0.8])))
    return np.column_stack([1 + is_repaid, 50 + 20 * z[:, 0], 40_000 + 20_000 * z[:, 1]])


@pytest.fixture
def loans(place):
    """A folder in which `write` makes a study and data, with another order of columns."""

    def write(rows=None, names=COLUMNS, clip_bound=3, **changes):
        model = {key: value for key, value in (LOANS | changes).items() if value is not None}
        newton = NEWTON | {"settings": {"mine": {"gradient_clip_bound": clip_bound}}}
        study = {"study": "mine", "models": {"mine": model}, "algorithms": {"newton": newton}}
        (place.folder / "study.yaml").write_text(yaml.safe_dump(study))
        rows = table() if rows is None else rows
        lines = [",".join(map(repr, row)) for row in rows[:, ::-1].tolist()]
        place.write_data([",".join(names[::-1]), *lines])

    place.write_loans = write
    write()
    return place


def released(loans):
    lines = (loans.folder / "out/chain.csv").read_text().splitlines()
    return lines[0], np.array([line.split(",")[2:] for line in lines[1:]], dtype=float)


def test_draws_are_named_by_columns_and_in_their_units(loans):
    loans.ledger(60, ROWS)
    assert loans.release("newton", 50) == 0
    names, draws = released(loans)
    assert names == "chain,draw,intercept,age,income"
    settings = {key: value for key, value in LOANS.items() if key not in ("kind", "data")}
    model = LogisticRegression(num_rows=ROWS, **settings)
    target = Target(model, model.prepare(table()))
    exact = independence.sample(np.random.default_rng(1), target, 2000) / [1, 20, 20_000]
    exact[:, 0] -= exact[:, 1:] @ [50, 40_000]
    errors = (draws.mean(axis=0) - exact.mean(axis=0)) / exact.std(axis=0)
    assert abs(errors).max() < 1  # little noise at such an epsilon
    np.testing.assert_allclose(draws.std(axis=0) / exact.std(axis=0), 1, atol=0.2)


def test_the_statement_publishes_centres_scales_and_labels(loans):
    loans.ledger(10, ROWS)
    assert loans.release("newton", 1) == 0
    facts = json.loads((loans.folder / "out/statement.json").read_text())
    for key in ("outcome", "labels", "covariates", "intercept", "centres", "scales"):
        assert facts["model"][key] == LOANS[key]
    page = " ".join((loans.folder / "out/statement.txt").read_text().split())
    assert "The intercept is that of a row with all covariates 0." in page
    assert "age: centre 50, scale 20" in page and "income: centre 40000, scale 20000" in page
    assert "Outcome repaid: 1 or 2." in page


def test_softmax_regressions_are_released_too(loans):
    loans.write_loans(kind="SoftmaxRegression", dimension=None, clip_bound=5)
    loans.ledger(10, ROWS)
    assert loans.release("newton", 1) == 0
    names, draws = released(loans)
    assert names == "chain,draw,intercept[2],age[2],income[2]" and np.isfinite(draws).all()


def rehearsed(loans, centres, twins):
    loans.write_loans(centres=centres)
    part = read_part("study.yaml", "mine", "newton", ROWS)
    return rehearsal([plan(part, 1, DELTA)], twins)


@pytest.mark.torture
def test_rare_covariates_are_left_out_of_a_rehearsal_where_they_have_no_normal_posterior(loans):
    rows = rehearsed(loans, [50, 40_000], 5)
    own, rare, levelled = (row["exact"] for row in rows)
    assert own.total() == rare.total() == levelled.total() == 5
    assert not own[LEFT_OUT] and 0 < rare[LEFT_OUT] < 4
    assert f"nearly normal: {rare[LEFT_OUT]}." in table_of(rows)


def test_a_rehearsal_scores_what_a_release_gives(loans):
    # Far from 0 in its own units, the intercept is a combination of the coefficients.
    at_0, few = rehearsed(loans, 0, 2), rehearsed(loans, [50, 40_000], 2)
    assert [row["worth"] for row in at_0] != [row["worth"] for row in few]
    # With two twins, fewer than two rare ones may be left: they are counted, and have no row.
    for two in (at_0, few):
        own, _ = two
        assert own["exact"][LEFT_OUT] and "Means over 2 twins" in table_of(two)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": ["repaid", "income", "age"]}, "models.mine.columns: must be left out, beca"),
        ({"scales": 0}, "models.mine: LogisticRegression.scales: Expected float > 0.0, not 0"),
        ({"centres": {"age": 50}}, "models.mine: centres: must name age, income, not age"),
        ({"dimension": 2}, "models.mine: dimension: must be 3, for the intercept and each cov"),
    ],
)
def test_mistakes_in_settings_spend_nothing(loans, capsys, changes, message):
    loans.ledger(10, ROWS)
    loans.write_loans(**changes)
    capsys.readouterr()
    assert loans.release("newton", 1) == 1
    printed = capsys.readouterr().err
    assert message in printed and printed.count("\n") == 1
