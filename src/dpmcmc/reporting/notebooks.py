"""Execute notebooks with papermill."""

import os
import sys
from pathlib import Path

import papermill


class NotebookError(Exception):
    """A notebook raised; the message is its error in one line."""


def execute(source, output, parameters):
    """Execute a notebook from the current directory, in the kernel of this environment.

    One of that name that the user has installed elsewhere is not taken, nor the user's settings of
    matplotlib. Modules beside the notebook can be imported.

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
        raise NotebookError(f"{source}: {error.ename}: {error.evalue}".splitlines()[0]) from None
