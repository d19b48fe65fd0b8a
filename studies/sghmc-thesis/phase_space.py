"""Orbits in phase space on batches of the rows: their energy errors, claims on them, figures.

For the posterior of a normal mean. There the potential of a batch, its log-likelihood multiplied by
n / b, has the curvature of the whole posterior and another centre: what a batch brings about is the
motion of another Hamiltonian (Betancourt 2015), which no step size turns into the right one.

The thesis (section 6.1) prints a potential without its factor 1/2, and a gradient with the sign of
the log posterior's and a product in place of a sum in its denominator. Here U is the negative log
posterior: U(q) = A (q - c)^2 / 2, with A = n / sigma^2 + 1 / s^2.
"""

import math
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.lines import Line2D

from dpmcmc.random_streams import generator, seed_sequence, three_streams
from dpmcmc.samplers.batches import draw_batch
from dpmcmc.samplers.hmc import leapfrog
from dpmcmc_studies.analysis.claims import SIDES, side, verdict
from dpmcmc_studies.analysis.intervals import Estimate
from dpmcmc_studies.reporting.figures.style import NEUTRAL, legend_below, panel_grid

# Each trajectory from a place of its own, evenly on the circle of the start's energy; from where
# the one before it ended, momentum and all; and so, but with the parts of one partition of the rows
# for batches, in the same order in each trajectory.
READINGS = EACH, ON, PARTS = "One trajectory each", "One after another", "Parts in turn"
ALL_ROWS, BATCH = "#d62728", "#0173b2"  # colours


@dataclass(frozen=True)
class Quadratic:
    """U(q) = curvature (q - centre)^2 / 2, with a unit mass.

    Attributes
    ----------
    curvature, centre : float
        A and c. The period is 2 pi / sqrt(A); leapfrog is stable for steps below 2 / sqrt(A).
    """

    curvature: float
    centre: float

    def energy(self, q, p):
        """H(q, p) = U(q) + p^2 / 2, for arrays of one shape; 0 at rest in the centre."""
        return (np.square(p) + self.curvature * np.square(q - self.centre)) / 2

    def stiffness(self, step_size):
        """Curvature that leapfrog's orbits have in its place: A (1 - h^2 A / 4).

        Leapfrog leaves p^2 / 2 + A (1 - h^2 A / 4) (q - c)^2 / 2 exactly as it is.

        Raises
        ------
        ValueError
            If leapfrog is not stable.
        """
        if not step_size < (limit := 2 / math.sqrt(self.curvature)):
            raise ValueError(f"step_size: must be below {limit:.4g} to be stable, not {step_size}")
        return self.curvature * (1 - step_size**2 * self.curvature / 4)


def quadratic(target):
    """Potential of a posterior that is normal, of one parameter.

    Parameters
    ----------
    target : Target

    Raises
    ------
    ValueError
        If it has more parameters, or another shape.
    """
    name = type(target.model).__name__
    if target.model.dimension != 1:
        raise ValueError(f"{name}: must have one parameter, not {target.model.dimension}")
    slopes = [-target.gradient(np.array([place])).item() for place in (0.0, 1.0, -3.0)]
    curvature = slopes[1] - slopes[0]
    if not (curvature > 0 and math.isclose(slopes[2], slopes[0] - 3 * curvature, rel_tol=1e-6)):
        raise ValueError(f"{name}: must have a normal posterior")
    return Quadratic(curvature, -slopes[0] / curvature)


def batch_centres(rng, target, batch_size, count):
    """Centres of the potentials of batches, (count,).

    Parameters
    ----------
    rng : Streams
    target : Target
        With the posterior of `quadratic`.
    batch_size : int
        b rows, drawn without replacement, anew for each.
    count : int
    """
    curvature, n = quadratic(target).curvature, target.num_rows
    centres_of_rows = row_centres(target, curvature)
    return np.array([centres_of_rows[draw_batch(rng, n, batch_size)].mean() for _ in range(count)])


def row_slopes(target, q, bound=math.inf):
    """Gradient of the log posterior at a number q by each row as a batch, clipped, (n,)."""
    theta = np.array([q])
    gradients, _ = target.row_gradients(theta, bound)
    scale = target.num_rows * target.likelihood_power
    return (target.model.grad_log_prior(theta) + scale * gradients)[:, 0]


def row_centres(target, curvature):
    """Centre of the potential of each row as a batch, (n,); that of a batch is their mean."""
    return row_slopes(target, 0.0) / curvature


def batch_noise(target, q, batch_size, bound=math.inf):
    """Variance of the gradient of the log posterior by a batch, over all batches.

    Times half of the step size it is what friction must be at least to take away again what energy
    batches bring (Chen, Fox and Guestrin 2014, section 3).

    Parameters
    ----------
    target : Target
        In one dimension.
    q : float
    batch_size : int
    bound : float
        Largest absolute value of one row's gradient.
    """
    slopes = row_slopes(target, q, bound)
    return float((1 - batch_size / target.num_rows) * slopes.var(ddof=1) / batch_size)


def shift_variance(target, batch_size):
    """Variance of the centre of a batch over all batches: (1 - b / n) s^2 / b."""
    return batch_noise(target, 0.0, batch_size) / quadratic(target).curvature ** 2


def orbit(potential, q, p, step_size, centres, friction=0.0, noise=None):
    """Leapfrog on potentials that have the curvature of one, and centres of their own.

    Each position has one potential, for the half kicks before and after it. With friction, the
    momentum between the half kicks becomes p - h C p + N(0, 2 C h), which is SGHMC (Chen et al.
    2014) with the signs corrected.

    Parameters
    ----------
    potential : Quadratic
    q, p : arrays (...)
        Starts.
    step_size : float
        h.
    centres : (steps + 1, ...) array
        Of the potentials at the positions, in their order.
    friction : float
        C.
    noise : (steps, ...) array, optional
        Standard normal numbers; needed with friction.

    Returns
    -------
    q, p : (steps + 1, ...) arrays
        With the starts.

    Raises
    ------
    ValueError
        If leapfrog is not stable.
    """
    potential.stiffness(step_size)
    q, p = (np.broadcast_to(start, centres.shape[1:]).astype(float) for start in (q, p))
    positions, momenta = [q], [p]
    for step in range(len(centres) - 1):
        at = iter(centres[step : step + 2])
        ((q, p),) = leapfrog(
            q, p, lambda q, at=at: potential.curvature * (next(at) - q), step_size, 1, 1.0
        )
        if friction:
            p = p - step_size * friction * p + math.sqrt(2 * friction * step_size) * noise[step]
        positions.append(q)
        momenta.append(p)
    return np.array(positions), np.array(momenta)


def largest_energy_error(potential, q, p, step_size, shift=0.0):
    """Largest |H - H at the start| on the ellipse that leapfrog stays on with one potential.

    Proportional to h^2 with all rows. With a batch it tends, as h vanishes, to
    A |shift| (r + |shift - x|), with x = q - c and r the half axis of the batch's ellipse: no step
    size removes it.

    Parameters
    ----------
    potential : Quadratic
    q, p : float or array
        Start.
    step_size : float
        h; 0 for the limit.
    shift : float or array
        Centre of the batch less that of all rows.
    """
    stiffness, curvature = potential.stiffness(step_size), potential.curvature
    start = q - potential.centre
    invariant = np.square(p) + stiffness * np.square(start - shift)

    def error(x):  # the momentum is what the invariant leaves
        kinetic = invariant - stiffness * np.square(x - shift)
        return np.abs(kinetic + curvature * np.square(x) - np.square(p) - curvature * start**2) / 2

    half_axis = np.sqrt(invariant / stiffness)
    ends = [shift - half_axis, shift + half_axis]
    if step_size == 0:
        return np.maximum(*map(error, ends))
    top = np.clip(-stiffness * shift / (curvature - stiffness), *ends)  # of the parabola
    return np.maximum.reduce([error(x) for x in (*ends, top)])


def energy_moments(potential, starts, step_size, counts, variance, friction=0.0):
    """Mean and variance of the energy after leapfrog with a new batch at each position.

    The motion is linear, and the errors of the batches are independent, so the mean is exact; the
    variance takes the state for normal. Without friction, to leading order, energy E over a time t
    becomes E + h t A^2 v / 2 with variance h t A^2 v E: a random walk, which falls as sqrt(h).

    Parameters
    ----------
    potential : Quadratic
    starts : (k, 2) array_like
        Of q and p.
    step_size : float
        h.
    counts : sequence of int
        After how many steps, ascending from 1.
    variance : float
        v, of the centre of a batch.
    friction : float
        C, as for `orbit`.

    Returns
    -------
    mean, variance : (counts, k) arrays
    """
    h, A = step_size, potential.curvature
    potential.stiffness(h)
    half_kick = np.array([[1.0, 0.0], [-h * A / 2, 1.0]])
    drift = np.array([[1.0, h], [0.0, 1.0]])
    slowing = np.diag([1.0, 1 - h * friction])
    pushed = np.array([0.0, h * A / 2])  # by a batch's shift, in half a kick
    injected = np.diag([0.0, 2 * friction * h])
    # From drift to drift: a state and the shift of the batch there are independent.
    kick = drift @ half_kick @ slowing @ half_kick
    push = drift @ (half_kick @ slowing @ pushed + pushed)
    added = variance * np.outer(push, push) + drift @ injected @ drift.T
    last = slowing @ half_kick
    added_last = variance * np.outer(slowing @ pushed, slowing @ pushed) + injected
    form = np.diag([A, 1.0])

    mean = drift @ half_kick @ (np.asarray(starts, dtype=float) - [potential.centre, 0.0]).T
    covariance = variance * np.outer(drift @ pushed, drift @ pushed)
    found, wanted = [], set(counts)
    for count in range(1, max(counts) + 1):
        if count in wanted:
            state = last @ mean
            spread = form @ (last @ covariance @ last.T + added_last)
            expected = (np.sum(state * (form @ state), axis=0) + np.trace(spread)) / 2
            varying = np.sum(state * (spread @ form @ state), axis=0)
            found.append([expected, varying + np.trace(spread @ spread) / 2])
        mean = kick @ mean
        covariance = kick @ covariance @ kick.T + added
    return tuple(np.array(found).swapaxes(0, 1))


def balancing_friction(potential, step_size, variance, energy):
    """Friction C at which batches and friction leave the mean energy as it is: h A^2 v / (2 E - 2).

    Batches add h A^2 v / 2 to it in a unit of time and the injected noise C; friction takes C E.
    To leading order in h.

    Parameters
    ----------
    potential : Quadratic
    step_size : float
        h.
    variance : float
        v, of the centre of a batch.
    energy : float
        E; no friction cools below 1, the temperature of the injected noise.

    Raises
    ------
    ValueError
        If the energy is not above 1.
    """
    if not energy > 1:
        raise ValueError(f"energy: must be above 1, not {energy}")
    return step_size * potential.curvature**2 * variance / (2 * (energy - 1))


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
            | {name: sides.count(name) for name in SIDES}
            | {"verdict": verdict(sides)}
        )
    return rows


def mean_interval(values):
    """Mean over seeds, and two standard errors to either side."""
    mean, reach = values.mean(), 2 * standard_error(values)
    return Estimate(mean, mean - reach, mean + reach)


def orbit_panels(potential, panels):
    """Orbits on batches over that on all rows, a panel each, all with the same axes.

    Parameters
    ----------
    potential : Quadratic
        In whose units an orbit is a circle.
    panels : dict of str to dict
        By title: `all_rows`, the positions and momenta (q, p) of an orbit, and `batches`, a list
        of such pairs.
    """
    figure, axes = panel_grid(len(panels), min(2, len(panels)), size=(2.7, 2.7))
    for axis, (title, orbits) in zip(axes, panels.items(), strict=True):
        for q, p in orbits["batches"]:
            axis.plot(q, p, ".", markersize=2.5, color=BATCH, alpha=0.6)
        axis.plot(*orbits["all_rows"], ".", markersize=2.5, color=ALL_ROWS)
        axis.set_title(title)
    farthest = max(
        extent(potential, *one)
        for orbits in panels.values()
        for one in [orbits["all_rows"], *orbits["batches"]]
    )
    for axis in axes:
        set_limits(axis, potential, 1.05 * farthest)
    figure.tight_layout()
    legend_below(figure, handles("One batch"), 2)
    return figure


def end_panels(potential, energy, panels):
    """Ends of trajectories, and the circle of the energy they started with; own axes each.

    Parameters
    ----------
    potential : Quadratic
    energy : float
    panels : dict of str to dict
        Rows of the figure, by name: ends (q, p) by what heads a panel.
    """
    columns = max(map(len, panels.values()))
    figure, axes = plt.subplots(
        len(panels),
        columns,
        figsize=(0.4 + 2.9 * columns, 0.3 + 2.7 * len(panels)),
        squeeze=False,
    )
    angle = np.linspace(0, 2 * np.pi, 201)
    radius = np.sqrt(2 * energy)
    circle = (
        potential.centre + radius / np.sqrt(potential.curvature) * np.cos(angle),
        radius * np.sin(angle),
    )
    for row, (name, ends) in zip(axes, panels.items(), strict=True):
        for axis, (title, (q, p)) in zip(row, ends.items(), strict=True):
            axis.plot(q, p, ".", markersize=2.5, color=BATCH, alpha=0.6)
            axis.plot(*circle, color=ALL_ROWS, linewidth=1.5)
            axis.set_title(f"{name}, {title}")
            set_limits(axis, potential, 1.1 * max(radius, extent(potential, q, p)))
    figure.tight_layout()
    legend_below(figure, handles("End of a trajectory"), 2)
    return figure


def extent(potential, q, p):
    """Largest distance from the centre in either direction, in units of the momentum."""
    along = np.sqrt(potential.curvature) * np.abs(np.asarray(q) - potential.centre)
    return max(along.max(), np.abs(p).max())


def set_limits(axis, potential, half_width):
    """Axes on which an orbit on all rows is a circle, centred."""
    scale = 1 / np.sqrt(potential.curvature)
    axis.set_xlim(potential.centre - scale * half_width, potential.centre + scale * half_width)
    axis.set_ylim(-half_width, half_width)
    axis.set_box_aspect(1)
    axis.locator_params(nbins=4)
    axis.set(xlabel="Position q", ylabel="Momentum p")


def handles(of_batches):
    """Legend of points on batches, and of all rows in red."""
    style = {"marker": ".", "linestyle": ""}
    return [
        Line2D([], [], color=ALL_ROWS, label="All rows", **style),
        Line2D([], [], color=BATCH, label=of_batches, **style),
    ]


def energy_error_figure(steps, all_rows, one_batch, each_step, simulated):
    """Energy errors against the step size, over the energy of the start.

    Parameters
    ----------
    steps : (k,) array
    all_rows : (k,) array
    one_batch, each_step : dict of int to (k,) array
        By the rows of a batch.
    simulated : dict of (str, int) to (steps, errors)
        By "one_batch" or "each_step" and the rows of a batch.
    """
    figure, axis = plt.subplots(figsize=(5.6, 4.2))
    axis.plot(steps, all_rows, color=ALL_ROWS)
    colours = dict(zip(one_batch, sns.color_palette("viridis", len(one_batch)), strict=True))
    for b, colour in colours.items():
        axis.plot(steps, one_batch[b], color=colour)
        axis.plot(steps, each_step[b], "--", color=colour)
    markers = {"one_batch": "o", "each_step": "s"}
    for (kind, b), (at, errors) in simulated.items():
        axis.plot(at, errors, markers[kind], color=colours[b], markersize=3.5)
    axis.set(xscale="log", yscale="log", xlabel="Step size", ylabel="Relative energy error")
    figure.tight_layout()
    key = [Line2D([], [], color=ALL_ROWS, label="All rows")]
    key += [Line2D([], [], color=colours[b], label=f"Batches of {b:,}") for b in colours]
    key += [
        Line2D([], [], color=NEUTRAL, marker="o", markersize=3.5, label="One batch"),
        Line2D(
            [],
            [],
            color=NEUTRAL,
            marker="s",
            markersize=3.5,
            linestyle="--",
            label="A new batch each step",
        ),
    ]
    legend_below(figure, key, 3)
    return figure
