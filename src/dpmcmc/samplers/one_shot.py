"""The base of samplers that release once, before their first step."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from dpmcmc.accounting.mechanisms import GaussianMechanism, Releases
from dpmcmc.samplers.far_outcomes import Far, are_too_many
from dpmcmc.samplers.sampler import Sampler

MOST_MISFIT = 5.0  # `Info.misfit` of an answer that fits, in standard deviations


class OneShot(Sampler):
    """A sampler with a field `noise_scale`, whose steps read no row.

    `noise_scale` is 1 / mu: the noise's *standard deviation* over the sensitivity, of all that is
    released together. None leaves it to the budget.
    """

    has_free_steps = True

    if TYPE_CHECKING:

        @property
        def noise_scale(self) -> float | None:
            """1 / mu."""

    def with_preparation_noise(self, noise_scale: float) -> Self:
        """The sampler with that noise, where its settings leave it to the budget."""
        return self if self.noise_scale else replace(self, noise_scale=noise_scale)

    def releases(self, num_rows: int, likelihood_power: float, iterations: int) -> Releases:
        """One Gaussian release: of several, mu^2 is the sum of (sensitivity / noise's sd)^2."""
        return [(GaussianMechanism(mu=1 / self.noise), 1)]

    @property
    def noise(self) -> float:
        """`noise_scale`; ValueError where neither settings nor a budget say it."""
        if self.noise_scale is None:
            raise ValueError("noise_scale: must be given, or follow from an epsilon")
        return self.noise_scale


def does_fit(misfit: float, far: Iterable[Far] = ()) -> bool:
    """Whether what was released speaks against the answer; misfit and far are those of `Info`."""
    return not (misfit > MOST_MISFIT or are_too_many(far))


def check_shares(shares: Sequence[float] | None) -> None:
    """Refuse shares of mu^2 that do not add up to 1."""
    if shares is not None and abs(sum(shares) - 1) > 1e-9:
        raise ValueError(f"shares: must add up to 1, not to {sum(shares):g}")
