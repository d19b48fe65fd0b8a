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
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from dpmcmc.accounting.mechanisms import Releases
from dpmcmc.likelihoods.target import Target
from dpmcmc.samplers.far_outcomes import Far
from dpmcmc.samplers.streams import Streams
from dpmcmc.settings import Settings

if TYPE_CHECKING:
    from dpmcmc.models.model import Model


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
    # Of a preparation, or of the first draw that follows it: how far what was released is from what
    # the answer leads to expect, in standard deviations. It follows from released values.
    misfit: float = math.nan
    # Of a preparation: how many outcomes are far out, where it has released that.
    far: tuple[Far, ...] = ()


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
    is_exact_draw : bool
        It is private by what it draws, in exact arithmetic, and not by noise that is added. A
        release refuses it, and it starts no chain.
    """

    is_private: ClassVar[bool] = False
    prepares: ClassVar[bool] = False
    has_free_steps: ClassVar[bool] = False
    exact_with_noise: ClassVar[bool] = False
    exact_in_limit_of: ClassVar[str | None] = None
    normal_approximation: ClassVar[bool] = False
    is_exact_draw: ClassVar[bool] = False

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

    def chosen_settings(self, model: "Model") -> dict[str, Any]:
        """Settings that it chooses by public numbers for a model, by name; none by default.

        A plan shows them, and the statement of a release has them.
        """
        return {}

    def model_of_checks(self, model: "Model") -> "Model":
        """The model that `check` tries it on, in place of an exponential family; by default that.

        For samplers of one kind of model alone. The number of rows stays.
        """
        return model

    def dp_event(self, num_rows: int, iterations: int, likelihood_power: float = 1.0) -> Any:
        """All that a chain releases, as an event that accountants of dp_accounting price.

        The noise of an event is over the substitute sensitivity, as in `releases`. So methods on
        all rows are priced as here by an accountant with ADD_OR_REMOVE_ONE, which takes that
        sensitivity as it is. With REPLACE_ONE, the accountant of privacy losses doubles it: then
        its epsilon is valid, but loose. Methods on batches need REPLACE_ONE and the RDP accountant,
        which is valid and looser than `certified`.

        Parameters
        ----------
        num_rows : int
            n.
        iterations : int
            k >= 0.
        likelihood_power : float
            T.

        Returns
        -------
        dp_accounting.DpEvent

        Raises
        ------
        ValueError
            For a sampler that is not private, and one that releases what has no exact event, as DP
            Barker does.
        """
        from importlib import import_module

        if not self.is_private:
            raise ValueError(f"{type(self).__name__} is not private: it has no event")
        events = import_module("dpmcmc.accounting.events")  # by name: no chain depends on it
        return events.dp_event(self.releases(num_rows, likelihood_power, iterations), num_rows)

    def with_preparation_noise(self, noise_scale: float) -> Self:
        """The sampler with that noise of its preparation, if its settings leave it to the budget.

        Parameters
        ----------
        noise_scale : float
            Standard deviation over sensitivity, 1 / mu, of all that the preparation releases.
        """
        return self
