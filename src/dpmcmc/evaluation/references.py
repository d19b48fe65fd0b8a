"""Reference samples of a posterior that has no exact draws, by the names that a study gives.

Modules are imported when they are needed: they bring pandas and SciPy, which the digests of other
jobs do without.
"""

from importlib import import_module

import numpy as np

from dpmcmc.likelihoods.target import Target

MODULES = {
    "grid": "dpmcmc.evaluation.grid",
    "long-run": "dpmcmc.evaluation.long_run",
    "normal": "dpmcmc.evaluation.independence",
}


def sample(kind: str, rng: np.random.Generator, target: Target, draws: int) -> np.ndarray:
    """Draws of a posterior, (draws, d), by a kind of `MODULES`.

    Raises
    ------
    JobError
        If a run for them did not converge.
    """
    found: np.ndarray = import_module(MODULES[kind]).sample(rng, target, draws)
    return found
