"""Sphinx: how docs/, or the results of one study, become a site that a folder can hold.

`make docs` builds docs/, with the folder pages/ beside this file, into results/site. A study's own
site is built from its results by the same settings: its rule says `root_doc` and `project`. Pages
are Markdown. Nothing is executed, and nothing is fetched.
"""

import json
import os
import re
from pathlib import Path

import PIL.Image
from docutils import nodes

from dpmcmc_studies.reporting.figures.style import PIXEL_RATIO

CHECKOUT = Path(__file__).parents[4]
# Files of the checkout that pages of the site include.
ELSEWHERE = {"README.md": "index", "CONTRIBUTING.md": "contributing"}
ELSEWHERE |= {"examples/README.md": "examples", "results/README.md": "results"}

project = "dpmcmc"
author = "The dpmcmc authors"
root_doc = "index"
html_title = "dpmcmc"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
include_patterns = ["*.md", "api/*.rst", "*/README.md", "*/pages/*.md", "pages/*.md"]
exclude_patterns = ["site", "chains", "data", "logs", "**/tables", ".*"]

# -- Pages -----------------------------------------------------------------------------------------

myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

# -- The public names ------------------------------------------------------------------------------

autosummary_generate = True
templates_path = [str(Path(__file__).with_name("templates"))]
autodoc_default_options = {"members": True}
autodoc_typehints = "none"  # docstrings say what parameters are
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
default_role = "py:obj"

# -- The site --------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_context = {"default_mode": "auto"}  # dark or light, as the reader's system says
html_show_sphinx = False
html_show_search_summary = False  # it would fetch pages, which file:// refuses
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "footer_start": [],
    "footer_end": [],
}


def with_links(text, folder, source):
    """Markdown of a file in a folder, with links that are right at the top of the site's source."""

    def place(match):
        path = os.path.normpath(Path(folder, match[1]))
        name = os.path.relpath(path, CHECKOUT)
        if name in ELSEWHERE:
            return f"]({ELSEWHERE[name]}.md"
        is_page = name.startswith("docs/")  # the source is a copy of docs/, beside it
        return f"]({name.removeprefix('docs/') if is_page else os.path.relpath(path, source)}"

    return re.sub(r"\]\((?!\w+:|#)([^)#\s]+)", place, text)


def move_links(app, path, docname, text):
    """Let links be right in a page that is included from elsewhere in the checkout."""
    text[0] = with_links(text[0], Path(app.srcdir, path).parent, app.srcdir)


def list_pages(app, docname, source):
    """Put the pages of a study below its README, in the order of reading."""
    if "/" not in docname:
        source[0] = with_links(source[0], app.srcdir, app.srcdir)
    described = Path(app.srcdir, f"{docname}.md").with_name("study.json")
    if docname.endswith("README") and described.exists():
        pages = json.loads(described.read_text(encoding="utf-8"))["notebooks"]
        names = "\n".join(f"pages/{name}" for name in pages)
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def size_images(app, doctree):
    """Show a picture at the size of a page; Sphinx makes it a link to its file, if it is none."""
    for image in doctree.findall(nodes.image):
        path = Path(app.srcdir, image["uri"])
        if path.suffix == ".png" and path.exists():
            with PIL.Image.open(path) as picture:
                image["width"] = f"{picture.width // PIXEL_RATIO}px"
            if not isinstance(image.parent, nodes.paragraph):
                image["classes"].append("no-scaled-link")


OPENING = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Results</title>
<meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">Results</a></html>
"""


def open_folders(app, error):
    """Let the folder of a README open with it."""
    is_made = error is None and app.builder.format == "html"
    for docname in app.env.found_docs if is_made else ():
        if os.path.basename(docname) == "README":
            page = Path(app.outdir, docname).with_name("index.html")
            page.write_text(OPENING, encoding="utf-8")


def escape_bars(app, what, name, thing, options, lines):
    """Let |x| be an absolute value in a docstring."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def setup(app):
    """Connect what is said above."""
    app.connect("autodoc-process-docstring", escape_bars, priority=400)  # before napoleon
    app.connect("include-read", move_links)
    app.connect("source-read", list_pages)
    app.connect("doctree-read", size_images)
    app.connect("build-finished", open_folders)
