"""The claims of chapter 6, as a table: what each says, and of which models and algorithms.

Data alone, so that it is known before anything runs whether a study has what a claim speaks of; the
rules are functions of `dpmcmc.evaluation.claims`.
"""

from typing import NamedTuple


class Claim(NamedTuple):
    """A row of the table of claims."""

    section: str  # of the thesis; its conclusions are chapter 7
    statement: str
    rule: str  # a function of `claims`, which yields the comparisons of an entry
    entries: list  # arguments of the rule: ids, and numbers


def speak_of(cells):
    """Whether any claim on samples speaks of cells that run, pairs of a model and an algorithm."""
    cells = set(cells)
    named = (
        {(model, algorithm) for model in MODELS & {*entry} for algorithm in ALGORITHMS & {*entry}}
        for claim in CLAIMS
        for entry in claim.entries
    )
    return any(pairs and pairs <= cells for pairs in named)


FLAT = ["flat-banana-2d", "flat-banana-10d"]
TEMPERED = ["tempered-banana-2d", "tempered-banana-10d"]
HARD = ["gauss-30d", "narrow-banana-2d", "correlated-gauss-2d"]
PENALTY = ["dp-penalty", "dp-penalty-ocu-gwmh"]
FULL_DATA = [*PENALTY, "dp-hmc"]
MINIBATCH = ["minibatch-dp-penalty", "minibatch-dp-penalty-ocu-gwmh"]
SUBSAMPLED = [*MINIBATCH, "dp-barker"]

CLAIMS = [
    Claim(
        "6.1",
        "Exact accounting allows DP penalty and DP HMC more iterations than zCDP",
        "fewer_iterations",
        [("dp-penalty", "zcdp", "gaussian"), ("dp-hmc", "zcdp", "gaussian")],
    ),
    Claim(
        "6.1",
        "PLD accounting, as published, allows minibatch DP penalty more iterations than RDP",
        "fewer_iterations",
        [("minibatch-dp-penalty", "rdp", "published-pld")],
    ),
    Claim(
        "6.2",
        "Clipping of fewer than 20 % of the rows is undetectable",
        "undetectable_below",
        [(0.2,)],
    ),
    Claim(
        "6.3",
        "Without tempering, subsampling is worse than DP penalty (but for DP Barker in 10 d)",
        "lower_mmd",
        [
            (model, "dp-penalty", name)
            for model in FLAT
            for name in SUBSAMPLED
            if (model, name) != ("flat-banana-10d", "dp-barker")
        ],
    ),
    Claim(
        "6.3",
        "Without tempering in 10 dimensions, DP Barker beats the minibatch penalty algorithms",
        "lower_mmd",
        [("flat-banana-10d", "dp-barker", name) for name in MINIBATCH],
    ),
    Claim(
        "6.3",
        "Tempering brings the subsampling algorithms closer to DP penalty",
        "closer_when_tempered",
        [
            (flat, tempered, name, "dp-penalty")
            for flat, tempered in zip(FLAT, TEMPERED, strict=True)
            for name in SUBSAMPLED
        ],
    ),
    # "Not better than the algorithms using the full data" has no direction; HMC is their best here.
    Claim(
        "Conclusions",
        "Even with tempering, the subsampling algorithms are worse than DP HMC on all the data",
        "lower_mmd",
        [(model, "dp-hmc", name) for model in TEMPERED for name in SUBSAMPLED],
    ),
    Claim(
        "6.3",
        "With tempering, DP HMC beats the penalty algorithms",
        "lower_mmd",
        [(model, "dp-hmc", name) for model in TEMPERED for name in PENALTY],
    ),
    Claim(
        "6.3",
        "Without tempering, the penalty algorithms beat DP HMC",
        "lower_mmd",
        [(model, name, "dp-hmc") for model in FLAT for name in PENALTY],
    ),
    Claim(
        "6.3",
        "On the correlated Gaussian, DP HMC beats the penalty algorithms",
        "lower_mmd",
        [("correlated-gauss-2d", "dp-hmc", name) for name in PENALTY],
    ),
    Claim(
        "6.3",
        "On the narrow banana, DP HMC and the penalty algorithms are about equal",
        "equal_mmd",
        [("narrow-banana-2d", "dp-hmc", name) for name in PENALTY],
    ),
    Claim(
        "Conclusions",
        "OCU + GWMH is best on 30 dimensions",
        "lower_mmd",
        [("gauss-30d", "dp-penalty-ocu-gwmh", name) for name in ("dp-penalty", "dp-hmc")],
    ),
    Claim(
        "Conclusions",
        "On the other models, OCU + GWMH does not beat DP penalty without it",
        "not_lower_mmd",
        [
            (model, "dp-penalty-ocu-gwmh", "dp-penalty")
            for model in [*FLAT, *TEMPERED, "narrow-banana-2d", "correlated-gauss-2d"]
        ],
    ),
    Claim(
        "6.3",
        "MMD falls with epsilon on bananas and 30 dimensions, and for DP HMC on the correlated one",
        "falls_with_epsilon",
        [
            *((model, name) for model in [*FLAT, *TEMPERED, "gauss-30d"] for name in FULL_DATA),
            ("correlated-gauss-2d", "dp-hmc"),
        ],
    ),
    Claim(
        "6.3",
        "It does not on the narrow banana, nor for the penalty algorithms on the correlated one",
        "does_not_fall",
        [
            *(("narrow-banana-2d", name) for name in FULL_DATA),
            *(("correlated-gauss-2d", name) for name in PENALTY),
        ],
    ),
    Claim(
        "Conclusions",
        "On the harder models all algorithms stay above the baselines, even at the largest epsilon",
        "above_baselines",
        [(model, name) for model in HARD for name in FULL_DATA],
    ),
    # The thesis excepts the tempered banana in 2 d, DP Barker, and some runs on the narrow banana.
    Claim(
        "6.3",
        "Penalty algorithms and DP HMC clip fewer than 10 % of the rows (but on tempered 2 d)",
        "clips_less_than",
        [
            *(
                (model, name, 0.1)
                for model in [*FLAT, "tempered-banana-10d", *HARD, "circle"]
                for name in FULL_DATA
            ),
            *((model, name, 0.1) for model in [*FLAT, "tempered-banana-10d"] for name in MINIBATCH),
        ],
    ),
]


MODELS = {*FLAT, *TEMPERED, *HARD, "circle"}
ALGORITHMS = {*FULL_DATA, *SUBSAMPLED}
