"""Effect of certified accounting on budgets, as rows of tables."""

from dpmcmc.accounting.search import rounded_up


def capped(study, budgets):
    """Cells whose chains a cap ended before their budget was spent, with the epsilon spent.

    Parameters
    ----------
    study : StudyResults
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
