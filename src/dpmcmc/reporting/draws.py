"""Draws of a study's chains, for the few notebooks that show them."""

from pathlib import Path

import numpy as np

from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import read_npz


def release_draws(study, model, algorithm, run, release):
    """What is kept of the chains of a release, (chains, k, d).

    Parameters
    ----------
    study : Study
    model, algorithm : str
        Ids.
    run : str
        As it stands in paths: "epsilon-4", say.
    release : int
    """
    first = release * study.chains_per_release
    files = [
        chain_path(study, model, algorithm, run, seed)
        for seed in range(first, first + study.chains_per_release)
    ]
    return np.stack([kept_draws(read_npz(file)["positions"]) for file in files])


def chain_path(study, model, algorithm, run, seed):
    """File of a chain."""
    return Path(study.results, "chains", model, algorithm, run, f"seed-{seed}.npz")
