"""Verdicts and ranks by data set: which of them change with it."""

from typing import NamedTuple

import pandas as pd

from dpmcmc_studies.analysis.claims import ABSENT
from dpmcmc_studies.analysis.ranking import shares_first

PROBLEM = ["model", "epsilon"]


class Verdicts(NamedTuple):
    """Verdicts on claims, by data set.

    Attributes
    ----------
    table : DataFrame
        A row a claim, a column a data set.
    statements : Series
        Of the claims.
    """

    table: pd.DataFrame
    statements: pd.Series

    @classmethod
    def of(cls, claims):
        """Verdicts of a table `claims-by-data-set`, without claims that the study lacks."""
        claims = claims[claims["verdict"] != ABSENT]
        table = claims.pivot(index="claim", columns="data_set", values="verdict")
        return cls(table, claims.groupby("claim")["statement"].first())

    @property
    def changing(self):
        """Claims whose verdict changes with the data set: a Series of bool, by claim."""
        return self.table.nunique(axis=1) > 1

    @property
    def num_opposite(self):
        """Number of claims that some data set confirms and another refutes."""
        return sum({"confirmed", "not confirmed"} <= set(row) for row in self.table.to_numpy())

    def refuted(self):
        """Sentence on opposite verdicts."""
        if not self.num_opposite:
            return "No data set confirms what another refutes."
        return f"Some data set confirms what another refutes on {self.num_opposite} of them."

    def rows(self):
        """Table of a page: a list of dict, one a claim."""
        return [
            {"claim": number, "statement": self.statements[number]}
            | {"same": "no" if self.changing[number] else "yes"}
            | {f"data set {i + 1}": row[i] for i in self.table}
            for number, row in self.table.iterrows()
        ]


def first_shares(chains):
    """Share of the data sets on which the algorithm that is first over all of them is first.

    Parameters
    ----------
    chains : DataFrame
        Table `chains`, one chain a data set.

    Returns
    -------
    Series
        One value a posterior and epsilon.
    """
    chains = chains.dropna(subset="mmd")
    medians = chains.groupby([*PROBLEM, "algorithm"], sort=False)["mmd"].median().reset_index()
    firsts = medians.loc[medians.groupby(PROBLEM)["mmd"].idxmin()]
    return firsts.merge(shares_first(chains))["share_first"]
