"""The correction that makes normal noise nearly logistic, for Barker's acceptance test.

Seita et al. (2017) and Heikkila et al. (2019) fit a density on a grid or a mixture of a hundred
normals. A few atoms do better: their weights minimise the largest error of the distribution
function, which is a linear programme.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpmcmc.accounting.mechanisms import NOISE_VARIANCE

TAIL = 20.0  # P(accept) is 2e-9 there
TAIL_WEIGHT = 160


@dataclass(frozen=True)
class Correction:
    """Distribution V with Normal(0, C) + V nearly logistic.

    Attributes
    ----------
    atoms, weights : (m,) arrays
        Places, symmetric about 0, and their probabilities.
    error : float
        Largest difference of the distribution function of Normal(0, C) + V from the logistic's.
    """

    atoms: np.ndarray
    weights: np.ndarray
    error: float

    @cached_property
    def cumulative(self) -> np.ndarray:
        """Cumulative weights, (m,)."""
        sums = np.cumsum(self.weights)
        sums.setflags(write=False)
        return sums

    @classmethod
    def compute(cls) -> "Correction":
        """The correction that samplers need, of noise of variance C."""
        return fit_correction()

    def draw(self, rng: np.random.Generator) -> float:
        """One draw of V."""
        i = int(np.searchsorted(self.cumulative, rng.random(), side="right"))
        return self.atoms[min(i, len(self.atoms) - 1)]


def fit_correction(
    noise_variance: float = NOISE_VARIANCE, reach: float = 22.0, spacing: float = 0.1
) -> Correction:
    """Atoms and weights of least error, on a grid of places.

    As far as +-TAIL an error counts more where less is left of the distribution, so that relative
    to the tail it is at most TAIL_WEIGHT times the largest error: an unlikely acceptance is about
    as unlikely as it should be. This makes the largest error a twentieth larger.

    Parameters
    ----------
    noise_variance : float
        C, below pi^2 / 3, the variance of the logistic distribution.
    reach, spacing : float
        Places are the multiples of `spacing` up to +-`reach`.

    Raises
    ------
    ValueError
        If no distribution can correct noise of that variance.
    """
    from scipy.optimize import linprog
    from scipy.special import expit

    if not 0 < noise_variance < math.pi**2 / 3:
        raise ValueError(
            f"noise_variance must be between 0 and pi^2 / 3 = {math.pi**2 / 3:.4f}, "
            f"the variance of the logistic distribution, not {noise_variance}"
        )
    places = np.arange(0.0, reach + spacing / 2, spacing)
    scales = np.exp(-places)  # of the probabilities
    x = -np.linspace(0.0, TAIL, 900)  # by symmetry, x <= 0 is enough
    allowed = np.minimum(1.0, TAIL_WEIGHT * expit(x))
    # Unknowns: the probability of each +-place over its scale, and the error t;
    # |distribution - logistic| <= allowed t.
    normal = pair_distribution(x, places, noise_variance) * scales / allowed[:, None]
    t, logistic = np.ones((len(x), 1)), expit(x) / allowed
    solution = linprog(
        c=[*np.zeros(len(places)), 1],
        A_ub=np.block([[normal, -t], [-normal, -t]]),
        b_ub=np.concatenate([logistic, -logistic]),
        A_eq=[[*scales, 0]],
        b_eq=[1],
        method="highs",
    )
    weights = solution.x[:-1] * scales
    chosen = weights > 1e-15
    places, weights = places[chosen], weights[chosen] / weights[chosen].sum()
    fine = np.linspace(0.0, 60.0, 60_001)
    error = abs(pair_distribution(fine, places, noise_variance) @ weights - expit(fine)).max()
    is_centre = places == 0
    halves = np.where(is_centre, weights, weights / 2)
    atoms = np.concatenate([-places[~is_centre][::-1], places])
    return Correction(atoms, np.concatenate([halves[~is_centre][::-1], halves]), float(error))


def pair_distribution(x: np.ndarray, places: np.ndarray, noise_variance: float) -> np.ndarray:
    """Distribution function at x of Normal(0, C) +- place with equal odds, (len(x), places)."""
    from scipy.special import ndtr

    scale = math.sqrt(noise_variance)
    return (ndtr((x[:, None] - places) / scale) + ndtr((x[:, None] + places) / scale)) / 2
