"""Whether the clip of noisy statistics would move the answer from data of one's own.

The clip is accounted for by the model's law of a row, so rows of another law can bias the answer:
skewed ones anywhere, rows of another spread where the centre of the ball is off. For the owner, who
may see the data: findings have shares and ratios, and no value.
"""

import math
from collections.abc import Iterator

import numpy as np
from scipy.special import gammaincinv

from dpmcmc.evaluation.checking.findings import Finding
from dpmcmc.likelihoods.affine import clipped_to_ball
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.model import Model
from dpmcmc.samplers.clipped_law import normal_moments
from dpmcmc.samplers.noisy_statistics import NoisyStatistics, is_clip_known

MOST_MOVED = 0.5  # standard deviations of the exact posterior, of a component
SURE = 5.0  # standard errors by which the shift must be seen
MOST_SPREAD = 1.5  # usual distance from the centre over the model's, or the reverse
ADVICE = "; a row_radius of sqrt(m) + 2 or more clips less"


def check_clip(model: Model, data: np.ndarray) -> Iterator[Finding]:
    """Findings about the rows of a data set, for models that noisy statistics are for.

    Parameters
    ----------
    model : Model
        An `ExponentialFamily` with a constant covariance of t(x), else there are none.
    data : (m, n) array
        t(x) of every row.
    """
    if not (
        isinstance(model, ExponentialFamily)
        and model.has_constant_covariance
        and is_clip_known(model)
    ):
        return
    sampler = NoisyStatistics()
    z = np.linalg.solve(sampler.scale(model), data - data.mean(axis=1)[:, None])
    lengths = np.sqrt((z * z).sum(axis=0))
    yield moved(z, sampler.least_radius(model))
    yield spread(lengths, len(z))


def moved(z: np.ndarray, radius: float) -> Finding:
    """How far the clip at the default radius moves the mean of the rows (m, n) about it."""
    m, n = z.shape
    clipped, _ = clipped_to_ball(z, radius)
    slope = float(normal_moments(m, radius).slope(np.array(0.0)))
    errors = clipped / slope - z  # of mean 0 where rows are symmetric
    shift = abs(errors.mean(axis=1))
    is_sure = shift > SURE * errors.std(axis=1) / math.sqrt(n)
    worst = float((shift * is_sure).max()) * math.sqrt(n)
    advice = ADVICE if worst > MOST_MOVED else ""
    return Finding(
        "Noisy statistics: the clip moves the answer, as rows are skewed",
        f"by {worst:.1f} posterior sds{advice}" if worst else "not to be seen",
        f"at most {MOST_MOVED:g}",
        worst <= MOST_MOVED,
    )


def spread(lengths: np.ndarray, size: int) -> Finding:
    """Usual distance of rows from their mean, over that of the model's rows."""
    usual = math.sqrt(2 * gammaincinv(size / 2, 0.5))  # root of the median of chi-square
    ratio = float(np.median(lengths)) / usual
    is_fine = 1 / MOST_SPREAD <= ratio <= MOST_SPREAD
    return Finding(
        "Noisy statistics: spread of the rows, over the model's",
        f"{ratio:.2g}" + ("" if is_fine else "; correct the model's covariance"),
        f"{1 / MOST_SPREAD:.2g} to {MOST_SPREAD:g}",
        is_fine,
    )
