"""Mean and width of single chains on a normal posterior: when a sampler fails, and why."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc_studies.analysis.claims import side, verdict
from dpmcmc_studies.analysis.intervals import bootstrap, median_contrast
from dpmcmc_studies.reporting import words
from dpmcmc_studies.reporting.figures.style import NEUTRAL, legend_below
from dpmcmc_studies.reporting.study import StudyResults
from kept_normal import ENDLESS, Moments, moments_of_runs, runs
from phase_space import Quadratic, batch_noise, quadratic

FARTHEST = 1.0  # of a mean from the posterior's, in standard deviations of that
FAR_AWAY = 1000  # no draw of a chain that turns back
WIDEST = 2.0  # times the posterior's standard deviation, or one so many times smaller


class Cell(NamedTuple):
    """An algorithm in one setting."""

    algorithm: str  # id
    settings: dict
    iterations: int
    moments: Moments
    clip_fraction: float  # median share of the rows whose gradients were clipped; NaN without


def cells(study, chains, model, algorithms, of_chains):
    """Cells of `runs`, with their moments from `moments_of_runs`."""
    found = []
    for algorithm, run, settings, cell in runs(study, chains, model, algorithms):
        is_cell = (of_chains["algorithm"] == algorithm) & (of_chains["run"] == run)
        mean, sd, ess, kept = (of_chains.loc[is_cell, key].to_numpy() for key in Moments._fields)
        share, length = cell["gradient_clip_fraction"].median(), int(cell["iterations"].iloc[0])
        of_cell = Moments(mean, sd, ess, int(kept[0]))
        found.append(Cell(algorithm, settings, length, of_cell, share))
    return found


def root_mean_square(labels, errors):
    """Root of the mean square of errors (m,), an `Estimate` with its 95 % bootstrap interval."""

    def statistic(values, axis=-1):
        largest = np.abs(values).max(axis=axis, keepdims=True)
        scaled = np.sqrt(np.square(values / largest).mean(axis=axis, keepdims=True))
        return (largest * scaled).squeeze(axis)

    return bootstrap(labels, statistic, [errors])


def distances(found, mean, sd):
    """How far means are off, and by what factor widths, (m,) each, both over their limits.

    Parameters
    ----------
    found : Moments
    mean, sd : float
        Of the posterior.
    """
    off = np.abs(found.mean - mean) / sd / FARTHEST
    with np.errstate(divide="ignore"):  # of chains that never move
        width = np.abs(np.log(found.sd / sd)) / math.log(WIDEST)
    return off, np.minimum(width, ENDLESS)


def fails(labels, found, mean, sd):
    """Whether a sampler fails: "fails", "does not" or "undecided".

    It fails where the median over the chains of either distance lies above its limit, with all of
    the 95 % interval, and does not where both lie below, with all of theirs; parameters as for
    `distances`, and labels of the resampling.
    """
    sides = [
        side(median_contrast((*labels, number), [distance]), below=1)
        for number, distance in enumerate(distances(found, mean, sd))
    ]
    said = verdict(sides, share=1, one_refutes=True)
    return {"confirmed": "does not", "not confirmed": "fails"}.get(said, said)


def runaway(sampler, iterations):
    """Mean and standard deviation of the later half of a chain that a constant force drives off.

    The force is the clip bound, which a gradient far from the mode has: towards it, or, with the
    wrong sign, away. From rest each trajectory goes h^2 J (J + 1) / 2 times the force, and further
    each time, as nothing turns it.

    Parameters
    ----------
    sampler : SubsampledHMC
        With a gradient clip bound, taken for that of the batch.
    iterations : int
    """
    J = sampler.num_integration_steps
    steps = np.array([sampler.step_size_of(t) for t in range(1, iterations + 1)])
    ends = np.cumsum(sampler.gradient_clip_bound * steps**2 * J * (J + 1) / 2)
    kept = kept_draws(ends)
    return float(kept.mean()), float(kept.std(ddof=1))


@dataclass(frozen=True)
class NormalMean:
    """Chains on the posterior of a normal mean, beside those of the thesis.

    Attributes
    ----------
    study : StudyResults
    model : str
        Id of one with a normal posterior in one dimension.
    algorithms : list of str
        Ids, in the order of the table.
    pairs : dict of str to str
        From algorithms without friction to those with it, on the same batches and steps.
    printed : dict of str to list of float
        Table 6.1 of the thesis by algorithm: mean, standard deviation, standard error and RMSE.
    actual : float
        Mean that the table calls the actual one.
    """

    study: StudyResults
    model: str
    algorithms: list
    pairs: dict
    printed: dict
    actual: float

    @cached_property
    def target(self):
        """Posterior."""
        return self.study.target(self.model)

    @cached_property
    def potential(self) -> Quadratic:
        """Negative log posterior."""
        return quadratic(self.target)

    @property
    def mean(self):
        """Mean of the posterior."""
        return self.potential.centre

    @property
    def sd(self):
        """Standard deviation of the posterior."""
        return self.potential.curvature**-0.5

    @property
    def data_mean(self):
        """Mean of the data."""
        return float(self.target.data.mean())

    @property
    def printed_mean(self):
        """Mean of the posterior of the thesis's data, if the actual mean is that of its data."""
        return self.actual * self.mean / self.data_mean

    @cached_property
    def found(self):
        """Cells by algorithm."""
        of_cells = self.study, self.study.table("chains"), self.model, self.algorithms
        of_chains = self.study.kept("moments", lambda: moments_of_runs(*of_cells))
        return {cell.algorithm: cell for cell in cells(*of_cells, of_chains)}

    @property
    def published(self):
        """Printed numbers of algorithms that run here."""
        return {name: of for name, of in self.printed.items() if name in self.found}

    @property
    def pairs_found(self):
        """Pairs of algorithms that both run here: a list."""
        return [pair for pair in self.pairs.items() if {*pair} <= self.found.keys()]

    def label(self, algorithm):
        """Name of an algorithm on the page."""
        return self.study.algorithm_label(algorithm)

    @cached_property
    def failing(self):
        """Text of whether an algorithm fails, by its id: see `fails`."""
        return {
            name: fails(("normal", self.model, name), cell.moments, self.mean, self.sd)
            for name, cell in self.found.items()
        }

    def close(self):
        """Names of the samplers that do not fail."""
        return [self.label(name) for name, said in self.failing.items() if said == "does not"]

    def standing(self, without, friction):
        """Verdict on the claim that an algorithm fails for lack of friction; see `lacks_friction`.

        Parameters
        ----------
        without, friction : str
            Ids of a pair.
        """
        return lacks_friction(self.failing[without], self.failing[friction])

    def off(self, algorithm):
        """Median error of the mean."""
        return np.median(np.abs(self.found[algorithm].moments.mean - self.mean))

    # -- Table 6.1 ---------------------------------------------------------------------------------

    def table(self):
        """Table 6.1 of the thesis: ours and what it prints. A list of dict."""
        exact = {"mean": number(self.mean), "sample sd": number(self.sd)}
        rows = [{"sampler": "The posterior", "of": "exact"} | exact]
        for name, cell in self.found.items():
            sampler = {"sampler": self.described(cell)}
            rows.append(sampler | self.row(name, cell))
            if name in self.published:
                mean, sd, error, rmse = map(number, self.published[name])
                printed = {"mean": mean, "sample sd": sd, "standard error": error}
                own = number(abs(self.published[name][0] - self.printed_mean))
                row = {"of": "thesis"} | printed | {"RMSE as printed": rmse, "RMSE": own}
                rows.append(sampler | row)
        return rows

    def row(self, name, cell):
        """Row of the table for our chains."""
        of, root = cell.moments, math.sqrt(cell.moments.kept)
        labels = "normal", self.model, name
        columns = {
            "mean": of.mean,
            "sample sd": of.sd,
            "standard error": of.sd / root,
            "RMSE as printed": np.abs(of.mean - self.data_mean) / root,
        }
        texts = {
            column: estimate_text(median_contrast((*labels, column), [values]))
            for column, values in columns.items()
        }
        is_finite = np.isfinite(of.ess).all()
        return (
            {"of": f"{len(of.mean)} chains"}
            | texts
            | {
                "RMSE": estimate_text(root_mean_square((*labels, "rmse"), of.mean - self.mean)),
                "effective size": number(np.median(of.ess)) if is_finite else "–",
                "fails": self.failing[name],
            }
        )

    def described(self, cell):
        """Name of a sampler with its settings."""
        n, settings = self.target.num_rows, cell.settings
        return (
            f"{self.label(cell.algorithm)} (b = {settings.get('batch_size', n):g} of {n}, "
            f"J = {settings['num_integration_steps']:g}, h₁ = {settings['step_size']:g})"
        )

    @property
    def kept(self):
        """Draws of a chain that are kept."""
        return next(iter(self.found.values())).moments.kept

    # -- In words ----------------------------------------------------------------------------------

    def answer(self):
        """Answer of the page: a list in Markdown."""
        lines = [
            f"- **Close to the posterior**, of the {len(self.found)} samplers: "
            f"{words.listing(self.close()) or 'none'}."
        ]
        lines += [self.about_claim(*pair) for pair in self.pairs_found]
        lines += [self.about_friction(with_it) for _, with_it in self.pairs_found]
        return "\n".join(lines)

    def about_claim(self, a, b):
        """Sentences on the claim that algorithm a fails because it lacks the friction of b."""
        sds = {name: np.median(self.found[name].moments.sd) for name in (a, b)}
        return (
            f"- **Claim: {self.label(a)} fails because it lacks friction**, which {self.label(b)} "
            f"has: *{self.standing(a, b)}*. Without friction the median standard deviation is "
            f"{number(sds[a])} and the median error of the mean {number(self.off(a))}, with it "
            f"{number(sds[b])} and {number(self.off(b))}, where {number(self.sd)} and 0 are right."
        )

    def about_friction(self, name):
        """Sentences on the steps and the friction of an algorithm."""
        sampler, stable = self.study.sampler(name, self.model), 2 * self.sd
        steps = [sampler.step_size_of(t) for t in range(1, self.found[name].iterations + 1)]
        bound = sampler.gradient_clip_bound
        noise = batch_noise(self.target, self.mean, sampler.batch_size, bound)
        return (
            f"- **Steps and friction of {self.label(name)}**: {sum(h > stable for h in steps)} of "
            f"{len(steps)} trajectories have steps above {stable:.3f}, two standard deviations of "
            "the posterior, beyond which the integrator is unstable where nothing is clipped. To "
            f"remove the energy that batches of {sampler.batch_size} rows add, friction would have "
            "to be at least half the variance of their gradient times the step: "
            f"{number(noise / 2 * steps[-1])} at the last step, where it is {sampler.friction:g}. "
            "That is far from enough."
        )

    def about_table(self):
        """Sentences on what the table of the thesis says: a list in Markdown."""
        lines = [self.about_rmse(), self.about_actual(), self.about_misses()]
        lines += self.about_clips()
        lines += [self.about_runaway(name) for name, of in self.published.items() if is_far(of)]
        return "\n".join(lines)

    def about_rmse(self):
        """Sentences on the printed RMSE."""
        root = math.sqrt(self.kept)
        ratios = [
            f"{abs(of[0] - self.actual) / root:.2g} ({self.label(name)}; printed {of[3]:.4g})"
            for name, of in self.published.items()
        ]
        return (
            "- **Its RMSE is no root mean square error**, but the difference of the mean from "
            f"{self.actual:g} over √{self.kept}, {root:.4g}: {', '.join(ratios)}. So it is smaller "
            "than the error itself by that factor."
        )

    def about_actual(self):
        """Sentences on the mean that the table calls the actual one."""
        return (
            "- **Its actual mean seems to be that of the data**, not of the posterior. The prior "
            f"pulls the posterior's mean to {self.printed_mean / self.actual:.4f} of the data's: "
            f"here from {self.data_mean:.4f} to {self.mean:.4f}, in the thesis from "
            f"{self.actual:g} to {self.printed_mean:.4f}, which its HMC finds."
        )

    def misses(self):
        """Errors of the mean and standard deviations that miss the limits, by algorithm.

        Returns
        -------
        dict of str to (float, float)
            Of the printed chains, in standard deviations of the posterior.
        """
        scaled = {
            name: (abs(of[0] - self.printed_mean) / self.sd, of[1] / self.sd)
            for name, of in self.published.items()
        }
        return {
            name: (off, width)
            for name, (off, width) in scaled.items()
            if off > FARTHEST or abs(math.log(width)) > math.log(WIDEST)
        }

    def about_misses(self):
        """Sentences on the printed chains that miss the limits."""
        missing = self.misses().items()
        texts = [
            f"{self.label(name)} ({off:.3g} and {width:.3g})" for name, (off, width) in missing
        ]
        return (
            "- **These single chains of the thesis miss the limits above** (error of the mean, "
            f"standard deviation, both in posterior sds): {'; '.join(texts) or 'none'}. The thesis "
            "judges its table by the means."
        )

    def about_clips(self):
        """Sentences on clipped rows: a list, empty where nothing is clipped."""
        swayed = [
            f"{self.label(name)} {words.percent(cell.clip_fraction)}"
            for name, cell in self.found.items()
            if cell.clip_fraction > 0
        ]
        if not swayed:
            return []
        return [
            f"- **Clipped**, of the rows' gradients: {'; '.join(swayed)}. Clipping weakens the "
            "pull of far rows, so the chain samples something wider than the posterior, however "
            "short the steps. It also bounds how fast a chain without friction can run away."
        ]

    def about_runaway(self, name):
        """Sentences on a printed chain that is far away."""
        mean, sd, *_ = self.published[name]
        driven = runaway(self.study.sampler(name, self.model), self.found[name].iterations)
        return (
            f"- **{mean:,.0f} ± {sd:,.0f} is what a gradient of the wrong sign gives**: a force "
            "equal to the clip bound that always points *away* from the mode would give "
            f"{driven[0]:,.0f} ± {driven[1]:,.0f}. So that row may show a wrong sign rather than a "
            "lack of friction. The signs in the thesis's Algorithm 2 differ from those in its "
            "sources."
        )

    def panel_rows(self):
        """Rows of `moment_panels`."""
        label, colour, printed = self.label, self.study.algorithm_colour, self.published.get
        return [
            (label(name), colour(name), cell.moments, printed(name))
            for name, cell in self.found.items()
        ]


def lacks_friction(without, friction):
    """Verdict on the claim that a sampler fails for lack of friction.

    Parameters
    ----------
    without, friction : str
        What `fails` says of the sampler, and of the same with friction.
    """
    if without == "fails" and friction == "does not":
        return "confirmed"
    if without == "does not" or friction == "fails":
        return "not confirmed"
    return "undecided"


def is_far(printed):
    """Say whether printed numbers, the mean first, are of a chain that ran away."""
    return abs(printed[0]) > FAR_AWAY


def number(value):
    """Text of a number of any size."""
    if abs(value) >= ENDLESS / 1e9:
        return "∞"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def estimate_text(estimate):
    """Text of an estimate of any size, with its interval."""
    low, high = map(number, estimate[1:])
    return f"{number(estimate.value)} [{low},\N{NO-BREAK SPACE}{high}]"


def moment_panels(rows, mean, sd, printed_mean):
    """Errors of the mean (left) and standard deviations (right) of chains, a row a sampler.

    Both are over the standard deviation of the posterior, on logarithmic scales.

    Parameters
    ----------
    rows : list of tuple
        Label, colour, `Moments`, and the mean and standard deviation that a publication prints, or
        None.
    mean, sd : float
        Of the posterior.
    printed_mean : float
        Of the posterior of the publication, which is as wide.
    """
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 0.9 + 0.42 * len(rows)), sharey=True)
    for axis, limits in zip(axes, ((0, FARTHEST), (1 / WIDEST, WIDEST)), strict=True):
        axis.axvspan(*limits, color=NEUTRAL, alpha=0.12, linewidth=0)
        axis.set(xscale="log")
    for y, (_, colour, found, printed) in enumerate(rows):
        for axis, values in zip(axes, (np.abs(found.mean - mean), found.sd), strict=True):
            shown = values[values < ENDLESS] / sd
            axis.plot(shown, np.full(len(shown), y), "o", color=colour, markersize=4, alpha=0.6)
            if len(shown) < len(values):
                text = f"{len(values) - len(shown)} diverged \N{RIGHTWARDS ARROW}"
                place = {"transform": axis.get_yaxis_transform(), "ha": "right", "va": "center"}
                axis.text(0.99, y, text, **place)
        if printed:
            axes[0].plot(abs(printed[0] - printed_mean) / sd, y, "x", color="black", markersize=7)
            axes[1].plot(printed[1] / sd, y, "x", color="black", markersize=7)
    axes[0].set(
        xlabel="Error of the mean\n(posterior sds)",
        yticks=range(len(rows)),
        ylim=(len(rows) - 0.5, -0.5),
    )
    axes[0].set_yticklabels([label for label, *_ in rows])
    axes[1].set_xlabel("Standard deviation\n(posterior sds)")
    figure.tight_layout()
    handles = [
        Line2D([], [], marker="o", linestyle="", color=NEUTRAL, label="A chain"),
        Line2D([], [], marker="x", linestyle="", color="black", label="Thesis"),
        Patch(color=NEUTRAL, alpha=0.12, label="Within the limits"),
    ]
    legend_below(figure, handles, 3)
    return figure
