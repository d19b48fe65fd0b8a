"""The notebooks of a study: what they say of themselves, and what the study tells them.

A notebook declares in its metadata, under the key `dpmcmc`, what it draws and takes:

figures
    What it draws, in order: `{"name": "figure-1", "shows": "caption"}`. With `"if"`, a name or a
    list of names, a figure is drawn only if no parameter named there is empty, the study makes
    every optional table named there and, as `vary.step_size`, sweeps every setting named there.
    (A list, since Jupyter sorts the keys of maps.)
tables, optional_tables
    Tables that it reads; the latter if the study makes them.
models, algorithms
    Names of its parameters that hold an id or a list of ids. Ids that do not run in the study are
    left out, so that a notebook can list what some studies do not have.
data, chains
    Those of its `models` whose data set and reference sample it reads, or whose chains.

A notebook all of whose figures fall away, or of which the study does not make a table, is left out.
Its first cell is its title and the question that it answers. This module is imported whenever the
workflow is parsed; it stays clear of everything slow.
"""

import ast
import json
import re
from pathlib import Path
from typing import NamedTuple

from dpmcmc.study.config import ConfigError, named, short

KEYS = ("figures", "tables", "optional_tables", "models", "algorithms", "data", "chains")
WORDS = {dict: "maps", str: "names"}
SWEPT = "vary."  # before the name of a setting that a figure needs to be swept
FILE_NAME = re.compile(r"[\w.-]+")


class Notebook(NamedTuple):
    """A notebook of a study."""

    path: Path
    title: str
    question: str
    figures: dict  # caption by name, of those that it draws in this study
    tables: list  # that it reads
    data_models: list  # whose data set and reference sample it reads
    chain_models: list  # whose chains it reads
    parameters: dict  # what it is told, beside the directory of the results

    def described(self):
        """What `study.json` says of it."""
        return {"title": self.title, "question": self.question, "figures": self.figures}


def study_notebooks(config, directory, running, tables, beside=(), swept=()):
    """Notebooks of a study by name, in the order of its configuration.

    Parameters
    ----------
    config : dict
        Of which `notebooks` maps names, or paths of one's own notebooks, to parameters; and of
        which the keys of `models` and `algorithms` are all valid ids.
    directory : path
        Of the notebooks that any study can have.
    running : dict
        Ids of the `models` and of the `algorithms` that run in the study.
    tables : list of str
        Names of the tables that the study makes.
    beside : iterable of path
        Directories of the study's files, where notebooks are looked for first, in this order.
    swept : iterable of str
        Settings that vary over some of what runs.

    Returns
    -------
    dict of str to Notebook

    Raises
    ------
    ConfigError
    """
    notebooks, drawn_by = {}, {}
    for entry, given in config["notebooks"].items():
        name = Path(entry).stem if entry.endswith(".ipynb") else entry
        source = read_source(find(entry, directory, beside))
        notebook = resolve(source, entry, given, config, running, tables, swept)
        if notebook is None:
            continue
        if not FILE_NAME.fullmatch(name):
            raise ConfigError(f"notebooks.{entry}: its name may have letters, digits, -, . and _")
        if name in notebooks:
            raise ConfigError(f"notebooks.{entry}: there is another notebook named {name}")
        for figure in notebook.figures:
            if drawn_by.setdefault(figure, name) != name:
                raise ConfigError(f"notebooks.{entry}: {drawn_by[figure]} draws {figure}, too")
        notebooks[name] = notebook
    return notebooks


def resolve(source, entry, given, config, running, tables, swept):
    """A notebook as the study has it, or None; parameters as for `study_notebooks`."""
    where, declared = f"notebooks.{entry}", source.declared
    for name in given:
        if name not in source.defaults:
            valid = ", ".join(source.defaults) or "none"
            raise ConfigError(f"{where}: unknown parameter {name}; valid parameters: {valid}")
        wanted = kind_of(source.defaults[name])
        if kind_of(given[name]) != wanted:
            raise ConfigError(f"{where}.{name}: must be {wanted}, not {short(given[name])}")
    values = source.defaults | given
    for kind in ("models", "algorithms"):
        for name in declared[kind]:
            key = f"{where}.{name}"
            values[name] = those_running(values[name], key, kind, config, running)
    made = {*tables, *(f"{SWEPT}{key}" for key in swept)}
    figures = {
        figure["name"]: figure["shows"]
        for figure in declared["figures"]
        if all(values.get(name, name in made) for name in listed(figure.get("if", [])))
    }
    if declared["figures"] and not figures:
        return None
    if not set(declared["tables"]) <= set(tables):
        return None
    return Notebook(
        path=source.path,
        title=source.title,
        question=source.question,
        figures=figures,
        tables=[
            *declared["tables"],
            *(table for table in declared["optional_tables"] if table in tables),
        ],
        data_models=named_by(declared["data"], values),
        chain_models=named_by(declared["chains"], values),
        parameters={name: values[name] for name in source.defaults if name in given}
        | {name: values[name] for kind in ("models", "algorithms") for name in declared[kind]},
    )


def named_by(parameters, values):
    """Ids in the values of some parameters, each once."""
    return list(dict.fromkeys(id for name in parameters for id in listed(values[name])))


def kind_of(value):
    """What a value of a parameter is, in words."""
    if isinstance(value, bool):
        return "true or false"
    kinds = {int: "a number", float: "a number", str: "a string", list: "a list", dict: "a map"}
    return kinds.get(type(value), "nothing")


def those_running(value, key, kind, config, running):
    """The ids in the value of a parameter that run: a list, or for a text that or an empty one."""
    if not isinstance(value, list | str) or not all(isinstance(name, str) for name in value):
        raise ConfigError(f"{key}: must be an id or a list of ids of {kind}, not {value!r}")
    for name in listed(value):
        if name not in config[kind]:
            raise ConfigError(
                f"{key}: {named(name)} is none of the {kind}; valid ids: {', '.join(config[kind])}"
            )
    shown = [name for name in listed(value) if name in running[kind]]
    return shown if isinstance(value, list) else "".join(shown)


def listed(value):
    """A list for a text, which has nothing in it if it is empty; any list as it is."""
    return ([value] if value else []) if isinstance(value, str) else value


class Source(NamedTuple):
    """What a notebook's file says."""

    path: Path
    title: str
    question: str
    declared: dict  # its metadata, complete
    defaults: dict  # values of the parameters that a study may set


def find(entry, directory, beside):
    """File of a notebook that a configuration names: beside the study's, or for any study."""
    if entry.endswith(".ipynb"):
        paths = [Path(folder, entry) for folder in beside]
    else:
        paths = [Path(folder, f"{entry}.ipynb") for folder in (*beside, directory)]
    for path in paths:
        if path.is_file():
            return path
    if entry.endswith(".ipynb"):
        raise ConfigError(f"notebooks.{entry}: there is no file {paths[0]}")
    valid = sorted({file.stem for path in paths for file in path.parent.glob("*.ipynb")})
    raise ConfigError(
        f"notebooks: unknown notebook {entry}; valid names: {', '.join(valid)}, or the path of "
        "one's own, which ends in .ipynb"
    )


def read_source(path):
    """Title, question, declarations and parameters of a notebook, as a `Source`."""
    try:
        notebook = json.loads(path.read_text())
        title, question = heading(notebook["cells"])
        declared = notebook["metadata"].get("dpmcmc", {})
        code = [
            c["source"] for c in notebook["cells"] if "parameters" in c["metadata"].get("tags", [])
        ]
        defaults = assigned("".join(code[0])) if code else {}
    except (ValueError, KeyError, TypeError, AttributeError, SyntaxError) as error:
        raise ConfigError(f"{path} is no notebook ({type(error).__name__}: {error})") from None
    check_declared(path, declared, defaults)
    empty = {key: [] for key in KEYS}
    return Source(path, title or path.stem, question, empty | declared, defaults)


def heading(cells):
    """Title and question of a notebook, from its first cell; empty if that is no prose."""
    prose = "".join(cells[0]["source"]) if cells and cells[0]["cell_type"] == "markdown" else ""
    title, question, *_ = [*prose.split("\n\n"), "", ""]
    return " ".join(title.lstrip("# ").split()), " ".join(question.split())


def assigned(code):
    """Names and values that the cell of parameters assigns, but for the study's `results`.

    None stands for a value that is no literal.
    """
    values = {}
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                try:
                    values[target.id] = ast.literal_eval(statement.value)
                except ValueError:
                    values[target.id] = None
    values.pop("results", None)
    return values


def check_declared(path, declared, defaults):
    """What a notebook declares must be known, complete, and about parameters that it has."""
    where = f"{path}, metadata.dpmcmc"
    for key in declared:
        if key not in KEYS:
            raise ConfigError(f"{where}: unknown key {key}; valid keys: {', '.join(KEYS)}")
        kind = dict if key == "figures" else str
        if not isinstance(declared[key], list) or not all(
            isinstance(e, kind) for e in declared[key]
        ):
            raise ConfigError(f"{where}.{key}: must be a list of {WORDS[kind]}")
    named = {key: declared.get(key, []) for key in ("models", "algorithms")}
    optional = declared.get("optional_tables", [])
    for figure in declared.get("figures", []):
        if not FILE_NAME.fullmatch(str(figure.get("name", ""))):
            raise ConfigError(f"{where}.figures: a figure needs a name that is one of a file")
        if not figure.get("shows"):
            raise ConfigError(f"{where}.figures: {figure['name']} needs a caption, shows")
        conditions = [
            name
            for name in listed(figure.get("if", []))
            if name not in optional and not name.startswith(SWEPT)
        ]
        named[f"figures.{figure['name']}.if"] = conditions
    for key, names in named.items():
        for name in names:
            if name not in defaults:
                raise ConfigError(f"{where}.{key}: the notebook has no parameter {name}")
    for key in ("data", "chains"):
        for name in declared.get(key, []):
            if name not in named["models"]:
                raise ConfigError(f"{where}.{key}: {name} must be one of its models")
