"""Data sets, posterior samples, and what samplers need beside their settings."""

from importlib import import_module
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from dpmcmc import registry
from dpmcmc.evaluation import references
from dpmcmc.files import JobError, read_npy, replacing
from dpmcmc.likelihoods.target import Target
from dpmcmc.random_streams import generator
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.data_sets import of_each, of_seed, truth

# A module that few data sets need, imported by name when they do: it brings pandas, which the
# digests of all others (`workflow/rules/common.smk`) so do without.
FILES = "dpmcmc.data_files"


def dataset(spec: specs.Dataset, output):
    """Simulate or read the data set of a model, as .npy, in the order that passes read fastest.

    With `data_sets` in the spec there are so many, along a first axis.
    """
    data = read(spec) if spec.data else of_each(spec, lambda *i: simulate(spec, "data", *i))
    with replacing(output) as file:
        np.save(file, data)


def simulate(spec, purpose, *number):
    """A data set of a model, from a stream of its own; of several the one with a number."""
    model = registry.build(spec.model_entry)
    is_drawn = number or spec.theta == "prior"
    theta = truth(spec, model, purpose, *number) if is_drawn else None
    return model.dataset(generator(spec.study_seed, purpose, spec.model, *number), theta)


def read(spec):
    """The data set of a model from the file that the configuration was checked with."""
    return from_data_file(spec, "data_set")


def held_out(spec):
    """Rows of that file which are held out of the data set, (k, p); None for a model without."""
    return from_data_file(spec, "held_out_rows") if spec.data and spec.data.held_out else None


def from_data_file(spec, function):
    """Call a function of `data_files` on a model's file, if it is the one that was configured."""
    files, entry = import_module(FILES), spec.data
    split = files.Split(entry.held_out, spec.study_seed) if entry.held_out else None
    try:
        file = files.DataFile(entry.file)
        if file.digest == entry.digest:
            model = registry.build(spec.model_entry)
            return getattr(files, function)(model, file, entry.columns, split)
    except files.DataError as error:
        raise JobError(f"model {spec.model}: {error}") from None
    raise JobError(
        f"model {spec.model}: {entry.file} has changed since the workflow was started; run it again"
    )


def reference(spec: specs.Reference, dataset, output, committed=None):
    """Draw the reference sample of each posterior, (draws, d), as .npy; or take a committed one."""
    if committed:
        with replacing(output) as file:
            file.write(Path(committed).read_bytes())
        return
    draws = of_each(spec, lambda *i: draw_posterior(spec, dataset, "reference", *i))
    with replacing(output) as file:
        np.save(file, draws)


def baselines(spec: specs.Baselines, dataset, output):
    """Draw further samples of each posterior, (samples, draws, d), as .npy."""
    count = spec.samples

    def samples(*number):
        if spec.reference:  # one run for them all, whose draws are in random order
            more = replace(spec, draws=count * spec.draws)
            return np.split(draw_posterior(more, dataset, "baseline", *number), count)
        return [draw_posterior(spec, dataset, "baseline", *number, i) for i in range(count)]

    draws = of_each(spec, lambda *i: np.stack(samples(*i)))
    with replacing(output) as file:
        np.save(file, draws)


def draw_posterior(spec, dataset, purpose, *labels):
    """Draws of a model's posterior, from a stream of their own; the first label is the data set."""
    rng = generator(spec.study_seed, purpose, spec.model, *labels)
    data = read_npy(dataset)
    if labels:
        data = of_seed(spec, data, labels[0])
    return draw_reference(rng, spec, registry.build(spec.model_entry), data)


def draw_reference(rng, spec, model, data):
    """Draws of the posterior that chains are compared with, (draws, d): exact, or as the spec says.

    Raises
    ------
    JobError
        If the model has no exact draws, or a run for others did not converge.
    """
    try:
        if not spec.reference:
            return model.sample_posterior(rng, data, spec.draws)
        return references.sample(spec.reference, rng, Target(model, data), spec.draws)
    except (NotImplementedError, JobError) as error:
        raise JobError(f"model {spec.model}: {error}") from None
