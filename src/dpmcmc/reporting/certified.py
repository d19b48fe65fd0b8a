"""What certified accounting, or a correction, changes: budgets and verdicts, as rows of tables."""

from dpmcmc.accounting.search import rounded_up
from dpmcmc.evaluation.claims import ABSENT

SIDES = ("for", "against", "open")


def capped(study, budgets):
    """Cells whose chains a cap ended before their budget was spent, with the epsilon spent.

    Parameters
    ----------
    study : Study
    budgets : DataFrame
        Rows of that table.

    Returns
    -------
    DataFrame
        For a table of a page; empty if there are none.
    """
    ended = budgets[
        budgets["chains_per_sample"] * (budgets["iterations"] + 1) <= budgets["allowed_iterations"]
    ]
    rows = ended.assign(
        model=ended["model"].map(study.model_label),
        algorithm=ended["algorithm"].map(study.algorithm_label),
        spent_epsilon=ended["spent_epsilon"].map(lambda epsilon: rounded_up(epsilon, 2)),
    )
    names = {"epsilon": "ε", "allowed_iterations": "allowed", "spent_epsilon": "ε spent"}
    if study.chains_per_sample > 1:
        names |= {"iterations": "a chain's iterations", "allowed_iterations": "allowed a sample"}
    columns = ["epsilon", "iterations", "allowed_iterations", "spent_epsilon"]
    return rows[["model", "algorithm", *columns]].rename(columns=names)


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
