"""Execute notebooks with papermill and render them as pages that need no network."""

import nbformat
import papermill
from nbconvert import HTMLExporter


class NotebookError(Exception):
    """A notebook raised; the message is its error in one line."""


def execute(source, output, parameters):
    """Execute a notebook in this environment's kernel, from the current directory.

    Parameters
    ----------
    source, output : path
        A failed notebook is written as well, with its traceback.
    parameters : dict
        Put into the cell after the one tagged `parameters`.

    Raises
    ------
    NotebookError
        If a cell raises.
    """
    try:
        papermill.execute_notebook(
            source, output, parameters, kernel_name="python3", progress_bar=False
        )
    except papermill.PapermillExecutionError as error:
        raise NotebookError(f"{source}: {error.ename}: {error.evalue}".splitlines()[0]) from None


def render(path):
    """HTML of an executed notebook: results without code, nothing fetched from elsewhere."""
    exporter = HTMLExporter(
        exclude_input=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        require_js_url="",
        mathjax_url="",
        mermaid_js_url="",
        mermaid_layout_elk_js_url="",
        jquery_url="",
        widget_renderer_url="",
    )
    notebook = nbformat.read(path, as_version=4)
    title = notebook.cells[0].source.partition("\n")[0].lstrip("# ")
    html, _ = exporter.from_notebook_node(notebook, resources={"metadata": {"name": title}})
    return html
