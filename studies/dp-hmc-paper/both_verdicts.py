"""Verdicts on claims by the published algorithms and by the corrected ones."""

from dpmcmc_studies.analysis.claims import ABSENT, SIDES


def both_verdicts(before, after, kinds):
    """Verdicts on each claim by two sets of chains, and which of them differ.

    Parameters
    ----------
    before, after : DataFrame
        Tables `claims` of either.
    kinds : (str, str)
        What these are, for the headings.

    Returns
    -------
    sentence : str
        How many verdicts change, and which, in Markdown.
    rows : list of dict
        One row a claim, for a table of a page.
    changed : list of int
        Numbers of the claims whose comparisons, or verdict, differ.
    """
    before, after = before.set_index("claim"), after.set_index("claim")
    columns = ["comparisons", *SIDES, "verdict"]
    is_changed = (before[columns] != after[columns]).any(axis=1)
    tables = dict(zip(kinds, (before, after), strict=True))
    rows = [
        {"no.": number, "section": before["section"][number], "claim": before["statement"][number]}
        | {
            f"{kind}: for, against, open": " ".join(str(table[side][number]) for side in SIDES)
            for kind, table in tables.items()
        }
        | {f"verdict, {kind}": table["verdict"][number] for kind, table in tables.items()}
        for number in before.index
    ]
    is_judged = (before["verdict"] != ABSENT) & (after["verdict"] != ABSENT)
    others = before.index[is_judged & (before["verdict"] != after["verdict"])]
    changes = (
        f"claim {number} (“{before['statement'][number]}”) was {before['verdict'][number]} and is "
        f"now {after['verdict'][number]}"
        for number in others
    )
    count = "One" if len(others) == 1 else len(others)
    verb = "changes" if len(others) == 1 else "change"
    sentence = f"**{count} of the {is_judged.sum()} verdicts {verb}**: {'; '.join(changes)}."
    if others.empty:
        sentence = "**No verdict changes.**"
    return sentence, rows, list(before.index[is_changed])
