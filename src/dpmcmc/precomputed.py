"""Parts that samplers need beside their settings: tables that are computed once, and noise."""

import dataclasses

from dpmcmc.samplers.sampler import Sampler
from dpmcmc.settings import precomputed


def with_noise(sampler, budget):
    """The sampler with the noise of its preparation that a budget says, if it says one."""
    return (
        sampler.with_preparation_noise(budget["noise_scale"])
        if "noise_scale" in budget
        else sampler
    )


def with_precomputed(sampler):
    """The sampler with what it needs beside its settings, computed here and now."""
    return with_parts(sampler, lambda cls: cls.compute())


def with_parts(sampler, found):
    """The sampler with what it needs of each class; and so a sampler that is its setting."""
    parts = {field: found(cls) for field, cls in precomputed(type(sampler)).items()}
    for field in dataclasses.fields(sampler):
        value = getattr(sampler, field.name)
        if isinstance(value, Sampler):
            parts[field.name] = with_parts(value, found)
    parts = {name: part for name, part in parts.items() if part is not None}
    return dataclasses.replace(sampler, **parts) if parts else sampler
