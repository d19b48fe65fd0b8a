"""Pages: notebooks executed and rendered, the index, and what made the study."""

import os
from pathlib import Path

from dpmcmc.files import JobError, read_json, replacing, write_json


def describe_study(spec, output):
    """Write what notebooks and pages are told of the study, as JSON."""
    write_json(spec, output)


def notebook(spec, notebook, output, html, failed):
    """Execute a notebook with the parameters of the spec; write it and its rendered page.

    A notebook that fails is kept, with its traceback, under the name `failed`.
    """
    from dpmcmc.reporting import notebooks, pages

    with replacing(output) as executed, replacing(html) as page:
        try:
            notebooks.execute(notebook, executed.name, spec)
        except notebooks.NotebookError as error:
            Path(failed).parent.mkdir(parents=True, exist_ok=True)
            os.replace(executed.name, failed)
            raise JobError(f"{error}; the notebook with its traceback is {failed}") from None
        study = Path(spec.get("results", ""), "study.json")
        order = read_json(study)["notebooks"] if study.exists() else {}
        page.write(pages.notebook_page(executed.name, Path(output).stem, order).encode())


def provenance(spec, output):
    """Record what made the study."""
    from dpmcmc.reporting.provenance import record

    write_json(record(**spec), output)


def index(results, output, readme):
    """Write the index that leads to all results, as Markdown and as a page."""
    from dpmcmc.reporting import pages

    text = pages.index(results)
    for path, contents in ((readme, text), (output, pages.index_page(text))):
        with replacing(path) as file:
            file.write(contents.encode())
