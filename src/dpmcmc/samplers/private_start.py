"""A private chain that starts where a preparation leads, in units of the scale that it finds."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from msgspec import Meta

from dpmcmc.accounting.mechanisms import Releases
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.model import Model
from dpmcmc.samplers.sampler import Info, Sampler, State
from dpmcmc.samplers.streams import Streams

DRAWS = 1000  # of the answer, by which its mean and covariance are known


class Units(NamedTuple):
    """theta = centre + factor z: z has mean 0 and covariance I in the answer."""

    centre: np.ndarray  # (d,)
    factor: np.ndarray  # (d, d)


@dataclass(frozen=True)
class PrivateStart(Sampler):
    """A chain that starts at a draw of a private answer, and works in units of its covariance.

    So no setting of the chain depends on how wide the posterior is: proposal scales, step sizes and
    mass matrices are those of a posterior with covariance near I. Clip bounds are in these units
    too: b |z - z'| for ratios, the norm of the gradient in z for gradients.

    Attributes
    ----------
    chain : sampler
        A private one that does not prepare.
    start : sampler
        One that prepares and has free steps, such as `NoisyStatistics`.
    start_share : float
        Share of the budget's mu^2 that the start gets. The chain runs for as long as the rest
        allows.
    """

    chain: Sampler
    start: Sampler
    start_share: Annotated[float, Meta(gt=0, lt=1)] = 0.2

    def check(self) -> None:
        """Refuse a start that does not prepare or costs more than that, and a chain that does."""
        check_kinds(type(self.chain), type(self.start))

    def check_dimension(self, dimension: int) -> None:
        """Same as `Settings.check_dimension`, for both."""
        self.chain.check_dimension(dimension)
        self.start.check_dimension(dimension)

    def with_preparation_noise(self, noise_scale: float) -> Self:
        """The sampler with the noise of its start, of which the whole budget's is `noise_scale`."""
        return replace(
            self, start=self.start.with_preparation_noise(noise_scale / math.sqrt(self.start_share))
        )

    def chosen_settings(self, model: "Model") -> dict[str, Any]:
        """Those of the start."""
        return self.start.chosen_settings(model)

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """The start's, then the chain's."""
        size = num_rows, likelihood_power
        return self.start.releases(*size, 0) + self.chain.releases(*size, iterations)

    def prepare(self, rng: Streams, target: Target) -> tuple[State, Info]:
        """Prepare the start, learn its scale from draws, which are free, and start at another.

        How the start fits says nothing of the chain, so it is left out.
        """
        answer, info = self.start.prepare(rng, target)
        draws = np.empty((DRAWS + 1, target.model.dimension))
        for i in range(len(draws)):
            answer, _ = self.start.step(rng, answer, target)
            draws[i] = answer.position
        units = Units(
            draws[:-1].mean(axis=0), np.linalg.cholesky(np.atleast_2d(np.cov(draws[:-1].T)))
        )
        z = np.linalg.solve(units.factor, draws[-1] - units.centre)
        return self.at(units, self.chain.init(rng, z)), info._replace(misfit=math.nan, far=())

    def step(self, rng: Streams, state: State, target: Target) -> tuple[State, Info]:
        """One iteration of the chain, in those units."""
        units, inner = state.memory
        inner, info = self.chain.step(rng, inner, target.in_units(*units))
        return self.at(units, inner), info

    def at(self, units: Units, inner: State) -> State:
        """State at the position of the chain's own."""
        return State(units.centre + units.factor @ inner.position, (units, inner))


def check_kinds(chain: type[Sampler], start: type[Sampler]) -> None:
    """Refuse a class of starts that does not prepare or costs more, and one of chains that does."""
    is_free = start.is_private and start.prepares and start.has_free_steps
    if not is_free or start.is_exact_draw:
        raise ValueError(
            "start: must prepare and have free steps, such as NoisyStatistics, "
            f"not {start.__name__}"
        )
    if chain.prepares or not chain.is_private:
        raise ValueError(f"start: goes with a private chain, which {chain.__name__} is not")
