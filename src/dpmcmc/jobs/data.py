"""Data sets, posterior samples, and what samplers need beside their settings."""

from importlib import import_module

import numpy as np

from dpmcmc import registry
from dpmcmc.files import JobError, read_npy, replacing
from dpmcmc.likelihoods.target import Target
from dpmcmc.study.streams import generator

# Modules that few data sets and references need, imported by name when they do: they bring pandas
# and SciPy, which the digests of all others (`workflow/rules/common.smk`) so do without.
FILES = "dpmcmc.study.data_files"
REFERENCES = {"grid": "dpmcmc.evaluation.grid", "long-run": "dpmcmc.evaluation.long_run"}


def dataset(spec, output):
    """Simulate or read the data set of a model, as .npy, in the order that passes read fastest."""
    data = read(spec) if "data" in spec else simulate(spec, "data")
    with replacing(output) as file:
        np.save(file, data)


def simulate(spec, purpose):
    """A data set of a model, from a stream of its own."""
    rng = generator(spec["study_seed"], purpose, spec["model"])
    return registry.build(spec["model_entry"]).dataset(rng)


def read(spec):
    """The data set of a model from the file that the configuration was checked with."""
    return from_data_file(spec, "data_set")


def held_out(spec):
    """Rows of that file which are held out of the data set, (k, p); None for a model without."""
    return from_data_file(spec, "held_out_rows") if "held_out" in spec.get("data", {}) else None


def from_data_file(spec, function):
    """Call a function of `data_files` on a model's file, if it is the one that was configured."""
    files, entry = import_module(FILES), spec["data"]
    split = None
    if "held_out" in entry:
        split = files.Split(entry["held_out"], spec["study_seed"])
    try:
        file = files.DataFile(entry["file"])
        if file.digest == entry["digest"]:
            model = registry.build(spec["model_entry"])
            return getattr(files, function)(model, file, entry["columns"], split)
    except files.DataError as error:
        raise JobError(f"model {spec['model']}: {error}") from None
    raise JobError(
        f"model {spec['model']}: {entry['file']} has changed since the workflow was started; "
        "run it again"
    )


def reference(spec, dataset, output):
    """Draw the reference sample of the posterior, (draws, d), as .npy."""
    with replacing(output) as file:
        np.save(file, draw_posterior(spec, dataset, "reference"))


def baselines(spec, dataset, output):
    """Draw further samples of the posterior, (samples, draws, d), as .npy."""
    count = spec["samples"]
    if "reference" in spec:  # one run for them all, whose draws are in random order
        draws = draw_posterior(spec | {"draws": count * spec["draws"]}, dataset, "baseline")
        samples = np.split(draws, count)
    else:
        samples = [draw_posterior(spec, dataset, "baseline", i) for i in range(count)]
    with replacing(output) as file:
        np.save(file, np.stack(samples))


def draw_posterior(spec, dataset, purpose, *labels):
    """Draws of a model's posterior, from a stream of their own."""
    rng = generator(spec["study_seed"], purpose, spec["model"], *labels)
    return draw_reference(rng, spec, registry.build(spec["model_entry"]), read_npy(dataset))


def draw_reference(rng, spec, model, data):
    """Draws of the posterior that chains are compared with, (draws, d): exact, or as the spec says.

    Raises
    ------
    JobError
        If the model has no exact draws, or a run for others did not converge.
    """
    try:
        if "reference" not in spec:
            return model.sample_posterior(rng, data, spec["draws"])
        module = import_module(REFERENCES[spec["reference"]])
        return module.sample(rng, Target(model, data), spec["draws"])
    except (NotImplementedError, JobError) as error:
        raise JobError(f"model {spec['model']}: {error}") from None
