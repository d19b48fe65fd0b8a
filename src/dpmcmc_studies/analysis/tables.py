"""Tables of a study, put together from the tables of its models."""

import pandas as pd

from dpmcmc_studies.analysis.claims import evaluate, metrics_of
from dpmcmc_studies.analysis.ranking import (
    KEYS,
    clipping_chains,
    clipping_effects,
    clipping_thresholds,
    gains_on_start,
    ranking,
    with_stand_ins,
)
from dpmcmc_studies.analysis.worth import worth_table
from dpmcmc_studies.frames import read_csv, whole

QUARTILES = {"q25": 0.25, "median": 0.5, "q75": 0.75}


def study_tables(models, swept, **parts):
    """All tables of a study, by name.

    Parameters
    ----------
    models : list of study_specs.Model
    swept : list of str
        Columns of what sweeps vary.
    **parts : list of paths
        One CSV a model each: chains, timings, baselines, starts, budgets and mixing; and scores of
        some models.

    Returns
    -------
    dict of str to DataFrame
    """
    tables = {name: concatenate(paths) for name, paths in parts.items()}
    tables["chains"] = whole(tables["chains"], "changed_decisions")
    tables["budgets"] = whole(tables["budgets"], "allowed_iterations")
    tables["models"] = models_table(models)
    chains, mixing = (compared(tables[name], swept) for name in ("chains", "mixing"))
    if len(chains):
        tables["summary"] = summarise(chains, tables["baselines"], tables["starts"], mixing)
    return tables


def analysis_tables(
    chains,
    baselines,
    starts,
    models,
    stand_ins,
    swept,
    claims,
    chains_per_sample=1,
    summary=None,
    accounting=None,
    budgets=None,
    scores=None,
):
    """Tables that follow from those of a study, by name.

    Parameters
    ----------
    chains, baselines, starts, models, summary, accounting, budgets, scores : DataFrame
        Tables of the study; it may be without the last four.
    stand_ins : dict of str to str
        From an algorithm that stands in for another to that one's id.
    swept : list of str
        Columns of what sweeps vary.
    claims : list of Claim
        Those of the configuration that are judged.
    chains_per_sample : int
        Chains that a row of `chains` is of.
    """
    by_epsilon = compared(chains, swept)
    given = {"chains": by_epsilon, "baselines": baselines, "accounting": accounting}
    tables = {}
    if len(by_epsilon):
        metrics = {"mmd", *metrics_of(claims)}
        gains = {name: gains_on_start(by_epsilon, starts, name) for name in sorted(metrics)}
        given["gains"] = gains
        tables["ranking"] = ranking(by_epsilon, summary, gains["mmd"])
    if scores is not None:
        tables["worth"] = worth_table(compared(scores, swept), compared(budgets, swept))
    clipping = clipping_chains(chains)
    if len(clipping):
        effects = clipping_effects(clipping, baselines, models, chains_per_sample)
        tables["clipping-effects"] = given["effects"] = effects
        tables["clipping-thresholds"] = clipping_thresholds(clipping, effects)
    if claims:
        tables["claims"], tables["claim-comparisons"] = evaluate(claims, given)
    if claims and "data_set" in chains:
        parts = {"chains": chains, "baselines": baselines, "starts": starts}
        others = {"models": models, "stand_ins": {}, "swept": swept, "claims": claims}
        others |= {"summary": summary, "accounting": accounting}
        tables["claims-by-data-set"] = pd.concat(
            analysis_tables(**of_data_set(parts, number), **others)["claims"].assign(
                data_set=number
            )
            for number in sorted(chains["data_set"].unique())
        )
    if claims and stand_ins:
        replaced = {
            "chains": with_stand_ins(by_epsilon, stand_ins),
            "gains": {name: with_stand_ins(table, stand_ins) for name, table in gains.items()},
        }
        tables["claims-certified"], tables["claim-comparisons-certified"] = evaluate(
            claims, given | replaced
        )
    return tables


def of_data_set(tables, number):
    """Rows of tables that are of one data set, as if there were no other."""
    return {
        name: table[table["data_set"] == number].drop(columns="data_set")
        for name, table in tables.items()
    }


def compared(chains, swept):
    """Rows of chains that are compared at one epsilon: those of no sweep that have one."""
    is_swept = chains.reindex(columns=swept).notna().any(axis=1)
    return chains[chains["epsilon"].notna() & ~is_swept]


def concatenate(paths):
    """CSV files one below another, as they stand."""
    return pd.concat([read_csv(path) for path in paths], ignore_index=True)


def models_table(models):
    """Table 5.1: dimension d, rows n, n0, curvature or sharpness a, prior variance, reference."""
    rows = []
    for entry in models:
        settings = entry.settings
        rows.append(
            {
                "model": entry.model,
                "kind": settings["class"].rpartition(":")[2],
                "d": entry.d,
                "n": settings.get("num_rows"),
                "n0": settings.get("tempered_rows"),
                "a": settings.get("curvature", settings.get("sharpness")),
                "prior_variance": settings.get("prior_variance"),
                "reference": entry.reference,
            }
        )
    return pd.DataFrame(rows).astype({"n0": "Int64"})


def summarise(chains, baselines, starts, mixing):
    """Median and quartiles over the seeds of MMD and clip fraction, a row a cell, and a scale.

    So too of the accuracy, where models have one.

    Parameters
    ----------
    chains, mixing : DataFrame
        Rows of these tables that are compared.
    baselines, starts : DataFrame
        Tables of the study: MMD of exact samples, and of start points that are never left.

    Returns
    -------
    DataFrame
        `times_exact` is the median MMD in units of that of exact samples of as many draws, or of
        the draws that these have where a chain keeps fewer; `distance_closed` is 0
        for that of never moving and 1 for that of exact samples; `ess` is a sample's (of
        all chains of a sample), in the median, and `r_hat` that of all chains of the cell.
        `sd_ratio` is the median of the standard deviations over the posterior's, and `mean_error`
        that of the mean's distance from the posterior's, in units of the posterior's standard
        deviation (the root of its summed variances). Where cells have several data sets,
        `coverage` is the mean share of components whose 90 % interval holds the theta of the data.
    """
    cells = chains.groupby(KEYS, sort=False)
    columns = {"iterations": cells["iterations"].first(), "samples": cells.size()}
    for metric in ("mmd", "clip_fraction", *chains.columns.intersection(["accuracy"])):
        for name, q in QUARTILES.items():
            columns[f"{metric}_{name}"] = cells[metric].quantile(q)
    columns |= {name: cells[name].median() for name in ("ess", "mmd_draws")}
    columns |= {name: cells[name].mean() for name in chains.columns.intersection(["coverage"])}
    table = pd.DataFrame(columns).reset_index()
    table = table.merge(mixing[[*KEYS, "r_hat"]], on=KEYS, how="left")
    exact, start = (
        table["model"].map(samples.groupby("model")["mmd"].median())
        for samples in (baselines, starts)
    )
    draws = table["model"].map(baselines.groupby("model")["mmd_draws"].first())
    more = (table.pop("mmd_draws") / draws).clip(lower=1)
    table["times_exact"] = table["mmd_median"] / (exact * of_more_draws(more))
    table["distance_closed"] = (start - table["mmd_median"]) / (start - exact)
    medians = cells[["sd_ratio", "mean_error"]].median().reset_index()
    table = table.merge(medians, on=KEYS, how="left")
    table["mean_error"] /= table["model"].map(baselines.groupby("model")["posterior_sd"].first())
    return table


def of_more_draws(times):
    """MMD of exact samples of so many times as many draws as the reference sample, in units.

    The unit is that of exact samples of as many. An unbiased MMD^2 of k draws from l of the same
    distribution is, for large k and l, 1/k + 1/l times a variable that depends on neither (Gretton
    et al. 2012, Theorem 12).

    Parameters
    ----------
    times : Series
        At least 1. Above 1, exact samples have as many draws as the reference sample: they have
        fewer only if `max_draws` thins them, and then no chain has more.
    """
    return ((1 + 1 / times) / 2) ** 0.5
