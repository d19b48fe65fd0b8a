"""Execute notebooks with papermill, and make pages in Markdown of them with nbconvert."""

import os
import re
import sys
from pathlib import Path

import nbformat
import papermill
from nbconvert import MarkdownExporter
from traitlets.config import Config

from dpmcmc_studies.study.notebooks import ANSWER, ANSWER_MARKS

# A figure is a link to its file, so no picture is taken out of an output.
WITHOUT_PICTURES = Config({"ExtractOutputPreprocessor": {"enabled": False}})


class NotebookError(Exception):
    """A notebook makes no page; the message says why in one line."""


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
        raise NotebookError(f"{error.ename}: {why}".splitlines()[0]) from None
    tidy(output, study)


def tidy(path, study):
    """Put the title of the study into an executed notebook; take out all traces of when it ran."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("papermill", None)
    notebook.cells[0].source = notebook.cells[0].source.replace("{study}", study)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if cell.cell_type == "code":
            cell.execution_count = None
    nbformat.write(notebook, path)


def markdown(path):
    """Page of an executed notebook in Markdown: its prose and its outputs, without code.

    The answer of the study stands between two comments, where `pages.own_answer` finds it.

    Raises
    ------
    NotebookError
        If the first output of the cell with the tag `answer` is no Markdown.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if ANSWER in cell.metadata.get("tags", []):
            shown = [output.get("data", {}) for output in cell.outputs]
            if not shown or "text/markdown" not in shown[0]:
                raise NotebookError(f"a cell with the tag `{ANSWER}` must show Markdown first")
            answer = ANSWER_MARKS[0], shown[0]["text/markdown"], ANSWER_MARKS[1]
            shown[0]["text/markdown"] = "\n\n".join(answer)
    exporter = MarkdownExporter(config=WITHOUT_PICTURES, exclude_input=True)
    page, _ = exporter.from_notebook_node(notebook)
    return re.sub(r"\n{3,}", "\n\n", page).strip() + "\n"
