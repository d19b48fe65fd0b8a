"""Which source a job's result depends on: its own modules, and all that they really import."""

import ast
import hashlib
import json
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def digest(*modules):
    """Digest of modules, of all that they import, and of the versions of libraries among these.

    Given to rules as a parameter: Snakemake reruns jobs whose parameters change, but does not look
    into imported modules.

    Parameters
    ----------
    *modules : str
        Names of modules of the package, or paths of files: a user's module, a notebook, a template.
    """
    files, libraries = imported(*modules)
    contents = hashlib.sha256()
    for path in sorted(files):
        contents.update(path.name.encode())
        contents.update(path.read_bytes())
    if any(path.parent == PACKAGE / "kernels" for path in files):
        from dpmcmc.kernels.library import kernel_build

        libraries = [*libraries, kernel_build()]
    contents.update(" ".join(sorted(libraries)).encode())
    return contents.hexdigest()[:16]


def imported(*modules):
    """Files that modules consist of and import, and the libraries, as "name version"."""
    files, libraries, waiting = set(), set(), [file_of(name, PACKAGE.parent) for name in modules]
    while waiting:
        file = waiting.pop()
        if file in files:
            continue
        files.add(file)
        for name in imports(file):
            found = file_of(name, PACKAGE.parent) or file_of(name, file.parent)
            if found is not None:
                waiting.append(found)
            elif name.partition(".")[0] not in {"dpmcmc", *sys.stdlib_module_names}:
                libraries.add(version_of(name.partition(".")[0]))
    return files, libraries - {None}


def file_of(name, directory):
    """File of a module below a directory; None if it is not there."""
    if "/" in name or name.endswith(".py"):
        return Path(name).resolve()
    path = Path(directory, *name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


@cache
def imports(file):
    """Names of all modules that a file may import, at its top or in a function, with their parents.

    Of `from a import b`, a and a.b are named, whatever b is.
    """
    names = set()
    for node in ast.walk(ast.parse(code_of(file))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {
        ".".join(name.split(".")[:length])
        for name in names
        for length in range(1, len(name.split(".")) + 1)
    }


def code_of(file):
    """Python code of a file; that of a notebook's cells, none of a template."""
    if file.suffix == ".ipynb":
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    return file.read_text(encoding="utf-8") if file.suffix == ".py" else ""


@cache
def version_of(library):
    """Name and version of an installed library; None if it has none."""
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return None
