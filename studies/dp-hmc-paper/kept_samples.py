"""Draws that the page of the paper keeps of chains: the median sample of each algorithm."""

import numpy as np

from dpmcmc.evaluation.metrics import thin
from dpmcmc_studies.reporting.draws import sample_draws


def median_draws(study, model, run, numbers, dots):
    """Draws of some samples, no more than `dots` of each.

    Parameters
    ----------
    study : StudyResults
    model, run : str
        Id, and the run as it stands in paths.
    numbers : dict of str to int
        Number of the sample, by algorithm.
    dots : int

    Returns
    -------
    dict of str to (k, d) array
        `ALGORITHM/median`, in single precision.
    """
    return {
        f"{algorithm}/median": thin(
            np.concatenate(sample_draws(study, model, algorithm, run, number)), dots
        ).astype(np.float32)
        for algorithm, number in numbers.items()
    }
