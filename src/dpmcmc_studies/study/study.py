"""A validated configuration: what runs, its tables and its pages."""

from copy import copy
from itertools import product
from pathlib import Path

from msgspec import UNSET

from dpmcmc.accounting.accountants import accountants, name_in_tables
from dpmcmc.configuration.entries import read_algorithm, read_model
from dpmcmc.configuration.yaml_files import check_known, converted, read_config
from dpmcmc.settings import precomputed
from dpmcmc_studies.analysis.claims import entries
from dpmcmc_studies.study import specs
from dpmcmc_studies.study.checks import (
    check_all_settings,
    check_intervals,
    check_models,
    check_places,
    check_seeds,
    check_tuning,
    read_curves,
)
from dpmcmc_studies.study.claims import check_claims
from dpmcmc_studies.study.colours import colours_of
from dpmcmc_studies.study.description import (
    AlgorithmDescription,
    ModelDescription,
    PageDescription,
    RelatedStudy,
    StudyDescription,
)
from dpmcmc_studies.study.job_settings import JobSettings
from dpmcmc_studies.study.notebooks import study_notebooks
from dpmcmc_studies.study.old import read_old
from dpmcmc_studies.study.runs import Cell, all_cells, check_runs, text_of
from dpmcmc_studies.study.scaled_settings import scaled_settings
from dpmcmc_studies.study.schema import Config

# Tables of what jobs of one model each measured.
MEASURED = ("chains", "timings", "baselines", "starts", "budgets", "mixing")


class StudyConfig(JobSettings):
    """A validated configuration.

    Parameters
    ----------
    config : dict
        As `dpmcmc.configuration.catalogue.read_study` has it.
    root : path
        Top of the checkout.
    folders : list of path, optional
        Where files are looked for that the configuration names; by default `root`.

    Attributes
    ----------
    config : Config
        The keys of the file, with their types.
    models : dict of str to ModelEntry
    algorithms : dict of str to AlgorithmEntry
    runs : dict of Cell to Run
        What runs, in the order of the configuration.
    cells : list of Cell
    accounting_curves : dict of (str, str) to str
        Accountants of those curves, by algorithm and name in tables.
    old : list of Old
        Committed results that are knowingly of a former version.

    Raises
    ------
    ConfigError
        If anything in the configuration is unknown, missing, of the wrong type or out of range.
    """

    def __init__(self, config, root, folders=None):
        self.config = config = converted(config, Config)
        self.name, self.root = config.study, root
        self.title = config.title or self.name
        self.old = read_old(root, self.name)
        folders = folders or [root]
        self.models = {
            name: read_model(name, entry, folders, config.seed)
            for name, entry in config.models.items()
        }
        check_models(self)
        self.algorithms = {
            name: read_algorithm(name, scaled_settings(entry, self.models), folders)
            for name, entry in config.algorithms.items()
        }
        self.colours = colours_of(list(self.algorithms), config.colours)
        check_seeds(self)
        check_runs(config.runs, self.models, self.algorithms)
        self.runs = all_cells(config.runs)
        self.cells = list(self.runs)
        check_tuning(self)
        check_all_settings(self)
        check_places(self.algorithms)
        self.accounting_curves = read_curves(self, folders)
        check_intervals(self)
        check_known(config.unscored, self.models, "unscored", "model")
        check_claims(config.claims, self.models, self.algorithms, accountants())
        self.notebooks = study_notebooks(self, [*folders, Path(root, "notebooks")])

    # -- What there is ---------------------------------------------------------------------------

    @property
    def seeds(self):
        """Indices of the chains of a cell that has no fewer."""
        return range(self.config.seeds)

    def seeds_of(self, cell):
        """Indices of the chains of a cell."""
        return self.seeds[: self.runs[cell].max_seeds]

    @property
    def chains_per_sample(self):
        """Chains that share a budget and make one sample: those of so many successive seeds."""
        return self.config.chains_per_sample

    @property
    def model_ids(self):
        """Models that run, in order."""
        return list(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def algorithm_ids(self):
        """Algorithms that run, in the order of the configuration."""
        running = {cell.algorithm for cell in self.cells}
        return [name for name in self.algorithms if name in running]

    def cell(self, of):
        """The cell of a rule's wildcards, which have its model, algorithm and run."""
        return Cell(of.model, of.algorithm, of.run)

    def cells_of(self, model):
        """Cells of one model."""
        return [cell for cell in self.cells if cell.model == model]

    @property
    def scored_models(self):
        """Models whose chains are scored."""
        return [model for model in self.model_ids if model not in self.config.unscored]

    @property
    def replaced_cells(self):
        """Pairs (cell, stand-in), where the algorithm also runs as an entry with `variant_of`."""
        return [
            (cell, name)
            for cell in self.cells
            for name, algorithm in self.algorithms.items()
            if algorithm.variant_of == cell.algorithm
            and cell._replace(algorithm=name) in self.runs
            and self.runs[cell].is_compared
        ]

    @property
    def is_comparison(self):
        """True if algorithms run at an epsilon, outside of a sweep, so that they can be ranked."""
        return any(run.is_compared for run in self.runs.values())

    @property
    def has_worth(self):
        """True if algorithms that are compared have scores."""
        cells = (cell for model in self.scored_models for cell in self.cells_of(model))
        return any(self.runs[cell].is_compared for cell in cells)

    @property
    def is_clipping_swept(self):
        """True if chains without privacy run at several clip bounds."""
        return any(
            "clip_bound" in run.varied and not self.algorithms[cell.algorithm].is_private
            for cell, run in self.runs.items()
        )

    @property
    def claims(self):
        """Claims that are judged: all, unless they name models none of which runs."""
        claims = self.config.claims
        given = {value for claim in claims for entry in entries(claim) for value in entry.values()}
        named = given & self.models.keys()
        return claims if not named or named & set(self.model_ids) else []

    @property
    def precomputed(self):
        """Classes of what is computed once a study for samplers that run: {name: module:class}."""
        return {
            cls.__name__: f"{module_of(cls, self.algorithms[name])}:{cls.__name__}"
            for name in [*self.algorithm_ids, *(name for _, name, _ in self.searches)]
            for cls in precomputed(self.algorithms[name].sampler_class).values()
        }

    def precomputed_by(self, algorithm):
        """Names of what is computed once a study for the sampler of an algorithm."""
        return [
            cls.__name__ for cls in precomputed(self.algorithms[algorithm].sampler_class).values()
        ]

    @property
    def swept(self):
        """Settings that vary over some cells."""
        return sorted({key for run in self.runs.values() for key in run.varied})

    @property
    def audited_cases(self):
        """Cases of the audit, by id."""
        return self.config.audit.cases if self.config.audit else []

    @property
    def interval_models(self):
        """Models on which intervals are tried."""
        return self.config.intervals.models if self.config.intervals else []

    def interval_cells(self, model):
        """Cells of a model whose intervals are tried."""
        algorithms = self.config.intervals.algorithms
        return [
            cell
            for cell in self.cells_of(model)
            if cell.algorithm in algorithms and self.runs[cell].is_compared
        ]

    @property
    def searches(self):
        """Model, algorithm and epsilon of each search of settings by `snakemake tune`, in order.

        An algorithm is searched on the models that it has settings for.
        """
        tuning, settings = self.config.tuning, self.algorithms
        if tuning is None:
            return []
        searches = product(tuning.models, tuning.algorithms, map(text_of, tuning.epsilons))
        return [search for search in searches if search[0] in settings[search[1]].settings]

    # -- What is published ------------------------------------------------------------------------

    def without_digests(self):
        """A copy that knows no digest of a data file: digests of it may be published."""
        study = copy(self)
        study.models = {
            name: entry._replace(data=entry.public_data) for name, entry in self.models.items()
        }
        return study

    # -- Tables and pages ------------------------------------------------------------------------

    @property
    def stand_ins(self):
        """Map from the id of an algorithm that stands in for another to that one's."""
        return {name: cell.algorithm for cell, name in self.replaced_cells}

    @property
    def tables(self):
        """Tables that gather what the jobs of the study measured."""
        more = ["scores"] * bool(self.scored_models) + ["summary"] * self.is_comparison
        return [*MEASURED, "models", *more]

    @property
    def analysed_tables(self):
        """Tables that rankings and claims are made from."""
        names = ["chains", "baselines", "starts", "models", "summary", "accounting"]
        if self.has_worth:
            names += ["scores", "budgets"]
        return [name for name in names if name in self.all_tables]

    @property
    def derived_tables(self):
        """Tables that follow from those."""
        claims = ["claims", "claim-comparisons"] * bool(self.claims)
        claims += [f"{name}-certified" for name in claims if self.replaced_cells]
        has_several = any(self.has_data_sets(model) for model in self.model_ids)
        claims += ["claims-by-data-set"] * bool(self.claims and has_several)
        clipping = ["clipping-effects", "clipping-thresholds"] * self.is_clipping_swept
        ranking = ["ranking"] * self.is_comparison + ["worth"] * self.has_worth
        return ranking + claims + clipping

    @property
    def all_tables(self):
        """All tables of the study."""
        more = {"accounting": self.accounting_curves, "certified": self.replaced_cells}
        more |= {"audit": self.audited_cases, "intervals": self.interval_models}
        made = [name for name, jobs in more.items() if jobs]
        return [*self.tables, *made, *self.derived_tables]

    def describe_study(self):
        """Description of the study for notebooks and pages, beside its tables."""
        counts = {"/".join(cell): len(self.seeds_of(cell)) for cell in self.cells}
        return StudyDescription(
            study=self.name,
            title=self.title,
            seed=self.config.seed,
            seeds=self.config.seeds,
            delta_times_n=self.config.delta_times_n,
            fewer_seeds={path: n for path, n in counts.items() if n < len(self.seeds)},
            chains_per_sample=self.chains_per_sample,
            models={name: described_model(self.models[name]) for name in self.model_ids},
            algorithms={name: self._described_algorithm(name) for name in self.algorithm_ids},
            tables=self.all_tables,
            claim_labels={
                str(number): claim.label
                for number, claim in enumerate(self.claims, start=1)
                if claim.label
            },
            remarks=self.config.remarks,
            related={
                name: RelatedStudy(title_of(name, self.root), text)
                for name, text in self.config.related.items()
            },
            notebooks={
                name: PageDescription(page.title, page.question, page.figures, list(page.kept))
                for name, page in self.notebooks.items()
            },
        )

    def _described_algorithm(self, name):
        entry = self.algorithms[name]
        on = [m for m in self.model_ids if any(c.algorithm == name for c in self.cells_of(m))]
        return AlgorithmDescription(
            label=entry.label,
            about=entry.about or self.algorithms.get(entry.variant_of, entry).about,
            colour=self.colours[name],
            sampler=entry.sampler_class.__name__,
            accountant=entry.accountant and name_in_tables(entry.accountant),
            variant_of=entry.variant_of,
            has_free_steps=entry.has_free_steps,
            settings={model: entry.settings_on(model) for model in on},
            entries={model: entry.spec(entry.settings_on(model)) for model in on},
        )


def described_model(entry):
    """Description of a model's entry; with no digest of its data."""
    names = entry.model.parameter_names
    return ModelDescription(
        label=entry.label,
        dimension=entry.model.dimension,
        num_rows=entry.model.num_rows,
        entry=entry.spec,
        data=specs.DataFile(**entry.public_data) if entry.data else UNSET,
        parameter_names=list(names) if names else UNSET,
    )


def module_of(cls, algorithm):
    """Module of a class that a sampler needs: of the package, or the sampler's own file."""
    file = algorithm.sampler.rpartition(":")[0]
    return cls.__module__ if cls.__module__.startswith("dpmcmc.") else file


def title_of(name, root):
    """Title of a study of the checkout, by its name."""
    for path in (Path(root, f"studies/{name}/study.yaml"), Path(root, "config.yaml")):
        if path.is_file() and (config := read_config(path)).get("study") == name:
            return config.get("title", name)
    return name
