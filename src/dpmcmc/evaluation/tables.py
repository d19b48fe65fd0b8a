"""Tables of a study, put together from the tables of its models."""

import pandas as pd

from dpmcmc.evaluation.analysis import by_certified, clipping_effects, clipping_thresholds, ranking
from dpmcmc.evaluation.claims import evaluate
from dpmcmc.files import read_csv
from dpmcmc.study.study import dimension

QUARTILES = {"q25": 0.25, "median": 0.5, "q75": 0.75}


def study_tables(spec, chains, timings, baselines, budgets, clipping):
    """All tables of a study, by name.

    Parameters
    ----------
    spec : dict
        `models`: id and entry in the configuration, for each model that runs.
    chains, timings, baselines, budgets, clipping : list of paths
        One CSV a model each; the last of the models of the clipping study, if there is one.

    Returns
    -------
    dict of str to DataFrame
    """
    all_chains = concatenate(chains)
    tables = {
        "chains": all_chains,
        "timings": concatenate(timings),
        "baselines": concatenate(baselines),
        "budgets": concatenate(budgets),
        "models": models_table(spec["models"]),
        "summary": summarise(all_chains),
    }
    return tables | ({"clipping": concatenate(clipping)} if clipping else {})


def analysis_tables(chains, baselines, accounting=None, clipping=None):
    """What follows from the tables of a study, by name.

    Parameters
    ----------
    chains, baselines, accounting, clipping : DataFrame
        Tables of the study; it may be without the last two.
    """
    given = {"chains": chains, "baselines": baselines, "accounting": accounting}
    tables = {"ranking": ranking(chains)}
    if clipping is not None:
        tables["clipping-effects"] = given["effects"] = clipping_effects(clipping, baselines)
        tables["clipping-thresholds"] = clipping_thresholds(clipping, given["effects"])
    tables["claims"], tables["claim-cells"] = evaluate(given)
    certified = by_certified(chains)
    if len(certified) < len(chains):
        tables["claims-certified"], tables["claim-cells-certified"] = evaluate(
            given | {"chains": certified}
        )
    return tables


def concatenate(paths):
    """CSV files one below another, as they stand."""
    return pd.concat([read_csv(path) for path in paths], ignore_index=True)


def models_table(models):
    """Table 5.1: dimension d, rows n, n0, curvature or sharpness a, and prior variance."""
    rows = [
        {
            "model": name,
            "kind": settings["kind"],
            "d": dimension(settings),
            "n": settings["num_rows"],
            "n0": settings.get("tempered_rows"),
            "a": settings.get("curvature", settings.get("sharpness")),
            "prior_variance": settings.get("prior_variance"),
        }
        for name, settings in models
    ]
    return pd.DataFrame(rows).astype({"n0": "Int64"})


def summarise(chains):
    """Median and quartiles over the seeds of MMD and clip fraction, a row a cell."""
    cells = chains.groupby(["model", "algorithm", "epsilon"], sort=False)
    columns = {"iterations": cells["iterations"].first(), "chains": cells.size()}
    for metric in ("mmd", "clip_fraction"):
        for name, q in QUARTILES.items():
            columns[f"{metric}_{name}"] = cells[metric].quantile(q)
    return pd.DataFrame(columns).reset_index()
