"""What one iteration of a sampler releases; accountants price it.

Noise is always stated over the *substitute* sensitivity: the most that the released statistic
can change when one row is replaced by another.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class GaussianRelease:
    """Gaussian releases of one iteration, equivalent to a single one.

    Attributes
    ----------
    mu : float
        Substitute sensitivity over the standard deviation of the noise. Several releases of an
        iteration compose to sqrt(mu_1^2 + mu_2^2 + ...), adaptively chosen or not
        (Dong, Roth and Su 2022, Corollary 3.3).
    """

    mu: float
