"""Tables of a study, put together from the tables of its models."""

import pandas as pd

from dpmcmc.evaluation.analysis import (
    clipping_chains,
    clipping_effects,
    clipping_thresholds,
    ranking,
    with_stand_ins,
)
from dpmcmc.evaluation.claims import evaluate
from dpmcmc.frames import read_csv, whole

QUARTILES = {"q25": 0.25, "median": 0.5, "q75": 0.75}


def study_tables(spec, chains, timings, baselines, budgets):
    """All tables of a study, by name.

    Parameters
    ----------
    spec : dict
        From `dpmcmc.study.study.Study.study_tables`.
    chains, timings, baselines, budgets : list of paths
        One CSV a model each.

    Returns
    -------
    dict of str to DataFrame
    """
    all_chains = whole(concatenate(chains), "changed_decisions")
    compared_chains = compared(all_chains, spec["swept"])
    tables = {
        "chains": all_chains,
        "timings": concatenate(timings),
        "baselines": concatenate(baselines),
        "budgets": whole(concatenate(budgets), "allowed_iterations"),
        "models": models_table(spec["models"]),
    }
    return tables | ({"summary": summarise(compared_chains)} if len(compared_chains) else {})


def analysis_tables(chains, baselines, models, stand_ins, swept, accounting=None):
    """What follows from the tables of a study, by name.

    Parameters
    ----------
    chains, baselines, models, accounting : DataFrame
        Tables of the study; it may be without the last one.
    stand_ins : dict of str to str
        From an algorithm that stands in for another to that one's id.
    swept : list of str
        Columns of what sweeps vary.
    """
    by_epsilon = compared(chains, swept)
    given = {"chains": by_epsilon, "baselines": baselines, "accounting": accounting}
    tables = {"ranking": ranking(by_epsilon)} if len(by_epsilon) else {}
    clipping = clipping_chains(chains)
    if len(clipping):
        effects = clipping_effects(clipping, baselines, models)
        tables["clipping-effects"] = given["effects"] = effects
        tables["clipping-thresholds"] = clipping_thresholds(clipping, effects)
    if len(by_epsilon):
        tables["claims"], tables["claim-cells"] = evaluate(given)
    if stand_ins:
        tables["claims-certified"], tables["claim-cells-certified"] = evaluate(
            given | {"chains": with_stand_ins(by_epsilon, stand_ins)}
        )
    return tables


def compared(chains, swept):
    """Chains that are compared at one epsilon: those of no sweep that have one."""
    is_swept = chains[swept].notna().any(axis=1)
    return chains[chains["epsilon"].notna() & ~is_swept]


def concatenate(paths):
    """CSV files one below another, as they stand."""
    return pd.concat([read_csv(path) for path in paths], ignore_index=True)


def models_table(models):
    """Table 5.1: dimension d, rows n, n0, curvature or sharpness a, and prior variance."""
    rows = []
    for entry in models:
        settings = entry["settings"]
        rows.append(
            {
                "model": entry["model"],
                "kind": settings["class"].rpartition(":")[2],
                "d": entry["d"],
                "n": settings.get("num_rows"),
                "n0": settings.get("tempered_rows"),
                "a": settings.get("curvature", settings.get("sharpness")),
                "prior_variance": settings.get("prior_variance"),
            }
        )
    return pd.DataFrame(rows).astype({"n0": "Int64"})


def summarise(chains):
    """Median and quartiles over the seeds of MMD and clip fraction, a row a cell."""
    cells = chains.groupby(["model", "algorithm", "epsilon"], sort=False)
    columns = {"iterations": cells["iterations"].first(), "chains": cells.size()}
    for metric in ("mmd", "clip_fraction"):
        for name, q in QUARTILES.items():
            columns[f"{metric}_{name}"] = cells[metric].quantile(q)
    return pd.DataFrame(columns).reset_index()
