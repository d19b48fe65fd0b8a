"""Orbits on batches, as the page on phase space shows them, and claims of the thesis on them."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from phase_space import (
    EACH,
    PARTS,
    READINGS,
    Experiment,
    balancing_friction,
    energy_moments,
    largest_energy_error,
    orbit,
    with_error,
)

FLAT = 0.1  # power of the step size below which an error is taken not to shrink with it
DRASTIC = 2  # factor that "drastically", "considerable" and "nearly" are held to mean
AT_ONCE = 2000  # batches of which orbits are simulated
NEXT = 4  # place on the grid of step sizes; slopes are from the smallest step to this one


class Setting(NamedTuple):
    """Step size and friction of trajectories."""

    step_size: float
    friction: float = 0.0


@dataclass(frozen=True)
class Orbits:
    """An experiment in the settings of the thesis.

    Attributes
    ----------
    experiment : Experiment
    batch_sizes : list of int
    small, middle, large : float
        Step sizes.
    friction : float
        C of the thesis.
    friction_rows : int
        Rows of the batches that it is for.
    """

    experiment: Experiment
    batch_sizes: list
    small: float
    middle: float
    large: float
    friction: float
    friction_rows: int

    @property
    def few(self):
        """Rows of the smallest batches."""
        return min(self.batch_sizes)

    @property
    def many(self):
        """Rows of the largest batches."""
        return max(self.batch_sizes)

    @property
    def sizes(self):
        """Rows of batches, and all rows."""
        return [*self.batch_sizes, self.experiment.num_rows]

    def size_label(self, b):
        """Text of the rows of a batch."""
        return "all" if b == self.experiment.num_rows else f"{b:,}"

    # -- Orbits ------------------------------------------------------------------------------------

    def typical(self, step_size, b, num_steps):
        """Orbits on all rows and on the batch whose centre is off by the median distance.

        Returns
        -------
        dict
            A panel of `phase_space.orbit_panels`.
        """
        potential, start = self.experiment.potential, self.experiment.start
        centres = self.experiment.centres[b][:, 0].ravel()
        distances = np.abs(centres - potential.centre)
        of_batch = centres[np.argsort(distances)[len(distances) // 2]]
        all_rows, batch = (
            orbit(potential, *start, step_size, np.full(num_steps + 1, centre))
            for centre in (potential.centre, of_batch)
        )
        return {"all_rows": all_rows, "batches": [batch]}

    @property
    def step_sizes(self):
        """Step sizes of the table of energy errors; 0 stands for the limit."""
        return self.large, self.middle, self.small, 0

    @cached_property
    def errors(self):
        """Largest energy errors of orbits, (seeds,), by rows and step size."""
        return {
            (b, h): self.experiment.orbit_errors(b, h) for b in self.sizes for h in self.step_sizes
        }

    def error_table(self):
        """Table of the energy errors of orbits: a list of dict."""
        return [
            {"rows of the batch": self.size_label(b)}
            | {
                f"step {h:g}" if h else "limit": with_error(self.errors[b, h])
                for h in self.step_sizes
            }
            for b in self.sizes
        ]

    def error_in_the_limit(self, b):
        """Mean error that a batch leaves on an orbit of energy 1 as the step vanishes."""
        potential = self.experiment.potential
        aside = potential.centre + potential.curvature**-0.5
        return np.mean(largest_energy_error(potential, aside, 1.0, 0, self.shifts(b)))

    def shifts(self, b):
        """Centres of batches less that of all rows."""
        return self.experiment.centres[b][:, 0].ravel() - self.experiment.potential.centre

    # -- Ends of trajectories ----------------------------------------------------------------------

    def ends(self, step_size, friction=0.0):
        """Ends of the trajectories of the first seed, by reading and batch, for `end_panels`."""
        return {
            reading: {
                f"b = {b:,}": [
                    part[:, 0] for part in self.experiment.ends(b, reading, step_size, friction)
                ]
                for b in (self.few, self.many)
            }
            for reading in READINGS
        }

    @cached_property
    def balancing(self):
        """Friction that balances batches drawn anew, by their rows."""
        experiment = self.experiment
        return {
            b: balancing_friction(
                experiment.potential, self.middle, experiment.variances[b], experiment.energy
            )
            for b in self.batch_sizes
        }

    @property
    def balanced(self):
        """Energy at which the friction of the thesis balances the batches that it is for."""
        potential = self.experiment.potential
        variance = self.experiment.variances[self.friction_rows]
        return 1 + self.middle * potential.curvature**2 * variance / 2 / self.friction

    @property
    def settings(self):
        """Settings of the trajectories, by what they are.

        Friction is as printed, as if it were taken from the momentum in each step, and as it
        balances the batches that it is for.
        """
        friction = {
            "printed": self.friction,
            "per_step": self.friction / self.middle,
            "right": self.balancing[self.friction_rows],
        }
        return {"plain": Setting(self.middle), "slow": Setting(self.small)} | {
            name: Setting(self.middle, of) for name, of in friction.items()
        }

    @property
    def setting_labels(self):
        """Headings of the settings, by what they are."""
        labels = {name: f"C = {of.friction:g}" for name, of in self.settings.items()}
        labels |= {name: f"step {self.settings[name].step_size:g}" for name in ("plain", "slow")}
        return labels | {"right": f"C = {self.settings['right'].friction:.2g}"}

    @cached_property
    def energies(self):
        """Mean energies of the ends, (seeds,), by reading, rows and setting."""
        return {
            (reading, b, name): self.experiment.energies(b, reading, *setting)
            for reading in READINGS
            for b in self.sizes
            for name, setting in self.settings.items()
        }

    def energy_table(self):
        """Table of the mean energies, with their expectations where these are computed."""

        def shown(reading, b, name):
            text = with_error(self.energies[reading, b, name])
            if reading == PARTS:
                return text
            expected = self.experiment.expected(b, reading, *self.settings[name])
            return f"{text} ({expected:,.4g})"

        return [
            {"reading": reading, "rows of the batch": self.size_label(b)}
            | {label: shown(reading, b, name) for name, label in self.setting_labels.items()}
            for reading in READINGS
            for b in self.sizes
        ]

    @property
    def added(self):
        """Share of the energy that batches drawn anew add in a trajectory, expected."""
        return self.experiment.expected(self.friction_rows, EACH, self.middle) - 1

    @property
    def taken(self):
        """Share of the energy that the friction of the thesis takes in a trajectory."""
        return self.friction * self.middle * (self.experiment.num_rows // self.friction_rows)

    def above(self, reading, b, name):
        """Mean energy above that on all rows with the same steps and no friction, (seeds,)."""
        without = "slow" if name == "slow" else "plain"
        of_all = self.energies[reading, self.experiment.num_rows, without]
        return self.energies[reading, b, name] - of_all

    # -- Claims ------------------------------------------------------------------------------------

    def claims(self, slopes):
        """Comparisons of the claims of the thesis, each of which a claim says to be below 0.

        Parameters
        ----------
        slopes : dict of int to float
            Power of the step size that the error on one batch goes with, by its rows.

        Returns
        -------
        dict of str to list of (seeds,) array
            For `phase_space.judged`.
        """
        return self.claims_on_orbits(slopes) | self.claims_on_batches() | self.claims_on_friction()

    def claims_on_orbits(self, slopes):
        """Claims on orbits on one batch: see `claims`."""
        errors, n, middle = self.errors, self.experiment.num_rows, self.middle
        return {
            "Larger batches diminish the difference of an orbit (6.1)": [
                np.log(errors[more, middle] / errors[less, middle])
                for less, more in pairwise(self.batch_sizes)
            ],
            "but cannot mimic all rows (6.1): the error on the largest is above that on all": [
                errors[n, middle] - errors[self.many, middle]
            ],
            "A larger or smaller step does not change it drastically (6.2): "
            f"by less than a factor of {DRASTIC}": [
                np.abs(np.log(errors[b, h] / errors[b, middle])) - np.log(DRASTIC)
                for b in self.batch_sizes
                for h in (self.small, self.large)
            ],
            "No step size removes the error on one batch (Betancourt): "
            f"it shrinks as the step to a power below {FLAT:g}": [
                slopes[b] - FLAT for b in self.batch_sizes
            ],
        }

    def claims_on_batches(self):
        """Claims on trajectories with a batch each step: see `claims`."""
        above, cells = self.above, [(reading, b) for reading in READINGS for b in self.batch_sizes]
        return {
            "Trajectories with a batch each step stray (6.3): "
            "their energy is above that with all rows": [-above(*cell, "plain") for cell in cells],
            "less with larger batches (6.3)": [
                above(reading, more, "plain") - above(reading, less, "plain")
                for reading in READINGS
                for less, more in pairwise(self.batch_sizes)
            ],
            "A small step has considerable gains (6.4): less than half of the excess energy": [
                np.abs(above(*cell, "slow")) - np.abs(above(*cell, "plain")) / DRASTIC
                for cell in cells
            ],
        }

    def claims_on_friction(self):
        """Claims on trajectories with friction: see `claims`."""
        above, rows = self.above, self.friction_rows
        cells = [(reading, b) for reading in READINGS for b in self.batch_sizes]
        at_friction = [(reading, rows) for reading in READINGS]
        inside = [cell for cell in cells if cell[1] > rows]
        drawn_anew = [cell for cell in cells if cell[0] != PARTS and cell[1] != rows]
        return {
            f"Friction brings the mean energy closer at b = {rows} (6.5)": [
                np.abs(above(*cell, "printed")) - np.abs(above(*cell, "plain"))
                for cell in at_friction
            ],
            "and is nearly right there (6.5): less than half of the excess energy is left": [
                np.abs(above(*cell, "printed")) - np.abs(above(*cell, "plain")) / DRASTIC
                for cell in at_friction
            ],
            "and puts larger batches inside (6.5): their energy is below that of all rows": [
                above(*cell, "printed") for cell in inside
            ],
            f"The same, with parts in turn and {self.friction:g} of the momentum taken each step": [
                above(PARTS, b, "per_step") for b in self.batch_sizes if b > rows
            ],
            "Results with friction lie between those of the two step sizes without (6.5)": [
                above(*cell, less) - above(*cell, more)
                for cell in cells
                for less, more in (("slow", "printed"), ("printed", "plain"))
            ],
            f"Friction has to be fitted to the batch (6.5): that which balances {rows} rows, "
            "drawn anew, puts larger batches inside and leaves smaller ones outside": [
                (1 if b > rows else -1) * above(reading, b, "right") for reading, b in drawn_anew
            ],
        }


# -- Errors by step size ---------------------------------------------------------------------------


class ErrorsByStep(NamedTuple):
    """Root mean square energy errors over the energy of the start; k step sizes, ascending.

    Attributes
    ----------
    steps, all_rows : (k,) array
    one_batch, each_step : dict of int to (k,) array
        On one batch, and at the end with a new batch at each step; by the rows of a batch.
    simulated : dict of (str, int) to (steps, errors)
        The same by leapfrog: of "one_batch" and "each_step", and the rows.
    """

    steps: np.ndarray
    all_rows: np.ndarray
    one_batch: dict
    each_step: dict
    simulated: dict

    def slope(self, values):
        """Power of the step size that errors go with, at the smallest steps."""
        return np.log(values[NEXT] / values[0]) / np.log(self.steps[NEXT] / self.steps[0])

    def slopes(self, errors):
        """Powers of the step size by the rows of a batch, of `one_batch` or `each_step`."""
        return {b: self.slope(values) for b, values in errors.items()}


def errors_by_step(orbits, periods):
    """Energy errors against the step size, over the same time.

    Parameters
    ----------
    orbits : Orbits
    periods : float
        Time, in periods of the orbit on all rows.

    Returns
    -------
    ErrorsByStep
    """
    experiment, sizes = orbits.experiment, orbits.batch_sizes
    root = np.sqrt(experiment.potential.curvature)
    time, limit = periods * 2 * np.pi / root, 2 / root
    counts = np.geomspace(time / (0.9 * limit), 1000 * time / limit, 25).round().astype(int)[::-1]
    grid = time / counts
    marks = time / np.geomspace(time / (0.8 * limit), 40 * time / limit, 6).round()
    shifts = {b: orbits.shifts(b) for b in sizes}
    return ErrorsByStep(
        grid,
        np.array([orbit_error(experiment, h, np.zeros(1)) for h in grid]),
        {b: np.array([orbit_error(experiment, h, shifts[b]) for h in grid]) for b in sizes},
        {b: np.array([walk_error(experiment, h, b, round(time / h)) for h in grid]) for b in sizes},
        {
            (kind, b): (
                marks,
                [simulated(experiment, h, b, round(time / h), kind == "one_batch") for h in marks],
            )
            for b in (orbits.few, orbits.many)
            for kind in ("one_batch", "each_step")
        },
    )


def orbit_error(experiment, step_size, shifts):
    """Root mean square over batches, by their shifts, of the largest error of an orbit."""
    found = largest_energy_error(experiment.potential, *experiment.start, step_size, shifts)
    return np.sqrt(np.mean(found**2)) / experiment.energy


def walk_error(experiment, step_size, b, steps):
    """Root mean square error after some steps, with a new batch of b rows at each."""
    mean, variance = energy_moments(
        experiment.potential, [experiment.start], step_size, [steps], experiment.variances[b]
    )
    return np.sqrt((mean.item() - experiment.energy) ** 2 + variance.item()) / experiment.energy


def simulated(experiment, step_size, b, steps, is_one):
    """Errors of orbits by leapfrog: on one batch each the largest, else those at the end."""
    drawn = experiment.centres[b].reshape(-1)
    if is_one:
        one = drawn[:AT_ONCE]
        centres = np.broadcast_to(one, (steps + 1, len(one)))
    else:
        copies = len(drawn) // (steps + 1)
        centres = drawn[: copies * (steps + 1)].reshape(steps + 1, copies)
    q, p = orbit(experiment.potential, *experiment.start, step_size, centres)
    found = np.abs(experiment.potential.energy(q, p) - experiment.energy)
    return np.sqrt(np.mean((found.max(axis=0) if is_one else found[-1]) ** 2)) / experiment.energy
