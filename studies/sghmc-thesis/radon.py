"""Softmax regression of radon by SGHMC: the table of accuracies, widths of samples, and claims."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpmcmc.random_streams import generator
from dpmcmc_studies.analysis.intervals import median_contrast
from dpmcmc_studies.reporting import words
from dpmcmc_studies.reporting.study import StudyResults
from kept_radon import chain_samples
from kept_sweep import sd_difference
from regression import (
    MARGIN,
    baseline,
    contrasts,
    distance,
    judged,
    majority,
    over_splits,
)

PRIOR = "prior"  # stands for the sample of the prior itself among samples of models
SINGLE_DRAWS = 200  # draws whose accuracy is taken one by one
COLUMNS = (
    "sampler",
    "power",
    "prior",
    "ε",
    "accuracy",
    "sd",
    "thesis",
    "sd, thesis",
    "MMD to that power",
    "exact",
    "acceptance",
)


@dataclass(frozen=True)
class Radon:
    """Chains and reference samples of the regressions, and the houses.

    Attributes
    ----------
    study : StudyResults
    proper : list of str
        Ids of the posterior itself: with a normal prior, then with a uniform one.
    powers : list of str
        Ids of the same to the power b / n.
    mean_loss : str
        Id of the power 1 / n, with a normal prior; empty without.
    hmc, sghmc : str
        Ids of algorithms.
    naive, private : list of str
        Ids of HMC on batches without friction, and of private SGHMC.
    """

    study: StudyResults
    proper: list
    powers: list
    mean_loss: str
    hmc: str
    sghmc: str
    naive: list
    private: list

    # -- What the study has ------------------------------------------------------------------------

    @property
    def models(self):
        """Ids of all models."""
        return [*self.proper, *self.powers, *([self.mean_loss] if self.mean_loss else [])]

    @cached_property
    def targets(self):
        """Posteriors, by model."""
        return {name: self.study.target(name) for name in self.models}

    @cached_property
    def references(self):
        """Reference samples, by model."""
        return {name: self.study.reference(name) for name in self.models}

    @cached_property
    def chains(self):
        """Table of the chains."""
        return self.study.table("chains")

    @property
    def swept(self):
        """Settings that the study sweeps."""
        return [key for key in ("friction", "step_size") if key in self.chains]

    @property
    def unswept(self):
        """Chains that are neither of a sweep nor of a given epsilon."""
        is_swept = self.chains[self.swept].notna().any(axis=1)
        return self.chains[~is_swept & self.chains["epsilon"].isna()]

    @property
    def train(self):
        """Houses that the posterior is of, (n, 3)."""
        return np.asarray(self.targets[self.models[0]].data)

    @cached_property
    def held_out(self):
        """Houses that accuracy is measured on, (k, 3)."""
        return self.study.held_out(self.models[0])

    def cell(self, model, algorithm, table=None):
        """Chains of an algorithm on a model, in the order of the seeds; by default unswept ones."""
        table = self.unswept if table is None else table
        is_cell = (table["model"] == model) & (table["algorithm"] == algorithm)
        return table[is_cell].sort_values("sample")

    def prior(self, model):
        """Prior of a model, in one word."""
        return "uniform" if self.targets[model].model.prior_bound else "normal"

    def power(self, model):
        """Power of the likelihood of a model, as text."""
        return "1" if model in self.proper else "1 / n" if model == self.mean_loss else "b / n"

    def gap(self, metric, *cells):
        """Median of a metric over the chains of a cell (model, algorithm) less that of another."""
        one, other = (self.cell(*of)[metric] for of in cells)
        return median_contrast(("radon", metric, *cells[0], *cells[1]), [one], [other])

    def spent(self, model):
        """Epsilons of the runs of a model outside sweeps, by algorithm."""
        budgets = self.study.table("budgets")
        keys = [key for key in self.swept if key in budgets]
        is_run = (budgets["model"] == model) & budgets[["epsilon", *keys]].isna().all(axis=1)
        return (
            budgets[is_run].dropna(subset="spent_epsilon").set_index("algorithm")["spent_epsilon"]
        )

    def costs(self, model, algorithm):
        """Text of the epsilon of a run, as published and as it was made."""
        algorithms, spent = self.study.algorithms, self.spent(model)
        twins = [name for name, of in algorithms.items() if of.variant_of == algorithm]
        return " / ".join(f"{spent[name]:.2f}" for name in (algorithm, *twins) if name in spent)

    # -- Table 6.2 ---------------------------------------------------------------------------------

    @cached_property
    def fitted(self):
        """Accuracy of softmax regression without privacy on the houses held out."""
        return baseline(self.train, self.held_out)

    @cached_property
    def of_majority(self):
        """Accuracy of the most frequent class on the houses held out."""
        return majority(self.train, self.held_out)

    def table_6_2(self, printed, printed_baseline, printed_alone, not_recorded):
        """Table 6.2 of the thesis: ours with what it prints, and with the posterior itself.

        Parameters
        ----------
        printed : dict of str to list of [float, float]
            Accuracy and standard deviation by algorithm: normal prior, then uniform.
        printed_baseline : [float, float]
            The same of softmax regression by scikit-learn.
        printed_alone : dict of str to [float, float]
            The same of samplers that do not run here.
        not_recorded : int
            Code of a floor.

        Returns
        -------
        list of dict
            With the keys COLUMNS.
        """
        rows = self.classifier_rows(printed_baseline, not_recorded)
        rows += [
            self.sampler_row(model, algorithm, printed)
            for algorithm in (self.hmc, *self.private, self.sghmc, *self.naive)
            for model in (self.mean_loss, *self.proper, *self.powers)
            if model and len(self.cell(model, algorithm))
        ]
        rows += [{"sampler": label} | as_printed(of) for label, of in printed_alone.items()]
        return [{key: row.get(key) for key in COLUMNS} for row in rows]

    def num_not_recorded(self, code):
        """Number of all houses whose floor has the code."""
        return int((self.houses[:, 0] == self.place(code)).sum())

    @property
    def houses(self):
        """All houses, (n + k, 3)."""
        return np.concatenate([self.train, self.held_out])

    def place(self, code):
        """Class, in data, of a code of a floor."""
        return self.targets[self.models[0]].model.classes.index(code)

    def classifier_rows(self, printed, not_recorded):
        """Rows of the table for classifiers that do not sample."""
        houses = self.houses
        recorded = houses[houses[:, 0] != self.place(not_recorded)]
        rows = []
        for label, of in (("all houses", houses), ("without floors not recorded", recorded)):
            found = over_splits(baseline, of)
            row = {"sampler": f"L-BFGS, {label}"}
            row |= {"accuracy": f"{found.mean:.4f} (15 splits)", "sd": f"{found.sd:.4f}"}
            rows.append(row | as_printed(printed))
        held_out = {
            "L-BFGS, the houses held out here": self.fitted,
            "The most frequent class": self.of_majority,
        }
        rows += [{"sampler": name, "accuracy": f"{of:.4f}"} for name, of in held_out.items()]
        return [row | {"power": "–", "prior": "–"} for row in rows]

    def sampler_row(self, model, algorithm, printed):
        """Row of the table for the chains of an algorithm on a model."""
        of, baselines = self.cell(model, algorithm), self.study.table("baselines")
        exact = baselines.loc[baselines["model"] == model, "mmd"]
        estimate = median_contrast(("radon", "mmd", model, algorithm), [of["mmd"]])
        is_hmc = algorithm == self.hmc
        row = {
            "sampler": self.study.algorithm_label(algorithm),
            "power": self.power(model),
            "prior": self.prior(model),
            "accuracy": with_error(of["accuracy"]),
            "sd": f"{of['accuracy'].std(ddof=1):.4f}",
            "MMD to that power": words.interval(*estimate),
            "exact": f"{exact.min():.3f} to {exact.max():.3f}",
            "acceptance": f"{of['acceptance_rate'].median():.0%}" if is_hmc else None,
        }
        if algorithm in printed and model not in self.proper:
            row |= as_printed(printed[algorithm][self.prior(model) == "uniform"])
        if algorithm in self.private:
            row |= {"ε": self.costs(model, algorithm)}
        return row

    def distances(self):
        """Distances of the reference samples, and of the prior, from the posterior.

        Returns
        -------
        dict of str to dict
            Rows of a table by model, the posterior first, and PRIOR.
        """
        posterior, tempered = self.proper[0], self.powers[0]
        exact = contrasts(self.targets[posterior].model, self.references[posterior])
        rng = generator(self.study.seed, "radon-page")
        size = len(self.references[tempered])
        from_prior = [self.targets[tempered].model.sample_prior(rng) for _ in range(size)]
        samples = {
            model: (
                f"The posterior to the power {self.power(model)}, {self.prior(model)} prior",
                self.targets[model].model,
                draws,
            )
            for model, draws in self.references.items()
        }
        law = self.targets[tempered].model
        samples[PRIOR] = ("The normal prior itself", law, np.array(from_prior))
        rows = {}
        for name, (label, model, draws) in samples.items():
            free = contrasts(model, draws)
            off, ratio = (np.nan, 1) if name == posterior else distance(rng, free, exact)
            single = [model.accuracy(draw[None], self.held_out) for draw in draws[:SINGLE_DRAWS]]
            rows[name] = {
                "sample": label,
                "MMD to the posterior": off,
                "sd ratio": f"{ratio:.1f}",
                "accuracy of the mean": model.accuracy(draws, self.held_out),
                "accuracy of a draw": f"{np.mean(single):.3f} (sd {np.std(single, ddof=1):.3f})",
            }
        return rows


def as_printed(values):
    """Columns of Table 6.2 for an accuracy and a standard deviation that the thesis prints."""
    return dict(zip(("thesis", "sd, thesis"), (f"{value:.3f}" for value in values), strict=True))


def with_error(values):
    """Text of a mean with two standard errors."""
    se = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):.4f} ± {2 * se:.4f}"


# -- Widths ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Widths:
    """Runs to the power b / n whose widths the thesis shows (Figures 6.6 and 6.9).

    Attributes
    ----------
    radon : Radon
    quiet, noisy : str
        Ids of private SGHMC with little noise and with much.
    friction : float
        Of the other run of Figure 6.6.
    covariate : int
        Number of the one whose coefficients are shown.
    """

    radon: Radon
    quiet: str
    noisy: str
    friction: float
    covariate: int

    @property
    def model(self):
        """Id of the model that these runs sample."""
        return self.radon.powers[0]

    @property
    def algorithms(self):
        """Algorithms of runs that are in no sweep, by the name of the run."""
        return {"quiet": self.quiet, "sghmc": self.radon.sghmc, "noisy": self.noisy}

    @cached_property
    def runs(self):
        """Chains of the runs that the study has, by name."""
        radon, model = self.radon, self.model
        runs = {name: radon.cell(model, of) for name, of in self.algorithms.items()}
        if "friction" in radon.chains:
            is_other = np.isclose(radon.chains["friction"], self.friction)
            runs["friction"] = radon.cell(model, self.quiet, radon.chains[is_other])
        return {name: found for name, found in runs.items() if len(found)}

    @property
    def columns(self):
        """Parameters that are shown: the coefficients of one covariate, one for each class."""
        num_classes = self.radon.targets[self.model].model.num_classes
        first = self.covariate * num_classes
        return slice(first, first + num_classes)

    @property
    def names(self):
        """Names of these parameters."""
        named = self.radon.study.models[self.model].parameter_names[self.columns]
        return [f"Floor {name.partition('[')[2].rstrip(']')}" for name in named]

    @cached_property
    def kept(self):
        """Numbers kept of the chains: see `kept_radon.chain_samples`."""
        of_runs = self.radon.study, self.model, self.runs, self.columns
        return self.radon.study.kept("radon", lambda: chain_samples(*of_runs))

    def sds(self, name):
        """Standard deviations of the chains of a run, (m, d)."""
        return self.kept[f"{name}/sds"]

    def settings(self, algorithm):
        """Settings of an algorithm on the model."""
        return self.radon.study.algorithms[algorithm].settings[self.model]

    def off(self, name, model):
        """Mean |s - s_model| of each chain of a run: see `regression.sd_difference`."""
        return [sd_difference(of, self.radon.references[model]) for of in self.sds(name)]

    @property
    def between(self):
        """Mean |s - s'| of the power b / n itself against the power 1 / n."""
        references = self.radon.references
        of_model = references[self.model].std(axis=0, ddof=1)
        return sd_difference(of_model, references[self.radon.mean_loss])

    @property
    def titles(self):
        """Titles of the runs that the study has, by name, in the order of the table."""
        titles = {
            "quiet": lambda: f"SGHMC, C = {self.settings(self.quiet)['friction']:g}",
            "friction": lambda: f"SGHMC, C = {self.friction:g}",
            "sghmc": lambda: "SGHMC without privacy",
            "noisy": lambda: f"SGHMC, C = {self.settings(self.noisy)['friction']:g}",
        }
        return {name: title() for name, title in titles.items() if name in self.runs}

    def table(self, printed):
        """Differences of widths, beside those that the thesis prints, by run: a list of dict."""
        radon, rows = self.radon, []
        for name, title in self.titles.items():
            row = {"sample": title, "thesis": printed[name]}
            for label, model in (("1 / n", radon.mean_loss), ("b / n", self.model)):
                estimate = median_contrast(("radon-sd", name, model), [self.off(name, model)])
                row[f"from power {label}"] = words.interval(*estimate, ".2f")
            rows.append(row | {"accuracy": f"{self.runs[name]['accuracy'].mean():.4f}"})
        law, draws = radon.targets[self.model].model, radon.references[self.model]
        exact = {
            "sample": "Power b / n, exactly",
            "thesis": None,
            "from power 1 / n": f"{self.between:.2f}",
            "from power b / n": "0",
            "accuracy": f"{law.accuracy(draws, radon.held_out):.4f}",
        }
        return [*rows, exact]

    def panels(self, *names, with_costs=False):
        """Samples of the shown parameters, by title: long runs, then some of the runs.

        Parameters
        ----------
        *names : str
            Of runs; those that the study lacks are left out.
        with_costs : bool
            Whether titles say the epsilon of private runs.
        """
        references, spent = self.radon.references, self.radon.spent(self.model)
        panels = {
            "Long run, power 1 / n": references[self.radon.mean_loss][:, self.columns],
            "Long run, power b / n": references[self.model][:, self.columns],
        }
        for name in filter(self.titles.get, names):
            title, algorithm = self.titles[name], self.algorithms.get(name)
            if with_costs and algorithm in spent:
                title += f", ε = {spent[algorithm]:.1f}"
            panels[title] = self.kept[f"{name}/draws"]
        return panels

    def less_friction(self, label, share):
        """Estimate, by a label, of how far the run with less friction is off above the other's.

        Parameters
        ----------
        label : str
        share : float
            Share of the other run's |s - s'| that is subtracted.

        Returns
        -------
        dict of str to Estimate
            Of the medians over the chains, of |s - s'| from the power 1 / n; empty if the study
            lacks one of the two runs.
        """
        if not {"quiet", "friction"} <= self.runs.keys():
            return {}
        less, more = (self.off(name, self.radon.mean_loss) for name in ("friction", "quiet"))
        return {label: median_contrast(("radon-sd", "friction"), [less], [share * np.array(more)])}


# -- Claims ----------------------------------------------------------------------------------------


def as_accurate(radon):
    """Accuracy of private SGHMC less that of HMC with the same prior, by what HMC samples."""
    return {
        f"{radon.prior(model)} prior, HMC at power {radon.power(other)}:": radon.gap(
            "accuracy", (model, algorithm), (other, radon.hmc)
        )
        for model in radon.powers
        for algorithm in radon.private
        for other in (radon.mean_loss, *radon.proper)
        if other and radon.prior(other) == radon.prior(model)
        if len(radon.cell(model, algorithm)) and len(radon.cell(other, radon.hmc))
    }


def against_sghmc(radon, algorithms, difference):
    """Differences of algorithms from SGHMC on the powers b / n: (model, algorithm) to Estimate.

    Parameters
    ----------
    radon : Radon
    algorithms : list of str
    difference : function
        From two cells (model, algorithm) to an Estimate.
    """
    return {
        (model, algorithm): difference((model, algorithm), (model, radon.sghmc))
        for algorithm in algorithms
        for model in radon.powers
        if len(radon.cell(model, algorithm)) and len(radon.cell(model, radon.sghmc))
    }


def spread_gap(radon, one, other):
    """Median distance of accuracies from their median over the chains of a cell less another's."""
    spreads = []
    for of in (one, other):
        values = radon.cell(*of)["accuracy"]
        spreads.append((values - values.median()).abs())
    return median_contrast(("radon", "spread", *one), spreads[:1], spreads[1:])


def priors_gap(radon):
    """Accuracy with the uniform prior less that with the normal one, by algorithm."""
    if len(radon.powers) < 2:
        return {}
    normal, uniform = radon.powers[:2]
    return {
        f"{radon.study.algorithm_label(algorithm)}, uniform minus normal:": radon.gap(
            "accuracy", (uniform, algorithm), (normal, algorithm)
        )
        for algorithm in (*radon.private, radon.sghmc)
        if len(radon.cell(uniform, algorithm))
    }


def claim(text, gaps, spec="+.3f", **limits):
    """Row of a table: a claim, what was measured, and the verdict; see `regression.judged`."""
    return {
        "claim": text,
        "measured": shown(gaps, spec),
        "verdict": judged([*gaps.values()], **limits),
    }


def shown(gaps, spec="+.3f"):
    """Texts of differences, by what they are of; a dash for none."""
    texts = [f"{label} {words.interval(*found, spec)}" for label, found in gaps.items()]
    return "; ".join(texts) or "–"


def claims(radon, widths, printed):
    """Claims of sections 6.3 to 6.5, each with what was measured and a verdict.

    Parameters
    ----------
    radon : Radon
    widths : Widths
    printed : dict of str to str
        Differences of widths that the thesis prints, by run.

    Returns
    -------
    list of dict
    """

    def named(gaps, with_algorithm=True):
        label = radon.study.algorithm_label
        return {
            f"{label(algorithm) + ', ' if with_algorithm else ''}{radon.prior(model)} prior:": gap
            for (model, algorithm), gap in gaps.items()
        }

    wider = against_sghmc(radon, radon.naive, lambda *cells: spread_gap(radon, *cells))
    farther = against_sghmc(radon, radon.naive, lambda *cells: radon.gap("mmd", *cells))
    shorter = against_sghmc(radon, radon.private[:1], lambda *cells: radon.gap("accuracy", *cells))
    usual = widths.settings(widths.quiet)["friction"]
    return [
        claim("SGHMC is as accurate as HMC", as_accurate(radon), above=-MARGIN),
        claim(
            "Naive subsampling is not dependable: "
            "its accuracy varies more from run to run than SGHMC's",
            named(wider),
            "+.4f",
            above=0,
        ),
        claim("… and it is farther from what it should sample, by MMD", named(farther), above=0),
        claim(
            "A tenth of the data a trajectory, with privacy, does not affect accuracy noticeably",
            named(shorter, with_algorithm=False),
            above=-MARGIN,
        ),
        claim(
            f"Less friction, {widths.friction:g} in place of {usual:g}, "
            "brings widths closer to those of HMC (power 1 / n)",
            widths.less_friction("|s − s(SGHMC)|:", 1),
            "+.4f",
            below=0,
        ),
        claim(
            f"… and to about half of what it was, from {printed['quiet']} to {printed['friction']}",
            widths.less_friction("|s − s(SGHMC)| above half:", 0.5),
            below=0,
        ),
        claim(
            "The choice of the prior does not affect accuracy considerably",
            priors_gap(radon),
            above=-MARGIN,
            below=MARGIN,
        ),
    ]
