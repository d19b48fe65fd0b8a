"""What a sampler releases, as an event of the library dp_accounting."""

from typing import Any

from dpmcmc.accounting.mechanisms import (
    GaussianMechanism,
    Releases,
    SubsampledGaussianMechanism,
)


def dp_event(releases: Releases, num_rows: int) -> Any:
    """Composition of releases, as accountants of dp_accounting price it.

    Parameters
    ----------
    releases : list of (mechanism, int)
    num_rows : int
        n.

    Returns
    -------
    dp_accounting.DpEvent

    Raises
    ------
    ValueError
        For a mechanism that has no such event, or a batch that is no whole number of rows.
    """
    from dp_accounting import ComposedDpEvent, NoOpDpEvent, SelfComposedDpEvent

    events = [
        SelfComposedDpEvent(_event(mechanism, num_rows), count)
        for mechanism, count in releases
        if count
    ]
    if not events:
        return NoOpDpEvent()
    return events[0] if len(events) == 1 else ComposedDpEvent(events)


def _event(mechanism: Any, num_rows: int) -> Any:
    from dp_accounting import GaussianDpEvent, SampledWithoutReplacementDpEvent

    if isinstance(mechanism, GaussianMechanism):
        return GaussianDpEvent(1 / mechanism.mu)
    if isinstance(mechanism, SubsampledGaussianMechanism):
        size = round(mechanism.sampling_probability * num_rows)
        if abs(size - mechanism.sampling_probability * num_rows) > 1e-6 * size:
            raise ValueError(f"num_rows: {num_rows} rows have no batch of a whole number of rows")
        gaussian = GaussianDpEvent(mechanism.noise_variance**0.5)
        return SampledWithoutReplacementDpEvent(num_rows, size, gaussian)
    raise ValueError(f"dp_accounting has no event that is exactly a {type(mechanism).__name__}")
