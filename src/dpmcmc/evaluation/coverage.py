"""Coverage of intervals: how often they contain the theta that the data were drawn at.

With theta from the prior, a credible interval of the exact posterior covers it with its own
probability, and its rank among the draws is uniform (simulation-based calibration, Talts et al.
2018). So it is for any private posterior that takes its noise into account.
"""

import numpy as np

LEVELS = 0.5, 0.9
RANKS = 10  # bins of ranks


def of_data_set(truth, draws, exact):
    """Statistics of one sample on one data set.

    Parameters
    ----------
    truth : (d,) array
        theta that the data were drawn at.
    draws : (k, d) array
        The sample.
    exact : (l, d) array or None
        Exact draws of the posterior, if there are any.

    Returns
    -------
    dict of str to float or array
        Means over the components but for ranks, counts in bins (RANKS,); widths, and the mean's
        error, are in units of the exact posterior's width and standard deviations. All that takes
        exact draws is NaN without them. A sample whose squares have no finite sum has
        diverged (`diverged`, 1 or 0): its intervals hold nothing, it has no ranks, and its widths
        and errors are infinite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        has_diverged = not np.linalg.norm(draws) < np.inf
    if has_diverged:
        draws = np.full_like(draws, np.nan)  # which no comparison holds for
    found = {"diverged": int(has_diverged)}
    if exact is None:
        exact = np.full((2, len(truth)), np.nan)
    for level in LEVELS:
        tails = [(1 - level) / 2, (1 + level) / 2]
        (low, high), (exact_low, exact_high) = (
            np.quantile(sample, tails, axis=0) for sample in (draws, exact)
        )
        name = f"{100 * level:.0f}"
        found[f"coverage_{name}"] = ((low <= truth) & (truth <= high)).mean()
        exactly = (exact_low <= truth) & (truth <= exact_high)
        found[f"exact_coverage_{name}"] = np.where(np.isnan(exact_low), np.nan, exactly).mean()
        found[f"width_{name}"] = np.mean((high - low) / (exact_high - exact_low))
    expected, sd = exact.mean(axis=0), exact.std(axis=0, ddof=1)
    found["mean_error"] = np.sqrt(np.mean(((draws.mean(axis=0) - expected) / sd) ** 2))
    with np.errstate(divide="ignore"):  # of a chain that never moves
        found["sd_ratio"] = np.exp(np.mean(np.log(draws.std(axis=0, ddof=1) / sd)))
    below = (draws < truth).mean(axis=0)
    bins = np.minimum((RANKS * below).astype(int), RANKS - 1)
    found["ranks"] = np.bincount(bins, minlength=RANKS)
    if has_diverged:
        found["ranks"] = np.zeros(RANKS, dtype=int)
        if np.isfinite(sd).all():
            compared = [*(f"width_{100 * level:.0f}" for level in LEVELS), "mean_error", "sd_ratio"]
            found |= dict.fromkeys(compared, np.inf)
    return found


def summary(found):
    """A row of the table `intervals`, of what `of_data_set` found for each data set.

    Returns
    -------
    dict of str to float
        How many data sets there are, and samples that have diverged. Coverages, means over the data
        sets, with standard errors (`_se`, between data sets); medians over the data sets of all
        else; ranks, of samples that have not diverged, as shares of each bin. Without a data set
        there are the two numbers alone.
    """
    row = {"data_sets": len(found), "diverged": 0}
    for name in found[0] if found else ():
        values = np.array([one[name] for one in found])
        if name == "diverged":
            row[name] = values.sum()
        elif name == "ranks":
            shares = values.sum(axis=0) / max(values.sum(), 1)
            row |= {f"rank_{i}": share for i, share in enumerate(shares)}
        elif "coverage" in name:
            row |= {name: values.mean(), f"{name}_se": values.std(ddof=1) / np.sqrt(len(values))}
        else:
            row[name] = np.median(values)
    return row
