"""A finished study, as its notebooks see it."""

import base64
import html
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib.pyplot as plt
import PIL.Image
from IPython.display import HTML, display

from dpmcmc import registry
from dpmcmc.files import read_json, read_npy
from dpmcmc.frames import read_csv
from dpmcmc.likelihoods.target import Target
from dpmcmc.reporting.figures import style
from dpmcmc.study.data_files import DataFile, Split, held_out_rows


@dataclass(frozen=True)
class Study:
    """Tables, labels, colours and models of a study; a notebook opens with `Study.load(results)`.

    Attributes
    ----------
    results : str
        Directory of the study's results.
    seed, seeds : int
        From which random streams derive; chains a cell.
    fewer_seeds : dict of str to int
        Chains of cells that have fewer, by model, algorithm and run with "/" between.
    chains_per_sample : int
        Chains that share a budget and make one sample.
    delta_times_n : float
        n delta, of the bound (epsilon, delta).
    models, algorithms : dict of str to dict
        What runs, by id, in the order of the configuration: labels, entries and so on.
    tables : list of str
        Names of the tables.
    notebooks : dict of str to dict
        Titles, questions and figures, in the order of reading.
    remarks : list of str
        What to bear in mind when reading the study.
    related : dict of str to str
        How other studies, by name, differ.
    """

    results: str
    study: str = ""
    seed: int = 0
    seeds: int = 0
    fewer_seeds: dict = field(default_factory=dict)
    chains_per_sample: int = 1
    delta_times_n: float = 0.0
    models: dict = field(default_factory=dict)
    algorithms: dict = field(default_factory=dict)
    tables: list = field(default_factory=list)
    notebooks: dict = field(default_factory=dict)
    remarks: list = field(default_factory=list)
    related: dict = field(default_factory=dict)

    @classmethod
    def load(cls, results):
        """The study whose results are in a directory; sets the style of all figures too."""
        style.use_style()
        return cls(results, **read_json(Path(results, "study.json")))

    def table(self, name):
        """Table of the study."""
        return read_csv(f"{self.results}/tables/{name}.csv")

    def model_label(self, model):
        """Name of a model in titles."""
        return self.models.get(model, {}).get("label") or model

    def algorithm_label(self, algorithm):
        """Name of an algorithm in legends."""
        return self.algorithms.get(algorithm, {}).get("label") or algorithm

    def algorithm_colour(self, algorithm):
        """Colour of an algorithm, the same in every figure."""
        return self.algorithms.get(algorithm, {}).get("colour") or style.NEUTRAL

    @property
    def stand_ins(self):
        """Algorithms that stand in place of others, by the ids of those."""
        standing = {name: entry.get("in_place_of") for name, entry in self.algorithms.items()}
        return {original: name for name, original in standing.items() if original}

    def target(self, model):
        """Posterior of a model of the study, with its data memory-mapped."""
        data = read_npy(f"{self.results}/data/{model}.npy")
        return Target(registry.build(self.models[model]["entry"]), data)

    def reference(self, model):
        """Reference sample of a model of the study, (size, d)."""
        return read_npy(f"{self.results}/reference/{model}.npy")

    def held_out(self, model):
        """Rows held out of the data set of a model, (k, p), from its file."""
        told = self.models[model]["data"]
        split = Split(told["held_out"], self.seed)
        built = registry.build(self.models[model]["entry"])
        return held_out_rows(built, DataFile(told["file"]), told["columns"], split)

    @property
    def num_samples(self):
        """Samples of a cell, each of one chain or of several."""
        return self.seeds // self.chains_per_sample

    def sampler(self, algorithm, model, **changes):
        """Sampler of an algorithm with its settings on a model, some of them changed."""
        entries = self.algorithms[algorithm]["entries"]
        if model not in entries:
            raise ValueError(f"{algorithm} does not run on {model} in the study {self.study}")
        return registry.build(entries[model] | changes)

    def link(self, notebook, text):
        """Markdown link to the page of a notebook; the text alone if the study has it not."""
        return f"[{text}]({notebook}.html)" if notebook in self.notebooks else text

    def show(self, figure, name):
        """Save a figure and show it, crisp, its caption as alternative text, linked to the file."""
        captions = {}
        for notebook in self.notebooks.values():
            captions |= notebook["figures"]
        if name not in captions:
            raise ValueError(f"{name} is not among the figures that the notebook declares")
        style.save(figure, f"{self.results}/figures", name)
        plt.close(figure)
        path = Path(self.results, "figures", f"{name}.png")
        width, _ = PIL.Image.open(path).size
        data = base64.b64encode(path.read_bytes()).decode()
        display(
            HTML(
                f'<a href="../figures/{name}.png"><img src="data:image/png;base64,{data}" '
                f'width="{round(width / style.PIXEL_RATIO)}" '
                f'alt="{html.escape(captions[name])}"></a>'
            )
        )
