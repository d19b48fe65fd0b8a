"""Draws of a study's chains, for the few notebooks that show them."""

from pathlib import Path

import numpy as np
import pandas as pd

from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import read_npz
from dpmcmc_studies.study.runs import Run


def sample_draws(study, model, algorithm, run, sample):
    """Kept draws of the chains of a sample, (chains, k, d).

    Parameters
    ----------
    study : StudyResults
    model, algorithm : str
        Ids.
    run : str
        As it stands in paths: "epsilon-4", say.
    sample : int
    """
    first = sample * study.chains_per_sample
    files = [
        chain_path(study, model, algorithm, run, seed)
        for seed in range(first, first + study.chains_per_sample)
    ]
    return np.stack([kept_draws(read_npz(file)["positions"]) for file in files])


def run_of(study, row):
    """Run of a row of the table `chains`, as it stands in paths."""
    settings = study.algorithms[row["algorithm"]].settings[row["model"]]
    varied = {key: row[key] for key in settings if pd.notna(row.get(key))}
    epsilon = row.get("epsilon")
    stop = (None, int(row["iterations"])) if pd.isna(epsilon) else (epsilon, None)
    return Run(*stop, varied, None).path


def chain_path(study, model, algorithm, run, seed):
    """File of a chain."""
    return Path(study.results, "chains", model, algorithm, run, f"seed-{seed}.npz")
