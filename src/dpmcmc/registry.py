"""Classes by the name that a configuration gives them: of the package, or `file.py:Class`.

A class of the package is found in the folder of its kind, by the base that it derives from.
"""

import importlib.util
import os
import re
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path

import dpmcmc
from dpmcmc.extras import missing
from dpmcmc.settings import annotations

# Public name of the base of each kind. Classes of a kind are in the package that has their base.
KINDS = {"model": "Model", "sampler": "Sampler", "move": "Move"}

PRIVATE_START = "dpmcmc.samplers.private_start:PrivateStart"


class UnknownName(ValueError):
    """No class of that name; the message is one line, with the valid names."""


def base(kind):
    """The class that all of a kind derive from."""
    return getattr(dpmcmc, KINDS[kind])


@cache
def names(kind):
    """Modules of the package's classes of a kind, by the names of these; no bases of others.

    They are dataclasses. A file without any is not imported, as it may need an extra.
    """
    of_kind, found = base(kind), {}
    package = of_kind.__module__.rpartition(".")[0]
    for path in sorted(Path(sys.modules[of_kind.__module__].__file__).parent.glob("*.py")):
        module = f"{package}.{path.stem}"
        for name in re.findall(r"^@dataclass\b.*\nclass (\w+)", path.read_text("utf-8"), re.M):
            cls = getattr(import_module(module), name)
            if issubclass(cls, of_kind) and not cls.__abstractmethods__:
                found[name] = module
    return dict(sorted(found.items()))


def resolve(kind, name, *folders):
    """Place of a class: "module:Class" for the package's, "file.py:Class" for another.

    Parameters
    ----------
    kind : str
        A key of KINDS.
    name : str
        As in the configuration.
    *folders : path
        Where a file is looked for, in this order; by default in the current directory.

    Raises
    ------
    UnknownName
    """
    path, _, cls = name.rpartition(":")
    if path.endswith(".py"):
        return f"{file_of(path, folders or ['.'])}:{cls}"
    if name not in names(kind):
        valid = ", ".join(sorted(names(kind)))
        raise UnknownName(
            f"unknown {kind} {name}; valid names: {valid}, or one's own file.py:Class"
        )
    return f"{names(kind)[name]}:{name}"


def beside(path, folders):
    """A path in the first of some folders that has it; in the first of all if none does."""
    places = [Path(folder, path) for folder in folders]
    return next((place for place in places if place.is_file()), places[0])


def file_of(path, folders):
    """The same as a text, relative to the directory that jobs run in; raises UnknownName."""
    file = beside(path, folders)
    if not file.is_file():
        raise UnknownName(f"no file {path} in {Path(folders[0]).resolve()}")
    return Path(os.path.relpath(file.resolve())).as_posix()


def load(reference):
    """The class that `resolve` has found.

    Raises
    ------
    UnknownName
        If the file has no such class.
    """
    module_name, _, name = reference.rpartition(":")
    module = load_file(module_name) if module_name.endswith(".py") else import_module(module_name)
    if not isinstance(getattr(module, name, None), type):
        raise UnknownName(f"{module_name} has no class {name}")
    return getattr(module, name)


@cache
def load_file(path):
    """A user's file as a module; what lies beside it can be imported.

    Its name is that by which files beside it import it, so that they share it; or its path, where
    another module has that name.
    """
    path = Path(path).resolve()
    known, found = sys.modules.get(path.stem), PathFinder.find_spec(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    is_free = known is None and path.stem not in sys.stdlib_module_names
    is_free = is_free and (found is None or found.origin == str(path))
    spec = importlib.util.spec_from_file_location(path.stem if is_free else str(path), path)
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[spec.name]
        if isinstance(error, ModuleNotFoundError) and error.name in ("jax", "numpyro"):
            error.msg = missing(error.name, error.name)  # extras have their names
        raise
    return module


def entry(reference, settings, move=None, start=None):
    """Entry of a class with settings, for `build`.

    Parameters
    ----------
    reference : str
        From `resolve`.
    settings : dict
        Those of a sampler and of its move together.
    move : str, optional
        Reference of its move, which takes the settings that are its fields.
    start : str, optional
        Reference of the sampler that it starts from, by `PrivateStart`; that one's settings are a
        map, `start`.
    """
    if start is not None:
        of_start = {"class": start} | settings.get("start", {})
        share = {key: settings[key] for key in ("start_share",) if key in settings}
        own = {key: value for key, value in settings.items() if not key.startswith("start")}
        return {"class": PRIVATE_START, "chain": entry(reference, own, move)} | {
            "start": of_start,
            **share,
        }
    if move is None:
        return {"class": reference} | settings
    of_move = {key: settings[key] for key in annotations(load(move)) if key in settings}
    own = {key: value for key, value in settings.items() if key not in of_move}
    return {"class": reference, "move": {"class": move} | of_move} | own


def with_settings(entry_, settings):
    """An entry of the same classes with other settings."""
    chain, start = entry_, None
    if "chain" in entry_:
        chain, start = entry_["chain"], entry_["start"]["class"]
    return entry(chain["class"], settings, chain.get("move", {}).get("class"), start)


def build(entry):
    """The object that an entry describes, as the specs of jobs hold it.

    Parameters
    ----------
    entry : dict
        `class`, a reference of `resolve`, and the settings. A setting that is such an entry itself,
        as a sampler's move, is built likewise.
    """
    settings = {
        key: build(value) if isinstance(value, dict) and "class" in value else value
        for key, value in entry.items()
        if key != "class"
    }
    return load(entry["class"])(**settings)


def nested(entry):
    """An entry, and those that are its settings, as a sampler's move."""
    yield entry
    for value in entry.values():
        if isinstance(value, dict):
            yield from nested(value)


def is_own(entry):
    """True if a class of an entry, or of its settings, is in a file of one's own."""
    return any(module_of(one.get("class", "")).endswith(".py") for one in nested(entry))


def module_of(reference):
    """Module of a class, `module:Class`."""
    return reference.rpartition(":")[0]
