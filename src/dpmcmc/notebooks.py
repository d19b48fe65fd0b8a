"""Execute notebooks with papermill."""

import papermill


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
