"""DP MALA against other algorithms, cell by cell: where it is closer to the posterior."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dpmcmc_studies.analysis.intervals import Estimate, median_contrast
from dpmcmc_studies.reporting import words
from dpmcmc_studies.reporting.study import StudyResults

SIDES = CLOSER, FARTHER, OPEN = "closer", "farther", "open"


class Comparison(NamedTuple):
    """Median MMD of DP MALA less that of another algorithm, on one model at one epsilon."""

    model: str
    epsilon: float
    other: str
    gap: Estimate

    @property
    def side(self):
        """Side that the interval of the difference takes, one of SIDES."""
        return CLOSER if self.gap.high < 0 else FARTHER if self.gap.low > 0 else OPEN


@dataclass(frozen=True)
class Mala:
    """DP MALA beside other algorithms.

    Attributes
    ----------
    study : StudyResults
    models : list of str
    mala : str
        Id.
    algorithms : list of str
        Ids of what it is compared with.
    unsearched : dict of str to list of str
        Models on which an algorithm has the thesis's settings, by its id.
    unimproved : list of str
        Models on which the search found nothing better than the guess for DP MALA.
    """

    study: StudyResults
    models: list
    mala: str
    algorithms: list
    unsearched: dict
    unimproved: list

    def rows_of(self, name):
        """Rows of a table of the study that are of these models and algorithms."""
        table = self.study.table(name)
        is_compared = table["algorithm"].isin([self.mala, *self.algorithms])
        return table[is_compared & table["model"].isin(self.models)].dropna(subset="epsilon")

    @cached_property
    def cells(self):
        """MMDs of the chains by algorithm, in the order of the seeds, by (model, epsilon)."""
        chains = self.rows_of("chains").dropna(subset="mmd")
        return {
            cell: {
                name: of.sort_values("sample")["mmd"].to_numpy()
                for name, of in rows.groupby("algorithm")
            }
            for cell, rows in chains.groupby(["model", "epsilon"], sort=False)
        }

    @cached_property
    def comparisons(self):
        """Comparisons in the order of the cells: a list."""
        return [
            Comparison(
                model,
                epsilon,
                other,
                median_contrast(("mala", model, epsilon, other), [mmd[self.mala]], [mmd[other]]),
            )
            for (model, epsilon), mmd in self.cells.items()
            for other in self.algorithms
            if {self.mala, other} <= mmd.keys()
        ]

    def is_alike(self, comparison):
        """Say whether a search served both algorithms of a comparison."""
        without = [*self.unimproved, *self.unsearched.get(comparison.other, [])]
        return comparison.model not in without

    def label(self, algorithm):
        """Name of an algorithm on the page."""
        return self.study.algorithm_label(algorithm)

    def table(self):
        """Table of the differences: a list of dict, one a model and epsilon."""
        texts = {tuple(one[:3]): words.interval(*one.gap) for one in self.comparisons}
        return [
            {"model": self.study.model_label(model), "ε": epsilon}
            | {
                f"minus {self.label(other)}": texts.get((model, epsilon, other), "–")
                for other in self.algorithms
            }
            for model, epsilon in self.cells
        ]

    # -- In words ----------------------------------------------------------------------------------

    def totals(self):
        """Counts of cells where DP MALA is closer and farther, by the other algorithm: Markdown."""
        return "\n".join(map(self.total, self.algorithms))

    def total(self, other):
        """Line of `totals` for one algorithm."""
        of_other = [one for one in self.comparisons if one.other == other]
        sides = [one.side for one in of_other]
        alike = [one.side for one in of_other if self.is_alike(one)]
        line = (
            f"- Against **{self.label(other)}**: closer to the posterior in "
            f"{sides.count(CLOSER)} of {len(sides)} cells, farther in {sides.count(FARTHER)}, no "
            f"detectable difference in {sides.count(OPEN)}."
        )
        if len(alike) < len(sides):
            line += (
                " Counting only cells where both were searched and the search improved on the "
                f"guess for {self.label(self.mala)}: closer in {alike.count(CLOSER)} of "
                f"{len(alike)}, farther in {alike.count(FARTHER)}."
            )
        return line

    def by_model(self):
        """Epsilons at which DP MALA is closer or farther, by posterior: Markdown."""
        models = dict.fromkeys(model for model, _ in self.cells)
        return "\n".join(map(self.of_model, models))

    def of_model(self, model):
        """Line of `by_model` for one model."""
        places = {}
        of_model = [one for one in self.comparisons if one.model == model and one.side != OPEN]
        for one in of_model:
            places.setdefault((one.other, one.side), []).append(f"ε = {one.epsilon:g}")
        order = {
            key: at for name in self.algorithms for key, at in places.items() if key[0] == name
        }
        said = [
            f"{side} than {self.label(other)} at {words.listing(at)}"
            for (other, side), at in order.items()
        ]
        text = words.listing(said) if said else "no detectable difference"
        return f"- {self.study.model_label(model)}: {text}."

    def not_searched(self):
        """Sentences on settings that no search found; empty without such."""
        named = self.study.model_label
        texts = [
            f" {self.label(name)} was not searched on {words.listing([named(of) for of in on])}, "
            "and has the thesis's settings there."
            for name, on in self.unsearched.items()
        ]
        if self.unimproved:
            texts.append(
                f" For {self.label(self.mala)} the search found nothing better than the guess that "
                f"it started from on {words.listing([named(of) for of in self.unimproved])}."
            )
        return "".join(texts)
