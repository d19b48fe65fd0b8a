"""A test of the noise itself: is its variance what each release says.

A recording of a sampler (`dpmcmc.evaluation.recording`) has statistic and noise apart. The squares
of the noise over its declared standard deviation add up to a chi-squared variable, if it is normal
and independent; the test is exact, and two-sided: too much noise is no breach, but another sampler.

A statistic may be so large, in a chain that diverges, that numbers next to it are as far apart as
the noise is wide. What was added then cannot be seen; such numbers are counted by themselves.
"""

from typing import NamedTuple

import numpy as np


class NoiseFound(NamedTuple):
    """Values for the release whose noise is the least likely; NaN and 1 if nothing was released."""

    variance: float  # over what is declared
    p_value: float  # two-sided, of all releases together (Bonferroni)
    num_values: int = 0  # numbers that it is of
    hidden: int = 0  # numbers, of all releases, whose noise rounding hides


FINEST = 1e-3  # sd, of the distance between numbers next to a statistic: moves z^2 by 1e-7


class Noise:
    """Squares of the noise, by the place of a release in an iteration or a preparation."""

    def __init__(self):
        self._sums = {}
        self._hidden = 0

    def add(self, step, is_preparation=False):
        """Note the noise of a `dpmcmc.evaluation.recording.Step`.

        Not that of values that are no numbers, and of releases without noise, which their price
        shows.
        """
        for place, (statistic, _, sd, value, _) in enumerate(step.released):
            with np.errstate(all="ignore"):
                z = (np.asarray(value) - statistic) / sd
                is_seen = np.broadcast_to(np.spacing(np.abs(statistic)) <= FINEST * sd, z.shape)
            if sd > 0 and np.isfinite(z).all():
                z = z[is_seen]
                self._hidden += is_seen.size - z.size
                count, total = self._sums.get((is_preparation, place), (0, 0.0))
                self._sums[is_preparation, place] = count + z.size, total + float((z * z).sum())

    def found(self):
        """Result, a `NoiseFound`."""
        from scipy.stats import chi2  # which takes a second to import

        found = [
            NoiseFound(total / count, 2 * min(chi2.cdf(total, count), chi2.sf(total, count)), count)
            for count, total in self._sums.values()
            if count
        ]
        worst = min(found, key=lambda of: of.p_value, default=NoiseFound(np.nan, 1.0))
        p_value = float(min(1.0, len(found) * worst.p_value)) if found else 1.0
        return worst._replace(p_value=p_value, hidden=self._hidden)
