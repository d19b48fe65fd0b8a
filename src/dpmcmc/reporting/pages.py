"""Pages to read: rendered notebooks, and the index of a study. They fetch nothing."""

import re
from pathlib import Path

import jinja2
import nbconvert.filters
import nbformat
import pandas as pd
import yaml
from markupsafe import Markup
from nbconvert import HTMLExporter
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from dpmcmc.evaluation.claims import ABSENT
from dpmcmc.files import read_json
from dpmcmc.frames import read_csv
from dpmcmc.reporting.captions import TABLES
from dpmcmc.reporting.recommendation import (
    described,
    problem_rows,
    problems,
    recommendations,
)
from dpmcmc.reporting.words import about_seeds
from dpmcmc.study.notebooks import heading

TEMPLATES = Path(__file__).with_name("templates")
PREVIEWED_ROWS = 20  # of a table, on the index
# A number, an interval after it, or what stands for none: texts of a column of numbers.
NUMBER = re.compile(r"[-+<]?[\d.,]+( ?%)?( \[.*\])?|–|none|nan")
LONG = 30  # letters: a column of longer texts stays wide on a phone

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template, **values):
    """HTML of a template; values are escaped unless they are Markup."""
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
        raw_template=(TEMPLATES / "notebook.html.j2").read_text(),
        exclude_anchor_links=True,
    )
    notebook = nbformat.read(path, as_version=4)
    body, _ = exporter.from_notebook_node(notebook)
    code = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    names = list(notebooks)
    place = names.index(name) if names else 0
    around = {"previous": names[:place][-1:], "next": names[place + 1 :][:1]}
    return render(
        "page.html.j2",
        title=heading(notebook.cells)[0] or "A notebook",
        body=Markup(body),
        code=Markup(highlight(code, PythonLexer(), HtmlFormatter())),
        around={
            side: {"name": other, "title": notebooks[other]["title"]}
            for side, found in around.items()
            for other in found
        },
        highlight_css=HtmlFormatter().get_style_defs(".highlight"),
    )


def contents(directory):
    """What the index of a study shows, for the templates index.html.j2 and readme.md.j2.

    Parameters
    ----------
    directory : path
        The study's results, with its `provenance.json` and `study.json`; of the tables and PDFs,
        what is not there is left out.
    """
    directory = Path(directory)
    provenance = read_json(directory / "provenance.json")
    study = read_json(directory / "study.json")
    notebooks = [entry | {"name": name} for name, entry in study["notebooks"].items()]
    pdfs = {path.stem for path in directory.glob("figures/*.pdf")}
    claims, ranking, timings = (
        read_csv(path) if (path := directory / f"tables/{name}.csv").exists() else None
        for name in ("claims", "ranking", "timings")
    )
    judged = [] if claims is None else claims[claims["verdict"] != ABSENT].to_dict("records")
    answers, solved, algorithms = [], [], []
    if ranking is not None:
        labels = study["models"], study["algorithms"]
        best = problems(ranking, timings)
        answers, solved = recommendations(*labels, best), problem_rows(*labels, best)
        answers.insert(0, about_seeds(study["seeds"] // study["chains_per_sample"]))
        algorithms = described(study["algorithms"], ranking)
    tables = [
        {"name": name, "caption": caption} | describe_table(path)
        for name, caption in TABLES.items()
        if (path := directory / f"tables/{name}.csv").exists()
    ]
    made = {
        "Date": provenance["date"],
        "Source digest": provenance["source"],
        "Platform": f"{provenance['platform']}, {provenance['processor']}",
        "Python": provenance["python"],
    }
    return {
        "title": f"Results of the study {provenance['study']}",
        "provenance": provenance,
        "notebooks": notebooks,
        "pdfs": pdfs,
        "tables": tables,
        "answers": answers,
        "algorithms": algorithms,
        "problems": solved,
        "problem_table": problem_table(solved) if solved else "",
        "remarks": study["remarks"],
        "related": study["related"],
        "claims": judged,
        "made": made,
        "settings": yaml.safe_dump(provenance["config"], sort_keys=False, width=100),
    }


def markdown(text):
    """HTML of Markdown, as notebooks show it."""
    return Markup(nbconvert.filters.markdown2html(text))


ENVIRONMENT.filters["markdown"] = markdown


def problem_table(rows):
    """HTML of rows of `problem_rows`, with ε and names, which are long, in a line above each."""
    titled = [
        {key: value for key, value in row.items() if key not in ("ε", "nearest")}
        | {"title": f"ε = {row['ε']}: {row['nearest']}"}
        for row in rows
    ]
    return Markup(table_html(titled, group="posterior", title="title"))


def describe_table(path):
    """How many rows a table has, and what the first of them hold."""
    table = read_csv(path)
    shown = min(len(table), PREVIEWED_ROWS)
    return {"rows": len(table), "shown": shown, "preview": Markup(table_html(table.head(shown)))}


def table_html(table, formats=None, group=None, title=None):
    """HTML of a data frame for a page: text escaped, numbers to the right.

    Parameters
    ----------
    table : DataFrame, or list of dict
        An index is not shown.
    formats : dict of str to str, optional
        Format specification of a column's numbers, e.g. ".3f"; by default ".4g". Missing values
        show as a dash.
    group, title : str, optional
        Columns that are shown as lines above rows: where the value of `group` changes, and above
        each row.
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
        return "long" if texts.map(len).max() > LONG else ""

    names = [column for column in table if column not in (group, title)]
    columns = [{"name": column, "kind": kind(table[column])} for column in names]
    rows, previous = [], object()
    for record in table.to_dict("records"):
        lines = []
        if group is not None and record[group] != previous:
            lines.append({"kind": "group", "text": text(group, record[group])})
            previous = record[group]
        if title is not None:
            lines.append({"kind": "title", "text": record[title]})
        rows.append({"lines": lines, "cells": [text(name, record[name]) for name in names]})
    return render("table.html.j2", columns=columns, rows=rows)
