"""Files that jobs have written for chains of one model, for the tables that are made of them."""

import json
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpmcmc import registry
from dpmcmc.evaluation.metrics import kept_draws
from dpmcmc.files import read_json, read_npy, read_npz, reading
from dpmcmc_studies.jobs.data import held_out


class Given:
    """Reference, held-out rows and chains of a model, as jobs have written them.

    Parameters
    ----------
    spec : specs.ChainTable or specs.ScoreTable
    results, reference : path
    """

    def __init__(self, spec, results, reference):
        self.spec, self.results, self._reference = spec, Path(results), reference

    @cached_property
    def model(self):
        """The model."""
        return registry.build(self.spec.model_entry)

    @cached_property
    def reference(self):
        """Reference sample, (size, d), or one for each data set, (data_sets, size, d)."""
        return read_npy(self._reference)

    @cached_property
    def held_out(self):
        """Rows to measure accuracy on, (k, p); or None."""
        return held_out(self.spec)

    def budget(self, algorithm, run):
        """Budget of a cell."""
        return read_json(self.results / f"budgets/{self.spec.model}/{algorithm}/{run}.json")

    def chains(self, algorithm, run, seeds):
        """`ChainFile` of each seed of a cell, in order."""
        directory = self.results / "chains" / self.spec.model
        return [read_chain(directory, algorithm, run, seed) for seed in seeds]


class ChainFile(NamedTuple):
    """Files that the job of a chain has written."""

    record: dict
    changed: dict
    varied: dict
    timing: dict
    kept: np.ndarray  # draws after burn-in, (k, d)


def read_chain(chains, algorithm, run, seed):
    """`ChainFile` of a seed, below the directory of a model's chains."""
    path = Path(chains, algorithm, run, f"seed-{seed}.npz")
    contents = read_npz(path)
    with reading(path):
        texts = (contents[key] for key in ("record", "changed", "varied", "timing"))
        return ChainFile(
            *(json.loads(str(text)) for text in texts), kept_draws(contents["positions"])
        )
