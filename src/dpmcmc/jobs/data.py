"""Data sets, exact posterior samples, and what samplers need beside their settings."""

import numpy as np

from dpmcmc import registry
from dpmcmc.files import JobError, read_npy, replacing
from dpmcmc.study.streams import generator


def dataset(spec, output):
    """Simulate the data set of a model, as .npy, in the order that passes over it read fastest."""
    with replacing(output) as file:
        np.save(file, simulate(spec, "data"))


def simulate(spec, purpose):
    """A data set of a model, from a stream of its own."""
    rng = generator(spec["study_seed"], purpose, spec["model"])
    return registry.build(spec["model_entry"]).dataset(rng)


def reference(spec, dataset, output):
    """Draw the reference sample of the posterior, (draws, d), as .npy."""
    with replacing(output) as file:
        np.save(file, draw_posterior(spec, dataset, "reference"))


def baselines(spec, dataset, output):
    """Draw further samples of the posterior, (samples, draws, d), as .npy."""
    samples = [draw_posterior(spec, dataset, "baseline", i) for i in range(spec["samples"])]
    with replacing(output) as file:
        np.save(file, np.stack(samples))


def draw_posterior(spec, dataset, purpose, *labels):
    """Exact draws of a model's posterior, from a stream of their own."""
    rng = generator(spec["study_seed"], purpose, spec["model"], *labels)
    model = registry.build(spec["model_entry"])
    try:
        return model.sample_posterior(rng, read_npy(dataset), spec["draws"])
    except NotImplementedError as error:
        raise JobError(f"model {spec['model']}: {error}") from None
