"""Draws of a posterior of two dimensions from its density on a grid, fine where it matters."""

import numpy as np

from dpmcmc.evaluation.modes import find_modes, missed
from dpmcmc.files import JobError

CELLS = 32  # of the first grid, along each axis
WIDTHS = 8.0  # of the first box about each mode, in standard deviations
BORDER = -32.0  # log density on the border, relative to the greatest: below 1e-13
LOG_DENSITY_CUTOFF = -23.0  # that of cells that are left out: below 1e-9
FINE = 0.5  # second difference of the log density over neighbouring cells, in the mean
ADVICE = "give reference: long-run"
OPEN_MASS = 1e-9  # mass of cells with a neighbour that was left out
MAX_EVALUATIONS = 1_000_000  # of the density


def sample(rng, target, size, fine=FINE):
    """Draws of a posterior, (size, 2), independent and exact but for the fineness of the grid.

    The grid spans the modes, and grows until the density on its border is negligible. Then cells
    whose density is not negligible anywhere, as far as first and second differences tell, are cut
    in two along the axis in which it is more curved, until it is nearly log-linear in each, and no
    cell is wider than any mode. Within a cell draws are of that log-linear density.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target
        Of d = 2.
    size : int
    fine : float
        What the mean second difference of the log density over neighbouring cells must not exceed,
        along either axis: a quarter of it halves the cells.

    Raises
    ------
    JobError
        If the grid would need more than `MAX_EVALUATIONS`: for a posterior with heavy tails, a very
        narrow one along a long line, or modes of very different widths. If it leaves out a mode.
    """
    modes = find_modes(rng, target)
    narrowest = np.min([np.diag(np.linalg.inv(m.covariance)) ** -0.5 for m in modes], axis=0)
    density = Density(target, modes[0].position)
    grid = bounded(density, modes)
    while True:
        near = Neighbours(grid)
        is_near = near.bounds() > LOG_DENSITY_CUTOFF + grid.values.max()
        kept = is_near | grid.holds([mode.position for mode in modes])
        if (kept & near.have_an_edge).any():
            raise JobError(
                "a grid cannot follow a posterior up to an edge, beyond which its density is 0 or "
                "no number; write theta without one, such as the logarithm of what is positive"
            )
        weights = np.where(kept, near.masses(), 0.0)
        weights /= weights.sum()
        curved = weights @ np.abs(near.second)
        is_fine, is_whole = (
            (curved <= fine).all(),
            weights @ ~near.are_known.all(axis=1) <= OPEN_MASS,
        )
        widest = grid.widths / narrowest
        if widest.max() > 1:
            grid = cut(density, grid, kept, int(widest.argmax()))
        elif is_fine and is_whole:
            break
        else:
            grid = cut(density, grid, kept, None if is_fine else int(curved.argmax()))
    if (number := missed(modes, grid.centres, weights)) is not None:
        raise JobError(f"a grid leaves out mode {number + 1} of {len(modes)}; {ADVICE}")
    chosen = rng.choice(len(weights), size, p=weights)
    within = log_linear(rng.random((size, 2)), near.slopes[chosen])
    return grid.centres[chosen] + within * grid.widths


class Density:
    """Log density relative to that at a mode, and how often it was asked for."""

    def __init__(self, target, mode):
        self.target, self.mode, self.count = target, mode, 0

    def at(self, points):
        """Log densities of points (k, 2), (k,); -inf where it is no number."""
        self.count += len(points)
        if self.count > MAX_EVALUATIONS:
            raise JobError(
                f"a grid needs more than {MAX_EVALUATIONS} evaluations of the density, as its "
                "tails are heavy, it is narrow along a long line, or its modes are of very "
                f"different widths; {ADVICE}"
            )
        with np.errstate(all="ignore"):
            values = [self.target.log_density_ratio(self.mode, point) for point in points]
        values = np.array(values, dtype=float)
        return np.where(np.isnan(values), -np.inf, values)


class Grid:
    """Cells of the same size: those of a lattice that still matter.

    Attributes
    ----------
    low : (2,) array
        Corner of the lattice.
    widths : (2,) array
        Of a cell.
    indices : (k, 2) array of int
        Places on the lattice, sorted.
    values : (k,) array
        Log density at the centres.
    """

    def __init__(self, density, low, widths, indices):
        self.low, self.widths = low, widths
        self.indices = np.unique(indices, axis=0)
        self.values = density.at(self.centres)

    @property
    def centres(self):
        """Centres of the cells, (k, 2)."""
        return self.low + (self.indices + 0.5) * self.widths

    def holds(self, points):
        """True if cells hold one of some points, (k,)."""
        places = np.floor((np.array(points) - self.low) / self.widths)
        return (self.indices[:, None] == places).all(axis=2).any(axis=1)


def bounded(density, modes):
    """The first grid: a box about the modes, with a negligible density on its border."""
    reach = [WIDTHS * np.sqrt(np.diag(mode.covariance)) for mode in modes]
    low = np.min([m.position - r for m, r in zip(modes, reach, strict=True)], axis=0)
    high = np.max([m.position + r for m, r in zip(modes, reach, strict=True)], axis=0)
    lattice = np.indices((CELLS, CELLS)).reshape(2, -1).T
    while True:
        grid = Grid(density, low, (high - low) / CELLS, lattice)
        along = grid.values[:, None] + Neighbours(grid).gains()[:, ::-1]  # the border of an axis
        is_high = along > BORDER + grid.values.max()
        first, last = (is_high & (grid.indices == i) for i in (0, CELLS - 1))
        if not (first.any() or last.any()):
            return grid
        span = (high - low) / 2
        low, high = low - span * first.any(axis=0), high + span * last.any(axis=0)


def cut(density, grid, kept, axis):
    """The kept cells and those around them, cut in two along an axis, or as they are."""
    around = np.indices((3, 3)).reshape(2, -1).T - 1
    indices = np.unique((grid.indices[kept][:, None] + around).reshape(-1, 2), axis=0)
    widths = grid.widths.copy()
    if axis is not None:
        widths[axis] /= 2
        indices = np.repeat(indices, 2, axis=0)
        indices[:, axis] = 2 * indices[:, axis] + np.tile([0, 1], len(indices) // 2)
    return Grid(density, grid.low, widths, indices)


class Neighbours:
    """Differences of the log density between a cell and its neighbours along each axis.

    Attributes
    ----------
    slopes, second : (k, 2) arrays
        Differences from cell to cell, and of these, per width of a cell; 0 where a neighbour has no
        finite log density.
    are_known : (k, 2) array of bool
        Whether both neighbours are on the grid.
    have_an_edge : (k,) array of bool
        Whether one that is has no finite log density.
    """

    def __init__(self, grid):
        self.values = grid.values
        places = grid.indices - grid.indices.min(axis=0) + 1
        stride = places[:, 1].max() + 2
        keys = places @ [stride, 1]
        shape = grid.indices.shape
        self.slopes, self.second = np.zeros(shape), np.zeros(shape)
        self.are_known = np.ones(shape, dtype=bool)
        self.have_an_edge = ~np.isfinite(self.values)
        for axis, step in enumerate((stride, 1)):
            places = [
                np.searchsorted(keys, keys + s).clip(max=len(keys) - 1) for s in (-step, step)
            ]
            for s, found in zip((-step, step), places, strict=True):
                self.are_known[:, axis] &= keys[found] == keys + s
            left, right = (self.values[found] for found in places)
            is_finite = np.isfinite(left + right + self.values)
            self.have_an_edge |= self.are_known[:, axis] & ~is_finite
            use = self.are_known[:, axis] & is_finite
            left, here, right = left[use], self.values[use], right[use]
            self.slopes[use, axis] = (right - left) / 2
            self.second[use, axis] = left + right - 2 * here

    def gains(self):
        """By how much the log density rises along each axis up to the next centres, (k, 2).

        That of the parabola through the three values; 0 where a neighbour is not known.
        """
        steep, bent = np.abs(self.slopes), -self.second
        top = np.where(steep < bent, steep / np.where(bent > 0, bent, 1.0), 1.0)
        return steep * top - bent * top**2 / 2

    def bounds(self):
        """Largest log density in each cell, as differences tell, (k,)."""
        return self.values + self.gains().sum(axis=1)

    def masses(self):
        """Mass of the density in each cell, to second order, relative to the greatest one."""
        x = np.maximum(np.abs(self.slopes) / 2, 1e-8)
        spread = x + np.log(-np.expm1(-2 * x) / (2 * x))  # ln(sinh(x) / x), without overflow
        log_masses = self.values + spread.sum(axis=1) + self.second.sum(axis=1) / 24
        return np.exp(log_masses - log_masses.max())


def log_linear(uniform, slopes):
    """Draws of the density that is proportional to exp(slope x) on [-1/2, 1/2], by its inverse."""
    steep = np.abs(slopes)
    x = np.where(steep < 1e-6, 1.0, steep)
    exact = 1 + np.log(uniform + (1 - uniform) * np.exp(-x)) / x
    within = np.where(steep < 1e-6, uniform, exact)
    return np.where(slopes < 0, 0.5 - within, within - 0.5)
