"""Numbers that the page on radon keeps of chains."""

import numpy as np

from dpmcmc_studies.reporting.draws import run_of, sample_draws


def chain_samples(study, model, runs, columns):
    """Standard deviations of each chain of some runs, and draws of the first chain of each.

    Parameters
    ----------
    study : StudyResults
    model : str
        Id, of d parameters.
    runs : dict of str to DataFrame
        Rows of the table `chains`, m of them, by the name of the run.
    columns : slice
        Parameters whose draws are kept, c of them.

    Returns
    -------
    dict of str to array
        `NAME/sds`, (m, d), and `NAME/draws`, (k, c), in single precision.
    """
    kept = {}
    for name, of in runs.items():
        run, algorithm = run_of(study, of.iloc[0]), of["algorithm"].iloc[0]
        draws = [sample_draws(study, model, algorithm, run, seed)[0] for seed in of["sample"]]
        kept[f"{name}/sds"] = np.array([of_chain.std(axis=0, ddof=1) for of_chain in draws])
        kept[f"{name}/draws"] = draws[0][:, columns].astype(np.float32)
    return kept
