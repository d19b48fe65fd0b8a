"""Claims that a study judges: what the configuration says of each, checked before anything runs.

A claim is a statement, a rule (a function of `dpmcmc.evaluation.claims`) and its arguments: a list
of maps, `of`, in which a list stands for each of its entries in turn. This module is imported
whenever the workflow is parsed; it stays clear of everything slow.
"""

from itertools import product

from dpmcmc.study.config import ConfigError, listed, named, short

METRICS = ("mmd", "mean_error", "covariance_error")
MODEL, ALGORITHM, ACCOUNTANT = "model", "algorithm", "accountant"
SHARE, METRIC = "share", "metric"
PAIR = {"model": MODEL, "lower": ALGORITHM, "higher": ALGORITHM}
OF_ONE = {"model": MODEL, "algorithm": ALGORITHM}
# Arguments of the rules, by what they are. Those of OPTIONAL may be left out.
RULES = {
    "fewer_iterations": {"algorithm": ALGORITHM, "fewer": ACCOUNTANT, "more": ACCOUNTANT},
    "undetectable_below": {"clip_fraction": SHARE},
    "lower": PAIR | {"metric": METRIC},
    "not_lower": PAIR | {"metric": METRIC},
    "equal": {"model": MODEL, "one": ALGORITHM, "other": ALGORITHM, "metric": METRIC},
    "closer_when_tempered": {
        "flat": MODEL,
        "tempered": MODEL,
        "algorithm": ALGORITHM,
        "reference": ALGORITHM,
    },
    "gap_grows_with_epsilon": PAIR | {"metric": METRIC},
    "falls_with_epsilon": OF_ONE | {"metric": METRIC},
    "does_not_fall": OF_ONE | {"metric": METRIC},
    "above_baselines": OF_ONE,
    "clips_less_than": OF_ONE | {"fraction": SHARE},
}
OPTIONAL = {"metric"}


def entries(claim):
    """Arguments of the comparisons of a claim, a dict each: all combinations of its lists."""
    for given in claim["of"]:
        values = [value if isinstance(value, list) else [value] for value in given.values()]
        for combination in product(*values):
            yield dict(zip(given, combination, strict=True))


def metrics_of(claims):
    """Metrics that claims name."""
    return {entry["metric"] for claim in claims for entry in entries(claim) if "metric" in entry}


def speaks_of(claim, cells):
    """Whether a claim on samples has an entry all of which runs: pairs of a model and algorithm."""
    cells = set(cells)
    return any(pairs and pairs <= cells for pairs in map(set, pairs_of(claim)))


def is_of_samples(claim):
    """Whether a claim names models and algorithms, and not accountants, say."""
    return any(pairs_of(claim))


def pairs_of(claim):
    """Pairs of a model and an algorithm that each entry of a claim names."""
    kinds = RULES[claim["rule"]]
    for entry in entries(claim):
        models, algorithms = (
            [value for key, value in entry.items() if kinds[key] == kind]
            for kind in (MODEL, ALGORITHM)
        )
        yield list(product(models, algorithms))


def check_claims(claims, models, algorithms, accountants):
    """Raise a ConfigError for a rule, an argument or an id that is unknown.

    Parameters
    ----------
    claims : list of dict
        As the schema of the configuration has them.
    models, algorithms, accountants : iterable of str
        Valid ids.
    """
    valid = {MODEL: models, ALGORITHM: algorithms, ACCOUNTANT: accountants, METRIC: METRICS}
    for i, claim in enumerate(claims):
        if claim["rule"] not in RULES:
            rule = named(claim["rule"])
            raise ConfigError(
                f"claims[{i}].rule: unknown rule {rule}; valid rules: {listed(RULES)}"
            )
        kinds = RULES[claim["rule"]]
        for j, given in enumerate(claim["of"]):
            where = f"claims[{i}].of[{j}]"
            if unknown := [key for key in given if key not in kinds]:
                raise ConfigError(
                    f"{where}: unknown key {named(unknown[0])}; valid keys: {listed(kinds)}"
                )
            if missing := kinds.keys() - given.keys() - OPTIONAL:
                raise ConfigError(f"{where}: missing key {min(missing)}")
            for key, value in given.items():
                if value == []:
                    raise ConfigError(f"{where}.{key}: must not be empty")
                for one in value if isinstance(value, list) else [value]:
                    check_argument(f"{where}.{key}", kinds[key], one, valid)


def check_argument(where, kind, value, valid):
    """Raise a ConfigError for an argument that is not of its kind."""
    if kind == SHARE:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise ConfigError(
                f"{where}: must be a share, above 0 and at most 1, not {short(value)}"
            )
    elif not isinstance(value, str) or value not in valid[kind]:
        raise ConfigError(
            f"{where}: unknown {kind} {named(value)}; valid {kind}s: {listed(valid[kind])}"
        )
