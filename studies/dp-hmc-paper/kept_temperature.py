"""Numbers that the page on temperature keeps of chains: widths along axes, and in theory."""

import numpy as np
import pandas as pd

from dpmcmc.evaluation.diagnostics import effective_sample_size
from dpmcmc.evaluation.metrics import principal_axes
from dpmcmc.random_streams import generator
from dpmcmc_studies.analysis.intervals import median_contrast
from dpmcmc_studies.reporting.draws import run_of, sample_draws

EXACT_DRAWS = 100_000


def all_spreads(study, models, algorithm, swept):
    """Spreads of an algorithm on some models: see `spreads`.

    Parameters
    ----------
    study : StudyResults
    models : list of str
    algorithm : str
    swept : DataFrame
        Rows of the table `chains` of a sweep of the algorithm, over all its models.
    """
    of_models = {model: swept[swept["model"] == model] for model in models}
    return pd.concat(
        spreads(study, model, algorithm, of_model.dropna(axis=1, how="all"))
        for model, of_model in of_models.items()
    )


def spreads(study, model, algorithm, swept):
    """Standard deviations of a sampler of Langevin dynamics over those of the posterior, by axis.

    Axes are the principal ones of an exact sample, in coordinates in which the posterior is normal
    (`straighten` of a model that has it).

    Parameters
    ----------
    study : StudyResults
    model, algorithm : str
        Ids; the model has exact draws.
    swept : DataFrame
        Rows of the table `chains` that are of this model and algorithm, in a sweep over `step_size`
        and `temperature` with `batch_size` fixed.

    Returns
    -------
    DataFrame
        One row a temperature, step size and axis: `variance` of the posterior along it; `ratio`,
        the median over the samples, with its interval; `ess` of a sample, in the median; and
        `expected`, of the posterior to the power 1 / temperature, at that step on a normal
        posterior without clipping, NaN on others.
    """
    target = study.target(model)
    straighten = getattr(target.model, "straighten", np.asarray)
    rng = generator(0, "spread", model)
    exact = straighten(target.model.sample_posterior(rng, target.data, EXACT_DRAWS))
    deviations, axes = principal_axes(exact)
    settings = study.algorithms[algorithm].settings[model]
    keys = [key for key in swept if key in settings]
    rows = []
    for values, cell in swept.groupby([*keys, "iterations"], sort=False):
        varied = dict(zip(keys, values, strict=False))
        run = run_of(study, cell.iloc[0])
        samples = [
            straighten(sample_draws(study, model, algorithm, run, sample)) @ axes
            for sample in sorted(cell["sample"])
        ]
        sampler = study.sampler(algorithm, model, **varied)
        expected = np.full(len(deviations), np.nan)
        if not hasattr(target.model, "straighten"):
            expected = in_theory(sampler, target.num_rows, deviations**2)
        for j, deviation in enumerate(deviations):
            ratios = [sample[..., j].std(ddof=1) / deviation for sample in samples]
            estimate = median_contrast(("spread", model, *values, j), [ratios])
            ess = np.median([effective_sample_size(sample[..., j : j + 1]) for sample in samples])
            rows.append(
                varied
                | {"variance": deviation**2, "ratio": estimate.value}
                | {"low": estimate.low, "high": estimate.high, "ess": ess}
                | {"expected": expected[j]}
            )
    return pd.DataFrame(rows).assign(model=model)


def in_theory(sampler, num_rows, variances):
    """Those ratios for DP-SGLD on a normal posterior, in the long run, where nothing is clipped.

    Along an axis of variance v it is an autoregression of order 1, with noise of variance
    temperature h + (h / 2)^2 (n / b) (1 - q) / v, the second part of the batch.

    Parameters
    ----------
    sampler : DPSGLD
    num_rows : int
        n.
    variances : (d,) array
        Of the posterior along its axes; the prior is flat.
    """
    h, n, b = sampler.step_size, num_rows, sampler.batch_size
    noise = sampler.temperature + h / 4 * n / b * (1 - b / n) / variances
    decay = 1 - h / (4 * variances)
    with np.errstate(invalid="ignore"):  # where the step is too long to be stable
        return np.sqrt(noise / np.where(decay > 0, decay, np.nan))
