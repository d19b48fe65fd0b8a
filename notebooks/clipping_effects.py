"""Effects of clipping, in words and tables: thresholds, detected effects, and single chains."""

from dpmcmc_studies.analysis.claims import LEAST_CLIPPED
from dpmcmc_studies.reporting import words

RULE_OF_THUMB = 0.2  # share of clipped rows below which the thesis takes clipping for harmless
CELL = ["model", "algorithm"]


def is_loosest(table, bound):
    """Rows of a table that have the largest bound, a column, of their model and algorithm."""
    return table[bound] == table.groupby(CELL)[bound].transform("max")


def label(study, row):
    """Text of the algorithm and the model of a row of a table."""
    return f"{study.algorithm_label(row.algorithm)}, {study.model_label(row.model)}"


def about_threshold(study, row):
    """Sentences on the threshold of a model and algorithm.

    Parameters
    ----------
    study : StudyResults
    row : namedtuple
        Of the table `clipping-thresholds`.
    """
    has_next = row.next_clip_fraction == row.next_clip_fraction
    fails = (
        f" At the next bound, with {words.percent(row.next_clip_fraction)} of the rows clipped, "
        "the effect is detected, or its interval reaches beyond the spread of the baselines."
        if has_next
        else ""
    )
    if row.threshold == row.threshold:
        low, high = map(words.percent, (row.threshold_low, row.threshold_high))
        return (
            f"- **{label(study, row)}: {words.percent(row.threshold)}** of the rows (interval of "
            f"that median {low} to {high}), at bound {row.bound:g}."
            f"{fails or ' The rule holds at every bound of the study.'}"
        )
    if fails:
        return f"- **{label(study, row)}: no threshold.**{fails}"
    return f"- **{label(study, row)}: no threshold**, because the loosest bound is the only one."


def detected(study, effects):
    """Sentences on chains that clipping brings detectably further from the posterior, or closer.

    Parameters
    ----------
    study : StudyResults
    effects : DataFrame
        Table `clipping-effects` of the study.

    Returns
    -------
    list of str
    """
    tighter = effects[~is_loosest(effects, "bound")]
    directions = {
        "further from": tighter["effect_low"] > 0,
        "closer to": tighter["effect_high"] < 0,
    }
    sentences = []
    for direction, is_detected in directions.items():
        for _, table in tighter[is_detected].groupby(CELL, sort=False):
            rows = list(table.itertuples())
            cells = [f"{words.percent(row.clip_fraction)} (bound {row.bound:g})" for row in rows]
            sentences.append(
                f"- {label(study, rows[0])}: chains are detectably {direction} the posterior "
                f"(interval without 0) with {words.listing(cells)} of the rows clipped."
            )
    return sentences


def about_rule_of_thumb(effects):
    """Sentence on the bounds that clip less than the rule of thumb; of `clipping-effects`."""
    tighter = effects[~is_loosest(effects, "bound")]
    below = tighter[tighter["clip_fraction"] < RULE_OF_THUMB]
    telling = below[below["clip_fraction"] >= LEAST_CLIPPED]
    undetectable = telling["is_undetectable"].sum()
    is_detected = (telling["effect_low"] > 0) | (telling["effect_high"] < 0)
    return (
        f"- The thesis's rule of thumb is {100 * RULE_OF_THUMB:g} %. Of the {len(below)} tighter "
        f"bounds with less than that, {len(below) - len(telling)} clip less than "
        f"{LEAST_CLIPPED:.0%} of the rows, too few to tell. Of the other {len(telling)}, clipping "
        f"is undetectable by the rule in {undetectable} and detected in {is_detected.sum()}; in "
        f"{len(telling) - undetectable - is_detected.sum()} the interval includes 0 but reaches "
        "beyond the spread."
    )


def about_single_chains(clipping):
    """Sentence on single chains that clip little and end far away; empty without such.

    Parameters
    ----------
    clipping : DataFrame
        Rows of the table `chains` of the study of clipping.
    """
    loosest = is_loosest(clipping, "clip_bound")
    worst = clipping[loosest].groupby(CELL)["mmd"].max().rename("worst").reset_index()
    lost = clipping[~loosest & (clipping["clip_fraction"] < RULE_OF_THUMB)].merge(worst)
    lost = lost[lost["mmd"] > 2 * lost["worst"]]
    if lost.empty:
        return ""
    return (
        f"- Medians hide single chains: {len(lost)} with less than {100 * RULE_OF_THUMB:g} % of "
        f"the rows clipped (the least: {words.percent(lost['clip_fraction'].min())}) end more than "
        "twice as far from the posterior as the worst chain at the loosest bound."
    )


def findings(study, thresholds, effects, clipping):
    """Findings of the page: a list in Markdown; parameters as for the functions above."""
    sentences = [about_threshold(study, row) for row in thresholds.itertuples()]
    sentences += [*detected(study, effects), about_rule_of_thumb(effects)]
    return "\n".join(filter(None, [*sentences, about_single_chains(clipping)]))


def effect_tables(study, effects):
    """Tables of the effects, each a list of dict, by algorithm and model, a title.

    Parameters
    ----------
    study : StudyResults
    effects : DataFrame
        Table `clipping-effects` of the study.
    """
    tables = {}
    for _, table in effects.groupby(CELL, sort=False):
        rows = list(table.itertuples())
        tables[label(study, rows[0])] = [
            {
                "bound": row.bound,
                "rows clipped": words.percent(row.clip_fraction),
                "decisions changed": words.percent(row.changed_fraction),
                "MMD": f"{row.mmd:.3f}",
                "effect": words.interval(row.effect, row.effect_low, row.effect_high, "+.3f"),
                "baseline spread": f"{row.spread:.3f}",
                "undetectable": "yes" if row.is_undetectable else "no",
            }
            for row in rows
        ]
    return tables
