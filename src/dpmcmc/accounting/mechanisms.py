"""Mechanisms by which samplers release something; accountants price lists of them.

Noise is always stated over the *substitute* sensitivity: the most that the released statistic
can change when one row is replaced by another.
"""

from dataclasses import dataclass
from typing import Any

# Of (mechanism, count), in the order of the releases. Mechanisms are those below, or one's own.
Releases = list[tuple[Any, int]]
NOISE_VARIANCE = 2.0  # C, for which Theorem 3.3 holds: batch error and noise of DP Barker together


@dataclass(frozen=True)
class GaussianMechanism:
    """Gaussian mechanisms on all rows, equivalent to a single one.

    Attributes
    ----------
    mu : float
        Substitute sensitivity over the standard deviation of the noise. Several releases of an
        iteration compose to sqrt(mu_1^2 + mu_2^2 + ...), adaptively chosen or not
        (Dong, Roth and Su 2022, Corollary 3.3). Greater than 0.
    """

    mu: float

    def __post_init__(self) -> None:
        check(self, "mu", self.mu > 0)


@dataclass(frozen=True)
class SubsampledGaussianMechanism:
    """A Gaussian mechanism of a batch of fixed size, drawn without replacement.

    Attributes
    ----------
    noise_variance : float
        tau: variance of the noise over the *square* of the substitute sensitivity.
    sampling_probability : float
        q = b / n.
    """

    noise_variance: float
    sampling_probability: float

    def __post_init__(self) -> None:
        check(self, "noise_variance", self.noise_variance > 0)
        check(self, "sampling_probability", 0 < self.sampling_probability <= 1)


@dataclass(frozen=True)
class BarkerMechanism:
    """An acceptance test of DP Barker on a batch of fixed size, with noise variance C = 2.

    Attributes
    ----------
    batch_size : int
        b; ratios are clipped at sqrt(b) / (n T).
    sampling_probability : float
        q = b / n.
    batch_variance : float
        Largest variance that the test can subtract from its noise for a batch: 1 as published,
        (1 - q) b / (b - 1) for batches drawn without replacement.
    """

    batch_size: int
    sampling_probability: float
    batch_variance: float = 1.0

    def __post_init__(self) -> None:
        check(self, "batch_size", self.batch_size >= 1)
        check(self, "sampling_probability", 0 < self.sampling_probability <= 1)
        check(self, "batch_variance", 0 <= self.batch_variance < NOISE_VARIANCE)


def check(mechanism: object, field: str, is_valid: bool) -> None:
    """Raise a ValueError for a mechanism that no accountant can price, such as of no number."""
    if not is_valid:
        name, value = type(mechanism).__name__, getattr(mechanism, field)
        raise ValueError(f"{name}.{field}: cannot be {value}")


def require(releases: Releases, accountant: str, *kinds: type) -> None:
    """Raise a TypeError, naming the accountant, for a mechanism that is not of a kind it prices."""
    for mechanism, _ in releases:
        if not isinstance(mechanism, kinds):
            priced = " or a ".join(kind.__name__ for kind in kinds)
            raise TypeError(
                f"accountant {accountant} prices a {priced}, not a {type(mechanism).__name__}"
            )
