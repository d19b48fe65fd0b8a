"""Pages to read: rendered notebooks, and the index of a study. They fetch nothing."""

from pathlib import Path

import jinja2
import nbformat
import pandas as pd
import yaml
from markupsafe import Markup
from nbconvert import HTMLExporter
from pygments.formatters import HtmlFormatter

from dpmcmc.files import read_json
from dpmcmc.frames import read_csv
from dpmcmc.reporting.captions import TABLES
from dpmcmc.study.notebooks import heading

TEMPLATES = Path(__file__).with_name("templates")
PREVIEWED_ROWS = 20  # of a table, on the index
LONG = 30  # letters: a column of longer texts stays wide on a phone
FEW = 6  # seeds, below which a bootstrap interval is far too short

ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template, **values):
    """HTML of a template; values are escaped unless they are Markup."""
    return ENVIRONMENT.get_template(template).render(**values)


def notebook_page(path):
    """HTML of an executed notebook: prose and results, the code folded away.

    The default parameters are left out, as those of the study follow them.

    Parameters
    ----------
    path : path
        An executed notebook.
    """
    exporter = HTMLExporter(
        template_name="classic",
        raw_template=(TEMPLATES / "notebook.html.j2").read_text(),
        exclude_anchor_links=True,
    )
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [
        cell for cell in notebook.cells if "parameters" not in cell.metadata.get("tags", [])
    ]
    body, _ = exporter.from_notebook_node(notebook)
    return render(
        "page.html.j2",
        title=heading(notebook.cells)[0] or "A notebook",
        body=Markup(body),
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
    notebooks = [
        entry | {"name": name, "thumbnail": next(iter(entry["figures"]), None)}
        for name, entry in read_json(directory / "study.json")["notebooks"].items()
    ]
    figures = [
        {
            "name": figure,
            "caption": caption,
            "notebook": notebook["name"],
            "title": notebook["title"],
            "pdf": (directory / f"figures/{figure}.pdf").exists(),
        }
        for notebook in notebooks
        for figure, caption in notebook["figures"].items()
    ]
    claims = directory / "tables/claims.csv"
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
        "figures": figures,
        "tables": tables,
        "claims": read_csv(claims).to_dict("records") if claims.exists() else [],
        "made": made,
        "settings": yaml.safe_dump(provenance["config"], sort_keys=False, width=100),
    }


def describe_table(path):
    """How many rows a table has, and what the first of them hold."""
    table = read_csv(path)
    shown = min(len(table), PREVIEWED_ROWS)
    return {"rows": len(table), "shown": shown, "preview": Markup(table_html(table.head(shown)))}


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
        A column that is shown in the first of successive rows with one value only.
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
        if pd.api.types.is_numeric_dtype(values):
            return "number"
        return "long" if values.map(str).map(len).max() > LONG else ""

    columns = [{"name": column, "kind": kind(table[column])} for column in table]
    rows, previous = [], None
    for record in table.to_dict("records"):
        is_new = group is not None and record[group] != previous
        previous = record[group] if group is not None else None
        cells = [text(column, value) for column, value in record.items()]
        if group is not None and not is_new:
            cells[list(record).index(group)] = ""
        rows.append({"cells": cells, "is_new": is_new})
    return render("table.html.j2", columns=columns, rows=rows)


def interval(value, low, high, spec=".3f"):
    """Text of an estimate with its interval, on one line."""
    return f"{value:{spec}}\N{NO-BREAK SPACE}[{low:{spec}},\N{NO-BREAK SPACE}{high:{spec}}]"


def percent(fraction):
    """Text of a small fraction, such as that of clipped rows."""
    return "<0.01 %" if 0 < fraction < 1e-4 else f"{100 * fraction:.2f} %"


def about_seeds(number):
    """A warning for readers of intervals that rest on few chains; empty otherwise."""
    if number >= FEW:
        return ""
    chains = "one chain" if number == 1 else f"{number} chains"
    return (
        f"**This study has {chains} a cell: too few for intervals, ranks and verdicts to mean "
        "anything.** They are shown as they would be for more.\n\n"
    )


def listing(items):
    """Words for a list: "a", "a and b", "a, b and c"."""
    *rest, last = items
    return f"{', '.join(rest)} and {last}" if rest else last
