"""How normal the sums of the tests are at the published settings: table and sentences of a page."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

import clt
from dpmcmc_studies.reporting import words
from dpmcmc_studies.reporting.study import StudyResults
from kept_places import all_places

SURELY = 3.5  # standard errors from 0 that chance hardly explains: one in 2,000
FEW_CLIPPED = 0.001  # share of the ratios


@dataclass(frozen=True)
class NormalSums:
    """Proposals of chains whose tests take a sum over a batch for normal.

    Attributes
    ----------
    study : StudyResults
    models, algorithms : list of str
        Ids; the algorithms are DP Barker or the minibatch penalty.
    count : int
        Proposals of each algorithm and posterior.
    batches : int
        Simulated for the acceptance probability.
    sizes : list of int
        Of batches.
    """

    study: StudyResults
    models: list
    algorithms: list
    count: int
    batches: int
    sizes: list

    @cached_property
    def proposals(self):
        """Proposals by algorithm and model, each a list of `clt.Proposal`."""
        study, chains = self.study, self.study.table("chains").dropna(subset="mmd")
        is_shown = chains["model"].isin(self.models) & chains["algorithm"].isin(self.algorithms)
        cells = dict(list(chains[is_shown].groupby(["algorithm", "model"], sort=False)))
        places = study.kept("places", lambda: all_places(study, cells, self.count))
        return {
            (algorithm, model): clt.proposals(
                study, model, algorithm, places[f"{algorithm}/{model}"]
            )
            for algorithm, model in cells
        }

    @cached_property
    def table(self):
        """Table of `clt.normality` of all proposals."""
        found = self.proposals.values()
        tables = [clt.normality(self.study, of, self.batches, self.sizes) for of in found]
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def own(self):
        """Rows of the table at the published batch size.

        `reach` is the absolute error of the acceptance probability plus two standard errors.
        `is_off` says that chance hardly explains the error.
        """
        own = self.table[self.table["is_own"]].reset_index(drop=True)
        size, error = own["error"].abs(), own["standard_error"]
        return own.assign(reach=size + 2 * error, is_off=size > SURELY * error)

    def named(self, row):
        """Text of the algorithm and the model of a row."""
        model = self.study.model_label(row["model"])
        return f"{self.study.algorithm_label(row['algorithm'])} on {model}"

    @property
    def farthest(self):
        """Row with the largest distance from the normal distribution."""
        return self.own.loc[self.own["distance"].idxmax()]

    @property
    def most(self):
        """Row with the largest error of the acceptance probability, with its standard errors."""
        return self.own.loc[self.own["reach"].idxmax()]

    def rows(self):
        """Table of the page: a list of dict, one an algorithm and model, with smallest and largest.

        The last column is of the proposal with the largest `reach`.
        """
        columns = {
            "skewness": ("skewness", ".0e"),
            "distance": ("distance", ".0e"),
            "Berry, Esseen": ("berry_esseen", ".3f"),
            "self-normalised": ("self_normalised", ".2f"),
            "as printed": ("printed", ".2g"),
            "acceptance": ("probability", ".2f"),
        }
        rows = []
        for (algorithm, model), cell in self.own.groupby(["algorithm", "model"], sort=False):
            worst = cell.loc[cell["reach"].idxmax()]
            rows.append(
                {
                    "algorithm": self.study.algorithm_label(algorithm),
                    "model": self.study.model_label(model),
                    "b": int(worst["batch_size"]),
                    "clipped": words.among(100 * cell["clip_fraction"], ".1f") + " %",
                }
                | {key: words.among(cell[name], spec) for key, (name, spec) in columns.items()}
                | {"off by": off_by(worst)}
            )
        return rows

    def about_errors(self):
        """Sentence on errors of the acceptance probability that are surely none of chance."""
        is_off = self.own[self.own["is_off"]]
        if is_off.empty:
            return f"No error is {SURELY:g} standard errors from 0"
        surely = is_off.loc[is_off["error"].abs().idxmax()]
        return (
            f"The error is more than {SURELY:g} standard errors from 0 for {len(is_off)} of the "
            "proposals (by chance it would be for one in 2,000); the largest is "
            f"{off_by(surely)} ({self.named(surely)})"
        )

    def about_unclipped(self):
        """Sentence on proposals that clip hardly any ratio, with a space; empty without such."""
        keys = ["algorithm", "model"]
        most = self.own.groupby(keys, sort=False)["clip_fraction"].max().reset_index()
        few = most[most["clip_fraction"] < FEW_CLIPPED]
        if few.empty:
            return ""
        cells = [self.named(row) for _, row in few.iterrows()]
        return (
            f"The proposals of {words.listing(cells)} clip fewer than one ratio in a thousand; "
            "longer steps of the same chains may clip more. "
        )

    def worst(self, sizes):
        """Rows of `clt.distribution_panels`: each algorithm's proposal farthest from normal."""
        rows = []
        for _, cells in self.own.dropna(subset="distance").groupby("algorithm", sort=False):
            row = cells.loc[cells["distance"].idxmax()]
            proposal = self.proposals[row["algorithm"], row["model"]][row["proposal"]]
            ratios = [clt.clipped(self.study, proposal, b)[2] for b in sizes]
            label = self.study.model_label(row["model"])
            rows.append((label, proposal.target.num_rows, ratios))
        return rows

    @property
    def bound_over_distance(self):
        """Median quotient of the bound of Berry and Esseen and the distance."""
        return (self.own["berry_esseen"] / self.own["distance"]).median()


def off_by(row):
    """Text of the error of an acceptance probability with two standard errors."""
    return f"{row['error']:+.5f} ± {2 * row['standard_error']:.5f}"
