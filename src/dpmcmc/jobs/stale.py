"""Pages of committed results that are older than what they show: which, and that they say so.

Numbers are old where a part of their recipe has changed (`dpmcmc.jobs.table.recipe`), a page also
where its notebook, the source of figures and words, or the tables have. A page that is old says so
below its title.
"""

import hashlib
import json
from pathlib import Path

from dpmcmc.jobs.table import JOBS, SITE
from dpmcmc.study.sources import PACKAGE, imported, without_prose

FRONT = "README"
MARK = "> **Older than"
OLD_NUMBERS = (
    f"{MARK} the code.** The code or the settings behind some of these numbers have changed since "
    "they were made. `make docs-status` says which."
)
OLD_PAGE = (
    f"{MARK} its source.** The tables, the notebook or the code of the figures have changed since "
    "this page was made. `make pages` makes it again, where it needs no chains."
)


def page_recipe(study, tables):
    """What the pages of a study depend on: a digest for each, `README` among them.

    Parameters
    ----------
    study : Study
    tables : path
        Directory of the tables that they show.
    """
    described = json.loads(JOBS["study"].settings(study, None))
    shown = [Path(tables, f"{name}.csv") for name in study.all_tables]
    contents = [path.read_bytes() for path in shown if path.exists()]
    files = source_of("dpmcmc.reporting.pages") | {SITE / "study.md.j2"}
    digests = {FRONT: digest(described, contents, files)}
    del described["notebooks"]  # a page shows none of the others
    for name, page in study.notebooks.items():
        given = [described, page.parameters]
        digests[name] = digest(given, contents, source_of(str(page.path)))
    return digests


def source_of(module):
    """Files of a module and of what it imports of pages: not of the code that makes tables."""
    files, _ = imported(module)
    return {
        file
        for file in files
        if PACKAGE not in file.parents or PACKAGE / "reporting" in file.parents
    }


def digest(settings, tables, files):
    """Digest of settings, contents of tables, and files of source."""
    whole = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for contents in tables:
        whole.update(contents)
    for file in sorted(files):
        text = file.read_bytes()
        whole.update(file.name.encode())
        whole.update(without_prose(text) if file.suffix == ".py" else text)
    return whole.hexdigest()[:16]


def due(study, directory, record, has_old_numbers):
    """What each page of a study has to say of its age: {path: text, empty if it is none}."""
    was, now = record.get("pages", {}), page_recipe(study, Path(directory, "tables"))
    said = {}
    for name in now:
        path = Path(directory, f"{name}.md" if name == FRONT else f"pages/{name}.md")
        old = OLD_PAGE if was.get(name) != now[name] else ""
        said[path] = OLD_NUMBERS if has_old_numbers else old
    return said


def said_by(path):
    """What a page says of its age: a line, empty if it says nothing."""
    lines = front_of(path)[0].splitlines()
    return next((line for line in lines if line.startswith(MARK)), "")


def say_in(path, text):
    """Let a page say that it is old, or no more."""
    prose, put = front_of(path)
    title, *lines = prose.split("\n")
    if said_by(path):
        del lines[:2]  # an empty line, and what it says
    put("\n".join([title, *["", text][: 2 * bool(text)], *lines]))


def front_of(path):
    """Prose that a page opens with, and a function that puts other prose there."""
    contents = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return contents, lambda prose: path.write_text(prose, encoding="utf-8")
    notebook = json.loads(contents)
    first = notebook["cells"][0]

    def put(prose):
        first["source"] = prose.splitlines(keepends=True)
        text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(f"{text}\n", encoding="utf-8")

    return "".join(first["source"]), put
