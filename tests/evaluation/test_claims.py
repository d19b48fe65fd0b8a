"""The chapter's claims: known ids, right directions, the rule of 80 %."""

import msgspec
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

from dpmcmc.configuration.yaml_files import ConfigError, merged
from dpmcmc_studies.analysis import claims
from dpmcmc_studies.analysis.intervals import Estimate
from dpmcmc_studies.study import claims as of_study
from dpmcmc_studies.study.study import StudyConfig


def tables(**mmds):
    """Tables with 20 chains for each (model, algorithm, epsilon), about a given median MMD."""
    rng = np.random.default_rng(1)
    chains = [
        {
            "model": model,
            "algorithm": algorithm,
            "epsilon": epsilon,
            "sample": seed,
            "mmd": median + 0.01 * rng.normal(),
            "clip_fraction": median,
        }
        for (model, algorithm, epsilon), median in mmds["chains"].items()
        for seed in range(20)
    ]
    gains = [[*cell, median < 0.6] for cell, median in mmds["chains"].items()]
    gains = pd.DataFrame(gains, columns=["model", "algorithm", "epsilon", "is_nearer"])
    shuffled = pd.DataFrame(chains).sample(frac=1, random_state=2) if chains else None
    return {
        "chains": shuffled,
        "baselines": pd.DataFrame(
            [
                *({"model": "m", "mmd": value} for value in np.linspace(0.01, 0.03, 10)),
                {"model": "t", "mmd": 0.35},
                {"model": "t", "mmd": 0.01},
            ]
        ),
        "accounting": mmds.get("accounting"),
        "gains": {"mmd": gains},
    }


FOUR = tables(
    chains={
        ("m", "a", 1.0): 0.5,
        ("m", "a", 2.0): 0.6,
        ("m", "a", 3.0): 0.2,
        ("m", "b", 1.0): 0.9,
        ("m", "b", 2.0): 0.6,
        ("m", "b", 3.0): 0.1,
        ("t", "a", 1.0): 0.3,
        ("t", "b", 1.0): 0.4,
    }
)


def speaks(cells):
    return [cell.side for cell in cells]


@pytest.mark.parametrize(
    ("rule", "entry", "expected"),
    [
        (claims.lower, ("m", "a", "b"), ["for", "open", "against"]),
        (claims.lower, ("m", "b", "a"), ["against", "open", "for"]),
        (claims.not_lower, ("m", "a", "b"), ["against", "open", "open"]),
        (claims.equal, ("m", "a", "b"), ["against", "open", "against"]),
        (claims.lower, ("m", "a", "absent"), []),
        (claims.lower, ("absent", "a", "b"), []),
        (claims.falls_with_epsilon, ("m", "a"), ["for"]),
        (claims.falls_with_epsilon, ("t", "a"), []),
        (claims.does_not_fall, ("m", "a"), ["against"]),
        (claims.does_not_fall, ("t", "a"), []),
        (claims.closer_when_tempered, ("m", "t", "b", "a"), ["for"]),
        (claims.closer_when_tempered, ("t", "m", "b", "a"), ["against"]),
        (claims.closer_when_tempered, ("m", "t", "b", "absent"), []),
        (claims.gap_grows_with_epsilon, ("m", "b", "a"), ["for"]),
        (claims.gap_grows_with_epsilon, ("m", "a", "b"), ["against"]),
        (claims.gap_grows_with_epsilon, ("t", "a", "b"), []),
        (claims.above_baselines, ("m", "a"), ["for"]),
        (claims.above_baselines, ("t", "a"), ["against"]),
        (claims.clips_less_than, ("m", "a", 0.4), ["against", "against", "for"]),
    ],
)
def test_a_rule_speaks_in_the_direction_of_its_claim(rule, entry, expected):
    assert speaks(rule(FOUR, *entry)) == expected


@pytest.mark.parametrize(
    ("rule", "entry", "expected"),
    [  # nearer than never moving are those below 0.6: not a at 2, nor b at 1 and 2
        (claims.lower, ("m", "a", "b"), [False, False, True]),
        (claims.lower, ("m", "b", "a"), [True, False, True]),
        (claims.not_lower, ("m", "a", "b"), [True, False, True]),
        (claims.falls_with_epsilon, ("m", "a"), [True]),
        (claims.falls_with_epsilon, ("m", "b"), [False]),
        (claims.does_not_fall, ("m", "b"), [True]),
        (claims.closer_when_tempered, ("m", "t", "b", "a"), [False]),
        (claims.closer_when_tempered, ("m", "t", "a", "b"), [True]),
        (claims.equal, ("m", "b", "a"), [True, False, True]),
        (claims.above_baselines, ("m", "a"), [True]),
        (claims.clips_less_than, ("m", "a", 0.4), [True, True, True]),
    ],
)
def test_only_what_could_speak_against_a_claim_counts(rule, entry, expected):
    """What would have to be nearer to the posterior for that is nearer than never moving."""
    assert [comparison.counts for comparison in rule(FOUR, *entry)] == expected


def test_more_iterations_are_counted_without_chance():
    counts = {"loose": [0, 5, 9], "tight": [0, 8, 7]}
    curves = pd.DataFrame(
        {"algorithm": "a", "accountant": name, "epsilon": [1.0, 2.0, 3.0], "iterations": values}
        for name, values in counts.items()
    ).explode(["epsilon", "iterations"], ignore_index=True)
    curves["iterations"] = curves["iterations"].astype(int)
    given = {"accounting": curves}
    cells = list(claims.fewer_iterations(given, "a", "loose", "tight"))
    assert speaks(cells) == ["open", "for", "against"]
    assert [cell.counts for cell in cells] == [False, True, True]
    assert cells[1].difference == (-3, -3, -3)
    assert not list(claims.fewer_iterations(given, "a", "loose", "absent"))


def test_a_difference_of_differences_needs_both():
    """b exceeds a by less on t than on m, though b itself is far higher there."""
    same = tables(
        chains={
            ("m", "a", 1.0): 0.1,
            ("m", "b", 1.0): 0.2,
            ("t", "a", 1.0): 0.5,
            ("t", "b", 1.0): 0.55,
        }
    )
    (cell,) = claims.closer_when_tempered(same, "m", "t", "b", "a")
    assert cell.side == "for" and cell.difference.value == pytest.approx(-0.05, abs=0.02)


def test_differences_pair_chains_by_seed():
    given = tables(chains={("m", "a", 1.0): 0.5, ("m", "b", 1.0): 0.5})
    chains = given["chains"].copy()
    chains["mmd"] = 10.0 * chains["sample"] + np.where(chains["algorithm"] == "b", 0.001, 0)
    (cell,) = claims.lower(given | {"chains": chains}, "m", "a", "b")
    np.testing.assert_allclose(cell.difference, (-0.001, -0.001, -0.001), atol=1e-9)


def test_clipping_speaks_for_against_or_not():
    effects = pd.DataFrame(
        {
            "model": "m",
            "algorithm": "rwmh",
            "bound": [1000.0, 8.0, 6.0, 4.0, 3.0, 2.0],
            "clip_fraction": [0, 0.009, 0.05, 0.1, 0.15, 0.2],
            "effect": 0.01,
            "effect_low": [0, -0.01, 0.005, -0.02, -0.2, 0.1],
            "effect_high": [0, 0.01, 0.02, 0.9, -0.1, 0.2],
            "is_undetectable": [True, True, False, False, False, False],
        }
    )
    # The loosest bound, and what clips 20 % or more, is not spoken of.
    cells = list(claims.undetectable_below(FOUR | {"effects": effects}, 0.2))
    assert speaks(cells) == ["for", "against", "open", "against"]
    assert [cell.counts for cell in cells] == [False, True, True, True]
    assert not list(claims.undetectable_below(FOUR, 0.2))


def sides(num_counted, num_for, num_against):
    return (
        ["for"] * num_for
        + ["against"] * num_against
        + ["open"] * (num_counted - num_for - num_against)
    )


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((10, 8, 2), "confirmed"),
        ((10, 7, 0), "undecided"),
        ((100, 79, 21), "undecided"),
        ((5, 0, 4), "not confirmed"),
        ((5, 1, 3), "undecided"),
        ((0, 0, 0), "undecided"),
    ],
)
def test_eighty_percent_decide(counts, expected):
    assert claims.verdict(sides(*counts)) == expected


@pytest.mark.parametrize(
    ("counts", "expected", "of_one"),
    [
        ((10, 10, 0), "confirmed", "confirmed"),
        ((10, 9, 0), "undecided", "undecided"),
        ((10, 9, 1), "undecided", "not confirmed"),
        ((10, 0, 10), "not confirmed", "not confirmed"),
        ((0, 0, 0), "undecided", "undecided"),
    ],
)
def test_a_claim_may_need_all_of_its_comparisons_and_fall_by_one(counts, expected, of_one):
    assert claims.verdict(sides(*counts), share=1) == expected
    assert claims.verdict(sides(*counts), share=1, one_refutes=True) == of_one


@pytest.mark.parametrize(
    ("low", "high", "within", "above", "below"),
    [
        (-0.009, 0.005, "for", "for", "for"),
        (-0.06, 0.005, "open", "open", "for"),  # may be far lower, which is no likeness either
        (-0.005, 0.06, "open", "for", "open"),
        (0.001, 0.009, "for", "for", "for"),
        (0.011, 0.06, "against", "for", "against"),
        (-0.06, -0.011, "against", "against", "for"),
        (-0.01, 0.01, "open", "open", "open"),
        (-np.inf, np.inf, "open", "open", "open"),
        (-np.inf, -np.inf, "against", "against", "for"),
        (np.nan, np.nan, "open", "open", "open"),
    ],
)
def test_an_interval_takes_the_side_on_which_all_of_it_lies(low, high, within, above, below):
    interval = Estimate((low + high) / 2, low, high)
    assert claims.side(interval, above=-0.01, below=0.01) == within
    assert claims.side(interval, above=-0.01) == above
    assert claims.side(interval, below=0.01) == below


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((10, 8, 2), True),
        ((10, 9, 1), False),
        ((10, 7, 0), True),
        ((10, 6, 0), False),
        ((5, 0, 3), True),
        ((1, 1, 0), True),
        ((0, 0, 0), False),
        ((10, 0, 7), True),
    ],
)
def test_a_verdict_says_whether_one_comparison_decides_it(counts, expected):
    assert claims.one_decides(sides(*counts)) is expected


def given_claims(config):
    return msgspec.convert(config["claims"], list[claims.Claim])


def test_claims_speak_of_curves_that_the_study_has(config):
    curves = config["accounting_curves"]["curves"]
    for claim in given_claims(config):
        assert claim.section in {"6.1", "6.2", "6.3", "Conclusions"}
        for entry in claims.entries(claim):
            if claim.rule == "fewer_iterations":
                assert {entry["fewer"], entry["more"]} <= set(curves[entry["algorithm"]])
            assert len(set(entry.values())) == len(entry)


def test_a_list_stands_for_each_of_its_entries():
    of = [
        {"model": ["m", "n"], "lower": "a", "higher": ["b", "c"]},
        {"model": "m", "metric": "mmd"},
    ]
    found = list(claims.entries(claims.Claim("1", "s", "lower", of)))
    assert [list(entry.values()) for entry in found] == [
        ["m", "a", "b"],
        ["m", "a", "c"],
        ["n", "a", "b"],
        ["n", "a", "c"],
        ["m", "mmd"],
    ]


def lower(**of):
    return claims.Claim("1", "s", "lower", [of])


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (
            lower(model="m", lower="a", higher=["a", "c"]),
            r"higher\[1\]: unknown value 'c'; v",
        ),
        (
            lower(model="x", lower="a", higher="a"),
            r"of\[0\].model: unknown value 'x'; valid values: m",
        ),
        (lower(model="m", lower="a"), "missing key higher"),
        (lower(model="m", lower="a", higher="a", by=1), "unknown key by; valid keys: model, lower"),
        (
            lower(model="m", lower="a", higher="a", metric="x"),
            "metric: unknown value 'x'; valid values: mmd",
        ),
        (
            claims.Claim("1", "s", "best", []),
            r"claims\[0\].rule: unknown rule best; valid rules: fewer",
        ),
        (lower(model="m", lower="a", higher={"a": 1}), r"higher: unknown value \{'a': 1\}"),
        (lower(model="m", lower="a", higher=[["a"]]), r"higher\[0\]: unknown value \['a'\]; valid"),
        (lower(model="m", lower="a", higher=[]), "higher: must be a list of length >= 1"),
        (lower(model="m", lower="a", higher="x" * 500), "unknown value 'xxxx.*; valid"),
        (
            claims.Claim("1", "s", "lower", [{1: "m", "b": "a"}]),
            "unknown key 1, b; valid keys: model",
        ),
        (
            claims.Claim("1", "s", "undetectable_below", [{"clip_fraction": "a"}]),
            "clip_fraction: must be a number, not 'a'",
        ),
        (
            claims.Claim("1", "s", "undetectable_below", [{"clip_fraction": 20}]),
            "must be a number <= 1.0",
        ),
    ],
)
def test_a_claim_of_what_is_unknown_is_refused(claim, message):
    with pytest.raises(ConfigError, match=message):
        of_study.check_claims([claim], ["m"], ["a"], ["rdp"])


def test_what_speaks_against_a_claim_counts_though_nothing_could_have_been_expected_to():
    """b at 1 is no nearer than never moving, and yet a is further away."""
    gains = {"mmd": FOUR["gains"]["mmd"].assign(is_nearer=False)}
    both = [lower(model="m", lower="b", higher="a"), lower(model="m", lower="a", higher="b")]
    table, comparisons = claims.evaluate(both, FOUR | {"gains": gains})
    assert list(table["comparisons"]) == [1, 1] and list(table["left_out"]) == [2, 2]
    assert set(comparisons.loc[comparisons["counts"], "speaks"]) == {"against"}


def test_every_claim_is_listed_with_its_comparisons(config):
    table, cells = claims.evaluate(given_claims(config), FOUR)
    assert list(table["claim"]) == list(range(1, len(config["claims"]) + 1))
    assert (table["verdict"] == "not in this study").all() and cells.empty


def test_a_claim_may_speak_of_another_metric():
    """And counts where what would speak against it is nearer than never moving by that metric."""
    given = FOUR | {"chains": FOUR["chains"].assign(mean_error=1 - FOUR["chains"]["mmd"])}
    far = FOUR["gains"]["mmd"].assign(is_nearer=FOUR["gains"]["mmd"]["epsilon"] > 1)
    given |= {"gains": FOUR["gains"] | {"mean_error": far}}
    found = list(claims.lower(given, "m", "b", "a", "mean_error"))
    assert speaks(found) == ["for", "open", "against"]
    assert [one.counts for one in found] == [False, True, True]
    assert found[0].label == "m: mean error of b below a, epsilon 1"


def test_a_study_judges_claims_that_speak_of_it_or_of_no_samples(config):
    changes = dict.fromkeys(("accounting_curves", "notebooks", "tuning"))
    changes |= {"study": "s", "runs": [config["runs"][1]]}  # the circle, of which one speaks
    assert len(StudyConfig(merged(config, changes), ROOT).claims) == len(config["claims"])
    changes["claims"] = config["claims"][3:6]
    assert not StudyConfig(merged(config, changes), ROOT).claims
    changes["claims"] = config["claims"][:3]
    assert len(StudyConfig(merged(config, changes), ROOT).claims) == 3
