"""Energies of orbits on batches beside those on all rows, and the claims about them."""

import math
from dataclasses import dataclass

import numpy as np

from dpmcmc.evaluation.claims import SIDES, side, verdict
from dpmcmc.evaluation.intervals import Estimate
from dpmcmc.evaluation.phase_space import (
    Quadratic,
    batch_centres,
    energy_moments,
    largest_energy_error,
    orbit,
    quadratic,
    row_centres,
    shift_variance,
)
from dpmcmc.study.streams import generator, seed_sequence, three_streams

# Each trajectory from a place of its own, evenly on the circle of the start's energy; from where
# the one before it ended, momentum and all; and so, but with the parts of one partition of the rows
# for batches, in the same order in each trajectory.
READINGS = EACH, ON, PARTS = "One trajectory each", "One after another", "Parts in turn"


@dataclass(frozen=True)
class Experiment:
    """Trajectories of n / b steps from one energy, a new batch each step.

    Attributes
    ----------
    potential : Quadratic
    start : tuple of float
        (q, p): where the first trajectory starts.
    num_trajectories : int
    num_rows : int
        n.
    variances : dict of int to float
        Of the centre of a batch, by b; n stands for all rows.
    centres : dict of int to (trajectories, n / b + 1, seeds) array
        Of batches, by b.
    parts : dict of int to (n / b, seeds) array
        Of the parts of a random partition of the rows, by b.
    noise : dict of int to array
        Of the shapes of `centres`: standard normal numbers, for friction.
    """

    potential: Quadratic
    start: tuple
    num_trajectories: int
    num_rows: int
    variances: dict
    centres: dict
    parts: dict
    noise: dict

    @classmethod
    def draw(cls, study_seed, target, start, batch_sizes, num_trajectories, seeds):
        """With batches, parts and friction's noise from streams of their own."""
        n, potential = target.num_rows, quadratic(target)
        rows = row_centres(target, potential.curvature)
        variances, centres, parts, noise = {}, {}, {}, {}
        for b in (*batch_sizes, n):
            steps = n // b
            shape = num_trajectories, steps + 1, seeds
            if b == n:
                centres[b], variances[b] = np.full(shape, potential.centre), 0.0
            else:
                drawn = [
                    batch_centres(stream, target, b, num_trajectories * (steps + 1))
                    for seed in range(seeds)
                    for stream in [three_streams(seed_sequence(study_seed, "orbit", b, seed))]
                ]
                centres[b] = np.array(drawn).T.reshape(shape)
                variances[b] = shift_variance(target, b)
            shuffled = [
                generator(study_seed, "partition", b, seed).permutation(rows)
                for seed in range(seeds)
            ]
            parts[b] = np.array(shuffled)[:, : steps * b].reshape(seeds, steps, b).mean(axis=2).T
            noise[b] = generator(study_seed, "orbit-friction", b).standard_normal(shape)
        return cls(potential, tuple(start), num_trajectories, n, variances, centres, parts, noise)

    @property
    def energy(self):
        """Where all trajectories start, or the first."""
        return float(self.potential.energy(*self.start))

    def on_circle(self, angle):
        """(q, p) of that energy; in units in which such places make a circle, at an angle."""
        radius = math.sqrt(2 * self.energy)
        q = self.potential.centre + radius / math.sqrt(self.potential.curvature) * np.cos(angle)
        return q, radius * np.sin(angle)

    def ends(self, batch_size, reading, step_size, friction=0.0):
        """Where trajectories end, two arrays (trajectories, seeds).

        Parameters
        ----------
        batch_size : int
            One of `centres`.
        reading : str
            One of `READINGS`.
        step_size, friction : float
        """
        centres, noise = self.centres[batch_size], self.noise[batch_size]
        trajectories, places, seeds = centres.shape
        steps = places - 1
        if reading == EACH:
            angles = 2 * np.pi * np.arange(trajectories) / trajectories
            start = (part[:, None] for part in self.on_circle(angles))
            centres, noise = centres.swapaxes(0, 1), noise.swapaxes(0, 1)
            every = slice(-1, None)
        else:
            start, every = self.start, slice(steps, None, steps)
            if reading == PARTS:
                centres = np.tile(self.parts[batch_size], (trajectories + 1, 1))
            centres = centres.reshape(-1, seeds)[: trajectories * steps + 1]
            noise = noise.reshape(-1, seeds)
        q, p = orbit(self.potential, *start, step_size, centres, friction, noise)
        return (part[every].reshape(trajectories, seeds) for part in (q, p))

    def energies(self, batch_size, reading, step_size, friction=0.0):
        """Mean energy of the ends over that of the start, (seeds,)."""
        q, p = self.ends(batch_size, reading, step_size, friction)
        return self.potential.energy(q, p).mean(axis=0) / self.energy

    def expected(self, batch_size, reading, step_size, friction=0.0):
        """What `energies` are over all batches, computed; where they are drawn anew each step."""
        steps, v = self.num_rows // batch_size, self.variances[batch_size]
        if reading == EACH:  # quadratic in the start: two places stand for the circle
            starts, counts = [self.on_circle(0.0), self.on_circle(np.pi / 2)], [steps]
        else:
            starts = [self.start]
            counts = steps * np.arange(1, self.num_trajectories + 1)
        found = energy_moments(self.potential, starts, step_size, counts, v, friction)[0]
        return float(found.mean()) / self.energy

    def orbit_errors(self, batch_size, step_size):
        """Mean largest energy error of orbits on one batch, over the start's energy, (seeds,).

        Over as many batches as there are trajectories.
        """
        shifts = self.centres[batch_size][:, 0] - self.potential.centre
        errors = largest_energy_error(self.potential, *self.start, step_size, shifts)
        return errors.mean(axis=0) / self.energy


def with_error(values):
    """Text of a mean over seeds with two standard errors."""
    mean, error = values.mean(), 2 * standard_error(values)
    if error <= 1e-9 * abs(mean):
        return f"{mean:.3g}"
    decimals = max(0, -math.floor(math.log10(error)))
    return f"{mean:,.{decimals}f} ± {error:,.{decimals}f}"


def standard_error(values):
    """Of a mean over seeds; 0 for a single number, which is computed."""
    return values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def judged(claims):
    """Verdicts, from comparisons which a claim says to be below 0.

    A comparison speaks for its claim where its mean over the seeds is below 0 by two standard
    errors, against it where it is above by as much. What follows is the rule of the studies'
    claims: at least 80 % of the comparisons.

    Parameters
    ----------
    claims : dict of str to list of (seeds,) array

    Returns
    -------
    list of dict
    """
    rows = []
    for claim, comparisons in claims.items():
        values = [np.atleast_1d(np.asarray(one, dtype=float)) for one in comparisons]
        sides = [side(mean_interval(one), below=0) for one in values]
        rows.append(
            {"the thesis says": claim}
            | {side: sides.count(side) for side in SIDES}
            | {"verdict": verdict(sides).replace("not confirmed", "refuted")}
        )
    return rows


def mean_interval(values):
    """Mean over seeds, and two standard errors to either side."""
    mean, reach = values.mean(), 2 * standard_error(values)
    return Estimate(mean, mean - reach, mean + reach)
