"""Private samplers of the regression at equal epsilon: how close and how accurate they are."""

from dataclasses import dataclass
from functools import cached_property

from dpmcmc.accounting.search import rounded_up
from dpmcmc_studies.analysis.intervals import median_contrast
from dpmcmc_studies.reporting import words
from dpmcmc_studies.reporting.study import StudyResults
from regression import MARGIN, baseline, majority

STUCK = 0.05  # share of accepted proposals below which a chain barely moves


@dataclass(frozen=True)
class Classification:
    """Chains of private samplers at some epsilons, by cells (model, epsilon, algorithm).

    Attributes
    ----------
    study : StudyResults
    models, algorithms : list of str
        Ids.
    """

    study: StudyResults
    models: list
    algorithms: list

    # -- What the study has ------------------------------------------------------------------------

    def rows_of(self, name):
        """Rows of a table of the study that are of these models and algorithms."""
        table = self.study.table(name)
        is_shown = table["algorithm"].isin(self.algorithms) & table["model"].isin(self.models)
        return table[is_shown].dropna(subset="epsilon")

    @cached_property
    def chains(self):
        """Chains at an epsilon."""
        return self.rows_of("chains")

    @cached_property
    def ranking(self):
        """Rows of the ranking."""
        return self.rows_of("ranking")

    @cached_property
    def samples(self):
        """Tables of exact samples and of chains that never move."""
        return {name: self.study.table(name) for name in ("baselines", "starts")}

    def of_model(self, name, model):
        """Rows of one of `samples` that are of a model."""
        table = self.samples[name]
        return table[table["model"] == model]

    def label(self, algorithm):
        """Name of an algorithm on the page."""
        return self.study.algorithm_label(algorithm)

    @cached_property
    def cells(self):
        """Chains by (model, epsilon), and by algorithm: cells all of whose chains have an MMD."""
        return {
            key: {
                name: of.sort_values("sample")
                for name, of in at.groupby("algorithm", sort=False)
                if of["mmd"].notna().all()
            }
            for key, at in self.chains.groupby(["model", "epsilon"], sort=False)
        }

    @cached_property
    def accuracies(self):
        """Median accuracies, Estimates, by cell."""
        return {
            (*key, name): median_contrast(("private", "accuracy", *key, name), [of["accuracy"]])
            for key, cells in self.cells.items()
            for name, of in cells.items()
        }

    # -- Answer ------------------------------------------------------------------------------------

    def answer(self):
        """Answer of the page: a list in Markdown."""
        lines = [self.at(model, epsilon) for model, epsilon in self.cells]
        return "\n".join([*lines, *map(self.about_accuracy, self.models)])

    def at(self, model, epsilon):
        """Sentences on the closest and the most accurate samplers at an epsilon."""
        cells = self.cells[model, epsilon]
        if not cells:
            return f"- **ε = {epsilon:g}**: no budget leaves a sample."
        ranks = self.ranking
        ranks = ranks[(ranks["model"] == model) & (ranks["epsilon"] == epsilon)]
        nearest, usable = (
            [self.label(name) for name in ranks.loc[is_one, "algorithm"]]
            for is_one in (ranks["rank"] == 1, ranks["is_usable"])
        )
        lead = ranks.loc[ranks["mmd"].idxmin()]
        accurate, *others = self.most_accurate(model, epsilon)
        samples = f"usable as samples: {words.listing(usable)}" if usable else "no sample is usable"
        verb = "is" if len(nearest) == 1 else "are"
        mmd = words.interval(*lead[["mmd", "mmd_low", "mmd_high"]])
        accuracy = words.interval(*self.accuracies[model, epsilon, accurate], ".4f")
        text = (
            f"- **ε = {epsilon:g}: {words.listing(nearest)}** {verb} closest to the posterior, "
            f"with a median MMD of {mmd}, {lead['times_exact']:.1f} times that of exact samples; "
            f"{samples}. Most accurate: {self.label(accurate)}, {accuracy}"
        )
        if others:
            named = words.listing([self.label(name) for name in others])
            text += f", with {named} not shown to be less accurate by {MARGIN:g}"
        return f"{text}."

    def most_accurate(self, model, epsilon):
        """Sampler with the highest median accuracy, then those not shown to be below it."""
        cells = self.cells[model, epsilon]
        best = max(cells, key=lambda name: cells[name]["accuracy"].median())
        others = [
            name
            for name, of in cells.items()
            if name != best
            and behind(of, cells[best], "accuracy", model, epsilon, name).high >= -MARGIN
        ]
        return [best, *others]

    def about_accuracy(self, model):
        """Sentence on accuracies of exact samples and of chains that never move."""
        exact, unmoved = (
            self.of_model(name, model)["accuracy"].median() for name in ("baselines", "starts")
        )
        return (
            "- **Accuracy says little about a sample**: chains start about one standard deviation "
            "from the posterior's mean, and chains that never move have a median accuracy of "
            f"{unmoved:.4f}, while exact samples of the posterior have {exact:.4f}."
        )

    # -- Tables ------------------------------------------------------------------------------------

    def scale(self):
        """Accuracies and MMDs for scale: a list of dict, four rows a model."""
        rows = []
        for model in self.models:
            houses = self.study.target(model).data, self.study.held_out(model)
            titles = {
                "baselines": "Exact samples of the posterior",
                "starts": "Chains that never move from their start",
            }
            for name, title in titles.items():
                medians = self.of_model(name, model)[["accuracy", "mmd"]].median()
                row = {"what": title, "accuracy": f"{medians['accuracy']:.4f}"}
                rows.append(row | {"MMD": f"{medians['mmd']:.3f}"})
            classifiers = {
                "L-BFGS, without privacy": baseline,
                "The most frequent class": majority,
            }
            for title, accuracy in classifiers.items():
                row = {"what": title, "accuracy": f"{accuracy(*houses):.4f}"}
                rows.append(row | {"MMD": None})
        return rows

    def table(self):
        """Table of all cells: a list of dict."""
        keys = ["model", "epsilon", "algorithm"]
        chains = dict(list(self.chains.groupby(keys)))
        return [
            self.row(rank, chains[rank["model"], rank["epsilon"], rank["algorithm"]])
            for rank in self.ranking.to_dict("records")
        ]

    def row(self, rank, of):
        """Row of the table, from a row of the ranking and the chains of that cell."""
        estimate = self.accuracies.get((rank["model"], rank["epsilon"], rank["algorithm"]))
        ratios, gradients = (
            words.percent(share) if share >= 0 else "–"
            for share in of[["clip_fraction", "gradient_clip_fraction"]].median()
        )
        return {
            "ε": f"ε = {rank['epsilon']:g}",
            "sampler": self.label(rank["algorithm"]),
            "rank": rank["rank"],
            "MMD": words.interval(rank["mmd"], rank["mmd_low"], rank["mmd_high"]),
            "accuracy": words.interval(*estimate, ".4f") if estimate else "–",
            "split R-hat": words.number(rank["r_hat"], ".2f"),
            "iterations": f"{rank['iterations']:,}",
            "acceptance": f"{of['acceptance_rate'].median():.0%}",
            "clipped ratios": ratios,
            "clipped gradients": gradients,
        }

    # -- About the table ---------------------------------------------------------------------------

    def about_budgets(self):
        """Sentence on chains that end before their budget is spent; empty without such."""
        budgets = self.rows_of("budgets")
        ended = budgets[budgets["iterations"] < budgets["allowed_iterations"]]
        if ended.empty:
            return ""
        cells = [
            f"{self.label(row.algorithm)} at ε = {row.epsilon:g} (spends "
            f"{rounded_up(row.spent_epsilon, 2)}; {int(row.allowed_iterations):,} allowed)"
            for row in ended.itertuples()
        ]
        return f" These chains end before they have spent their budget: {words.listing(cells)}."

    def about_stuck(self):
        """Sentence on samplers that accept hardly a proposal; empty without such."""
        rates = self.chains.groupby("algorithm", sort=False)["acceptance_rate"].median()
        stuck = [self.label(name) for name in rates.index[rates < STUCK]]
        if not stuck:
            return ""
        return (
            f" **Less than {100 * STUCK:g} % of the proposals are accepted by "
            f"{words.listing(stuck)}**, which barely {'moves' if len(stuck) == 1 else 'move'}. The "
            "settings were found on simulated data, like those of the others."
        )

    def about_epsilon(self):
        """Sentence on samplers that a larger epsilon does not bring closer; empty without such."""
        least, most = min(self.chains["epsilon"]), max(self.chains["epsilon"])
        no_closer = [
            f"{self.label(name)} ({words.interval(*gap, '+.3f')})"
            for model in self.models
            for name in self.algorithms
            for gap in self.gap_of_epsilons(model, name, least, most)
            if gap.high >= 0
        ]
        if not no_closer:
            return ""
        return (
            f" **A larger ε does not bring every sampler closer.** The MMD at ε = {most:g} minus "
            f"that at {least:g} is not shown to be below 0 for {words.listing(no_closer)}."
        )

    def gap_of_epsilons(self, model, algorithm, least, most):
        """Median MMD at the largest epsilon less that at the smallest: a list, of one or none."""
        ends = [self.cells.get((model, epsilon), {}).get(algorithm) for epsilon in (most, least)]
        if least == most or any(end is None for end in ends):
            return []
        return [behind(*ends, "mmd", model, algorithm)]


def behind(one, other, metric, *names):
    """Median of a metric of one cell less that of another, in pairs by seed: an Estimate."""
    return median_contrast(("private", "gap", metric, *names), [one[metric]], [other[metric]])
