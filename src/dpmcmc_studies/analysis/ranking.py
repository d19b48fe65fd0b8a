"""Effects of clipping, and a ranking, with bootstrap intervals, from the tables of a study."""

import numpy as np
import pandas as pd

from dpmcmc.evaluation.metrics import LARGEST_MMD
from dpmcmc_studies.analysis.intervals import Estimate, median_contrast

# A cell is usable when a sample of it can stand for the posterior: its chains agree, and they are
# about as near as an exact sample is, and nearer than never moving.
LARGEST_R_HAT = 1.1
MOST_TIMES_EXACT = 3

KEYS = ["model", "algorithm", "epsilon"]  # of a cell that is compared


def clipping_chains(chains):
    """Chains without privacy of a sweep over the clip bound, with that as `bound`.

    Parameters
    ----------
    chains : DataFrame
        Table `chains` of the study.
    """
    if "clip_bound" not in chains:
        return chains.iloc[:0]
    is_swept = chains["clip_bound"].notna() & chains["delta"].isna()
    return chains[is_swept].rename(columns={"clip_bound": "bound"})


def clipping_effects(clipping, baselines, models, chains_per_sample=1):
    """Effect of each clip bound on the MMD, against the loosest bound.

    Clipping is undetectable at a bound when the interval of median MMD(bound) - median
    MMD(loosest bound) includes 0 and lies below the spread q90 - q10 of the baselines' MMD. The
    loosest bound itself is what the others are compared with, and undetectable.

    Parameters
    ----------
    clipping : DataFrame
        From `clipping_chains`.
    baselines, models : DataFrame
        Tables of the study.
    chains_per_sample : int
        Of a row of `clipping`: its decisions are those of all its chains, its iterations those of
        one.

    Returns
    -------
    DataFrame
        One row a model, algorithm and bound, loosest first: medians over the seeds, the effect
        with its interval, the spread, and `is_undetectable`.
    """
    rows, dimensions = [], models.set_index("model")["d"]
    for (model, algorithm), chains in clipping.groupby(["model", "algorithm"], sort=False):
        mmd = baselines.loc[baselines["model"] == model, "mmd"]
        spread = mmd.quantile(0.9) - mmd.quantile(0.1)
        bounds = sorted(chains["bound"].unique().tolist(), reverse=True)
        loosest = chains[chains["bound"] == bounds[0]]
        for bound in bounds:
            cell, effect = chains[chains["bound"] == bound], Estimate(0.0, 0.0, 0.0)
            decisions = chains_per_sample * cell["iterations"]
            if bound != bounds[0]:
                labels = ("effect", model, algorithm, bound)
                effect = median_contrast(labels, [cell["mmd"]], [loosest["mmd"]])
            rows.append(
                {
                    "model": model,
                    "dim": dimensions[model],
                    "algorithm": algorithm,
                    "bound": bound,
                    "clip_fraction": cell["clip_fraction"].median(),
                    "changed_fraction": (cell["changed_decisions"] / decisions).median(),
                    "mmd": cell["mmd"].median(),
                    **effect.columns("effect"),
                    "spread": spread,
                    "is_undetectable": bound == bounds[0]
                    or effect.low <= 0 <= effect.high < spread,
                }
            )
    return pd.DataFrame(rows)


def clipping_thresholds(clipping, effects):
    """The largest clip fraction that is undetectable, as it is at every looser bound too.

    Parameters
    ----------
    clipping : DataFrame
        From `clipping_chains`.
    effects : DataFrame
        From `clipping_effects`.

    Returns
    -------
    DataFrame
        One row a model and algorithm: the bound with that fraction, the median clip fraction
        there with its interval (of this median; the choice of the bound is not resampled), and
        the median at the next tighter bound, where the rule fails. Missing: the threshold if the
        rule fails at every bound but the loosest, the next fraction if it holds at all.
    """
    rows = []
    for (model, algorithm), of_bounds in effects.groupby(["model", "algorithm"], sort=False):
        holds = of_bounds["is_undetectable"].cummin()
        tighter = of_bounds[holds].iloc[1:]
        bound, threshold = np.nan, Estimate(np.nan, np.nan, np.nan)
        if len(tighter):
            bound = tighter.loc[tighter["clip_fraction"].idxmax(), "bound"]
            is_cell = (clipping["model"] == model) & (clipping["algorithm"] == algorithm)
            chains = clipping[is_cell & (clipping["bound"] == bound)]
            threshold = median_contrast(("threshold", model, algorithm), [chains["clip_fraction"]])
        rows.append(
            {
                "model": model,
                "dim": of_bounds["dim"].iloc[0],
                "algorithm": algorithm,
                "bound": bound,
                **threshold.columns("threshold"),
                "next_clip_fraction": next(iter(of_bounds.loc[~holds, "clip_fraction"]), np.nan),
            }
        )
    return pd.DataFrame(rows)


def gains_on_start(chains, starts, metric="mmd"):
    """Median MMD, or other metric, of each cell less that of never moving, in pairs by start.

    Parameters
    ----------
    chains : DataFrame
        Rows of the table `chains` that are compared.
    starts : DataFrame
        Table `starts` of the study.
    metric : str
        A column of both.

    Returns
    -------
    DataFrame
        One row a cell that has an MMD: model, algorithm, epsilon, the difference with its
        interval, and `is_nearer`, whether that lies below 0.
    """
    rows, of_seeds = [], starts.set_index(["model", "sample"])[metric]
    for (model, algorithm, epsilon), cell in chains.groupby(KEYS, sort=False):
        if cell[metric].notna().all():
            unmoved = of_seeds[model][cell["sample"]]
            labels = ("start", model, epsilon, algorithm, *[metric] * (metric != "mmd"))
            gap = median_contrast(labels, [cell[metric]], [unmoved])
            rows.append([model, algorithm, epsilon, *gap, gap.high < 0])
    return pd.DataFrame(rows, columns=[*KEYS, "difference", "low", "high", "is_nearer"])


def ranking(chains, summary, gains):
    """Algorithms by median MMD for each model and epsilon; indistinguishable ones share a rank.

    From the lowest median up, an algorithm shares the rank of the best one of the present group
    as long as the interval of the difference of their medians includes 0; the first for which it
    does not opens the next group. Algorithms whose budget leaves no MMD, or of whose chains half
    have diverged, are not ranked.

    Parameters
    ----------
    chains : DataFrame
        Rows of the table `chains` that are compared.
    summary : DataFrame
        From `dpmcmc_studies.analysis.tables.summarise`.
    gains : DataFrame
        From `gains_on_start`.

    Returns
    -------
    DataFrame
        One row a model, epsilon and algorithm, by increasing epsilon within a model and by rank;
        medians over the seeds; `is_nearer` where that is nearer to the posterior than never
        moving, and `is_usable`. Where chains have several data sets, `share_first` of
        `shares_first`.
    """
    rows, places = [], {name: place for place, name in enumerate(chains["model"].unique())}
    for (_, epsilon), group in chains.groupby([chains["model"].map(places), "epsilon"]):
        model = group["model"].iloc[0]
        cells = dict(list(group.groupby("algorithm", sort=False)))
        medians = {name: cell["mmd"].median(skipna=False) for name, cell in cells.items()}
        with_rank = (name for name in cells if medians[name] < LARGEST_MMD)  # NaN has none
        ranked = sorted(with_rank, key=medians.get)
        leader = rank = None
        for position, name in enumerate(ranked, start=1):
            mmd = cells[name]["mmd"]
            if leader is not None:
                labels = ("ranking", model, epsilon, leader, name)
                behind = median_contrast(labels, [mmd], [cells[leader]["mmd"]])
            if leader is None or behind.low > 0:
                leader, rank = name, position
            estimate = median_contrast(("median", model, epsilon, name), [mmd])
            rows.append(row_of(cells[name], rank, estimate))
        missing = [name for name in cells if name not in ranked]
        rows += [row_of(cells[name], None, Estimate(*[np.nan] * 3)) for name in missing]
    table = pd.DataFrame(rows).astype({"rank": "Int64"})
    is_shared = table.duplicated(["model", "epsilon", "rank"], keep=False)
    table.insert(4, "is_tied", is_shared & table["rank"].notna())
    scale = ["times_exact", "distance_closed", "sd_ratio", "mean_error", "r_hat", "ess"]
    scale += summary.columns.intersection(["coverage"]).tolist()
    merged = [(gains, ["is_nearer"]), (summary, scale)]
    if "data_set" in chains:
        merged.append((shares_first(chains), ["share_first"]))
    for more, columns in merged:
        table = table.merge(more[[*KEYS, *columns]], on=KEYS, how="left")
    table["is_nearer"] = table["is_nearer"].eq(True)
    agree, are_near = table["r_hat"] <= LARGEST_R_HAT, table["times_exact"] <= MOST_TIMES_EXACT
    if "data_set" in chains:
        agree |= table["r_hat"].isna()  # of chains that are not of the same data
    return table.assign(is_usable=agree & are_near & table["is_nearer"])


def shares_first(chains):
    """Share of the data sets on which an algorithm has the lowest median MMD, `share_first`.

    Parameters
    ----------
    chains : DataFrame
        Rows of the table `chains` that are compared, with `data_set`.
    """
    problem = ["model", "epsilon", "data_set"]
    mmd = chains.groupby([*problem, "algorithm"], sort=False)["mmd"].median().reset_index()
    is_first = mmd["mmd"] == mmd.groupby(problem)["mmd"].transform("min")
    return mmd.assign(share_first=is_first).groupby(KEYS)["share_first"].mean().reset_index()


def with_stand_ins(chains, stand_ins):
    """Chains with those of stand-ins in place of what they stand in for.

    Parameters
    ----------
    chains : DataFrame
        Table `chains` of the study. In a cell that it has with an algorithm and its stand-in, the
        stand-in's chains get the other's id, and the others are left out.
    stand_ins : dict of str to str
        From the id of a stand-in to that of what it stands in for.
    """
    keys = ["model", "epsilon", "algorithm"]
    is_stand_in = chains["algorithm"].isin(list(stand_ins))
    chains = chains.assign(algorithm=chains["algorithm"].replace(stand_ins))
    cells = pd.MultiIndex.from_frame(chains[keys])
    return chains[is_stand_in | ~cells.isin(cells[is_stand_in])]


def row_of(cell, rank, estimate):
    """A row of the ranking."""
    return {
        **cell[["model", "epsilon", "algorithm"]].iloc[0],
        "rank": rank,
        **estimate.columns("mmd"),
        "clip_fraction": cell["clip_fraction"].median(),
        "iterations": cell["iterations"].iloc[0],
    }
