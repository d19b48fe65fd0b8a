"""Random generators of a chain, by which it draws, decides, and adds noise for privacy."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

import numpy as np


class Generators(NamedTuple):
    """The fields of `Streams`."""

    proposal: np.random.Generator  # proposals, momenta and components
    acceptance: np.random.Generator  # accept or reject
    noise: np.random.Generator  # privacy noise


class Streams(Generators):
    """Random generators of one chain.

    On real data all three must stay secret. Someone who knows the numbers of acceptance and noise
    can undo the noise, and those of proposals may reveal a seed that the others share.

    Raises
    ------
    ValueError
        If they are not three generators, if two of them give the same random numbers, or if one has
        words of 32 bits (batches are drawn from words of 64).
    """

    __slots__ = ()

    def __new__(cls, *generators: np.random.Generator) -> Self:
        """Three generators, checked."""
        if len(generators) != 3 or not all(isinstance(g, np.random.Generator) for g in generators):
            kinds = ", ".join(type(g).__name__ for g in generators)
            raise ValueError(f"streams: must be three numpy.random.Generator, not ({kinds})")
        if len({repr(g.bit_generator.state) for g in generators}) < 3:
            raise ValueError("streams: must be three different generators, not one given twice")
        if any(isinstance(g.bit_generator, np.random.MT19937) for g in generators):
            raise ValueError("streams: must have words of 64 bits, such as PCG64, not MT19937")
        return super().__new__(cls, *generators)

    def add_noise(self, statistic: float | np.ndarray, sensitivity: float, sd: float) -> Any:
        """A statistic of the rows with the noise that makes it private.

        Parameters
        ----------
        statistic : float or array_like
            It may hold terms without rows, such as the log prior ratio.
        sensitivity : float
            The most that it can change, in the Euclidean norm, when one row is replaced by another.
        sd : float
            Standard deviation of the noise, of each component.

        Returns
        -------
        float or array
            All that the rest of the iteration may use of the statistic.

        Raises
        ------
        ValueError
            If sd is not one number.
        """
        is_number = np.isscalar(sd)
        if not is_number:
            raise ValueError("sd: must be one number, of all components")
        return statistic + sd * self.noise.standard_normal(np.shape(statistic) or None)

    def batch(
        self,
        draw: Callable[[np.random.Generator, int, int], np.ndarray],
        num_rows: int,
        batch_size: int,
    ) -> np.ndarray:
        """A secret batch of rows, as `draw` draws it: for `dpmcmc.samplers.batches.draw_batch`."""
        return draw(self.noise, num_rows, batch_size)

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> Self:  # type: ignore[override]  # it returns a Self
        # `_replace` calls it.
        return cls(*iterable)
