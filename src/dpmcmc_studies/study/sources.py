"""Which source a job's result depends on: its own modules, and all that they really import."""

import ast
import hashlib
import io
import json
import re
import sys
import tokenize
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

import dpmcmc

SOURCE = Path(__file__).parents[2]  # with both packages
# What code that is no Python raises: a cell in another language, or a file that others import if
# they can. It imports nothing; whoever runs it gets the error.
BROKEN = (SyntaxError, ValueError)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


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
        text = path.read_bytes()
        contents.update(without_prose(text) if path.suffix == ".py" else text)
    if any(path.parent == SOURCE / "dpmcmc/kernels" for path in files):
        from dpmcmc.kernels.library import kernel_build

        libraries = [*libraries, kernel_build()]
    contents.update(" ".join(sorted(libraries)).encode())
    return contents.hexdigest()[:16]


@cache
def without_prose(text):
    """Python code, as bytes, without what changes no result.

    That is docstrings, comments, and texts that exceptions are raised with: nobody computes with
    the message of what is caught.
    """
    try:
        tree = ast.parse(text)
    except BROKEN:
        return text
    encoding, _ = tokenize.detect_encoding(io.BytesIO(text).readline)
    lines = text.decode(encoding).splitlines()
    spans = [
        (token.start, token.end)
        for token in tokenize.tokenize(io.BytesIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            prose = node.body[0]
            spans.append(((prose.lineno, prose.col_offset), (prose.end_lineno, None)))
        elif has_message(node):
            func, call = node.exc.func, node.exc
            ends = (func.end_lineno, func.end_col_offset), (call.end_lineno, call.end_col_offset)
            spans.append([(number, place(lines[number - 1], at)) for number, at in ends])
    for (first, start), (last, end) in spans:
        head, tail = lines[first - 1][:start], "" if end is None else lines[last - 1][end:]
        lines[first - 1 : last] = [head + tail, *[""] * (last - first)]
    return "\n".join(line.rstrip() for line in lines if line.strip()).encode()


def has_message(node):
    """True for a node of a syntax tree that raises an exception with one text."""
    match node:
        case ast.Raise(exc=ast.Call(args=[ast.JoinedStr()], keywords=[])):
            return True
        case ast.Raise(exc=ast.Call(args=[ast.Constant(value=str())], keywords=[])):
            return True
    return False


def place(line, offset):
    """Place in a line of an offset in its bytes."""
    return len(line.encode()[:offset].decode())


def imported(*modules):
    """Files that modules consist of and import, and the libraries, as "name version".

    What a user's file imports is looked for where it is when that runs: beside the file, and so
    for all that it imports in turn.
    """
    files, libraries = set(), set()
    waiting = [(file, file.parent) for file in (file_of(n, SOURCE) for n in modules)]
    seen = set()
    while waiting:
        file, root = waiting.pop()
        if (file, root) not in seen:
            seen.add((file, root))
            files.add(file)
            found, names = imported_directly(file, root)
            waiting += [(other, root) for other in found]
            libraries |= names
    return files, libraries - {None}


@cache
def imported_directly(file, root):
    """Files and libraries that a file itself imports, sets. `root` is where its program runs."""
    files, libraries = set(), set()
    for level, name in imports(file):
        name = name if level else public_modules().get(name, name)
        beside = file.parents[level - 1] if level else root
        places = [beside] if level else [SOURCE, root]
        found = next(filter(None, (file_of(name, place) for place in places)), None)
        top = name.partition(".")[0]
        if found is not None:
            files.add(found)
        elif not level and top not in {"dpmcmc", "dpmcmc_studies", *sys.stdlib_module_names}:
            libraries.add(version_of(top))
    return files, libraries


def file_of(name, directory):
    """File of a module below a directory; None if it is not there."""
    if "/" in name or name.endswith(".py"):
        return Path(name).resolve()
    path = Path(directory, *name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def imports(file):
    """Modules that a file may import, at its top or in a function, with their parents.

    Each is its level, 0 unless the import is relative, and its name. Of `from a import b`, a and
    a.b are named, whatever b is; so is `dpmcmc.b`, which loads what the public name stands for.
    Imports that only type checkers read are left out, as they change no result.
    """
    names = set()
    for node in (node for tree in code_of(file) for node in as_it_runs(tree)):
        if isinstance(node, ast.Import):
            names.update((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = f"{node.module}." if node.module else ""
            names.update((node.level, f"{start}{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Attribute) and is_name(node.value, "dpmcmc"):
            names.add((0, f"dpmcmc.{node.attr}"))
    return {
        (level, ".".join(name.split(".")[:length]))
        for level, name in names
        for length in range(1, len(name.split(".")) + 1)
    }


def as_it_runs(tree):
    """Nodes of a syntax tree, but for what stands under `if TYPE_CHECKING`."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        is_of_types = isinstance(node, ast.If) and is_name(node.test, "TYPE_CHECKING")
        waiting += node.orelse if is_of_types else ast.iter_child_nodes(node)


def is_name(node, name):
    """True for a node that is that name alone."""
    return isinstance(node, ast.Name) and node.id == name


@cache
def public_modules():
    """Modules of the public names of the package, by "dpmcmc.name"."""
    return {f"dpmcmc.{name}": module for name, module in dpmcmc._public_names().items()}


def code_of(file):
    """Syntax trees of a file's code; those of a notebook's cells, none of a template."""
    if file.suffix == ".py":
        with suppress(*BROKEN):
            yield ast.parse(file.read_bytes())
    elif file.suffix == ".ipynb":
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                with suppress(*BROKEN):
                    yield parsed("".join(cell["source"]))


def parsed(cell):
    """Syntax tree of the code of a cell, in which %, ! and ? mean what they do to IPython."""
    try:
        return ast.parse(cell)
    except SyntaxError:
        from IPython.core.inputtransformer2 import TransformerManager  # it takes time

        cell = re.sub(r"\A\s*%%.*", "", cell)  # what %%time, say, is given is Python
        return ast.parse(TransformerManager().transform_cell(cell))


@cache
def version_of(module):
    """Names and versions of the distributions that a module comes with; None without any."""
    try:
        return f"{module} {version(module)}"
    except PackageNotFoundError:  # of another name than its module
        found = [each for each in distributions() if brings(each, module)]
        return " ".join(f"{each.metadata['Name']} {each.version}" for each in found) or None


def brings(distribution, module):
    """True if a distribution has a module: it says so, or has its files.

    As in `importlib.metadata.packages_distributions`, which reads the files of all of them.
    """
    if named := (distribution.read_text("top_level.txt") or "").split():
        return module in named
    files = distribution.read_text("RECORD") or ""
    return bool(re.search(rf"^{re.escape(module)}(/.*)?\.py,", files, re.MULTILINE))
