"""Models and algorithms of a configuration: classes, whose fields are the settings they take."""

import json
import os
from contextlib import contextmanager
from dataclasses import is_dataclass
from inspect import signature
from pathlib import Path
from typing import NamedTuple

import msgspec

from dpmcmc import registry
from dpmcmc.accounting.accountants import accountant, accountants
from dpmcmc.configuration.keys import MODEL_KEYS, Algorithm, ModelKeys, settings_in
from dpmcmc.configuration.yaml_files import ConfigError, converted, listed
from dpmcmc.data_files import DataError, DataFile, Split, model_of
from dpmcmc.models.model import Model
from dpmcmc.samplers.private_start import check_kinds
from dpmcmc.settings import annotations, schema

SIZES = (1e-12, 1e9)  # of numbers in settings, but for 0: beyond, powers and products may overflow


class ModelEntry(NamedTuple):
    """A model of the configuration."""

    id: str
    label: str
    model: object  # made of its settings
    spec: dict  # for `dpmcmc.registry.build`
    data: dict | None  # file, columns, digest of its bytes, share held_out; None: simulated
    reference: str | None  # how its reference is drawn: exact, grid, long-run or normal
    data_sets: int | None  # how many are simulated; None: as the study says
    same_settings_as: str | None  # the model whose settings algorithms have here, carried to its n

    @property
    def public_data(self):
        """`data` without the digest: with that, who knows all rows but one can confirm a guess."""
        return self.data and {key: self.data[key] for key in self.data if key != "digest"}


class AlgorithmEntry(Algorithm):
    """An algorithm of the configuration; sampler, move, start and accountant are references."""

    id: str = ""

    @property
    def sampler_class(self):
        """Class of the sampler."""
        return registry.load(self.sampler)

    @property
    def is_private(self):
        """True if it releases something that an accountant prices."""
        return self.sampler_class.is_private

    @property
    def has_free_steps(self):
        """True if only its preparation costs something."""
        return self.sampler_class.has_free_steps

    def settings_on(self, model, varied=None, epsilon=None):
        """Settings on a model; those of an epsilon replace them, and those of a sweep both."""
        at = self.settings_at.get(model, {}).get(epsilon, {})
        return self.settings.get(model, {}) | at | (varied or {})

    def spec(self, settings):
        """The sampler with such settings, for `dpmcmc.registry.build`."""
        return registry.entry(self.sampler, settings, self.move, self.start)

    def schema(self):
        """Schema of settings on a model: fields of the sampler, its move and its start."""
        own = schema(self.sampler_class, *[registry.load(self.move)] if self.move else [])
        if self.start is None:
            return own
        share = annotations(registry.load(registry.PRIVATE_START))["start_share"]
        more = [("start", schema(registry.load(self.start)), None), ("start_share", share, None)]
        return msgspec.defstruct(
            own.__name__, more, bases=(own,), kw_only=True, forbid_unknown_fields=True
        )


@contextmanager
def refusing(where, cause=""):
    """Make a ConfigError of what a class or a file, which may be a user's own, raises."""
    try:
        yield
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"{where}{error}") from None
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{where.rstrip('.: ')}: {cause}{problem}") from None


def load_class(kind, name, where, folders):
    """Reference and class that a name in the configuration stands for."""
    with refusing(f"{where}: ", f"{name} cannot be imported: "):
        reference = registry.resolve(kind, name, *folders)
        cls = registry.load(reference)
    base = registry.base(kind)
    if not (issubclass(cls, base) and is_dataclass(cls)):
        raise ConfigError(
            f"{where}: {name} must be a dataclass that derives from "
            f"{base.__module__}.{base.__name__}"
        )
    missing = sorted(cls.__abstractmethods__)
    if kind == "sampler" and cls.has_free_steps:  # as all was released before
        missing += ["prepare"] * (not cls.prepares) + ["releases"] * (not cls.is_private)
    if missing:
        raise ConfigError(f"{where}: {name} has no {listed(missing)}")
    return reference, cls


def check_sizes(settings, where):
    """Raise a ConfigError for numbers, in lists too, that cannot be computed with."""
    for key, value in settings.items() if isinstance(settings, dict) else enumerate(settings):
        place = f"{where}.{key}" if isinstance(key, str) else f"{where}[{key}]"
        if isinstance(value, list | dict):
            check_sizes(value, place)
        elif isinstance(value, int | float) and value and not SIZES[0] <= abs(value) <= SIZES[1]:
            low, high = SIZES
            raise ConfigError(f"{place}: must be between {low:g} and {high:g} in size, not {value}")


def read_model(name, entry, folders, study_seed=0):
    """A model's entry, a dict, checked, and its data if they are in a file; raises a ConfigError.

    The class and the data are looked for in the folders; the seed decides which rows are held out.
    """
    where = f"models.{name}"
    keys = converted(entry, ModelKeys, where)
    reference, cls = load_class("model", keys.kind, f"{where}.kind", folders)
    if taken := [word for word in MODEL_KEYS if word in annotations(cls)]:
        raise ConfigError(
            f"{where}.kind: {cls.__name__} has a field {listed(taken)}, which an entry has for "
            "something else; it must have another name"
        )
    settings = settings_in(entry)

    def build(**of_data):
        converted(settings | of_data, schema(cls), where)
        check_sizes(settings, where)
        return cls(**settings, **of_data)

    data = None
    with refusing(f"{where}."):
        if keys.data:
            if "num_rows" in settings:
                raise ConfigError(
                    f"{where}.num_rows: must not be given with data, which have their own number "
                    "of rows; to remove what an extended file says, set it to null"
                )
            model, data = read_data(name, keys, build, cls, folders, study_seed)
            settings["num_rows"] = model.num_rows
        else:
            for key in ("columns", "held_out"):
                if getattr(keys, key):
                    raise ConfigError(f"{where}.{key}: needs the key data, a file")
            if not simulates(cls):
                raise ConfigError(
                    f"{where}: {cls.__name__} has no simulate, so missing key data: a file"
                )
            if "theta" not in signature(cls.simulate).parameters:
                raise ConfigError(
                    f"{where}: {cls.__name__}.simulate must take theta: simulate(self, rng, "
                    "theta=None)"
                )
            model = build()
        json.dumps([model.dimension, model.num_rows, model.data_shape])
    spec = {"class": reference} | settings
    kind = reference_kind(keys.reference, model, where)
    label = keys.label or name
    return ModelEntry(name, label, model, spec, data, kind, keys.data_sets, keys.same_settings_as)


def read_data(name, keys, build, cls, folders, study_seed):
    """Model of an entry with a data file, which says how many rows there are, and `data` of it."""
    where = f"models.{name}"
    if "num_rows" not in annotations(cls):
        raise ConfigError(f"{where}.data: {cls.__name__} must have a field num_rows to take data")
    path = Path(os.path.relpath(registry.beside(keys.data, folders)))
    split = Split(keys.held_out, study_seed) if keys.held_out else None
    try:
        file = DataFile(path)
        model, columns = model_of(file, lambda n: build(num_rows=n), keys.columns, split)
    except DataError as error:
        raise ConfigError(f"{where}.data: {error}") from None
    held_out = {"held_out": keys.held_out} if keys.held_out else {}
    return model, {"file": path.as_posix(), "columns": columns, "digest": file.digest} | held_out


def simulates(cls):
    """True if a model's class can make data."""
    return cls.simulate is not Model.simulate


def reference_kind(given, model, where):
    """Method for the reference sample: the entry's, else the most exact one available."""
    is_exact = type(model).sample_posterior is not Model.sample_posterior
    possible = ["exact"] * is_exact + ["grid"] * (model.dimension == 2) + ["long-run", "normal"]
    kind = given or possible[0]
    if kind not in possible:
        raise ConfigError(
            f"{where}.reference: {kind} is not possible for {type(model).__name__} (exact needs "
            f"sample_posterior, grid dimension = 2); valid values: {listed(possible)}"
        )
    return kind


def read_algorithm(name, entry, folders):
    """The `AlgorithmEntry` of an `Algorithm`, checked without its settings; raises a ConfigError.

    Files that it names are looked for in the folders.
    """
    where = f"algorithms.{name}"
    sampler, cls = load_class("sampler", entry.sampler, f"{where}.sampler", folders)
    move = None
    if "move" in annotations(cls):
        if entry.move is None:
            valid = listed(registry.names("move"))
            raise ConfigError(f"{where}: missing key move; valid values: {valid}")
        move, move_class = load_class("move", entry.move, f"{where}.move", folders)
        if shared := annotations(cls).keys() & annotations(move_class).keys():
            raise ConfigError(
                f"{where}.move: {entry.move} and {entry.sampler} have both a setting "
                f"{listed(shared)}; one of them must have another name"
            )
    elif entry.move is not None:
        raise ConfigError(f"{where}.move: {cls.__name__} takes no move")
    start = None
    if entry.start is not None:
        start, of_start = load_class("sampler", entry.start, f"{where}.start", folders)
        with refusing(f"{where}."):
            check_kinds(cls, of_start)
    priced_by = None
    if cls.is_private:
        if entry.accountant is None:
            raise ConfigError(
                f"{where}: missing key accountant; valid values: {listed(accountants())}"
            )
        priced_by = find_accountant(entry.accountant, f"{where}.accountant", folders)
    elif entry.accountant is not None:
        raise ConfigError(
            f"{where}.accountant: {cls.__name__} is not private, so it takes no accountant"
        )
    found = {"sampler": sampler, "move": move, "start": start, "accountant": priced_by}
    found |= {"id": name, "label": entry.label or name}
    return AlgorithmEntry(**msgspec.structs.asdict(entry) | found)


def find_accountant(name, where, folders):
    """Name of an accountant of the package, or path of the user's own; raises a ConfigError."""
    with refusing(f"{where}: ", f"{name} cannot be imported: "):
        reference = registry.file_of(name, folders) if name.endswith(".py") else name
        accountant(reference)
    return reference


def check_settings(algorithm, model, settings, where):
    """Raise a ConfigError for settings that the sampler, the model or the accountant refuses.

    Parameters
    ----------
    algorithm : AlgorithmEntry
    model : ModelEntry
    settings : dict
        All that the algorithm has on that model.
    where : str
        Keys that lead to the settings, as messages name them.
    """
    converted(settings, algorithm.schema(), where)
    check_sizes(settings, where)
    with refusing(f"{where}."):
        sampler = registry.build(algorithm.spec(settings))
        chain = sampler.chain if algorithm.start else sampler
        for part in (sampler, *([chain.move] if algorithm.move else [])):
            part.check_dimension(model.model.dimension)
        if not algorithm.is_private:
            return
        sampler = sampler.with_preparation_noise(1.0)  # whatever the budget will say
        size = model.model.num_rows, model.model.likelihood_power
        releases = sampler.releases(*size, 1)
        if algorithm.has_free_steps != (releases == sampler.releases(*size, 0)):
            raise ValueError(
                f"{type(sampler).__name__}.has_free_steps: must be {not algorithm.has_free_steps}, "
                "as its releases say"
            )
        try:
            accountant(algorithm.accountant).check(releases)
        except TypeError as error:
            valid = [name for name in accountants() if prices(name, releases)]
            raise ConfigError(
                f"algorithms.{algorithm.id}.accountant: {error}; valid values: {listed(valid)}"
            ) from None


def prices(name, releases):
    """True if an accountant prices mechanisms of that kind."""
    try:
        accountant(name).check(releases)
    except TypeError:
        return False
    except ValueError:  # of that kind, but not this one
        return True
    return True
