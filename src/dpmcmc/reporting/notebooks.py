"""Execute notebooks with papermill."""

import os
import sys
from pathlib import Path

import nbformat
import papermill

FOLDED = "hide-input"  # tag of a cell whose code a page folds away
LEFT_OUT = "remove-cell"  # tag of a cell that the site does not show: parameters alone


class NotebookError(Exception):
    """A notebook raised; the message is its error in one line."""


def execute(source, output, parameters, study=""):
    """Execute a notebook from the current directory, in the kernel of this environment.

    One of that name that the user has installed elsewhere is not taken, nor the user's settings of
    matplotlib. Modules beside the notebook can be imported.

    Parameters
    ----------
    source, output : path
        A failed notebook is written as well, with its traceback.
    parameters : dict
        Put into the cell after the one tagged `parameters`.
    study : str
        Title of the study, which stands for `{study}` in the heading.

    Raises
    ------
    NotebookError
        If a cell raises.
    """
    os.environ["JUPYTER_PATH"] = str(Path(sys.prefix, "share/jupyter"))
    os.environ["MATPLOTLIBRC"] = os.devnull
    beside = str(Path(source).resolve().parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, [os.getenv("PYTHONPATH")]), beside])
    try:
        papermill.execute_notebook(
            source,
            output,
            parameters,
            kernel_name="python3",
            language="python",
            progress_bar=False,
        )
    except papermill.PapermillExecutionError as error:
        first = error.source.partition("\n")[0]
        why = error.evalue or f"in the cell that begins with {first}"  # of an unknown magic, say
        raise NotebookError(f"{source}: {error.ename}: {why}".splitlines()[0]) from None
    tidy(output, study)


def tidy(path, study):
    """Make an executed notebook a page: its heading, its code folded, no trace of when it ran."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("papermill", None)
    notebook.cells[0].source = notebook.cells[0].source.replace("{study}", study)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell.execution_count = None
            tags = cell.metadata.get("tags", [])
            has_parameters = any(tag.endswith("parameters") for tag in tags)
            cell.metadata["tags"] = [*tags, LEFT_OUT if has_parameters else FOLDED]
    nbformat.write(notebook, path)
