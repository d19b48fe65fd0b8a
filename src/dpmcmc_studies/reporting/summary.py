"""Texts and tables of the page that summarises a study."""

from dpmcmc_studies.analysis.claims import ABSENT
from dpmcmc_studies.reporting import words
from dpmcmc_studies.reporting.recommendation import worth

MOST_COMPARISONS = 40  # of a claim that a page lists


def remarks(study):
    """Remarks of a study, and the studies that it is related to: Markdown, empty without them."""
    lines = [f"- {remark}" for remark in study.remarks]
    lines += [
        f"- [{other.title}](../../{name}/README.md): {other.difference}"
        for name, other in study.related.items()
    ]
    return "\n\n## What to bear in mind\n\n" + "\n".join(lines) if lines else ""


def first_places(study, ranking):
    """Counts of the first places of each algorithm, shared and alone: a list in Markdown.

    Parameters
    ----------
    study : StudyResults
    ranking : DataFrame
        Table `ranking` of the study.
    """
    ranked = ranking.dropna(subset="rank")
    ties = ranked[ranked["rank"] == 1].groupby("algorithm", sort=False)["is_tied"]
    counts = ties.agg(["size", "sum"]).sort_values("size", ascending=False)
    lines = [
        f"- {study.algorithm_label(name)} is first in {row['size']} of the "
        f"{(ranked['algorithm'] == name).sum()} problems it ran on, in "
        f"{row['size'] - row['sum']} of them alone."
        for name, row in counts.iterrows()
    ]
    return "\n".join(lines)


def num_problems(ranking):
    """Number of pairs of a posterior and an epsilon that have a ranking."""
    return ranking.dropna(subset="rank").groupby(["model", "epsilon"]).ngroups


def ranking_table(study, ranking):
    """Table of some rows of a ranking, with labels and texts: a list of dict.

    A study with a table `worth` has no column *usable*.

    Parameters
    ----------
    study : StudyResults
    ranking : DataFrame
        From `dpmcmc_studies.reporting.recommendation.joined`.
    """
    left_out = ["usable"] if "worth" in study.tables else []  # `honest` is the verdict there
    rows = [
        {
            "ε": f"ε = {row['epsilon']:g}",
            "algorithm": study.algorithm_label(row["algorithm"]),
            "rank": words.number(row["rank"], ".0f") + "=" * row["is_tied"],
            "MMD": words.interval(*(row[name] for name in ("mmd", "mmd_low", "mmd_high"))),
            "iterations": row["iterations"],
            "seconds": row["seconds"],
            **worth(row),
            "clipped": words.number(row["clip_fraction"], ".1%"),
        }
        for row in ranking.to_dict("records")
    ]
    return [{key: row[key] for key in row if key not in left_out} for row in rows]


def counted_verdicts(claims):
    """Sentence that counts the verdicts of claims; claims that the study lacks are left out."""
    judged = claims[claims["verdict"] != ABSENT]
    counts = [
        f"one is {verdict}" if count == 1 else f"{count} are {verdict}"
        for verdict, count in judged["verdict"].value_counts().items()
    ]
    return f"Of the {len(judged)} claims, {words.listing(counts)}."


def not_for_claims(comparisons):
    """Comparisons that are left out or do not speak for their claim, by title: tables of a page.

    Parameters
    ----------
    comparisons : DataFrame
        Table `claim-comparisons` of a study.

    Returns
    -------
    dict of str to DataFrame
        The first MOST_COMPARISONS of each claim; claims without such are left out.
    """
    tables = {}
    for number, group in comparisons.groupby("claim", sort=False):
        rest = group[(group["speaks"] != "for") | ~group["counts"]].drop(columns="claim")
        if rest.empty:
            continue
        rest["counts"] = rest["counts"].map({True: "yes", False: "no"})
        is_cut = len(rest) > MOST_COMPARISONS
        more = f" (the first {MOST_COMPARISONS} of {len(rest)})" if is_cut else ""
        title = f"Claim {number}: comparisons that are left out or do not speak for it{more}"
        tables[title] = rest.head(MOST_COMPARISONS)
    return tables
