"""Costs of private SGHMC by three accountants, beside those that the thesis prints; its claims."""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

import add_remove_pld
import add_remove_rdp
import privacy
from dpmcmc.samplers.sghmc import DPSGHMC
from dpmcmc_studies.analysis.claims import verdict

FAR = 2  # times: what "far below" is held to mean
STEADY = 0.8  # share of the largest slope that the least one has where growth is linear
PLD, MOMENTS, RENYI = ACCOUNTANTS = (
    "PLD",
    "Moments accountant of the thesis",
    "Rényi accountant of today",
)
IN_PRINT = {"pld": PLD, "ma": MOMENTS}  # keys of what the thesis prints
FORMATS = dict.fromkeys(["PLD, thesis", "MA, thesis"], ".3f")
FORMATS |= dict.fromkeys(["PLD, ours", "MA, ours", "Rényi of today"], ".4f")


def releases_of(num_rows, batch_size, **settings):
    """Releases of a run by its iterations, tempered to a batch, whose gradients are summed."""
    sampler = DPSGHMC(batch_size=batch_size, **settings)
    return partial(sampler.releases, num_rows, batch_size / num_rows)


def epsilons(run, iterations, delta):
    """Epsilon of a run by accountant, one row added or removed and Poisson sampling."""
    return {
        PLD: privacy.epsilon(add_remove_pld, run, iterations, delta),
        MOMENTS: privacy.thesis_epsilon(run, iterations, delta),
        RENYI: privacy.epsilon(add_remove_rdp, run, iterations, delta),
    }


@dataclass(frozen=True)
class Costs:
    """Costs of one run, by delta and by the number of trajectories.

    Attributes
    ----------
    run : function
        Its releases, from `releases_of`.
    steps, iterations : int
        Steps of a trajectory; trajectories.
    delta : float
    deltas : list of float
        Of Table 6.3 (a).
    lengths : list of int
        Trajectories, of Table 6.3 (b).
    """

    run: object
    steps: int
    iterations: int
    delta: float
    deltas: list
    lengths: list

    @cached_property
    def by_delta(self):
        """Epsilons at each delta, by accountant."""
        return transposed([epsilons(self.run, self.iterations, delta) for delta in self.deltas])

    @cached_property
    def by_length(self):
        """Epsilons of each number of trajectories, by accountant."""
        return transposed([epsilons(self.run, count, self.delta) for count in self.lengths])

    def at(self, delta):
        """Epsilons at one of the deltas, by accountant."""
        place = self.deltas.index(delta)
        return {name: found[place] for name, found in self.by_delta.items()}

    @property
    def older(self):
        """Share of the gap between PLD and the thesis's moments that a Rényi accountant closes."""
        of = self.at(self.delta)
        return (of[MOMENTS] - of[RENYI]) / (of[MOMENTS] - of[PLD])

    def quotients(self, below, above):
        """Quotients of two accountants' epsilons: at each delta, then at each length."""
        return [
            most / least
            for table in (self.by_delta, self.by_length)
            for least, most in zip(table[below], table[above], strict=True)
        ]

    def largest_difference(self, printed_by_delta, printed_by_length):
        """Largest relative difference of what is printed by PLD from ours."""
        tables = (self.by_delta, printed_by_delta), (self.by_length, printed_by_length)
        return max(
            abs(one / other - 1)
            for ours, printed in tables
            for one, other in zip(ours[PLD], printed["pld"], strict=True)
        )

    def slopes(self, printed=None):
        """Growth of the gap between moments and PLD, in epsilon a thousand steps.

        Parameters
        ----------
        printed : dict of str to list of float, optional
            What the thesis prints, by length; by default ours.

        Returns
        -------
        (lengths - 1,) array
        """
        of = by_accountant(printed) if printed else self.by_length
        gaps = np.subtract(of[MOMENTS], of[PLD])
        return 1000 * np.diff(gaps) / np.diff(self.lengths) / self.steps

    # -- On the page -------------------------------------------------------------------------------

    def panels(self, printed_by_delta, printed_by_length):
        """Panels of `privacy.accountant_panels`."""
        counts = [count * self.steps for count in self.lengths]
        by_delta = self.deltas, self.by_delta, by_accountant(printed_by_delta)
        by_length = counts, self.by_length, by_accountant(printed_by_length)
        return {
            f"δ, {self.iterations * self.steps:,} steps": by_delta,
            f"Steps, δ = {self.delta:g}": by_length,
        }

    def delta_table(self, printed):
        """Table 6.3 (a): a list of dict, with numbers as in FORMATS."""
        return cells(self.by_delta, printed, [{"δ": f"{delta:g}"} for delta in self.deltas])

    def length_table(self, printed):
        """Table 6.3 (b): a list of dict, with numbers as in FORMATS."""
        keys = [
            {"steps": f"{count * self.steps:,}", "trajectories": f"{count:,}"}
            for count in self.lengths
        ]
        return cells(self.by_length, printed, keys)

    def claims(self, printed_by_length):
        """Claims of section 6.5, each with what was measured and a verdict: a list of dict."""
        rising = self.quotients(PLD, MOMENTS)[: len(self.deltas)]
        slope, printed = self.slopes(), self.slopes(printed_by_length)
        far = "PLD is far below the moments accountant"
        rows = []
        for name, accountant in (
            ("that of the thesis", MOMENTS),
            ("a Rényi accountant of today", RENYI),
        ):
            times = self.quotients(PLD, accountant)
            measured = f"{min(times):.2f} to {max(times):.2f} times"
            said = share_verdict([one >= FAR for one in times])
            rows.append(row(far, name, measured, said))
        return [
            *rows,
            row(
                "… especially at larger δ",
                "that of the thesis",
                f"{rising[0]:.2f} times at {self.deltas[0]:g}, "
                f"{rising[-1]:.2f} at {self.deltas[-1]:g}",
                share_verdict(np.diff(rising) > 0),
            ),
            row(
                "The difference grows linearly with the steps",
                "that of the thesis",
                f"by {slope[0]:.3f} a thousand steps at first, {slope[-1]:.3f} at last; "
                f"as printed, {printed[0]:.3f} and {printed[-1]:.3f}",
                linear_verdict(slope),
            ),
        ]


def transposed(rows):
    """Lists of values by key, from dicts with the same keys."""
    return {key: [row[key] for row in rows] for key in ACCOUNTANTS}


def by_accountant(printed):
    """Printed numbers by the names of the accountants."""
    return {IN_PRINT[key]: values for key, values in printed.items()}


def cells(ours, printed, keys):
    """Rows of a table: printed and ours, of each accountant."""
    columns = {
        "PLD, thesis": printed["pld"],
        "PLD, ours": ours[PLD],
        "MA, thesis": printed["ma"],
        "MA, ours": ours[MOMENTS],
        "Rényi of today": ours[RENYI],
    }
    return [
        key | {name: values[place] for name, values in columns.items()}
        for place, key in enumerate(keys)
    ]


def row(claim, against, measured, said):
    """Row of the table of claims."""
    return {"claim": claim, "against": against, "measured": measured, "verdict": said}


def share_verdict(holds):
    """Verdict on a claim about several cells: all of them for it, all against it, or neither."""
    return verdict(["for" if holding else "against" for holding in holds], share=1)


def linear_verdict(slopes):
    """Verdict on the claim that something grows at a constant rate, from its slopes."""
    return "confirmed" if min(slopes) > STEADY * max(slopes) else "not confirmed"


def relation_table(relations):
    """Table of `privacy.by_relation`: a list of dict."""
    return [
        {
            "relation": of["relation"],
            "sampling": of["sampling"],
            "one row moves the sum by": f"{of['moved']} L".replace("1 L", "L"),
            "accountant": of["accountant"],
            "ε": of["epsilon"],
        }
        for of in relations
    ]


def other_runs(runs, steps, iterations, delta, **data):
    """Table of other runs of the thesis, with the epsilon that it prints.

    Parameters
    ----------
    runs : list of dict
        Settings of the sampler, and `printed`.
    steps, iterations : int
    delta : float
    **data
        `num_rows` and `batch_size`.

    Returns
    -------
    list of dict
    """
    rows = []
    for run in runs:
        settings = {name: value for name, value in run.items() if name != "printed"}
        of = releases_of(num_integration_steps=steps, **data, **settings)
        (first, _), *_ = of(1)
        rows.append(
            {
                "β": run["step_size"],
                "C": run["friction"],
                "L": run["gradient_clip_bound"],
                "first σ": 2 * first.noise_variance**0.5,
                "ε, thesis": run["printed"],
                "ε, ours": privacy.epsilon(add_remove_pld, of, iterations, delta),
                "replaced, fixed size": privacy.epsilon(privacy.certified, of, iterations, delta),
            }
        )
    return rows
