"""Draws of a density of one or two dimensions from a grid that follows its modes, however narrow.

The evaluations read no row, so they may be many.
"""

from collections.abc import Callable

import numpy as np

FIRST_CELLS = {1: 256, 2: 24}  # along each axis
KEPT = 15.0  # of ln of the density, below its greatest, that cells are followed
LEAST_KEPT = {1: 64, 2: 250}  # cells that are followed while the density is flattened
FINE = {1: 500, 2: 3000}  # cells of the last grid, at least
LEVELS = 60
MOST_CELLS = 50_000


def draws_on_grid(
    rng: np.random.Generator,
    log_density: Callable[[np.ndarray], float],
    box: np.ndarray,
    size: int,
) -> np.ndarray:
    """Draws, (size, d), each uniform in its cell.

    Each level halves the cells along each axis and keeps those in which a power of the density,
    flattened so that the best cells are comparable, is not negligible. The power grows to 1 as the
    cells become narrow. So all modes of about the same height are followed.

    Parameters
    ----------
    rng : numpy.random.Generator
    log_density : function
        Of theta (d,).
    box : (2, d) array
        Within which the density is.
    size : int
    """
    d = box.shape[1]
    widths = (box[1] - box[0]) / FIRST_CELLS[d]
    axes = [
        low + width * (np.arange(FIRST_CELLS[d]) + 0.5)
        for low, width in zip(box[0], widths, strict=True)
    ]
    centres = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
    for _ in range(LEVELS):
        logs = np.array([log_density(theta) for theta in centres])
        below = logs.max() - logs
        least = np.partition(below, min(LEAST_KEPT[d], len(below) - 1))[
            min(LEAST_KEPT[d], len(below) - 1)
        ]
        cut = max(KEPT, least)
        is_kept = below <= cut
        if (cut == KEPT and is_kept.sum() >= FINE[d]) or is_kept.sum() > MOST_CELLS:
            break
        centres, widths = split(centres[is_kept], widths), widths / 2
    weights = np.exp(-below)
    places = rng.choice(len(centres), size, p=weights / weights.sum())
    return centres[places] + widths * rng.uniform(-0.5, 0.5, (size, d))


def split(centres: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Centres of the halves of cells along each axis, (2^d k, d)."""
    d = len(widths)
    signs = np.stack(np.meshgrid(*[[-1.0, 1.0]] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return (centres[:, None] + signs * widths / 4).reshape(-1, d)
