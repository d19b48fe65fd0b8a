"""Several data sets of one model: each has a reference sample and chains of its own.

A job's `spec` has `data_sets`, their number, where there are several. Arrays then have one more
axis, the first.
"""

import numpy as np

from dpmcmc.random_streams import generator


def of_each(spec, function):
    """Stack the results of a function for each data set, by its number, on a first axis.

    Without several data sets the function takes no number, and there is no such axis.
    """
    if not spec.data_sets:
        return function()
    return np.stack([function(i) for i in range(spec.data_sets)])


def of_seed(spec, arrays, seed):
    """Part of an array for the data set of the chain with a seed: data sets take turns."""
    return arrays[seed % spec.data_sets] if spec.data_sets else arrays


def truth(spec, model, purpose, *number):
    """theta (d,) that a data set is drawn at: the true theta of the model, else a prior draw.

    With `theta: prior` in the spec it is a draw of the prior whatever the model says. It is None
    for a model that is not generative.
    """
    if not model.is_generative:
        return None
    if model.true_theta is not None and spec.theta != "prior":
        return model.true_theta
    rng = generator(spec.study_seed, f"{purpose}-theta", spec.model, *number)
    return model.sample_prior(rng)


def numbered(spec, seed):
    """Column `data_set`, where there are several: that of the chain with a seed."""
    return {"data_set": int(seed) % spec.data_sets} if spec.data_sets else {}
