"""Accountants by name, and where the search of a slow one starts."""

import importlib.util
import math
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from dpmcmc.accounting.mechanisms import GaussianMechanism, Releases
from dpmcmc.accounting.releases import grouped
from dpmcmc.accounting.search import cost_epsilon, max_iterations

# Modules with `check` and `delta`: see dpmcmc.accounting.
ACCOUNTANTS = {
    "barker-rdp": "dpmcmc.accounting.barker_rdp",
    "certified": "dpmcmc.accounting.certified",
    "gaussian": "dpmcmc.accounting.gaussian",
    "published-pld": "dpmcmc.accounting.published_pld",
    "rdp": "dpmcmc.accounting.rdp",
    "zcdp": "dpmcmc.accounting.zcdp",
}
ROUGHLY = 1.05  # ratio of noise variances that are alike in a guess


def accountants() -> list[str]:
    """Names of the accountants of the package."""
    return list(ACCOUNTANTS)


def accountant(name: str) -> ModuleType:
    """Module of an accountant; imported when asked for, as it brings SciPy.

    Parameters
    ----------
    name : str
        A name of the package's, or the path of a file of one's own, with `check` and `delta`.

    Raises
    ------
    ValueError
        If there is none; with the valid names.
    """
    if not isinstance(name, str):
        valid = ", ".join(ACCOUNTANTS)
        raise ValueError(f"accountant: must be a name ({valid}) or a file.py, not {name!r}")
    if not name.endswith(".py"):
        return import_module(module_name(name))
    module = load_file(Path(name).resolve())
    if missing := [member for member in ("check", "delta") if not hasattr(module, member)]:
        raise ValueError(f"{name} has no {' and no '.join(missing)}, so it is no accountant")
    return module


@cache
def load_file(path: Path) -> ModuleType:
    """A file as a module; what lies beside it can be imported."""
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # as its name ends in .py
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def module_name(name: str) -> str:
    """Module of an accountant; for one's own the path of the file."""
    if name.endswith(".py"):
        return name
    if name not in ACCOUNTANTS:
        valid = ", ".join(ACCOUNTANTS)
        raise ValueError(f"unknown accountant {name}; valid names: {valid}, or one's own file.py")
    return ACCOUNTANTS[name]


def name_in_tables(name: str) -> str:
    """Name of an accountant in tables: for one's own that of the file, with hyphens."""
    return Path(name).stem.replace("_", "-") if name.endswith(".py") else name


def first_guess(
    module: ModuleType, releases_of: Callable[[int], Releases], epsilon: float, target_delta: float
) -> tuple[int, float]:
    """Start of an accountant's search: `guess` and `spread` of `max_iterations`.

    For a slow one, the central limit with the variances of the privacy losses.

    Parameters
    ----------
    module
        An accountant.
    releases_of : function
        List of releases, by the number of iterations.
    epsilon, target_delta : float
    """
    module.check(releases_of(1))
    if not hasattr(module, "loss_variance"):
        return 0, 0.5
    from dpmcmc.accounting import gaussian

    def cost(iterations: int) -> float:
        parts = grouped(releases_of(iterations), ROUGHLY)
        variance = math.fsum(count * module.loss_variance(part) for part, count in parts)
        return gaussian.delta([(GaussianMechanism(math.sqrt(variance)), 1)], epsilon)

    return max_iterations(cost, target_delta), 0.04


def epsilon_of(module: ModuleType, releases: Releases, delta: float) -> float:
    """Epsilon that releases cost at delta, by an accountant's own search if it has one."""
    if hasattr(module, "epsilon"):
        return module.epsilon(releases, delta)
    return cost_epsilon(cache(lambda epsilon: module.delta(releases, epsilon)), delta)
