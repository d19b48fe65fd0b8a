"""The command `check` of a class: a table of what was tried of a model, a sampler or a move."""

import sys

import yaml

from dpmcmc import registry
from dpmcmc.configuration.entries import load_class, read_algorithm, read_model
from dpmcmc.configuration.keys import Algorithm
from dpmcmc.configuration.yaml_files import ConfigError, converted, listed, read_yaml
from dpmcmc.data_files import DataFile, Split, data_set
from dpmcmc.evaluation.checking.clip import check_clip
from dpmcmc.evaluation.checking.data import check_data
from dpmcmc.evaluation.checking.models import check_model
from dpmcmc.evaluation.checking.samplers import check_move, check_sampler
from dpmcmc.precomputed import with_precomputed
from dpmcmc.settings import schema

ROW = "{:64} {:51} {:17} {}"  # longer texts stick out


def check(name, settings):
    """Check a model, sampler or move, FILE.py:CLASS or the package's, with settings key=value.

    Prints a row for each check as soon as it is done, then how many passed.

    Parameters
    ----------
    name : str
    settings : list of str
        Keys of its entry in a configuration, with values in YAML.

    Returns
    -------
    int
        Exit status: 0 if no check failed, 1 if one did, 2 if the name or a setting is wrong.
    """
    try:
        checks = CHECKS[kind_of(name)](name, read_settings(settings))
    except (ConfigError, registry.UnknownName) as error:
        print(f"check: {str(error).removeprefix('models.')}", file=sys.stderr)
        return 2
    return report(name, checks)


def check_of_model(name, settings):
    """Checks of a model with settings; raises a ConfigError before the first."""
    return checks_of_entry(read_model(name.rpartition(":")[2], settings | {"kind": name}, ["."]))


def checks_of_entry(entry):
    """Checks of a model's entry, and first of its data if they are in a file."""
    if entry.data is None:
        yield from check_model(entry.model)
        return
    columns = entry.data["columns"]
    yield from check_data(entry.model, DataFile(entry.data["file"]).rows(columns), columns)
    data = data_of(entry)
    yield from check_clip(entry.model, data)
    yield from check_model(entry.model, data)


def data_of(entry):
    """The data set of a model's entry with a file of data."""
    split = Split(entry.data["held_out"], 0) if "held_out" in entry.data else None
    return data_set(entry.model, DataFile(entry.data["file"]), entry.data["columns"], split)


def check_of_sampler(name, settings):
    """Checks of a sampler with settings, those of its move among them."""
    keys = {key: settings.pop(key) for key in ("move", "accountant") if key in settings}
    cls = registry.load(registry.resolve("sampler", name))
    if cls.is_private:
        keys = {"accountant": "certified"} | keys
    entry = read_algorithm(
        name.rpartition(":")[2], converted({"sampler": name} | keys, Algorithm), ["."]
    )
    converted(settings, entry.schema(), entry.id)
    return check_sampler(with_precomputed(built(entry.id, entry.spec(settings))))


def check_of_move(name, settings):
    """Checks of a move with settings."""
    reference, cls = load_class("move", name, name.rpartition(":")[2], ["."])
    converted(settings, schema(cls), cls.__name__)
    return check_move(built(cls.__name__, {"class": reference} | settings))


def built(where, spec):
    """Build the object of a spec; a ConfigError if its settings do not go together."""
    try:
        return registry.build(spec)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None


# What is tried of each kind of class.
CHECKS = {"model": check_of_model, "sampler": check_of_sampler, "move": check_of_move}


def kind_of(name):
    """Kind of a class by its name, a key of CHECKS; raises a ConfigError if there is none."""
    for kind in registry.KINDS:
        if name in registry.names(kind):
            return kind
    if not name.rpartition(":")[0].endswith(".py"):
        valid = listed(known for kind in CHECKS for known in registry.names(kind))
        raise ConfigError(f"unknown class {name}; valid names: {valid}, or a file.py:Class")
    try:
        cls = registry.load(registry.resolve("model", name))
    except registry.UnknownName:
        raise
    except Exception as error:  # a user's file may raise anything
        raise ConfigError(f"{name} cannot be imported: {type(error).__name__}: {error}") from None
    for kind in registry.KINDS:
        if issubclass(cls, registry.base(kind)):
            return kind
    bases = [f"dpmcmc.{base}" for base in registry.KINDS.values()]
    raise ConfigError(f"{name} must derive from one of {listed(bases)}")


def read_settings(settings):
    """Settings key=value as a dict, with values in YAML."""
    read = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not (key and equals):
            raise ConfigError(f"{setting}: must be key=value")
        try:
            read[key] = read_yaml(value)
        except yaml.YAMLError:
            raise ConfigError(f"{key}: {value} is not valid YAML") from None
    return read


def report(name, findings):
    """Print findings as a table and how many passed; returns the exit status."""
    counts = {True: 0, False: 0, None: 0}
    verdicts = {True: "ok", False: "FAILED", None: ""}
    print(ROW.format("tried", "found", "allowed", "").rstrip(), flush=True)
    for tried, found, allowed, passed in findings:
        counts[passed] += 1
        print(ROW.format(tried, found, allowed, verdicts[passed]).rstrip(), flush=True)
    print(f"{name}: {counts[True]} ok, {counts[False]} FAILED, {counts[None]} not tried")
    return 1 if counts[False] else 0
