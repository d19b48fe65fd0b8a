"""Samplers of jobs, with what they need beside their settings, which is computed once a study."""

import dataclasses

import numpy as np

from dpmcmc import registry
from dpmcmc.files import read_json, reading, write_json
from dpmcmc.settings import needed, plain


def precompute(spec, output):
    """Compute what samplers take beside their settings, once a study, as JSON."""
    result = registry.load(spec["class"]).compute()
    fields = {f.name: plain(getattr(result, f.name)) for f in dataclasses.fields(result)}
    write_json({"class": spec["class"], "fields": fields}, output)


def build_sampler(spec, precomputed=()):
    """Sampler of a spec; to run, some need what `precompute` has written."""
    computed = dict(map(read_precomputed, precomputed))
    return with_parts(registry.build(spec["sampler"]), lambda cls: computed.get(cls.__name__))


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


def read_precomputed(path):
    """Name of a class, and its object, from what `precompute` has written."""
    contents = read_json(path)
    with reading(path):
        cls = registry.load(contents["class"])
        fields = contents["fields"].items()
        arrays = {k: np.array(v) if isinstance(v, list) else v for k, v in fields}
        return cls.__name__, cls(**arrays)
