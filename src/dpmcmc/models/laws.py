"""Laws of covariates and errors: the laws of simulated rows, and laws that real rows may have."""

import math
from collections.abc import Callable, Mapping

import numpy as np

Law = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]  # to numbers of a shape

RARE = 0.05  # share of ones of a rare covariate
HEAVY = 3  # degrees of freedom of heavy tails
SPREAD = 1.5  # standard deviation of errors that are too wide
FAR = 5.0  # standard deviations to a column that lies far off
FAR_SHARE = 0.05


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """N(0, 1)."""
    return rng.standard_normal(shape)


def heavy(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Student's t of variance 1."""
    return rng.standard_t(HEAVY, shape) / math.sqrt(HEAVY / (HEAVY - 2))


def rare(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Columns of mean 0 and variance 1, by turns rare binary and of heavy tails."""
    ones = (rng.random(shape) < RARE) - RARE
    tails = heavy(rng, shape)
    return np.where(np.arange(shape[1]) % 2 == 0, ones / math.sqrt(RARE * (1 - RARE)), tails)


def skewed(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Exponential of mean 0 and variance 1."""
    return rng.standard_exponential(shape) - 1


def wide(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """N(0, SPREAD^2)."""
    return SPREAD * rng.standard_normal(shape)


def far(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """N(0, 1), but a share of the columns (of shape (d, n): rows) lies far off to one side.

    The mean over all columns stays 0.
    """
    is_far = (rng.random(shape[-1]) < FAR_SHARE) - FAR_SHARE
    return rng.standard_normal(shape) + FAR / math.sqrt(shape[0]) * is_far


# Other laws of errors, by what `Model.other_laws` calls them, and in words.
ERRORS: Mapping[str, tuple[Law, str]] = {
    "skewed errors": (skewed, "exponential"),
    "heavy tails": (heavy, f"Student's t with {HEAVY} degrees"),
    "wide errors": (wide, f"{SPREAD:g} times the standard deviation"),
    "far rows": (far, f"{FAR_SHARE:.0%} of them at {FAR:g} standard deviations"),
}


def other_errors(*names: str) -> dict[str, str]:
    """Names of some of `ERRORS`, and what they mean."""
    return {name: ERRORS[name][1] for name in names}
