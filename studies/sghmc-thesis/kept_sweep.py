"""Numbers that the page on steps and friction keeps of chains: how far their widths are off."""

import numpy as np
import pandas as pd

from dpmcmc_studies.reporting.draws import run_of, sample_draws


def widths(study, model, algorithm, cells, references):
    """Errors of the standard deviations of each chain, in the mean over the components.

    Parameters
    ----------
    study : StudyResults
    model, algorithm : str
        Ids.
    cells : dict of (float, float) to DataFrame
        Rows of the table `chains` by friction and step size.
    references : dict of str to (k, d) array
        Samples with the right widths, by a title.

    Returns
    -------
    DataFrame
        One row a chain: `friction`, `step_size`, `seed`, and a column for each title.
    """
    rows = []
    for (friction, step), cell in cells.items():
        run = run_of(study, cell.iloc[0])
        for seed in cell["sample"]:
            sds = sample_draws(study, model, algorithm, run, seed)[0].std(axis=0, ddof=1)
            row = {"friction": friction, "step_size": step, "sample": seed}
            rows.append(row | {title: sd_difference(sds, of) for title, of in references.items()})
    return pd.DataFrame(rows)


def sd_difference(sds, reference):
    """Mean over the components of |s - s_reference|, of standard deviations s, (d,).

    The thesis on DP SGHMC measures so how near a sample is to the posterior (section 6.4).

    Parameters
    ----------
    sds : (d,) array
        Of a sample.
    reference : (k, d) array
        Another sample.
    """
    return float(np.abs(sds - reference.std(axis=0, ddof=1)).mean())
