"""Pages: notebooks executed, the site of a study, and what made it."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import to_builtins

from dpmcmc.files import JobError, read_json, replacing, write_json
from dpmcmc_studies.jobs.parts import write_parts
from dpmcmc_studies.jobs.table import SITE
from dpmcmc_studies.study.description import StudyDescription


def describe_study(spec: StudyDescription, output):
    """Write what notebooks and pages know of the study, as JSON."""
    write_json(to_builtins(spec), output)


def notebook(spec: dict, notebook, failed, committed, executed, page):
    """Execute a notebook with the parameters of the spec; write it, and its page in Markdown.

    A notebook that makes no page is kept, with its traceback, under the name `failed`. Where a
    directory `committed` has what the page keeps of chains, it is taken from there.
    """
    from dpmcmc_studies.reporting import notebooks

    study = Path(spec.get("results", ""), "study.json")
    title = read_json(study)["title"] if study.exists() else ""
    if committed:
        shutil.copytree(committed, Path(spec["results"], "kept"), dirs_exist_ok=True)
    with replacing(executed) as ran, replacing(page) as file:
        try:
            notebooks.execute(notebook, ran.name, spec, title)
            file.write(notebooks.markdown(ran.name).encode())
        except notebooks.NotebookError as error:
            Path(failed).parent.mkdir(parents=True, exist_ok=True)
            os.replace(ran.name, failed)
            raise JobError(f"{notebook}: {error}; the notebook as executed is {failed}") from None


def provenance(spec: dict, fingerprints: dict, versions, parts):
    """Record what made the study, and the fingerprints of its parts."""
    from dpmcmc_studies.reporting.provenance import record

    write_json(record(**spec), versions)
    write_parts(fingerprints, parts)


def site(results, page, readme):
    """Write the front page of a study, the site of all its pages, and the file that opens it."""
    from sphinx.cmd.build import main

    from dpmcmc_studies.reporting import pages

    with replacing(readme) as file:
        file.write(pages.front_page(results).encode())
    title = read_json(Path(results, "study.json"))["title"]
    named = ("root_doc=README", f"project={title}", f"html_title={title}")
    settings = [word for value in named for word in ("--define", value)]
    with TemporaryDirectory(dir=results, prefix=".site-") as scratch:
        built = Path(scratch, "site")
        doctrees = ["--doctree-dir", Path(scratch, "doctrees")]
        command = ["--quiet", "--conf-dir", SITE, *doctrees, *settings, results, built]
        if status := main([*map(str, command)]):
            raise JobError(f"Sphinx could not make the site, with status {status}")
        opening = (built / "index.html").read_text(encoding="utf-8")
        place = Path(results, "site")
        shutil.rmtree(place, ignore_errors=True)
        os.replace(built, place)
    with replacing(page) as file:
        file.write(opening.replace("README.html", "site/README.html").encode())
