"""Worth of each cell of a study in rows, and a ranking by it, from the table `scores`."""

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from dpmcmc.evaluation import scores as ruler
from dpmcmc_studies.analysis.ranking import KEYS

LEAST_SPENT = 0.9  # of epsilon, in cells that are ranked
CONFIDENCE = 0.95  # of the interval of a paired difference
HONEST = "honest"  # a verdict
NO_INTERVALS = "no intervals"  # verdict on a cell of which any sample has none of its own


def worth_table(scores, budgets):
    """Worth, coverage and width of each cell with standard errors, a verdict, and ranks.

    Where the scores are of several data sets, standard errors are between these.

    Cells of one model and epsilon are ranked by their mean score ratio, the honest ones first. A
    cell shares the rank of the best one of its group as long as the interval of their difference,
    in pairs by data set, includes 0. A cell has no rank if it spends less than `LEAST_SPENT` of
    epsilon, since a longer chain might be better, or if any of its samples has no intervals: those
    of the prior, which such a sample gets, cover well, so the mean coverage would flatter the cell.

    Parameters
    ----------
    scores : DataFrame
        Table `scores` of the study; the rows that are compared.
    budgets : DataFrame
        Table `budgets` of the study.

    Returns
    -------
    DataFrame
        A row a cell, by model and epsilon and then by rank: the columns of
        `dpmcmc.evaluation.scores.summary`, where `honest` may be `NO_INTERVALS`, and `not_scored`
        says of how many samples; `spent`, the share of epsilon that is spent; `energy_ratio`; and
        where there are several data sets `widened_worth`, that of intervals widened by a factor
        that is found on simulated data.
    """
    spent = budgets.assign(spent=budgets["spent_epsilon"] / budgets["epsilon"])
    rows = []
    for keys, cell in scores.groupby(KEYS, sort=False):
        row = dict(zip(KEYS, keys, strict=True)) | {"iterations": cell["iterations"].iloc[0]}
        row |= ruler.summary(cell, data_sets_of(cell))
        if row["not_scored"]:
            row["honest"] = NO_INTERVALS
        for name in cell.columns.intersection(["widened_ratio", "energy_ratio"]):
            row[name], row[f"{name}_se"], _ = ruler.mean_and_error(cell[name], data_sets_of(cell))
        if "widened_ratio" in row:
            ratio, error = row.pop("widened_ratio"), row.pop("widened_ratio_se")
            row["widened_worth"], row["widened_worth_se"] = ruler.worth(ratio, error)
        rows.append(row)
    table = pd.DataFrame(rows).merge(spent[[*KEYS, "spent"]], on=KEYS, how="left")
    return ranked(table, scores)


def data_sets_of(cell):
    """Number of the data set of each sample; None where there is one data set."""
    if "data_set" in cell and cell["data_set"].notna().all():
        return cell["data_set"].to_numpy()
    return None


def ranked(table, scores):
    """A table of worth with `rank` and `is_tied`, in the order of ranks within a problem."""
    table = table.assign(
        is_ranked=(table["spent"] >= LEAST_SPENT) & (table["not_scored"] == 0),
        is_honest=table["honest"] == HONEST,
        place=table["model"].map({name: i for i, name in enumerate(table["model"].unique())}),
    )
    order = ["place", "epsilon", "is_ranked", "is_honest", "score_ratio"]
    table = table.sort_values(order, ascending=[True, True, False, False, True])
    of_cell, ranks = dict(list(scores.groupby(KEYS, sort=False))), []
    for _, problem in table.groupby(["place", "epsilon"]):
        leader = rank = None
        for position, row in enumerate(problem.to_dict("records"), start=1):
            cell = of_cell[tuple(row[key] for key in KEYS)]
            if not row["is_ranked"]:
                rank = None
            elif leader is None or row["is_honest"] != leader[0] or is_behind(cell, leader[1]):
                leader, rank = (row["is_honest"], cell), position
            ranks.append(rank)
    table = table.assign(rank=pd.array(ranks, dtype="Int64"))
    is_shared = table.duplicated(["model", "epsilon", "rank"], keep=False)
    table["is_tied"] = is_shared & table["rank"].notna()
    return table.drop(columns=["place", "is_ranked", "is_honest"]).reset_index(drop=True)


def is_behind(cell, leader):
    """True if a cell's score ratio is surely above that of another, in pairs by data set."""
    pairs = [by_data_set(cell), by_data_set(leader)]
    ours, others = (pair.reindex(pairs[0].index.intersection(pairs[1].index)) for pair in pairs)
    with np.errstate(invalid="ignore"):  # two infinite scores do not differ
        differences = np.nan_to_num((ours - others).to_numpy(), posinf=np.inf, neginf=-np.inf)
    mean, error, count = ruler.mean_and_error(differences)
    if count < 2:
        return mean > 0
    return mean > stdtrit(count - 1, (1 + CONFIDENCE) / 2) * error


def by_data_set(cell):
    """Mean score ratio of each data set, or of each sample where there is one data set."""
    sets = data_sets_of(cell)
    return cell.groupby(cell["sample"] if sets is None else sets)["score_ratio"].mean()
