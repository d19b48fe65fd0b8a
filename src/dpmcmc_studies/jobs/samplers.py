"""Samplers of jobs, with what they need beside their settings, which is computed once a study."""

import dataclasses

import numpy as np

from dpmcmc import registry
from dpmcmc.files import read_json, reading, write_json
from dpmcmc.precomputed import with_parts
from dpmcmc.settings import plain
from dpmcmc_studies.study import specs


def precompute(spec: specs.Precompute, output):
    """Compute what samplers take beside their settings, once a study, as JSON."""
    result = registry.load(spec.cls).compute()
    fields = {f.name: plain(getattr(result, f.name)) for f in dataclasses.fields(result)}
    write_json({"class": spec.cls, "fields": fields}, output)


def build_sampler(spec, precomputed=()):
    """Sampler of a spec; to run, some need what `precompute` has written."""
    computed = dict(map(read_precomputed, precomputed))
    return with_parts(registry.build(spec.sampler), lambda cls: computed.get(cls.__name__))


def read_precomputed(path):
    """Name of a class, and its object, from what `precompute` has written."""
    contents = read_json(path)
    with reading(path):
        cls = registry.load(contents["class"])
        fields = contents["fields"].items()
        arrays = {k: np.array(v) if isinstance(v, list) else v for k, v in fields}
        return cls.__name__, cls(**arrays)
