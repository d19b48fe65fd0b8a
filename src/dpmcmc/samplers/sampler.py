"""The base of samplers, and what their steps return.

A sampler is a frozen dataclass of settings, derived from `Sampler`, with

    init(rng, position) -> State
    step(rng, state, target) -> (State, Info)
    releases(num_rows, likelihood_power, iterations) -> list of (mechanism, count)
                               all that a chain releases, for the accountant (private ones only)

so that the same object serves the accountant, which sees no data, and the chain. A private sampler
learns of its rows by `Streams.add_noise` and draws batches by `draw_batch`, so that both can be
watched: `python -m dpmcmc check` compares them with what it tells the accountant.

A sampler may prepare: release something once, before its first step. In place of `init` it has

    prepare(rng, target) -> (State, Info)
    with_preparation_noise(noise_scale)
                               the sampler with so much noise of the preparation, where its settings
                               leave that to the budget

and says `has_free_steps = True` where its steps release nothing, and read no data.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dpmcmc.accounting.mechanisms import Releases
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Settings


class State(NamedTuple):
    """State of a chain: theta of shape (d,), and the memory of its move (None for most)."""

    position: np.ndarray
    memory: Any = None


class Info(NamedTuple):
    """Diagnostics of one iteration; not private, except for `is_accepted`."""

    is_accepted: bool  # True without an acceptance test
    clip_fraction: float  # rows whose log-likelihood ratio was clipped; NaN without ratios
    gradient_clip_fraction: float = math.nan  # over rows and gradient evaluations
    is_changed: bool = False  # clipping changed the decision (samplers without noise only)


class Sampler(Settings, ABC):
    """Base of samplers; with what a class claims of itself, which `check` tries.

    Attributes
    ----------
    is_private : bool
        The class has `releases`.
    prepares : bool
        The class has `prepare`.
    has_free_steps : bool
        A preparation is all that it releases.
    exact_with_noise : bool
        Where nothing is clipped, it leaves the posterior invariant with its noise.
    exact_in_limit_of : str or None
        It does so only as a setting, such as "step_size", goes to 0.
    normal_approximation : bool
        It draws from an approximation of the posterior, and is tested for privacy only.
    """

    is_private: ClassVar[bool] = False
    prepares: ClassVar[bool] = False
    has_free_steps: ClassVar[bool] = False
    exact_with_noise: ClassVar[bool] = False
    exact_in_limit_of: ClassVar[str | None] = None
    normal_approximation: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.is_private = cls.releases is not Sampler.releases
        cls.prepares = cls.prepare is not Sampler.prepare

    def init(self, rng: Streams, position: np.ndarray) -> State:
        """State at a start position (d,)."""
        self.check_dimension(position.size)
        return State(position)

    @abstractmethod
    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration: the next state, and diagnostics for tables."""

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """State and `Info` after all releases before the first step, for classes that prepare."""
        raise NotImplementedError(f"{type(self).__name__} does not prepare")

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """All that a chain releases, in this order: its preparation, then its iterations.

        Parameters
        ----------
        num_rows : int
            n.
        likelihood_power : float
            T.
        iterations : int
            k >= 0.

        Returns
        -------
        list of (mechanism, int)
            Mechanisms of `dpmcmc.accounting.mechanisms`, and how often each is there. A longer
            chain has the same list, with more at its end.
        """
        return []

    def with_preparation_noise(self, noise_scale: float) -> Self:
        """The sampler with that noise of its preparation, if its settings leave it to the budget.

        Parameters
        ----------
        noise_scale : float
            Standard deviation over sensitivity, 1 / mu, of all that the preparation releases.
        """
        return self
