"""What samplers need beside their settings: parts that are computed once, and noise."""

import dataclasses

from dpmcmc.settings import needed


def with_noise(sampler, budget):
    """The sampler with the noise of its preparation that a budget says, if it says one."""
    return (
        sampler.with_preparation_noise(budget["noise_scale"])
        if "noise_scale" in budget
        else sampler
    )


def with_needed(sampler):
    """The sampler with what it needs beside its settings, computed here and now."""
    return with_parts(sampler, lambda cls: cls.compute())


def with_parts(sampler, found):
    """The sampler with what it needs of each class; and so a sampler that is its setting."""
    parts = {field: found(cls) for field, cls in needed(type(sampler)).items()}
    for field in dataclasses.fields(sampler):
        value = getattr(sampler, field.name)
        if hasattr(value, "step"):
            parts[field.name] = with_parts(value, found)
    parts = {name: part for name, part in parts.items() if part is not None}
    return dataclasses.replace(sampler, **parts) if parts else sampler
