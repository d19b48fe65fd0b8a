"""The pages of a study: its notebooks, with the parameters that it gives them.

A notebook says in its metadata, under the key `dpmcmc`, what is needed to run it:

figures
    What it draws, in order: `{"name": "figure-1", "shows": "caption"}`. With `"if"`, a list of
    names, a figure is drawn only where each of them is there: a parameter that is not empty or, as
    `table.audit` or `vary.step_size`, a table of the study or a setting that it sweeps.
tables
    Tables that it cannot do without.
models, algorithms
    Parameters that hold an id or a list of ids. Ids that do not run in the study are left out.
data, chains
    Those of its `models` whose data set and reference sample it reads, or whose chains.
kept
    Small files that it computes from chains, so that it can be rendered without them: names, each
    with the module that computes it, a file beside the notebook.

The front page of a study opens with its recommendations or, where a cell of a notebook has the tag
`answer`, with the first output of that cell, which is Markdown.

A page is left out where the study does not make one of its tables, or has none of its figures. Its
first cell is its title, in which `{study}` stands for that of the study, and the question that it
answers. This module is imported whenever the
workflow is parsed; it stays clear of everything slow.
"""

import ast
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from dpmcmc.configuration.keys import Table
from dpmcmc.configuration.yaml_files import (
    ConfigError,
    check_known,
    converted,
    listed,
    named,
)
from dpmcmc.registry import beside
from dpmcmc_studies.study.sources import parsed
from dpmcmc_studies.study.tables import TABLES

ANSWER = "answer"  # tag of the cell whose first output is the study's answer
ANSWER_MARKS = "<!-- answer -->", "<!-- end of answer -->"  # around it, in a page
FILE_NAME = msgspec.Meta(
    pattern=r"^[\w.-]+\Z",
    description="is not a valid name; it may have letters, digits, -, . and _",
)


LARGEST = sys.float_info.max
FINITE = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]


class Figure(Table):
    """A figure that a notebook draws."""

    name: Annotated[str, FILE_NAME]
    shows: Annotated[str, msgspec.Meta(min_length=1)]
    needs: list[str] = msgspec.field(name="if", default=())


class Declared(Table):
    """Metadata of a notebook."""

    figures: list[Figure] = ()
    tables: list[str] = ()
    models: list[str] = ()
    algorithms: list[str] = ()
    data: list[str] = ()
    chains: list[str] = ()
    kept: dict[str, str] = msgspec.field(default_factory=dict)


class Notebook(NamedTuple):
    """A notebook of a study."""

    path: Path
    title: str
    question: str
    figures: dict  # caption by name, of those that it draws in this study
    data_models: list  # whose data set and reference sample it reads
    chain_models: list  # whose chains it reads
    kept: dict  # modules of small files that it computes from chains, by name
    parameters: dict  # beside the directory of the results


def study_notebooks(study, folders):
    """Notebooks of a study by name, in the order of its configuration.

    Parameters
    ----------
    study : StudyConfig
        With all but its notebooks.
    folders : list of path
        Where notebooks are looked for, the first one first.

    Raises
    ------
    ConfigError
    """
    notebooks, drawn_by, tables = {}, {}, study.all_tables
    for entry, given in study.config.notebooks.items():
        name = entry.removesuffix(".ipynb").rpartition("/")[2]
        notebook = read_notebook(study, tables, entry, given, find(entry, folders))
        if notebook is None:
            continue
        converted(name, Annotated[str, FILE_NAME], f"notebooks.{entry}")
        if name in notebooks:
            raise ConfigError(f"notebooks.{entry}: there is another notebook named {name}")
        for figure in notebook.figures:
            if drawn_by.setdefault(figure, name) != name:
                raise ConfigError(f"notebooks.{entry}: {drawn_by[figure]} draws {figure}, too")
        notebooks[name] = notebook
    return notebooks


def find(entry, folders):
    """Path of a notebook; raises a ConfigError."""
    path = beside(entry.removesuffix(".ipynb") + ".ipynb", folders)
    if not path.is_file():
        known = sorted({path.stem for folder in folders for path in folder.glob("*.ipynb")})
        raise ConfigError(f"notebooks: unknown notebook {named(entry)}; there are {listed(known)}")
    return path


def read_notebook(study, tables, entry, given, path):
    """A notebook as the study has it; None where it has nothing to show."""
    title, question, declared, values = read_source(path)
    where = f"notebooks.{entry}"
    kinds = {name: {int: FINITE, float: FINITE}.get(type(v), type(v)) for name, v in values.items()}
    fields = [(name, Any if v is None else kinds[name], None) for name, v in values.items()]
    converted(given, msgspec.defstruct("Parameters", fields, forbid_unknown_fields=True), where)
    values |= given
    for kind, known, running in (
        ("models", study.models, study.model_ids),
        ("algorithms", study.algorithms, study.algorithm_ids),
    ):
        for name in getattr(declared, kind):
            converted(values[name], str | list[str], f"{where}.{name}")
            check_known(ids_in(values, [name]), known, f"{where}.{name}", kind.removesuffix("s"))
            if isinstance(values[name], list):
                values[name] = [id for id in values[name] if id in running]
            elif values[name] not in running:
                values[name] = ""
    there = {*(f"table.{table}" for table in tables), *(f"vary.{key}" for key in study.swept)}
    figures = {
        figure.name: figure.shows
        for figure in declared.figures
        if all(values.get(name, name in there) for name in figure.needs)
    }
    if not set(declared.tables) <= set(tables) or (declared.figures and not figures):
        return None
    of_ids = [*declared.models, *declared.algorithms]
    return Notebook(
        path=path,
        title=title.replace("{study}", study.title),
        question=question,
        figures=figures,
        data_models=ids_in(values, declared.data),
        chain_models=ids_in(values, declared.chains),
        kept={name: path.with_name(file) for name, file in declared.kept.items()},
        parameters={name: v for name, v in values.items() if name in given or name in of_ids},
    )


def ids_in(values, parameters):
    """Ids in the values of some parameters, each a text, empty or not, or a list; each id once."""
    lists = [
        [values[name]] * bool(values[name]) if isinstance(values[name], str) else values[name]
        for name in parameters
    ]
    return list(dict.fromkeys(id for ids in lists for id in ids))


def read_source(path):
    """Title, question, declarations and default parameters of a notebook."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        title, question = heading(notebook["cells"])
        declared = notebook["metadata"].get("dpmcmc", {})
        tagged = [c for c in notebook["cells"] if "parameters" in c["metadata"].get("tags", [])]
        defaults = assigned("".join(tagged[0]["source"])) if tagged else {}
    except SyntaxError as error:
        where = f"line {error.lineno} of the cell tagged parameters"
        raise ConfigError(f"{path}: {where} is not Python: {error.msg}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} is not a notebook ({type(error).__name__}: {error})") from None
    where = f"{path}, metadata.dpmcmc"
    declared = converted(declared, Declared, where)
    for key in ("models", "algorithms", "data", "chains"):
        known = declared.models if key in ("data", "chains") else defaults
        check_known(getattr(declared, key), known, f"{where}.{key}", "parameter")
    check_known(declared.tables, TABLES, f"{where}.tables", "table")
    for name, file in declared.kept.items():
        if not path.with_name(file).is_file():
            raise ConfigError(f"{where}.kept.{name}: there is no file {path.with_name(file)}")
    known = {*defaults, *(f"table.{table}" for table in TABLES)}
    for figure in declared.figures:
        needs = [name for name in figure.needs if not name.startswith("vary.")]
        check_known(needs, known, f"{where}.figures.{figure.name}.if", "name")
    return title or path.stem, question, declared, defaults


def heading(cells):
    """Title and question of a notebook, from its first cell; empty if that is no prose."""
    prose = "".join(cells[0]["source"]) if cells and cells[0]["cell_type"] == "markdown" else ""
    title, question, *_ = [*prose.split("\n\n"), "", ""]
    return " ".join(title.lstrip("# ").split()), " ".join(question.split())


def assigned(code):
    """Parameters and their defaults: assignments of the tagged cell, but for `results`.

    None stands for a default that is no literal.
    """
    values = {}
    for statement in parsed(code).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = getattr(statement, "targets", None) or [statement.target]
            for target in (target for target in targets if isinstance(target, ast.Name)):
                values[target.id] = None
                with suppress(ValueError):
                    values[target.id] = ast.literal_eval(statement.value)
    values.pop("results", None)
    return values
