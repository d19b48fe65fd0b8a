"""A finished study, as its notebooks see it."""

import base64
from contextlib import suppress
from pathlib import Path

import matplotlib.pyplot as plt
import msgspec
import numpy as np
from IPython.display import display

from dpmcmc import registry
from dpmcmc.data_files import DataFile, Split, held_out_rows
from dpmcmc.files import JobError, read_json, read_npy, read_npz, replacing
from dpmcmc.likelihoods.target import Target
from dpmcmc_studies.frames import read_csv, write_csv
from dpmcmc_studies.reporting.figures import style
from dpmcmc_studies.study.description import (
    AlgorithmDescription,
    ModelDescription,
    StudyDescription,
)

KEPT = {".csv": read_csv, ".npz": read_npz}  # readers of what pages keep of chains


class StudyResults(StudyDescription, frozen=True):
    """A finished study: its description, tables, chains and figures.

    A notebook opens with `StudyResults.load(results)`; `results` is the directory of the results.
    """

    results: str

    @classmethod
    def load(cls, results):
        """The study whose results are in a directory; sets the style of all figures too."""
        style.use_style()
        described = read_json(Path(results, "study.json"))
        return msgspec.convert(described | {"results": str(results)}, cls)

    def table(self, name):
        """Table of the study."""
        return read_csv(f"{self.results}/tables/{name}.csv")

    def _algorithm(self, algorithm):
        return self.algorithms.get(algorithm, AlgorithmDescription())

    def model_label(self, model):
        """Name of a model in titles."""
        return self.models.get(model, ModelDescription()).label or model

    def algorithm_label(self, algorithm):
        """Name of an algorithm in legends."""
        return self._algorithm(algorithm).label or algorithm

    def algorithm_colour(self, algorithm):
        """Colour of an algorithm, the same in every figure."""
        return self._algorithm(algorithm).colour or style.NEUTRAL

    def clips_ratios(self, algorithm):
        """True if clip fractions of an algorithm are of log-likelihood ratios, not of statistics.

        A sampler whose steps are free has clipped the statistics of the rows, once.
        """
        return not self._algorithm(algorithm).has_free_steps

    @property
    def stand_ins(self):
        """Algorithms that stand in place of others, by the ids of those."""
        standing = {entry.variant_of: name for name, entry in self.algorithms.items()}
        return {original: name for original, name in standing.items() if original}

    def delta_text(self, models):
        """Delta of some models: a number if it is one, else as a share of n, in Markdown."""
        deltas = {f"{self.delta_times_n / self.models[model].num_rows:.2g}" for model in models}
        if len(deltas) > 1:
            return f"{self.delta_times_n:g} / *n*"
        return "".join(deltas).replace("e-0", "e-")

    def target(self, model):
        """Posterior of a model of the study, with its data memory-mapped."""
        data = read_npy(f"{self.results}/data/{model}.npy")
        return Target(registry.build(self.models[model].entry), data)

    def reference(self, model):
        """Reference sample of a model of the study, (size, d)."""
        return read_npy(f"{self.results}/reference/{model}.npy")

    def held_out(self, model):
        """Rows held out of the data set of a model, (k, p), from its file."""
        data = self.models[model].data
        split = Split(data.held_out, self.seed)
        built = registry.build(self.models[model].entry)
        return held_out_rows(built, DataFile(data.file), data.columns, split)

    @property
    def num_samples(self):
        """Samples of a cell, each of one chain or of several."""
        return self.seeds // self.chains_per_sample

    def sampler(self, algorithm, model, **changes):
        """Sampler of an algorithm with its settings on a model, some of them changed."""
        entries = self.algorithms[algorithm].entries
        if model not in entries:
            raise ValueError(f"{algorithm} does not run on {model} in the study {self.study}")
        return registry.build(entries[model] | changes)

    def kept(self, name, compute, part=""):
        """Values that a page takes from the study's chains, in a small file that replaces them.

        Parameters
        ----------
        name : str
            Declared by the notebook.
        compute : function
            Without parameters, to a data frame or a dict of arrays. It is called where the chains
            are, and its result is written below `kept` of the results; elsewhere that is read.
        part : str
            Of a name with several files, for results of chains that come one cell after another.

        Returns
        -------
        DataFrame or dict of str to array
            As read from the file.
        """
        self.check_declared(name, "kept", "what the notebook keeps")
        path = Path(self.results, "kept", name, part)
        files = {Path(f"{path}{suffix}"): read for suffix, read in KEPT.items()}
        if Path(self.results, "chains").is_dir():
            with suppress(FileNotFoundError):  # of a chain, perhaps; what was kept will do
                write_kept(compute(), path)
        for file, read in files.items():
            if file.exists():
                return read(file)
        raise JobError(f"{path}: neither the chains nor the values kept from them were found")

    def check_declared(self, name, key, what):
        """Raise an error for a name that no notebook declares."""
        if not any(name in getattr(notebook, key) for notebook in self.notebooks.values()):
            raise ValueError(f"{name} is not among {what}, by its metadata")

    def link(self, notebook, text):
        """Markdown link to the page of a notebook; the text alone if the study has it not."""
        # This leads there from the page and from the executed notebook.
        return f"[{text}](../pages/{notebook}.md)" if notebook in self.notebooks else text

    def show(self, figure, name):
        """Save a figure and show it: in a page as a link to its file, with its caption as text."""
        self.check_declared(name, "figures", "the figures of the notebook")
        captions = {}
        for notebook in self.notebooks.values():
            captions |= notebook.figures
        style.save(figure, f"{self.results}/figures", name)
        plt.close(figure)
        path = Path(self.results, "figures", f"{name}.png")
        shown = {
            "image/png": base64.b64encode(path.read_bytes()).decode(),
            "text/markdown": f"![{captions[name]}](../figures/{name}.png)",
            "text/plain": captions[name],
        }
        display(shown, raw=True)


def write_kept(value, path):
    """Write a data frame or a dict of arrays; the same contents make the same bytes."""
    if isinstance(value, dict):
        with replacing(f"{path}.npz") as file:
            np.savez_compressed(file, **value)
    else:
        write_csv(value, f"{path}.csv")
