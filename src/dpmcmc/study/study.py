"""From a configuration to the jobs it asks for: validation, cells, and what each job is told.

A job is told its own settings and nothing else (`Study.chain` and its like), so that a change of
the configuration reruns what it changes and no more. This module is imported whenever the
workflow is parsed; it stays clear of NumPy and everything slow.
"""

import math
import reprlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import jsonschema
import yaml


class ConfigError(ValueError):
    """A configuration that cannot run; the message is one line that names the key."""

    def __init__(self, message):
        super().__init__(" ".join(message.split()))


# Algorithms that need Barker's correction
CORRECTED = ("dp-barker", "dp-barker-certified", "dp-barker-full-data")
# Cases of `dpmcmc.audit`, which is too slow to import here, with their algorithms
AUDITED = {
    "dp-penalty-1": "dp-penalty",
    "dp-penalty-4": "dp-penalty",
    "dp-hmc-1": "dp-hmc",
    "dp-hmc-4": "dp-hmc",
    "minibatch-dp-penalty-1": "minibatch-dp-penalty",
    "minibatch-dp-penalty-4": "minibatch-dp-penalty",
    "dp-barker-4": "dp-barker",
    "dp-barker-16": "dp-barker",
    "dp-barker-all-rows-4": "dp-barker",
    "dp-barker-all-rows-16": "dp-barker",
    "dp-barker-full-data-1": "dp-barker-full-data",
    "dp-barker-full-data-4": "dp-barker-full-data",
}
APART = "dp-barker-full-data"  # not of the chapter, so drawn in a figure of its own
CERTIFIED = "-certified"  # ends the id of an algorithm whose other id has the published accountant


class Cell(NamedTuple):
    """One panel position of the study: its chains differ by seed only."""

    model: str
    algorithm: str
    epsilon: str  # as in paths: format(value, "g")


class ClippingCell(NamedTuple):
    """Likewise in the clipping study."""

    model: str
    algorithm: str  # of `dpmcmc.samplers.CLIPPED`
    bound: str  # as in paths, like epsilon


class Notebook(NamedTuple):
    """What a notebook draws and reads, and the parameters it is told."""

    figures: list
    tables: list
    models: list  # whose data set and reference sample it reads
    parameters: dict


class Study:
    """A validated configuration.

    Parameters
    ----------
    config : dict
        As read from config.yaml and its overlays.
    schema : dict
        JSON schema of the configuration.

    Attributes
    ----------
    cells : list of Cell
        Model x algorithm x epsilon, in the order of the configuration.
    clipping_cells : list of ClippingCell
        Likewise, of the clipping study.

    Raises
    ------
    ConfigError
        If anything in the configuration is unknown, missing, of the wrong type or out of range.
    """

    def __init__(self, config, schema):
        check_schema(config, schema)
        self.config = config
        self.name = config["study"]
        self.models = config["models"]
        self.algorithms = config["algorithms"]
        check_models(self.models)
        check_settings(self.models, self.algorithms)
        check_runs(config["runs"], self.models, self.algorithms)
        check_figures(config["figures"], self.models, self.algorithms)
        self.clipping = config.get("clipping", {"bounds": [], "algorithms": {}})
        check_clipping(self.clipping, self.models)
        self.tuning = config.get("tuning", {"models": [], "algorithms": []})
        check_tuning(self.tuning, self.models, self.algorithms)
        self._epsilons = check_epsilons(config["runs"])
        self.cells = list(
            dict.fromkeys(
                Cell(model, algorithm, format_epsilon(epsilon))
                for run in config["runs"]
                for model in run["models"]
                for algorithm in run["algorithms"]
                for epsilon in run["epsilons"]
            )
        )
        for cell in self.doubled_cells:
            if self.algorithms[cell.algorithm]["accountant"] == "certified":
                raise ConfigError(
                    f"algorithms.{cell.algorithm}.accountant: is certified, as that of "
                    f"{cell.algorithm}{CERTIFIED}, which runs on {cell.model} as well; one of them "
                    "must not run"
                )
        self.clipping_cells = [
            ClippingCell(model, algorithm, format_epsilon(bound))
            for algorithm, settings in self.clipping["algorithms"].items()
            for model in settings
            for bound in self.clipping["bounds"]
        ]

    @property
    def doubled_cells(self):
        """Cells with the published accountant that run with the certified one as well."""
        cells = set(self.cells)
        return [c for c in self.cells if c._replace(algorithm=c.algorithm + CERTIFIED) in cells]

    @property
    def seeds(self):
        """Indices of the chains of a cell."""
        return range(self.config["seeds"])

    @property
    def compared_models(self):
        """Models that private algorithms run on, in order."""
        return list(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def clipped_models(self):
        """Models of the clipping study, in order."""
        return list(dict.fromkeys(cell.model for cell in self.clipping_cells))

    @property
    def model_ids(self):
        """All models of the study, in order."""
        return list(dict.fromkeys([*self.compared_models, *self.clipped_models]))

    @property
    def algorithm_ids(self):
        """Algorithms that run, in order."""
        return list(dict.fromkeys(cell.algorithm for cell in self.cells))

    @property
    def epsilons(self):
        """Epsilons that run, as in paths."""
        return list(self._epsilons)

    def cells_of(self, model):
        """Cells of one model."""
        return [cell for cell in self.cells if cell.model == model]

    def models_running(self, algorithm):
        """Models that an algorithm runs on, in order."""
        return list(dict.fromkeys(c.model for c in self.cells if c.algorithm == algorithm))

    def dataset(self, model):
        """What the data set of a model depends on."""
        return {
            "study_seed": self.config["seed"],
            "model": model,
            "model_settings": self.models[model],
        }

    def reference(self, model):
        """What the reference sample of a model depends on."""
        return self.dataset(model) | {"draws": self.config["reference_draws"]}

    def baselines(self, model):
        """What the baseline samples of a model depend on."""
        return self.reference(model) | {"samples": self.config["baseline_samples"]}

    def settings(self, model, algorithm):
        """Settings of an algorithm on a model."""
        settings = self.algorithms[algorithm]["settings"]
        if model not in settings:
            raise ConfigError(f"algorithms.{algorithm}.settings: no settings for model {model}")
        return settings[model]

    def release(self, model, algorithm):
        """What the privacy of an iteration depends on, and the delta to be kept; no data."""
        num_rows = self.models[model]["num_rows"]
        return {
            "model": model,
            "algorithm": algorithm,
            "settings": self.settings(model, algorithm),
            "num_rows": num_rows,
            "likelihood_power": self.models[model].get("tempered_rows", num_rows) / num_rows,
            "delta": self.config["delta_times_n"] / num_rows,
        }

    def budget(self, model, algorithm, epsilon):
        """What the number of iterations depends on."""
        return self.release(model, algorithm) | {
            "accountant": self.algorithms[algorithm]["accountant"],
            "epsilon": self._epsilons[epsilon],
            **self._optional("max_iterations"),
        }

    def certification(self, model, algorithm, epsilon):
        """What the certified cost of a cell depends on, beside its budget."""
        return self.release(model, algorithm) | {"epsilon": self._epsilons[epsilon]}

    def _optional(self, key):
        """A setting of the study that may be left out, and then changes no job."""
        return {key: self.config[key]} if key in self.config else {}

    def accounting_curve(self, algorithm, accountant):
        """What a curve of figure 6.1 depends on."""
        figure = self.config["figures"]["accounting"]
        low, high, count = (figure["epsilons"][key] for key in ("from", "to", "count"))
        step = (high - low) / (count - 1)
        return self.release(figure["model"], algorithm) | {
            "accountant": accountant,
            "epsilons": [low + i * step for i in range(count)],
        }

    @property
    def accounting_curves(self):
        """Pairs of algorithm and accountant of figure 6.1."""
        curves = self.config["figures"].get("accounting", {}).get("curves", {})
        return [(algorithm, name) for algorithm, names in curves.items() for name in names]

    def chain(self, model, algorithm, epsilon, seed):
        """What one chain depends on, beside the files it reads."""
        return self.dataset(model) | {
            "algorithm": algorithm,
            "settings": self.settings(model, algorithm),
            "epsilon": epsilon,
            "seed": seed,
            **self._optional("stored_draws"),
        }

    def baseline_table(self, model):
        """What the metrics of a model's samples depend on, beside the samples."""
        return self.dataset(model) | {"mmd": self.config["mmd"]}

    def chain_table(self, model):
        """What the table of a model's chains depends on, beside the chains."""
        cells = [[cell.algorithm, cell.epsilon] for cell in self.cells_of(model)]
        return self.baseline_table(model) | {"cells": cells, "seeds": len(self.seeds)}

    def clipped_chain(self, model, algorithm, bound, seed):
        """What one chain of the clipping study depends on, beside its data."""
        return self.dataset(model) | {
            "algorithm": algorithm,
            "settings": self.clipping["algorithms"][algorithm][model],
            "start_sd": self.clipping["start_sd"],
            "bound": bound,
            "seed": seed,
        }

    def clipping_table(self, model):
        """What the table of a model's clipping study depends on, beside the chains."""
        cells = [[c.algorithm, c.bound] for c in self.clipping_cells if c.model == model]
        return self.baseline_table(model) | {"cells": cells, "seeds": len(self.seeds)}

    @property
    def audited_cases(self):
        """Cases of the audit, by id."""
        return list(AUDITED) if "audit" in self.config else []

    def audited_case(self, case):
        """What the audit of a case depends on, beside Barker's correction."""
        return {"study_seed": self.config["seed"], "case": case} | self.config["audit"]

    @property
    def searches(self):
        """Pairs of model and algorithm whose settings `snakemake tune` searches, in order."""
        return [(m, a) for m in self.tuning["models"] for a in self.tuning["algorithms"]]

    def search(self, model, algorithm):
        """What the search of the settings of an algorithm on a model depends on."""
        settings = self.settings(model, algorithm)
        tuning = dict(self.tuning)
        most, factors = tuning.pop("max_iterations"), tuning.pop("factors")
        del tuning["models"], tuning["algorithms"]
        return {
            **self.reference(model),
            **self.release(model, algorithm),
            **tuning,
            **self._optional("stored_draws"),
            "accountant": self.algorithms[algorithm]["accountant"],
            "max_iterations": min(most, self.config.get("max_iterations", most)),
            "mmd": self.config["mmd"],
            "factors": {key: factor for key, factor in factors.items() if key in settings},
        }

    @property
    def tables(self):
        """Tables that gather what the jobs of the study measured."""
        names = ["chains", "timings", "baselines", "budgets", "models", "summary"]
        return names + ["clipping"] * bool(self.clipping_cells)

    @property
    def analysis_tables(self):
        """Tables that follow from those."""
        clipping = ["clipping-effects", "clipping-thresholds"] * bool(self.clipping_cells)
        certified = ["claims-certified", "claim-cells-certified"] * bool(self.doubled_cells)
        return ["ranking", "claims", "claim-cells", *certified, *clipping]

    @property
    def all_tables(self):
        """All tables of the study."""
        accounting = ["accounting"] * bool(self.accounting_curves)
        certified = ["certified"] * bool(self.doubled_cells)
        audit = ["audit"] * bool(self.audited_cases)
        return [*self.tables, *accounting, *certified, *audit, *self.analysis_tables]

    def notebooks(self):
        """Notebooks by name, in the order of reading; without those that have nothing to show."""
        figures = self.config["figures"]
        flat = [model for model in self.compared_models if dimension(self.models[model]) == 2]
        circles = [
            model for model in self.compared_models if self.models[model]["kind"] == "circle"
        ]
        with_gradients = self.models_running("dp-hmc")
        again = {cell.algorithm + CERTIFIED for cell in self.doubled_cells}
        algorithms = [name for name in self.algorithm_ids if name not in {APART, *again}]
        compared = {cell.model for cell in self.cells if cell.algorithm in algorithms}
        bananas, hard_models = (
            [model for model in figures.get(key, []) if model in compared]
            for key in ("bananas", "hard_models")
        )
        notebooks = {
            "summary": Notebook(
                figures=["figure-ranking", "figure-claims"],
                tables=["ranking", "claims", "claim-cells", "timings"],
                models=[],
                parameters={"delta_times_n": self.config["delta_times_n"]},
            ),
            "models": Notebook(
                figures=["figure-5.1"] if flat else [],
                tables=["models"],
                models=flat,
                parameters={
                    "models": [[model, self.models[model]] for model in flat],
                    "study_seed": self.config["seed"],
                    "seeds": len(self.seeds),
                },
            ),
        }
        model = figures.get("trajectory", {}).get("model")
        if model in with_gradients:
            settings = self.settings(model, "dp-hmc")
            steps = figures["trajectory"]["num_integration_steps"]
            notebooks["trajectory"] = Notebook(
                figures=["figure-4.1"],
                tables=[],
                models=[model],
                parameters={
                    "model": model,
                    "model_settings": self.models[model],
                    "settings": settings | {"num_integration_steps": steps},
                    "study_seed": self.config["seed"],
                },
            )
        if self.accounting_curves:
            notebooks["accounting"] = Notebook(
                figures=["figure-6.1", "figure-6.1-barker"],
                tables=["accounting"],
                models=[],
                parameters={"delta_times_n": self.config["delta_times_n"]},
            )
        if self.clipping_cells:
            notebooks["clipping"] = Notebook(
                figures=["figure-6.2"],
                tables=["clipping", "clipping-effects", "clipping-thresholds", "baselines"],
                models=[],
                parameters={},
            )
        barker_models = self.models_running(APART)
        if bananas or hard_models or barker_models:
            notebooks["comparison"] = Notebook(
                figures=["figure-6.3", "figure-6.5"] * bool(bananas)
                + ["figure-6.4", "figure-6.6"] * bool(hard_models)
                + ["figure-barker-full-data"] * bool(barker_models),
                tables=["chains", "baselines", "summary"],
                models=[],
                parameters={
                    "bananas": bananas,
                    "hard_models": hard_models,
                    "barker_models": barker_models,
                    "algorithms": algorithms,
                    "delta_times_n": self.config["delta_times_n"],
                },
            )
        if self.doubled_cells:
            doubled = list(dict.fromkeys((c.model, c.algorithm) for c in self.doubled_cells))
            notebooks["revisited"] = Notebook(
                figures=[f"figure-revisited-{name}" for name in ("iterations", "mmd", "clipping")],
                tables=[
                    *("chains", "baselines", "budgets", "timings", "ranking", "certified"),
                    *("claims", "claims-certified"),
                    *["audit"] * bool(self.audited_cases),
                ],
                models=[],
                parameters={
                    "settings": [
                        [*pair, self.settings(*pair), self.settings(pair[0], pair[1] + CERTIFIED)]
                        for pair in doubled
                    ],
                    "num_rows": {model: self.models[model]["num_rows"] for model, _ in doubled},
                    "is_audited": bool(self.audited_cases),
                    "delta_times_n": self.config["delta_times_n"],
                },
            )
        if circles:
            notebooks["circle"] = Notebook(
                figures=["figure-6.7", "figure-circle-mmd"],
                tables=["chains", "baselines"],
                models=circles,
                parameters={"models": circles},
            )
        if with_gradients:
            notebooks["gradient-clipping"] = Notebook(
                figures=["figure-6.8"],
                tables=["chains"],
                models=[],
                parameters={"models": with_gradients, "algorithms": ["dp-hmc"]},
            )
        return notebooks


def load_study(default, overlays, overrides, schema):
    """The study of a configuration file and of what extends it.

    Parameters
    ----------
    default : path
        config.yaml.
    overlays : iterable of path
        Files that were merged into `overrides`; read again for what merging hides.
    overrides : dict
        Changes of the configuration, merged by the rules of `merged`.
    schema : dict
        JSON schema of the configuration.

    Raises
    ------
    ConfigError
        For a file that cannot be read, a key given twice, and all that `Study` refuses.
    """
    config = merged({}, read_config(default))
    for path in overlays:
        read_config(path)
    check_extent(overrides)
    return Study(merged(config, overrides), schema)


def merged(config, changes):
    """Maps are merged, null removes a key, all else is replaced (RFC 7396, JSON Merge Patch)."""
    result = dict(config) if isinstance(config, dict) else {}
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merged(result.get(key), value)
        else:
            result[key] = value
    return result


class _StrictLoader(yaml.SafeLoader):
    """Plain YAML; a key that a map has twice is an error."""

    def construct_mapping(self, node, deep=False):
        if isinstance(node, yaml.MappingNode):
            given = set()
            for key_node, _ in node.value:
                if key_node.tag != "tag:yaml.org,2002:merge":
                    key = self.construct_object(key_node, deep=True)
                    if key in given:
                        raise ConfigError(f"{_name(key)} is given twice{_line(key_node)}")
                    given.add(key)
        return super().construct_mapping(node, deep)


def read_config(path):
    """Contents of a configuration file, a map in YAML or JSON.

    Raises ConfigError, which names the file, if it is none or gives a key twice, or asks Snakemake
    to evaluate it as a template.
    """
    try:
        config = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_StrictLoader)
        check_extent(config)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except yaml.MarkedYAMLError as error:
        where = _line(error) if error.problem_mark else ""
        raise ConfigError(f"{path}: no valid YAML: {error.problem}{where}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        reason = "too deep" if isinstance(error, RecursionError) else _cut(str(error))
        raise ConfigError(f"{path}: no valid YAML: {reason}") from None
    if not isinstance(config, dict):
        raise ConfigError(f"{path}: must be a map, not {_short(config)}")
    if "__use_yte__" in config:
        raise ConfigError(f"{path}: unknown key __use_yte__; templates are not evaluated here")
    return config


def format_epsilon(epsilon):
    """Epsilon as it stands in paths: 4, 4.0 and 4.00 are all "4"."""
    return format(float(epsilon), "g")


# -- Checks -------------------------------------------------------------------------------------


def _is_number(checker, value):
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False


def _is_integer(checker, value):
    return isinstance(value, int) and _is_number(checker, value)


_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"number": _is_number, "integer": _is_integer}
    ),
)


MOST_ENTRIES = 10**6  # of a configuration; those of a part that is repeated by an alias count again
LONGEST = 1000  # of a list
DEEPEST = 50  # of maps and lists in one another
LARGEST = 10**300  # of whole numbers; Python does not even print those of thousands of digits


def check_extent(value, path=(), sizes=None):
    """Raise a ConfigError for what cannot be handled, or printed; return the number of entries."""
    sizes = {} if sizes is None else sizes

    def refuse(problem):
        raise ConfigError(f"{'.'.join(map(_name, path[:4])) or 'config'}: {problem}")

    if isinstance(value, int) and abs(value) > LARGEST:
        refuse("must be a finite number")
    if not isinstance(value, dict | list):
        return 1
    if len(path) > DEEPEST:
        refuse(f"has more than {DEEPEST} maps and lists in one another")
    if isinstance(value, list) and len(value) > LONGEST:
        refuse(f"has more than {LONGEST} entries")
    if id(value) not in sizes:
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        parts = (check_extent(entry, (*path, key), sizes) for key, entry in entries)
        sizes[id(value)] = 1 + sum(parts)
    if sizes[id(value)] > MOST_ENTRIES:
        refuse(f"has more than {MOST_ENTRIES} entries")
    return sizes[id(value)]


def check_schema(config, schema):
    """Raise a ConfigError for the first key that does not meet the schema."""
    error = jsonschema.exceptions.best_match(_Validator(schema).iter_errors(config))
    if error is not None:
        raise ConfigError(explain(error))


TYPES = {
    "number": "a finite number",
    "integer": "a whole number without a decimal point",
    "string": "a string",
    "object": "a map",
    "array": "a list",
}


def explain(error):
    """One line for an error of the schema: where, what, and what would be valid."""
    where = "config"
    for step in error.absolute_path:
        where += f"[{step}]" if isinstance(step, int) else f".{_name(step)}"
    where = where.removeprefix("config.")
    limit, value = error.validator_value, error.instance
    match error.validator:
        case "additionalProperties":
            known = error.schema.get("properties", {})
            unknown = [key for key in value if key not in known]
            return f"{where}: unknown key {_list(unknown)}; valid keys: {_list(known)}"
        case "required":
            return f"{where}: missing key {_list(key for key in limit if key not in value)}"
        case "enum":
            return f"{where}: unknown value {_short(value)}; valid values: {_list(limit)}"
        case "type":
            return f"{where}: must be {TYPES[limit]}, not {_short(value)}"
        case "exclusiveMinimum":
            return f"{where}: must be greater than {limit}, not {_short(value)}"
        case "minimum":
            return f"{where}: must be at least {limit}, not {_short(value)}"
        case "maximum":
            return f"{where}: must be at most {limit}, not {_short(value)}"
        case "minItems" | "minProperties":
            return f"{where}: has too few entries ({len(value)}); at least {limit} needed"
        case "maxItems":
            return f"{where}: has too many entries ({len(value)}); at most {limit} possible"
        case "uniqueItems":
            return f"{where}: lists an entry twice: {_short(value)}"
        case "pattern":
            return (
                f"{where}: {_short(value)} is not a valid id; an id is 1 to 64 lower-case letters, "
                "digits, dots and hyphens, and starts with a letter or digit"
            )
    return f"{where}: {error.message}"


def check_models(models):
    """Checks within a model that the schema cannot express."""
    for name, settings in models.items():
        where = f"models.{name}"
        if settings["num_rows"] < settings.get("tempered_rows", 0):
            raise ConfigError(
                f"{where}.tempered_rows: must be at most num_rows = {settings['num_rows']}, "
                f"not {settings['tempered_rows']}"
            )
        d = dimension(settings)
        for key in ("likelihood_variances", "true_position"):
            if len(settings.get(key, [])) > d:
                raise ConfigError(
                    f"{where}.{key}: must have at most dimension = {d} entries, "
                    f"not {len(settings[key])}"
                )
        if "covariance" in settings and not is_covariance(settings["covariance"], d):
            raise ConfigError(
                f"{where}.covariance: must be a symmetric positive definite {d} x {d} matrix "
                "(true_position has as many entries)"
            )


def dimension(model_settings):
    """Dimension d of a model, from its entry of the configuration."""
    match model_settings["kind"]:
        case "banana":
            return model_settings["dimension"]
        case "gaussian":
            return len(model_settings["true_position"])
        case "circle":
            return 2


def is_covariance(rows, d):
    """True for a symmetric d x d matrix that is positive definite beyond rounding errors."""
    if len(rows) != d or any(len(row) != d for row in rows):
        return False
    if any(rows[i][j] != rows[j][i] for i in range(d) for j in range(i)):
        return False
    rows = [[float(entry) for entry in row] for row in rows]
    largest = max(abs(rows[i][i]) for i in range(d))
    for pivot in range(d):
        if not rows[pivot][pivot] > 1e-12 * largest:
            return False
        for i in range(pivot + 1, d):
            factor = rows[i][pivot] / rows[pivot][pivot]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[pivot], strict=True)]
    return True


def check_settings(models, algorithms):
    """Settings must be for known models, and a batch within the data set."""
    for algorithm, entry in algorithms.items():
        where = f"algorithms.{algorithm}.settings"
        check_model_settings(where, entry["settings"], models)
        for model, settings in entry["settings"].items():
            if settings.get("batch_size", 0) > models[model]["num_rows"]:
                raise ConfigError(
                    f"{where}.{model}.batch_size: must be at most num_rows = "
                    f"{models[model]['num_rows']}, not {settings['batch_size']}"
                )


def check_model_settings(where, settings_of_models, models):
    """Settings must be for known models, and lists of numbers of the model's dimension."""
    for model, settings in settings_of_models.items():
        if model not in models:
            raise ConfigError(f"{where}.{model}: unknown model; valid models: {_list(models)}")
        d = dimension(models[model])
        for key, value in settings.items():
            if isinstance(value, list) and len(value) != d:
                raise ConfigError(
                    f"{where}.{model}.{key}: must be a number or a list of dimension = {d} "
                    f"numbers, not {len(value)}"
                )


def check_runs(runs, models, algorithms):
    """Every model and algorithm of a run must be known, every pair must have settings."""
    for i, run in enumerate(runs):
        check_pairs(f"runs[{i}]", run, models, algorithms)


def check_pairs(where, lists, models, algorithms):
    """Every model and algorithm that is listed must be known, every pair must have settings."""
    for model in lists["models"]:
        if model not in models:
            raise ConfigError(
                f"{where}.models: unknown model {model}; valid models: {_list(models)}"
            )
    for algorithm in lists["algorithms"]:
        if algorithm not in algorithms:
            raise ConfigError(
                f"{where}.algorithms: unknown algorithm {algorithm}; "
                f"valid algorithms: {_list(algorithms)}"
            )
        settings = algorithms[algorithm]["settings"]
        missing = [model for model in lists["models"] if model not in settings]
        if missing:
            raise ConfigError(
                f"algorithms.{algorithm}.settings: no settings for model {_list(missing)}, "
                f"which {where} asks for; there are settings for: {_list(settings)}"
            )


def check_tuning(tuning, models, algorithms):
    """Pairs must be known and have settings, and of each some setting must be searched."""
    check_pairs("tuning", tuning, models, algorithms)
    for algorithm in tuning["algorithms"]:
        for model in tuning["models"]:
            settings = algorithms[algorithm]["settings"][model]
            if not settings.keys() & tuning["factors"].keys():
                raise ConfigError(
                    f"tuning.factors: names no setting of {algorithm} on {model}, "
                    f"which has: {_list(settings)}"
                )


def check_clipping(clipping, models):
    """Models must be known, lists of the model's dimension, bounds different in paths."""
    for algorithm, settings in clipping["algorithms"].items():
        check_model_settings(f"clipping.algorithms.{algorithm}", settings, models)
    check_no_twins("clipping.bounds", clipping["bounds"])


def check_figures(figures, models, algorithms):
    """Figures must name known models, a trajectory one of two dimensions, curves with settings."""
    named = {key: figures.get(key, []) for key in ("bananas", "hard_models")}
    for key in ("trajectory", "accounting"):
        if key in figures:
            named[f"{key}.model"] = [figures[key]["model"]]
    for key, names in named.items():
        for name in names:
            if name not in models:
                raise ConfigError(
                    f"figures.{key}: unknown model {name}; valid models: {_list(models)}"
                )
            if key == "trajectory.model" and dimension(models[name]) != 2:
                raise ConfigError(f"figures.{key}: model {name} must have dimension 2")
    epsilons = figures.get("accounting", {}).get("epsilons", {"from": 0, "to": 1})
    if not epsilons["from"] < epsilons["to"]:
        raise ConfigError("figures.accounting.epsilons: from must be less than to")
    for algorithm in figures.get("accounting", {}).get("curves", {}):
        model = figures["accounting"]["model"]
        if algorithm not in algorithms or model not in algorithms[algorithm]["settings"]:
            raise ConfigError(
                f"figures.accounting.curves: {algorithm} has no settings for model {model}"
            )


def check_no_twins(where, numbers):
    """No two numbers of a list may look alike in a path."""
    for text, count in Counter(map(format_epsilon, numbers)).items():
        if count > 1:
            raise ConfigError(f"{where}: lists {text} twice (to six digits)")


def check_epsilons(runs):
    """Map from epsilon as in paths to its value; two values must not look alike in a path."""
    values = {float(epsilon) for run in runs for epsilon in run["epsilons"]}
    for i, run in enumerate(runs):
        check_no_twins(f"runs[{i}].epsilons", run["epsilons"])
    epsilons = {}
    for value in sorted(values):
        other = epsilons.setdefault(format_epsilon(value), value)
        if other != value:
            raise ConfigError(
                f"runs: epsilons {other!r} and {value!r} are the same to six digits, "
                "which paths are named by"
            )
    return epsilons


def _list(names):
    names = list(map(_name, names))
    if len(names) > 21:
        names[20:] = [f"and {len(names) - 20} more"]
    return ", ".join(names)


def _name(key):
    return _cut(key) if isinstance(key, str) and key.isprintable() else _short(key)


def _short(value):
    try:
        return _cut(reprlib.repr(value))
    except ValueError:  # Python does not print whole numbers of thousands of digits
        return "a huge number"


def _cut(text):
    return text if len(text) <= 60 else text[:57] + "..."


def _line(marked):
    mark = getattr(marked, "problem_mark", None) or marked.start_mark
    return f" (line {mark.line + 1})"
