"""A private answer by one release of the rows, for posteriors of any kind."""

from dataclasses import dataclass
from functools import cached_property

from dpmcmc.likelihoods.target import Target
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.samplers.noisy_newton import NoisyNewton
from dpmcmc.samplers.noisy_statistics import NoisyStatistics
from dpmcmc.samplers.one_shot import OneShot
from dpmcmc.samplers.sampler import Info, State
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Noise, Number, Numbers, Positive


@dataclass(frozen=True)
class AutoOneShot(OneShot):
    """`NoisyStatistics` for an `ExponentialFamily`, `NoisyNewton` for all other models.

    A study with models of both kinds can start all its chains with it.

    Attributes
    ----------
    noise_scale : float, optional
        1 / mu: the noise's *standard deviation* over the sensitivity. By default it follows from
        the budget.
    gradient_clip_bound, information_clip_bound, start : optional
        Those of `NoisyNewton`. A model that is not an exponential family needs the first.
    first_radius : float, optional
        That of `NoisyStatistics`.
    """

    noise_scale: Noise | None = None
    gradient_clip_bound: Positive | None = None
    information_clip_bound: Positive | None = None
    start: Number | Numbers = 0.0
    first_radius: Positive | None = None

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Same as in the sampler for the model."""
        return self.sampler_for(target).prepare(rng, target)

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """The next draw; it reads no row."""
        return self.sampler_for(target).step(rng, state, target)

    def sampler_for(self, target: Target) -> NoisyStatistics | NoisyNewton:
        """`NoisyStatistics` or `NoisyNewton`.

        Raises
        ------
        ValueError
            If the second has no clip bound.
        """
        if isinstance(target.model, ExponentialFamily):
            return self._statistics
        if self.gradient_clip_bound is None:
            name = type(target.model).__name__
            raise ValueError(
                f"gradient_clip_bound: must be given for {name}, which is no ExponentialFamily"
            )
        return self._newton

    @cached_property
    def _statistics(self) -> NoisyStatistics:
        return NoisyStatistics(self.noise_scale, first_radius=self.first_radius)

    @cached_property
    def _newton(self) -> NoisyNewton:
        assert self.gradient_clip_bound is not None  # by `sampler_for`
        bounds = self.gradient_clip_bound, self.information_clip_bound
        return NoisyNewton(*bounds, self.noise_scale, start=self.start)
