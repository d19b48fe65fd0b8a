"""Steps and friction of private SGHMC: which cells are accurate, what they cost, and claims."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

import dpmcmc
from dpmcmc_studies.analysis.intervals import median_contrast
from dpmcmc_studies.reporting import words
from dpmcmc_studies.reporting.study import StudyResults
from kept_sweep import widths
from regression import MARGIN, judged

KEYS = ["friction", "step_size"]
PUBLISHED, RIGHT = "from power 1 / n", "from power b / n"  # where widths are measured from


@dataclass(frozen=True)
class Sweep:
    """Chains of an algorithm over friction and step size; a cell is (friction, step size).

    Attributes
    ----------
    study : StudyResults
    model : str
        Id, of the power b / n.
    posterior : str
        Id of the power 1 / n, from which the thesis measures widths.
    algorithm : str
        Id.
    highest : float
        Friction up to which results stay the same, says the thesis.
    """

    study: StudyResults
    model: str
    posterior: str
    algorithm: str
    highest: float

    # -- What the study has ------------------------------------------------------------------------

    def rows(self, table):
        """Rows of a table of the study that are of the sweep."""
        table = self.study.table(table)
        is_swept = (table["model"] == self.model) & (table["algorithm"] == self.algorithm)
        return table[is_swept].dropna(subset=KEYS).sort_values(KEYS)

    @cached_property
    def cells(self):
        """Rows of the table `chains` by cell, in the order of the seeds."""
        return {of: cell.sort_values("sample") for of, cell in self.rows("chains").groupby(KEYS)}

    @cached_property
    def spent(self):
        """Epsilon of each cell, as published."""
        return self.rows("budgets").set_index(KEYS)["spent_epsilon"]

    @property
    def accuracy(self):
        """Accuracies of the chains, (m,), by cell."""
        return {of: cell["accuracy"].to_numpy() for of, cell in self.cells.items()}

    @cached_property
    def off(self):
        """Errors of the widths of the chains, (m,), by where they are measured from and cell."""
        samples = {PUBLISHED: self.posterior, RIGHT: self.model}
        references = {title: self.study.reference(model) for title, model in samples.items()}
        of_cells = self.study, self.model, self.algorithm, self.cells, references
        kept = dict(list(self.study.kept("widths", lambda: widths(*of_cells)).groupby(KEYS)))
        return {
            title: {of: kept[of][title].to_numpy() for of in self.cells} for title in references
        }

    @property
    def frictions(self):
        """Values of friction, ascending."""
        return sorted({friction for friction, _ in self.cells})

    @property
    def steps(self):
        """First step sizes, ascending."""
        return sorted({step for _, step in self.cells})

    @property
    def iterations(self):
        """Trajectories of a chain."""
        return int(next(iter(self.cells.values()))["iterations"].iloc[0])

    @property
    def delta(self):
        """Delta of the costs."""
        return self.study.delta_times_n / self.study.target(self.model).num_rows

    def sampler(self, cell):
        """Sampler of a cell."""
        settings = dict(zip(KEYS, cell, strict=True))
        return self.study.sampler(self.algorithm, self.model, **settings)

    def certified(self, cell):
        """Epsilon of a cell as it was made: batches of a fixed size, a row replaced."""
        target = self.study.target(self.model)
        return dpmcmc.epsilon(
            self.sampler(cell),
            target.num_rows,
            self.iterations,
            self.delta,
            "certified",
            target.likelihood_power,
        )

    # -- Cells -------------------------------------------------------------------------------------

    @property
    def best(self):
        """Cell with the highest median accuracy."""
        return max(self.accuracy, key=lambda of: np.median(self.accuracy[of]))

    def as_good(self):
        """Cells whose accuracy is within the margin of the best one's: the best, then others."""
        best, accuracy = self.best, self.accuracy
        gaps = {
            of: median_contrast(("sweep", *of), [accuracy[of]], [accuracy[best]])
            for of in self.cells
            if of != best
        }
        return [best, *(of for of, gap in gaps.items() if gap.low > -MARGIN)]

    def table(self):
        """Table of all cells: a list of dict."""
        rows = []
        for of, cell in self.cells.items():
            (friction, step), accuracy = of, self.accuracy[of]
            row = {"C": friction, "β": step, "ε": self.spent[of]}
            row["accuracy"] = words.interval(*median_contrast(("sweep", *of), [accuracy]), ".4f")
            for title, off in self.off.items():
                estimate = median_contrast(("sweep", title, *of), [off[of]])
                row[title] = words.interval(*estimate, ".2f")
            noise = np.sqrt(2 * friction / step) / self.sampler(of).gradient_clip_bound
            clipped = words.percent(cell["gradient_clip_fraction"].median())
            rows.append(
                row | {"MMD": cell["mmd"].median(), "first σ / L": noise, "clipped": clipped}
            )
        return rows

    def panels(self):
        """Tables of medians for `regression.sweep_panels`, each with a format."""
        return {
            "Accuracy": (medians(self.accuracy), ".3f"),
            "Error of sds, power 1 / n": (medians(self.off[PUBLISHED]), ".2f"),
            "Error of sds, power b / n": (medians(self.off[RIGHT]), ".2f"),
            "ε as published": (self.spent.unstack(), ".2f"),
        }

    # -- Claims ------------------------------------------------------------------------------------

    @property
    def below(self):
        """Frictions up to which results stay the same, says the thesis."""
        return [friction for friction in self.frictions if friction <= self.highest]

    @property
    def above(self):
        """Higher frictions."""
        return [friction for friction in self.frictions if friction > self.highest]

    def accuracy_gap(self, friction, step):
        """Accuracy of a cell less that at the lowest friction with the same step."""
        lowest, accuracy = self.frictions[0], self.accuracy
        labels = "sweep", friction, lowest, step
        return median_contrast(labels, [accuracy[friction, step]], [accuracy[lowest, step]])

    def farther(self, friction, times=1):
        """Error of widths at the largest step less so many times that at the friction `below`."""
        last, step, off = self.below[-1], self.steps[-1], self.off[PUBLISHED]
        labels = "sweep", PUBLISHED, friction, last
        return median_contrast(labels, [off[friction, step]], [times * off[last, step]])

    def nearer(self, friction):
        """Error of widths at the largest step less that at the smallest."""
        off, steps = self.off[PUBLISHED], self.steps
        labels = "sweep", PUBLISHED, friction
        return median_contrast(labels, [off[friction, steps[-1]]], [off[friction, steps[0]]])

    def claims(self):
        """Claims of section 6.4, each with what was measured and a verdict: a list of dict."""
        smallest, steps, highest = self.steps[0], self.steps, self.highest
        same = {
            f"C = {C:g}, β = {step:g}:": self.accuracy_gap(C, step)
            for C in self.below[1:]
            for step in steps[1:]
        }
        usable = {
            f"C = {C:g}, β = {smallest:g}:": self.accuracy_gap(C, smallest) for C in self.above
        }
        nearer = {f"C = {C:g}:": self.nearer(C) for C in self.below}
        text = f"Accuracy stays the same up to C = {highest:g}, with large enough steps"
        rows = [claim(text, same, above=-MARGIN)]
        for friction in self.above:
            rows += self.claims_above(friction)
        closer = "Standard deviations are closer to those of HMC with larger steps"
        return [
            *rows,
            claim("… and smaller steps are still usable", usable, above=-MARGIN),
            claim(f"{closer}, up to C = {highest:g}", nearer, "+.2f", below=0),
        ]

    def claims_above(self, friction):
        """Claims on one friction above the highest: see `claims`."""
        drop = {"": self.accuracy_gap(friction, self.steps[-1])}
        once, twice = ({"": self.farther(friction, times)} for times in (1, 2))
        text = f"Above it, here at C = {friction:g}, accuracy drops at the largest step"
        farther = "… and standard deviations are farther from those of HMC"
        catastrophe = "… by far (“catastrophically”): twice as far or more"
        return [
            claim(text, drop, below=-MARGIN),
            claim(farther, once, "+.3g", above=0),
            claim(catastrophe, twice, "+.3g", above=0),
        ]


def medians(values):
    """Medians over the runs, frictions down and steps across, of values (m,) by cell."""
    table = {of: np.median(found) for of, found in values.items()}
    return pd.Series(table).rename_axis(KEYS).unstack()


def claim(text, gaps, spec="+.3f", **limits):
    """Row of a table: a claim, what was measured, and the verdict; see `regression.judged`."""
    said = judged([*gaps.values()], **limits)
    return {"claim": text, "measured": ends(gaps, spec), "verdict": said}


def ends(gaps, spec):
    """Texts of the least and the largest difference, by what they are of; a dash for none."""
    if not gaps:
        return "–"
    least, most = (choose(gaps, key=lambda of: gaps[of].value) for choose in (min, max))
    texts = [f"{of} {words.interval(*gaps[of], spec)}" for of in dict.fromkeys((least, most))]
    return " to ".join(texts).strip()
