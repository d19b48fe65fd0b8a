"""The chapter's claims: known ids, right directions, the rule of 80 %."""

import numpy as np
import pandas as pd
import pytest

from dpmcmc import claims
from dpmcmc.samplers import ALGORITHMS


def tables(**mmds):
    """Tables with 20 chains for each (model, algorithm, epsilon), about a given median MMD."""
    rng = np.random.default_rng(1)
    chains = [
        {
            "model": model,
            "algorithm": algorithm,
            "epsilon": epsilon,
            "seed": seed,
            "mmd": median + 0.01 * rng.normal(),
            "clip_fraction": median,
        }
        for (model, algorithm, epsilon), median in mmds["chains"].items()
        for seed in range(20)
    ]
    nothing = pd.DataFrame(columns=["model", "algorithm"])
    return {
        "chains": pd.DataFrame(chains),
        "baselines": pd.DataFrame({"model": "m", "mmd": np.linspace(0.01, 0.03, 10)}),
        "accounting": mmds.get("accounting", nothing),
        "clipping": nothing,
    }


FOUR = tables(
    chains={
        ("m", "a", 1.0): 0.5,
        ("m", "a", 2.0): 0.2,
        ("m", "b", 1.0): 0.9,
        ("m", "b", 2.0): 0.2,
        ("t", "a", 1.0): 0.3,
        ("t", "b", 1.0): 0.4,
    }
)


def speaks(cells):
    return ["for" if c.is_for else "against" if c.is_against else "open" for c in cells]


@pytest.mark.parametrize(
    ("rule", "entry", "expected"),
    [
        (claims.lower_mmd, ("m", "a", "b"), ["for", "open"]),
        (claims.lower_mmd, ("m", "b", "a"), ["against", "open"]),
        (claims.lower_mmd, ("m", "a", "absent"), []),
        (claims.lower_mmd, ("absent", "a", "b"), []),
        (claims.falls_with_epsilon, ("m", "a"), ["for"]),
        (claims.falls_with_epsilon, ("t", "a"), []),
        (claims.closer_when_tempered, ("m", "t", "b", "a"), ["for"]),
        (claims.closer_when_tempered, ("t", "m", "b", "a"), ["against"]),
        (claims.above_baselines, ("m", "a"), ["for"]),
        (claims.clips_less_than, ("m", "a", 0.4), ["against", "for"]),
    ],
)
def test_a_rule_speaks_in_the_direction_of_its_claim(rule, entry, expected):
    assert speaks(rule(FOUR, *entry)) == expected


def test_more_iterations_are_counted_without_chance():
    counts = {"loose": [0, 5, 9], "tight": [0, 8, 7]}
    curves = pd.DataFrame(
        {"algorithm": "a", "accountant": name, "epsilon": [1.0, 2.0, 3.0], "iterations": values}
        for name, values in counts.items()
    ).explode(["epsilon", "iterations"], ignore_index=True)
    curves["iterations"] = curves["iterations"].astype(int)
    given = tables(chains={}, accounting=curves)
    cells = list(claims.fewer_iterations(given, "a", "loose", "tight"))
    assert speaks(cells) == ["open", "for", "against"]
    assert cells[1].difference == (-3, -3, -3)
    assert not list(claims.fewer_iterations(given, "a", "loose", "absent"))


def test_clipping_speaks_for_against_or_not(monkeypatch):
    effects = pd.DataFrame(
        {
            "model": "m",
            "algorithm": "rwmh",
            "bound": [1000.0, 8.0, 6.0, 4.0, 2.0],
            "clip_fraction": [0, 0.01, 0.05, 0.1, 0.3],
            "effect": 0.01,
            "effect_low": [0, -0.01, 0.005, -0.02, 0.1],
            "effect_high": [0, 0.01, 0.02, 0.9, 0.2],
            "is_undetectable": [True, True, False, False, False],
        }
    )
    monkeypatch.setattr(claims, "clipping_effects", lambda clipping, baselines: effects)
    given = FOUR | {"clipping": pd.DataFrame({"model": ["m"]})}
    # The loosest bound, and what clips 20 % or more, is not spoken of.
    assert speaks(claims.undetectable_below(given, 0.2)) == ["for", "against", "open"]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((10, 8, 2), "confirmed"),
        ((10, 7, 0), "undecided"),
        ((5, 0, 4), "not confirmed"),
        ((5, 1, 3), "undecided"),
        ((0, 0, 0), "not in this study"),
    ],
)
def test_eighty_percent_decide(counts, expected):
    assert claims.verdict(*counts) == expected


def test_claims_name_models_algorithms_and_accountants_that_exist(config):
    accountants = {n for names in config["figures"]["accounting"]["curves"].values() for n in names}
    known = {*config["models"], *ALGORITHMS, *accountants}
    for claim in claims.CLAIMS:
        assert claim.cells and claim.section in {"6.1", "6.2", "6.3", "7"}
        for entry in claim.cells:
            assert {part for part in entry if isinstance(part, str)} <= known
            assert len(set(entry)) == len(entry)


def test_every_claim_is_listed_with_its_cells():
    table, cells = claims.evaluate(FOUR)
    assert list(table["claim"]) == list(range(1, len(claims.CLAIMS) + 1))
    assert (table["verdict"] == "not in this study").all() and cells.empty
