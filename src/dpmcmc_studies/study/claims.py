"""Claims that a study judges: what the configuration says of each, checked before anything runs.

A claim is a statement, a rule (a function of `dpmcmc_studies.analysis.claims`, whose annotations
say what its arguments are) and these arguments: a list of maps, `of`, in which a list stands for
each of its entries in turn. This module is imported whenever the workflow is parsed; it stays
clear of everything slow.
"""

import inspect
from typing import Annotated, Literal

import msgspec

from dpmcmc.configuration.yaml_files import Some, check_known, converted
from dpmcmc_studies.analysis.claims import METRICS, RULES

Share = Annotated[float, msgspec.Meta(gt=0, le=1)]


def arguments(rule):
    """Arguments of a rule: name, what it is, and whether it may be left out."""
    _, *parameters = inspect.signature(RULES[rule]).parameters.values()
    return [(p.name, p.annotation.__name__, p.default is not p.empty) for p in parameters]


def check_claims(claims, models, algorithms, accountants):
    """Raise a ConfigError for a rule, an argument or an id that is unknown.

    Parameters
    ----------
    claims : list of Claim
    models, algorithms, accountants : iterable of str
        Valid ids.
    """
    valid = {"Model": models, "Algorithm": algorithms, "Accountant": accountants, "Metric": METRICS}
    kinds = {kind: Literal[tuple(ids)] for kind, ids in valid.items()} | {"Share": Share}
    for i, claim in enumerate(claims):
        check_known([claim.rule], RULES, f"claims[{i}].rule", "rule")
        fields = [
            (name, kinds[kind] | Annotated[list[kinds[kind]], Some], *[None] * is_optional)
            for name, kind, is_optional in arguments(claim.rule)
        ]
        struct = msgspec.defstruct("Arguments", fields, forbid_unknown_fields=True)
        for j, given in enumerate(claim.of):
            converted(given, struct, f"claims[{i}].of[{j}]")
