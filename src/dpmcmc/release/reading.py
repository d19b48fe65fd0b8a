"""A model and an algorithm of a study's file, for a release: all but the data is read."""

import os
import shlex
import traceback
from modulefinder import ModuleFinder
from pathlib import Path
from typing import NamedTuple

import msgspec

from dpmcmc import registry
from dpmcmc.configuration.catalogue import read_study
from dpmcmc.configuration.entries import (
    ModelEntry,
    check_settings,
    check_sizes,
    load_class,
    read_algorithm,
    reference_kind,
)
from dpmcmc.configuration.keys import Entries, ModelKeys, settings_in
from dpmcmc.configuration.yaml_files import ConfigError, check_known, converted
from dpmcmc.models.model import Model
from dpmcmc.release.ledger import real_path

ACCOUNTANT = "certified"


class Part(NamedTuple):
    """A model and an algorithm of a study, and the data that are to be read; nothing is read."""

    file: str  # of the study
    study: str
    model: ModelEntry
    algorithm: object  # AlgorithmEntry
    settings: dict
    columns: list
    files: list  # of one's own code

    @property
    def where(self):
        """The keys of the settings, for messages."""
        return f"algorithms.{self.algorithm.id}.settings.{self.model.id}"

    @property
    def check_command(self):
        """The command by which the owner sees whether the model takes the data."""
        return shlex.join(["python", "-m", "dpmcmc", "check", self.file, self.model.id])


def read_part(file, model, algorithm, rows=None):
    """A model and an algorithm of a study's file, checked; data are not opened.

    Parameters
    ----------
    file : path
    model, algorithm : str
        Ids.
    rows : int, optional
        How many rows of its data the model keeps, which is public. A model without a file of data
        says so itself, if they are not given.

    Raises
    ------
    ConfigError
        For what is unknown, missing or out of range.
    """
    config, folders = read_study(None, [Path(file)])
    entries = converted(config, Entries)
    check_known([model], entries.models, "--model", "model")
    check_known([algorithm], entries.algorithms, "--algorithm", "algorithm")
    keys = converted(entries.models[model], ModelKeys, f"models.{model}")
    import_own(keys, f"models.{model}", folders)
    import_own(entries.algorithms[algorithm], f"algorithms.{algorithm}", folders)
    entry = read_entry(model, keys, settings_in(entries.models[model]), folders, rows)
    of_algorithm = read_algorithm(algorithm, entries.algorithms[algorithm], folders)
    if not of_algorithm.is_private:
        raise ConfigError(
            f"--algorithm: {algorithm} is not private, as {of_algorithm.sampler_class.__name__} "
            "adds no noise that an accountant could price"
        )
    if of_algorithm.sampler_class.is_exact_draw:
        raise ConfigError(
            f"--algorithm: {algorithm} cannot be released, as "
            f"{of_algorithm.sampler_class.__name__} adds no noise: it is private in exact "
            "arithmetic alone"
        )
    of_algorithm = msgspec.structs.replace(of_algorithm, accountant=ACCOUNTANT)
    settings = of_algorithm.settings_on(model)
    columns = keys.columns or entry.model.columns
    if entry.data:
        check_columns(columns, entry.model, f"models.{model}")
    files = own_files(entry.spec)
    part = Part(str(file), entries.study, entry, of_algorithm, settings, list(columns), files)
    check_settings(of_algorithm, entry, settings, part.where)
    return part._replace(files=part.files + own_files(of_algorithm.spec(settings)))


def import_own(entry, where, folders):
    """Import files of one's own that an entry names; a ConfigError quotes nothing that they raise.

    Such a file may read data while it is imported.
    """
    for key in ("kind", "sampler", "move", "start"):
        name = getattr(entry, key, None) or ""
        if not name.rpartition(":")[0].endswith(".py"):
            continue
        try:
            registry.load(registry.resolve("model", name, *folders))
        except (registry.UnknownName, ImportError):
            continue  # whoever reads the entry says it
        except Exception as error:
            file = registry.beside(name.rpartition(":")[0], folders)
            lines = [
                frame.lineno
                for frame in traceback.extract_tb(error.__traceback__)
                if Path(frame.filename).resolve() == file.resolve()
            ]
            line = lines[-1] if lines else getattr(error, "lineno", "?")  # of a SyntaxError
            raise ConfigError(
                f"{where}.{key}: {name} cannot be imported ({type(error).__name__} in "
                f"{file.name}, line {line})"
            ) from None


def check_columns(columns, model, where):
    """Raise a ConfigError for columns that cannot be those of a model."""
    name = type(model).__name__
    if not columns:
        raise ConfigError(f"{where}: missing key columns, because the model names none")
    if isinstance(columns, str):
        raise ConfigError(f"{where}: {name}.columns must be a tuple of names")
    takes = len(model.columns)
    if type(model).prepare is Model.prepare:
        takes = getattr(model, "row_length", takes)
    if takes not in (0, len(columns)):
        raise ConfigError(f"{where}.columns: must be the {takes} of {name}, not {len(columns)}")
    try:
        model.check_columns(columns)
    except ValueError as error:
        raise ConfigError(f"{where}.{error}") from None


def read_entry(name, keys, settings, folders, rows):
    """A model's entry with its declared rows."""
    where = f"models.{name}"
    reference, cls = load_class("model", keys.kind, f"{where}.kind", folders)
    path = None
    if keys.data:
        # Its rows are declared: they are public, and known before the data are opened.
        if keys.held_out:
            raise ConfigError(f"{where}.held_out: a release holds out no rows; remove this key")
        if "num_rows" in settings:
            raise ConfigError(
                f"{where}.num_rows: must not be given with data, as --rows says it; null removes it"
            )
        settings = settings | {"num_rows": rows}
        path = real_path(registry.beside(keys.data, folders))
    elif rows is not None:
        settings = settings | {"num_rows": rows}
    try:
        model = cls(**settings)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from None
    check_sizes({key: value for key, value in settings.items() if key != "num_rows"}, where)
    spec = {"class": reference} | settings
    given = keys.reference and reference_kind(keys.reference, model, where)
    return ModelEntry(name, keys.label or name, model, spec, path, given, *[None] * 2)


def own_files(spec):
    """Files of one's own with classes that a spec names, and those beside them that they import."""
    modules = {
        registry.module_of(entry["class"]) for entry in registry.nested(spec) if "class" in entry
    }
    files = {os.path.relpath(module) for module in modules if module.endswith(".py")}
    return sorted(files.union(*map(imported_by, files)))


def imported_by(file):
    """Files in the folder of a file, or below it, that it imports, at whatever place in its code.

    Nothing is run. A module whose name is made while the code runs is not found.
    """
    file = Path(file).resolve()
    finder = ModuleFinder(path=[str(file.parent)])
    finder.run_script(str(file))
    found = (module.__file__ for module in finder.modules.values() if module.__file__)
    return {os.path.relpath(path) for path in found if Path(path).is_relative_to(file.parent)}


def data_of(file, model):
    """Path of the data of a model of a study's file; they are not opened."""
    config, folders = read_study(None, [Path(file)])
    check_known([model], config["models"], "--model", "model")
    entry = config["models"][model]
    if "data" not in entry:
        raise ConfigError(
            f"models.{model}: missing key data: it simulates its data, which need no protection"
        )
    return real_path(registry.beside(entry["data"], folders))
