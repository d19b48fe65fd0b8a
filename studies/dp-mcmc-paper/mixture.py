"""Chains on a mixture with two modes: samples with privacy and without, costs, and verdicts."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

import dpmcmc
from dpmcmc.evaluation import grid
from dpmcmc.evaluation.metrics import compare
from dpmcmc.evaluation.modes import find_modes
from dpmcmc.random_streams import generator
from dpmcmc_studies.analysis.claims import side, verdict
from dpmcmc_studies.analysis.intervals import Estimate, median_contrast
from dpmcmc_studies.analysis.ranking import LARGEST_R_HAT, MOST_TIMES_EXACT
from dpmcmc_studies.reporting import words
from dpmcmc_studies.reporting.draws import run_of
from dpmcmc_studies.reporting.study import StudyResults
from kept_mixture import results_of_cell, running_errors, variances

WIDEST_SHARE = 0.05  # half width of an interval that can confirm a share
RIDGE = 0.8  # share of the peak's density between modes, above which they are nearly one ridge
HALVES = 20  # random halves of the reference sample


class Mean(NamedTuple):
    """Mean of chains, and how far its 95 % interval (t) reaches."""

    value: float
    reach: float

    @classmethod
    def of(cls, values):
        """Mean of values of chains, (m,); of one chain its interval has no end."""
        count = len(values)
        se = values.std(ddof=1) / np.sqrt(count) if count > 1 else np.inf
        return cls(values.mean(), stats.t.ppf(0.975, max(1, count - 1)) * se)

    def __str__(self):
        return f"{self.value:.3f} ± {self.reach:.3f}"


@dataclass(frozen=True, eq=False)
class Sample:
    """Chains of an algorithm that ran for one number of iterations, or one epsilon.

    Attributes
    ----------
    model, algorithm, run : str
        Ids, and the run as it stands in paths.
    cell : DataFrame
        Rows of the table `chains`, in the order of the seeds.
    kept : dict of str to array
        See `kept_mixture.results_of_cell`.
    """

    model: str
    algorithm: str
    run: str
    cell: pd.DataFrame
    kept: dict

    @property
    def iterations(self):
        """Iterations of a chain."""
        return self.cell["iterations"].iloc[0]

    @cached_property
    def mmd(self):
        """Median MMD of the chains, an Estimate."""
        labels = ("mcmc", self.model, self.algorithm, self.run)
        return median_contrast(labels, [self.cell["mmd"]])

    @property
    def mmd_text(self):
        """Text of the median MMD, with its interval or the range of the chains."""
        return words.of_chains(self.mmd, self.cell["mmd"])

    @property
    def variance(self):
        """Variance of the draws, both components added up: a Mean of the chains."""
        return Mean.of(self.kept["variances"])

    @property
    def second_share(self):
        """Share of the second mode: a Mean of the chains."""
        return Mean.of(self.kept["second_shares"])


class Exact(NamedTuple):
    """Exact samples, from a grid.

    Attributes
    ----------
    draws : (k, 2) array
        Of all samples.
    mmd : Estimate
        Median over the samples.
    second_share : float
        Probability of the second mode, from the reference sample.
    """

    draws: np.ndarray
    mmd: Estimate
    second_share: float

    @property
    def variance(self):
        """Variance of the draws, both components added up."""
        return variances(self.draws[None])[0]

    @property
    def margin(self):
        """Difference of MMDs up to which samples are taken to be indistinguishable."""
        return self.mmd.value / 2


@dataclass(frozen=True, eq=False)
class Mixture:
    """Chains on a mixture.

    Attributes
    ----------
    study : StudyResults
    model : str
        Id of a mixture of kind GaussianMixture.
    private, plain, clipped : str
        Ids of the private algorithm, of the same without privacy, and of that with its clip (empty
        without).
    others : list of str
        Ids of other algorithms.
    proposal_scale : float
        Where that is swept.
    deltas : dict of str to float
        Delta of algorithms that have another than the study's.
    first : float
        Share of the iterations before which running errors are not shown.
    """

    study: StudyResults
    model: str
    private: str
    plain: str
    clipped: str
    others: list
    proposal_scale: float
    deltas: dict
    first: float

    @cached_property
    def target(self):
        """Posterior."""
        return self.study.target(self.model)

    @cached_property
    def reference(self):
        """Reference sample, (size, 2)."""
        return self.study.reference(self.model)

    @cached_property
    def samples(self):
        """Samples of the chains, in the order of the table."""
        chains = self.study.table("chains")
        algorithms = [self.private, self.plain, self.clipped, *self.others]
        is_shown = (chains["model"] == self.model) & chains["algorithm"].isin(algorithms)
        if "proposal_scale" in chains:
            scale = chains["proposal_scale"]
            is_shown &= scale.isna() | np.isclose(scale, self.proposal_scale)
        keys = ["algorithm", "iterations", "epsilon"]
        samples = []
        for (algorithm, *_), cell in chains[is_shown].groupby(keys, sort=False, dropna=False):
            run, cell = run_of(self.study, cell.iloc[0]), cell.sort_values("sample")
            of_cell = self.study, self.model, algorithm, run, cell["sample"]
            compute = partial(results_of_cell, *of_cell, self.reference, self.first)
            kept = self.study.kept("mixture", compute, f"{algorithm}/{run}")
            samples.append(Sample(self.model, algorithm, run, cell, kept))
        return samples

    # -- Which sample is compared with which -------------------------------------------------------

    @property
    def ours(self):
        """Private sample of the paper, of a number of iterations."""
        return next(
            sample
            for sample in self.samples
            if sample.algorithm == self.private and sample.cell["epsilon"].isna().all()
        )

    @property
    def without(self):
        """Samples without privacy: as long as the private one, then longer ones."""
        length = self.ours.iterations
        plain = [sample for sample in self.samples if sample.algorithm == self.plain]
        return sorted(plain, key=lambda sample: (sample.iterations != length, sample.iterations))

    @property
    def longer(self):
        """Private samples whose cost is certified."""
        algorithms = self.study.algorithms
        return [
            sample
            for sample in self.samples
            if algorithms[sample.algorithm].variant_of == self.private
        ]

    def rival(self, sample):
        """Longest private sample that has no more iterations than one without privacy."""
        shorter = [one for one in self.longer if one.iterations <= sample.iterations]
        return max([self.ours, *shorter], key=lambda one: one.iterations)

    def gaps(self):
        """Median MMD of a private sample less that without privacy, by the latter."""
        return {
            sample: median_contrast(
                ("mcmc", "gap", sample.algorithm, sample.run),
                [self.rival(sample).cell["mmd"]],
                [sample.cell["mmd"]],
            )
            for sample in self.without
        }

    def compared(self, sample):
        """Text of the lengths of a sample without privacy and of its rival."""
        return (
            f"{self.rival(sample).iterations:,} iterations with privacy, "
            f"{sample.iterations:,} without"
        )

    # -- Costs and exact samples -------------------------------------------------------------------

    def accountant(self, algorithm):
        """Name of the accountant that an algorithm is charged by."""
        return self.study.algorithms[algorithm].accountant

    def cost(self, algorithm, iterations, accountant):
        """Epsilon of iterations of an algorithm."""
        n, sampler = self.target.num_rows, self.study.sampler(algorithm, self.model)
        delta = self.deltas.get(algorithm, self.study.delta_times_n / n)
        power = self.target.likelihood_power
        return dpmcmc.epsilon(sampler, n, int(iterations), delta, accountant, power)

    def exact(self, count, pairs):
        """Exact samples from the grid.

        Parameters
        ----------
        count : int
            Samples, each of as many draws as the longest chain keeps.
        pairs : int
            Random draws whose median distance is the bandwidth of the kernel.

        Returns
        -------
        Exact
        """
        study, target = self.study, self.target
        size = max(int(sample.kept["num_draws"]) for sample in self.samples)
        draws = grid.sample(generator(study.seed, "fineness", "as it is"), target, count * size)
        rng = generator(study.seed, "exact", self.model)
        mmds = [
            compare(rng, part, self.reference, target.model, pairs, size)["mmd"]
            for part in np.split(draws, count)
        ]
        share = np.mean([second_probability(target.model, draw) for draw in self.reference])
        return Exact(draws, median_contrast(("mcmc", self.model, "exact"), [mmds]), share)

    # -- Figures -----------------------------------------------------------------------------------

    def errors_of_halves(self):
        """Median errors (of mean, of variances) of a half of the reference against the other."""
        half, rng = len(self.reference) // 2, generator(self.study.seed, "halves")
        found = []
        for _ in range(HALVES):
            one, other = np.array_split(rng.permutation(self.reference), 2)
            found.append(running_errors(one[None, :half], other, [half]))
        return np.median(found, axis=0).ravel()

    def running(self):
        """Arguments of `mixture_figures.running_panels`: the private sample and the one without.

        Returns
        -------
        tuple
            Iterations, errors, errors of exact samples, and epsilons.
        """
        ours, theirs = self.ours, self.without[0]
        reached = ours.kept["ends"] * (ours.iterations // ours.kept["num_positions"])
        names = {"Error of the mean": "of_mean", "Error of the variances": "of_variance"}
        errors = {
            name: {"With privacy": ours.kept[key], "Without": theirs.kept[key]}
            for name, key in names.items()
        }
        exact = dict(zip(names, self.errors_of_halves(), strict=True))
        accountants = dict.fromkeys([self.accountant(self.private), "certified"])
        spent = {
            name: [self.cost(self.private, reach, name) for reach in reached]
            for name in accountants
        }
        return reached, errors, exact, spent

    # -- Tables ------------------------------------------------------------------------------------

    def table(self, exact, count):
        """Table of all samples, exact ones first: a list of dict.

        Parameters
        ----------
        exact : Exact
        count : int
            Of the exact samples.
        """
        rows = [self.row(sample) for sample in self.samples]
        of_exact = {
            "sample": "Exact samples",
            "median MMD": words.interval(*exact.mmd),
            "second mode": f"{exact.second_share:.3f}",
            "variance": f"{exact.variance:.3f}",
            "chains": count,
        }
        return [dict.fromkeys(key for row in rows for key in row) | of_exact, *rows]

    def row(self, sample):
        """Row of the table for a sample."""
        algorithm, shares = sample.algorithm, sample.kept["second_shares"]
        row = {
            "sample": self.study.algorithm_label(algorithm),
            "iterations": sample.iterations,
            "chains": len(sample.cell),
            "median MMD": sample.mmd_text,
            "variance": str(sample.variance),
            "sd, of the posterior's": f"{sample.cell['sd_ratio'].median():.2f}",
            "second mode": str(sample.second_share),
            "of the chains": words.among(shares, ".2f"),
        }
        if self.study.sampler(algorithm, self.model).is_private:
            costs = {"ε as published": self.accountant(algorithm), "ε certified": "certified"}
            if costs["ε as published"] == "certified":
                del costs["ε as published"]
            row |= {
                key: f"{self.cost(algorithm, sample.iterations, accountant):.4f}"
                for key, accountant in costs.items()
            }
        return row

    def delta_text(self):
        """Text of delta: that of the study and, in brackets, those of algorithms with others."""
        shown = {sample.algorithm for sample in self.samples}
        others = [
            f"{self.study.algorithm_label(name)} {delta:.1g}"
            for name, delta in self.deltas.items()
            if name in shown
        ]
        of_study = f"{self.study.delta_times_n / self.target.num_rows:.2g}"
        return of_study + (f" ({words.listing(others)})" if others else "")


def second_probability(model, draw):
    """Probability of the second mode, of a draw and the one with the same likelihood."""
    odds = np.exp(model.log_prior_ratio(draw, model.mirrored(draw)))
    return odds / (1 + odds) if draw[1] > 0 else 1 / (1 + odds)


def grid_table(mixture, exact):
    """Table of the posterior by the grid as it is and by one of half its spacing.

    Parameters
    ----------
    mixture : Mixture
    exact : Exact

    Returns
    -------
    list of dict
    """
    rng = generator(mixture.study.seed, "fineness", "halved")
    finer = grid.sample(rng, mixture.target, len(exact.draws), grid.FINE / 4)
    rows = []
    for name, draws in (("as it is", exact.draws), ("halved", finer)):
        se = draws.std(axis=0) / np.sqrt(len(draws))
        share = (draws[:, 1] < 0).mean()
        rows.append(
            {
                "grid": name,
                "mean of θ₁": f"{draws[:, 0].mean():.3f} ± {2 * se[0]:.3f}",
                "mean of θ₂": f"{draws[:, 1].mean():.3f} ± {2 * se[1]:.3f}",
                "sd of θ₁": f"{draws[:, 0].std():.3f}",
                "sd of θ₂": f"{draws[:, 1].std():.3f}",
                "second mode": f"{share:.3f} ± {2 * np.sqrt(share * (1 - share) / len(draws)):.3f}",
            }
        )
    return rows


# -- What clipping does ----------------------------------------------------------------------------


class Clipping(NamedTuple):
    """Three samples of as many iterations: without privacy, with its clip, and with both.

    Attributes
    ----------
    wide, narrow, private : Sample
        Chains with one seed start at one point, so these are compared in pairs.
    """

    wide: Sample
    narrow: Sample
    private: Sample

    @classmethod
    def measured(cls, mixture):
        """Samples of a mixture; None if there are no such three."""
        narrow = [one for one in mixture.samples if one.algorithm == mixture.clipped][:1]
        for tight in narrow:
            for wide in mixture.without:
                private = mixture.rival(wide)
                if wide.iterations == tight.iterations == private.iterations:
                    return cls(wide, tight, private)
        return None

    @property
    def num_chains(self):
        """Chains of each that are compared."""
        return min(len(sample.cell) for sample in self)

    @property
    def variances(self):
        """Variances of these chains, three arrays (m,)."""
        return [sample.kept["variances"][: self.num_chains] for sample in self]

    @property
    def by_privacy(self):
        """Change of the variance by privacy, clip and noise: a Mean."""
        wide, _, private = self.variances
        return Mean.of(private - wide)

    @property
    def by_clip(self):
        """Change of the variance by the clip alone: a Mean."""
        wide, narrow, _ = self.variances
        return Mean.of(narrow - wide)

    @property
    def beyond_half(self):
        """Variance that the clip takes beyond half of what privacy takes: a Mean."""
        wide, narrow, private = self.variances
        return Mean.of(wide + private - 2 * narrow)

    def verdict(self):
        """Verdict on the claim that the clip causes at least half of what privacy takes."""
        return clip_verdict(self.by_privacy, self.beyond_half)


def clip_verdict(by_privacy, beyond_half):
    """Verdict on the claim that the clip takes at least half of the variance that privacy takes.

    Parameters
    ----------
    by_privacy, beyond_half : Mean
        Change of the variance by privacy; what the clip takes beyond half of that.

    Returns
    -------
    str
        "undecided" if the interval of the latter contains 0, or if privacy takes nothing for
        certain.
    """
    low, high = beyond_half.value - beyond_half.reach, beyond_half.value + beyond_half.reach
    if low <= 0 <= high or by_privacy.value + by_privacy.reach >= 0:
        return "undecided"
    return "confirmed" if low > 0 else "not confirmed"


def share_verdict(share, right):
    """Verdict on the claim that a share, a Mean, is the right one."""
    if abs(share.value - right) > share.reach:
        return "not confirmed"
    return "confirmed" if share.reach < WIDEST_SHARE else "undecided"


def gap_verdict(gap, margin):
    """Verdict on the claim that a difference, an Estimate, is within a margin to either side."""
    return verdict([side(gap, -margin, margin)])


def claims(mixture, exact):
    """Claims of section 4, each with what was measured and a verdict: a list of dict.

    Parameters
    ----------
    mixture : Mixture
    exact : Exact
    """
    rows = [
        {
            "claim": "The private sample is nearly indistinguishable from one without privacy: "
            + mixture.compared(sample),
            "measured": f"median MMD differs by {words.interval(*gap)}",
            "verdict": gap_verdict(gap, exact.margin),
        }
        for sample, gap in mixture.gaps().items()
    ]
    right = exact.second_share
    rows += [
        {
            "claim": "Both modes are visited in the right proportion: "
            f"{sample.iterations:,} iterations",
            "measured": f"{sample.second_share} where {right:.3f} is right",
            "verdict": share_verdict(sample.second_share, right),
        }
        for sample in [mixture.ours, *mixture.longer]
    ]
    if clipping := Clipping.measured(mixture):
        clip, privacy = clipping.by_clip, clipping.by_privacy
        rows.append(
            {
                "claim": "Clipping causes at least half of the variance that privacy costs: "
                f"{clipping.narrow.iterations:,} iterations",
                "measured": f"{clip} by the clip alone, {privacy} in all",
                "verdict": clipping.verdict(),
            }
        )
    return rows


# -- The answer, in words --------------------------------------------------------------------------


def answer(mixture, exact):
    """Answer of the page: a list in Markdown.

    Parameters
    ----------
    mixture : Mixture
    exact : Exact
    """
    lines = [about_gaps(mixture, exact), about_cost(mixture), *about_longer(mixture, exact)]
    if clipping := Clipping.measured(mixture):
        lines.append(about_clipping(mixture, exact, clipping))
    modes = find_modes(generator(mixture.study.seed, "modes"), mixture.target)
    return "\n".join([*lines, about_modes(mixture.target, modes)])


def about_gaps(mixture, exact):
    """Sentence on the distances of samples with privacy and without."""
    starts = mixture.study.table("starts")
    unmoved = starts.loc[starts["model"] == mixture.model, "mmd"].median()
    gaps = [
        f"{mixture.compared(sample)}: {words.interval(*gap)}, {gap_verdict(gap, exact.margin)}"
        for sample, gap in mixture.gaps().items()
    ]
    return (
        "- **Indistinguishable?** Median MMD of the private sample less that without privacy: "
        f"{'; '.join(gaps)}. Exact samples have {exact.mmd.value:.3f}, and chains that never move "
        f"{unmoved:.3f}."
    )


def about_cost(mixture):
    """Sentence on the cost of the private sample."""
    private, count = mixture.private, mixture.ours.iterations
    published, certified = (
        mixture.cost(private, count, of) for of in (mixture.accountant(private), "certified")
    )
    return (
        f"- **Cost**: {count:,} iterations are ε = {published:.4f} as published, and "
        f"{certified:.4f} certified."
    )


def about_longer(mixture, exact):
    """Sentences on the samples whose cost is certified, shortest first: a list."""
    mixing = mixture.study.table("mixing")
    mixing = mixing[mixing["model"] == mixture.model]
    r_hats = mixing.groupby(["algorithm", "iterations"])["r_hat"].max()
    lines = []
    for sample in sorted(mixture.longer, key=lambda one: one.iterations):
        times = sample.mmd.value / exact.mmd.value
        r_hat = r_hats[sample.algorithm, sample.iterations]
        is_usable = r_hat <= LARGEST_R_HAT and times <= MOST_TIMES_EXACT
        cost = mixture.cost(sample.algorithm, sample.iterations, "certified")
        lines.append(
            f"- **ε = {cost:.3f}, certified**, pays for {sample.iterations:,} iterations. "
            f"{len(sample.cell)} such chains have a median MMD of {sample.mmd_text}, {times:.1f} "
            f"times that of exact samples; split R-hat is {r_hat:.3f}. By the rule for other "
            f"posteriors (R-hat at most {LARGEST_R_HAT:g}, MMD at most {MOST_TIMES_EXACT:g} times "
            f"that of exact samples) they are {'**usable**' if is_usable else 'not usable'}."
        )
    return lines


def about_clipping(mixture, exact, clipping):
    """Sentences on the bias of clipping."""
    share = words.percent(clipping.narrow.cell["clip_fraction"].median())
    private = sorted({clipping.private, *mixture.longer}, key=lambda one: one.iterations)
    lasts = [f"{sample.variance} after {sample.iterations:,}" for sample in private]
    return (
        "- **Clipping** causes a bias that longer chains do not remove. Clipping "
        f"{share} of the ratios, without noise for privacy, changes the variance by "
        f"{clipping.by_clip}. With that noise as well the change is {clipping.by_privacy}. (The "
        "noise should change nothing, because it replaces some of Barker's own.) Private samples "
        f"have a variance of {words.listing(lasts)} iterations, where {exact.variance:.3f} is "
        f"right and chains without privacy have {clipping.wide.variance}."
    )


def about_modes(target, modes):
    """Sentence on the modes and the density between the first and the last of them."""
    places = words.listing(["({:.2f}, {:.2f})".format(*mode.position) for mode in modes])
    if len(modes) < 2:
        return f"- **One mode** was found, at {places}."
    peak, last = modes[0].position, modes[-1].position
    on_the_way = np.linspace(0, 1, 101)
    lowest = np.exp(
        min(target.log_density_ratio(peak, peak + t * (last - peak)) for t in on_the_way)
    )
    end = ": with this tempering they are nearly one ridge, so finding both is no hard test."
    return (
        f"- **The modes** are at {places}, and the density on the straight line between them "
        f"stays above {lowest:.0%} of its peak{end if lowest > RIDGE else '.'}"
    )


def about_clip_claim(clipping):
    """Sentences on how the claim on clipping is judged; empty without that claim."""
    if not clipping:
        return ""
    return (
        " The claim on clipping is confirmed if twice its effect minus that of privacy is above 0 "
        "by its 95 % interval, and not confirmed if it is below 0. This compares "
        f"{clipping.num_chains} chains of each, paired by start point. It is undecided otherwise, "
        "or if no cost of privacy is detected."
    )
