"""Code and settings that a release runs, as they can be published: digests and names."""

import dataclasses
import hashlib
from pathlib import Path

from dpmcmc import registry

PACKAGE = Path(__file__).parents[1]


def digest_of_package(package=PACKAGE):
    """SHA-256 of the package's Python files: of their names in it and their contents alone.

    It is the same wherever the package lies. A digest of a repository could be one of data in it.
    """
    whole = hashlib.sha256()
    for name in sorted(file.relative_to(package).as_posix() for file in package.rglob("*.py")):
        contents = (package / name).read_bytes()
        whole.update(f"{name} {len(contents)}\n".encode() + contents)
    return whole.hexdigest()


def digests_of(files):
    """SHA-256 of files of one's own, with their names and no folder."""
    return [
        {"file": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        for file in map(Path, sorted(set(files)))
    ]


def settings_of(spec):
    """Settings of a spec and those left at their defaults, with names of classes and no folder."""
    defaults = defaults_of(registry.load(spec["class"])) if "class" in spec else {}
    return {
        key: value.rpartition(":")[2]
        if key == "class"
        else settings_of(value)
        if isinstance(value, dict)
        else value
        for key, value in (defaults | spec).items()
    }


def defaults_of(cls):
    """Default settings of a class that a configuration could have given, by name."""
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return {
        field.name: field.default
        for field in fields
        if field.init and isinstance(field.default, bool | int | float | str | list | tuple | None)
    }
