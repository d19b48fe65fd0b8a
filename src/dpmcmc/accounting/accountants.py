"""Accountants by name, and where the search of a slow one starts."""

import math
import re
from functools import cache
from importlib import import_module
from pathlib import Path

from dpmcmc.accounting.growing_noise import GrowingNoise, grouped
from dpmcmc.accounting.mechanisms import GaussianMechanism
from dpmcmc.accounting.search import cost_epsilon, max_iterations

ROUGHLY = 1.05  # ratio of noise variances that are alike in a guess


@cache
def accountants() -> list[str]:
    """Names of the accountants: their files, with hyphens."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    is_accountant = re.compile(r"^def check\(mechanism\)", re.MULTILINE)
    return [f.stem.replace("_", "-") for f in files if is_accountant.search(f.read_text())]


def accountant(name):
    """Module of the accountant of that name; imported when asked for, as it brings SciPy.

    Raises
    ------
    ValueError
        If there is none; with the valid names.
    """
    if name not in accountants():
        raise ValueError(f"unknown accountant {name}; valid names: {', '.join(accountants())}")
    return import_module(module_name(name))


def module_name(name):
    """Name of the module of an accountant."""
    return f"dpmcmc.accounting.{name.replace('-', '_')}"


def first_guess(module, mechanism, epsilon, target_delta):
    """Where the search of an accountant starts: `guess` and `spread` of `max_iterations`.

    For a slow one, the central limit with the variance of the privacy loss of one iteration.
    """
    module.check(mechanism)
    if not hasattr(module, "loss_variance"):
        return 0, 0.5
    from dpmcmc.accounting import gaussian

    if not isinstance(mechanism, GrowingNoise):
        normal = GaussianMechanism(math.sqrt(module.loss_variance(mechanism)))
        return max_iterations(gaussian.delta, normal, epsilon, target_delta), 0.04

    def delta(mechanism, iterations, epsilon):
        parts = grouped(mechanism, iterations, ROUGHLY)
        variance = math.fsum(count * module.loss_variance(part) for part, count in parts)
        return gaussian.delta(GaussianMechanism(math.sqrt(variance)), 1, epsilon)

    return max_iterations(delta, mechanism, epsilon, target_delta), 0.04


def epsilon_of(module, mechanism, iterations, delta):
    """Epsilon that iterations cost at delta, by an accountant's own search if it has one."""
    if hasattr(module, "epsilon"):
        return module.epsilon(mechanism, iterations, delta)
    return cost_epsilon(cache(module.delta), mechanism, iterations, delta)
