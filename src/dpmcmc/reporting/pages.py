"""Pages to read: rendered notebooks, and the index of a study. They fetch nothing."""

from pathlib import Path

import jinja2
import nbformat
import pandas as pd
from markupsafe import Markup
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from dpmcmc.evaluation.claims import ABSENT
from dpmcmc.files import read_json
from dpmcmc.frames import read_csv
from dpmcmc.reporting.recommendation import (
    described,
    problem_table,
    problems,
    recommendations,
)
from dpmcmc.reporting.words import NUMBER, about_seeds, markdown_table
from dpmcmc.study.notebooks import heading
from dpmcmc.study.tables import TABLES

TEMPLATES = Path(__file__).with_name("templates")
LONG_TEXT = 30  # letters: a column of longer texts stays wide on a phone

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    autoescape=lambda template: not template.endswith(".md.j2"),
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template, **values):
    """Text of a template; in HTML, values are escaped unless they are Markup."""
    return ENVIRONMENT.get_template(template).render(**values)


def notebook_page(path, name, notebooks):
    """HTML of an executed notebook: prose and results, and at its end the code, folded away.

    Parameters
    ----------
    path : path
        An executed notebook.
    name : str
        Its name in the study.
    notebooks : dict of str to dict
        Those of the study in the order of reading, as in `study.json`, for links to the pages
        before and after this one; empty outside of a study.
    """
    exporter = HTMLExporter(
        template_name="classic",
        raw_template=(TEMPLATES / "notebook.html.j2").read_text(encoding="utf-8"),
        exclude_anchor_links=True,
    )
    notebook = nbformat.read(path, as_version=4)
    body, _ = exporter.from_notebook_node(notebook)
    code = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    names = list(notebooks)
    place = names.index(name) if names else 0
    return render(
        "page.html.j2",
        title=heading(notebook.cells)[0] or "A notebook",
        body=Markup(body),
        code=Markup(highlight(code, PythonLexer(), HtmlFormatter())),
        previous=names[:place][-1:],
        next=names[place + 1 :][:1],
        notebooks=notebooks,
        highlight_css=HtmlFormatter().get_style_defs(".highlight"),
    )


def index(directory):
    """Index of a study in Markdown: what to use, and the way to all pages, figures and tables.

    Parameters
    ----------
    directory : path
        The study's results, with its `provenance.json` and `study.json`; of the tables and PDFs,
        what is not there is left out.
    """
    directory = Path(directory)
    study = read_json(directory / "study.json")
    tables = {name: directory / f"tables/{name}.csv" for name in TABLES}
    tables = {name: path for name, path in tables.items() if path.exists()}
    values = {"answers": [], "problem_table": "", "algorithms": [], "claim_table": ""}
    if "ranking" in tables:
        ranking, timings = (read_csv(tables[name]) for name in ("ranking", "timings"))
        labels = study["models"], study["algorithms"]
        best = problems(ranking, timings)
        warning = about_seeds(study["seeds"] // study["chains_per_sample"])
        values["answers"] = [*filter(None, [warning]), *recommendations(*labels, best)]
        values["problem_table"] = problem_table(*labels, best)
        values["algorithms"] = described(study["algorithms"], ranking)
    if "claims" in tables:
        values["claim_table"] = claim_table(read_csv(tables["claims"]))
    return render(
        "index.md.j2",
        title=f"Results of the study {study['study']}",
        study=study,
        provenance=read_json(directory / "provenance.json"),
        pdfs={path.stem for path in directory.glob("figures/*.pdf")},
        captions={name: TABLES[name] for name in tables},
        **values,
    )


def index_page(text):
    """HTML of an index in Markdown; its links to other studies lead to their pages."""
    renderer = IPythonRenderer(escape=False, exclude_anchor_links=True)
    body = MarkdownWithMath(renderer).render(text.replace("/README.md)", "/index.html)"))
    title = text.partition("\n")[0].removeprefix("# ")
    return render("page.html.j2", title=title, body=Markup(body))


def claim_table(claims):
    """The claims of a study that are judged, as a Markdown table."""
    columns = {"claim": "no.", "section": "section", "statement": "claim", "comparisons": "count"}
    columns |= {"left_out": "left out", "for": "for", "against": "against", "open": "open"}
    judged = claims[claims["verdict"] != ABSENT].rename(columns=columns)
    verdicts = judged["verdict"] + judged["one_decides"].map({True: " (one decides)", False: ""})
    return markdown_table(judged[list(columns.values())].assign(verdict=verdicts))


def table_html(table, formats=None, group=None):
    """HTML of a data frame for a page: text escaped, numbers to the right.

    Parameters
    ----------
    table : DataFrame, or list of dict
        An index is not shown.
    formats : dict of str to str, optional
        Format specification of a column's numbers, e.g. ".3f"; by default ".4g". Missing values
        show as a dash.
    group : str, optional
        A column that is shown as a line above the rows where its value changes.
    """
    table = pd.DataFrame(table)
    formats = formats or {}

    def text(column, value):
        if pd.isna(value):
            return "–"
        if isinstance(value, str | bool) or not pd.api.types.is_number(value):
            return str(value)
        default = ",.0f" if float(value).is_integer() and abs(value) < 1e15 else ".4g"
        return format(value, formats.get(column, default))

    def kind(values):
        texts = values.map(str)
        if pd.api.types.is_numeric_dtype(values) or texts.str.fullmatch(NUMBER).all():
            return "number"
        return "long" if texts.map(len).max() > LONG_TEXT else ""

    kinds = {column: kind(table[column]) for column in table if column != group}
    rows = [
        {column: text(column, value) for column, value in record.items()}
        for record in table.to_dict("records")
    ]
    return render("table.html.j2", kinds=kinds, rows=rows, group=group)
