"""Noisy statistics as they were when this study ran: balls that hold nearly all rows.

The package's `NoisyStatistics` has smaller balls, and a posterior that accounts for the clip. Here
the posterior has all rounds, weighted by the precision of their noise, as if nothing was clipped.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.model import Model
from dpmcmc.samplers import noisy_statistics
from dpmcmc.samplers.given_total import GivenTotal
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams

CENTRE_MARGIN = 3.0  # standard deviations that a centre is hardly ever farther off than usual
ROW_MARGIN = 2.0  # of the last ball: one in some 300 normal rows is clipped, on no side more
LAST = 0.95  # share of mu^2 of the last of three rounds
SHARES = [(1 - LAST) / 2, (1 - LAST) / 2, LAST]


class Released(NamedTuple):
    """Knowledge of the rows after the release."""

    total: np.ndarray  # (m,): sum of t(x), with noise
    sd: float  # standard deviation of that noise, in public units


@dataclass(frozen=True)
class NoisyStatistics(noisy_statistics.NoisyStatistics):
    """One noisy sum of the statistics of an `ExponentialFamily`, in three rounds.

    Its settings are those of the package, but for `shares` and `radii`. The last ball is larger
    than `row_radius`, by default sqrt(m) + 2, by the likely error of its centre.
    """

    def check(self) -> None:
        """Refuse shares and radii, which are fixed."""
        super().check()
        if self.shares is not None or self.radii is not None:
            raise ValueError("shares: these rounds have shares and radii of their own")

    def chosen_settings(self, model: Model) -> dict[str, Any]:
        """None: all is fixed."""
        return {}

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Release the sum, round by round; the state is a draw of the posterior that it gives."""
        n, model = target.num_rows, cast(ExponentialFamily, target.model)
        scale = self.scale(model)
        m = len(scale)
        whiten = np.linalg.inv(scale)
        row_radius = self.row_radius or math.sqrt(m) + ROW_MARGIN
        centre, reach = self.first_ball(model, whiten)
        radius = self.first_radius or reach + row_radius
        mean, precision = np.zeros(m), 0.0  # of t(x), by all rounds so far, and of its noise
        for share in SHARES:
            sensitivity = 2 * radius
            sd = sensitivity * self.noise / math.sqrt(share)
            z, num_clipped = target.clipped_statistics(centre, whiten, radius)
            found = centre + scale @ (rng.add_noise(z, sensitivity, sd) / n)
            precision += 1 / (sd * sd)
            mean = mean + (found - mean) / (precision * sd * sd)
            # What that is off by: the mean of n rows, and the noise. Where the budget is so small
            # that a ball about it would be no smaller, the ball stays.
            mean_sd = math.sqrt(1 / n + 1 / (precision * n * n))
            next_radius = row_radius + mean_sd * (math.sqrt(m) + CENTRE_MARGIN)
            if next_radius < radius:
                centre, radius = mean, next_radius
        released = Released(n * mean, 1 / math.sqrt(precision))
        return self.next_draw(rng, model, released, []), Info(True, num_clipped / n)

    def draws(
        self, rng: np.random.Generator, model: ExponentialFamily, released: Released, size: int
    ) -> np.ndarray:
        """Draws of the posterior that the released sum gives, (size, d)."""
        T, n = model.likelihood_power, model.num_rows
        is_aware = self.posterior == "noise-aware"
        is_exact = type(model).sample_given_total is not ExponentialFamily.sample_given_total
        if is_exact and not is_aware:
            return model.sample_given_total(rng, released.total, size, T)
        if is_exact and model.has_constant_covariance:
            # n / T rows' covariance and the noise's, which is sd^2 of one row's: one power of it.
            power = 1 / (1 / T + released.sd * (released.sd / n))
            return model.sample_given_total(rng, released.total, size, power)
        noise = released.sd * self.scale(model) if is_aware else None
        return GivenTotal(model, released.total, noise).sample(rng, size)
