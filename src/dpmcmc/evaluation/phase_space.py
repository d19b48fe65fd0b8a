"""Orbits in phase space on batches of the rows, and their energy errors in closed form.

For the posterior of a normal mean. There the potential of a batch, its log-likelihood multiplied by
n / b, has the curvature of the whole posterior and another centre: what a batch brings about is the
motion of another Hamiltonian (Betancourt 2015), which no step size turns into the right one.

The thesis (section 6.1) prints a potential without its factor 1/2, and a gradient with the sign of
the log posterior's and a product in place of a sum in its denominator. Here U is the negative log
posterior: U(q) = A (q - c)^2 / 2, with A = n / sigma^2 + 1 / s^2.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpmcmc.samplers.batch_gradients import batch_gradient
from dpmcmc.samplers.batches import draw_batch
from dpmcmc.samplers.hmc import leapfrog


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
    rows = np.arange(target.num_rows)
    slopes = [-slope(target, place, rows) for place in (0.0, 1.0, -3.0)]
    curvature = slopes[1] - slopes[0]
    if not (curvature > 0 and math.isclose(slopes[2], slopes[0] - 3 * curvature, rel_tol=1e-6)):
        raise ValueError(f"{name}: must have a normal posterior")
    return Quadratic(curvature, -slopes[0] / curvature)


def slope(target, q, batch):
    """Gradient of the log posterior at a number q, by a batch."""
    return batch_gradient(target, np.array([q]), math.inf, batch, len(batch))[0].item()


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


def row_centres(target, curvature):
    """Centre of the potential of each row as a batch, (n,); that of a batch is their mean."""
    rows = np.arange(target.num_rows)[:, None]
    return np.array([slope(target, 0.0, row) for row in rows]) / curvature


def shift_variance(target, batch_size):
    """Variance of the centre of a batch over all batches: (1 - b / n) s^2 / b."""
    rows = row_centres(target, quadratic(target).curvature)
    return (1 - batch_size / target.num_rows) * rows.var(ddof=1) / batch_size


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
