"""A private answer by one release of the rows, for posteriors of any kind."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.linear_regression import LinearRegression
from dpmcmc.models.model import Model
from dpmcmc.models.normal_columns import NormalColumns
from dpmcmc.samplers.noisy_columns import NoisyColumns
from dpmcmc.samplers.noisy_least_squares import NoisyLeastSquares
from dpmcmc.samplers.noisy_newton import NoisyNewton
from dpmcmc.samplers.noisy_statistics import NoisyStatistics
from dpmcmc.samplers.one_shot import OneShot
from dpmcmc.samplers.row_laws import RowLaws
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, Number, Numbers, Part, Positive, Positives, Shares


@dataclass(frozen=True)
class AutoOneShot(OneShot):
    """`NoisyStatistics` for an `ExponentialFamily`, `NoisyNewton` for most other models.

    For `NormalColumns` it is `NoisyColumns`, and for `LinearRegression` `NoisyLeastSquares`. A
    study with models of several kinds can start all its chains with it.

    Attributes
    ----------
    noise_scale : float, optional
        1 / mu: the noise's *standard deviation* over the sensitivity. By default it follows from
        the budget.
    shares : list of float, optional
        Share of mu^2 of each step or round.
    gradient_clip_bound, information_ratio, start, fit_share : optional
        Those of `NoisyNewton`; the last one of `NoisyLeastSquares`, too.
    clip_noise, errors_share : float, optional
        Those of `NoisyLeastSquares`.
    radii, first_radius, row_laws : optional
        Those of `NoisyStatistics`.
    """

    noise_scale: Noise | None = None
    gradient_clip_bound: Positive | None = None
    information_ratio: Positive | None = None
    shares: Shares | None = None
    start: Number | Numbers = 0.0
    fit_share: Part = 0.03
    radii: Positives | None = None
    first_radius: Positive | None = None
    row_laws: RowLaws = "wide"
    clip_noise: Noise | None = None
    errors_share: Part | None = None

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Same as in the sampler for the model."""
        return self.sampler_for(target.model).prepare(rng, target)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw; it reads no row."""
        return self.sampler_for(target.model).step(rng, state, target)

    def chosen_settings(self, model: Model) -> dict[str, Any]:
        """Those of the sampler for the model."""
        return self.sampler_for(model).chosen_settings(model)

    def sampler_for(
        self, model: Model
    ) -> NoisyStatistics | NoisyColumns | NoisyLeastSquares | NoisyNewton:
        """The sampler of the model's kind."""
        if isinstance(model, NormalColumns):
            return self._columns
        if isinstance(model, LinearRegression):
            return self._least_squares
        return self._statistics if isinstance(model, ExponentialFamily) else self._newton

    @cached_property
    def _statistics(self) -> NoisyStatistics:
        return NoisyStatistics(
            self.noise_scale,
            self.shares,
            self.radii,
            first_radius=self.first_radius,
            row_laws=self.row_laws,
        )

    @cached_property
    def _columns(self) -> NoisyColumns:
        return NoisyColumns(self.noise_scale, "narrow" if self.row_laws == "narrow" else "wide")

    @cached_property
    def _least_squares(self) -> NoisyLeastSquares:
        return NoisyLeastSquares(
            self.noise_scale, self.clip_noise, self.shares, self.errors_share, self.fit_share
        )

    @cached_property
    def _newton(self) -> NoisyNewton:
        return NoisyNewton(
            self.gradient_clip_bound,
            self.information_ratio,
            self.shares,
            noise_scale=self.noise_scale,
            start=self.start,
            fit_share=self.fit_share,
        )
