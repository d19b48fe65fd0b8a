"""What pages show beside prose and figures: the front page of a study, and tables."""

import re
from html import escape
from pathlib import Path

import jinja2
import pandas as pd

from dpmcmc.evaluation.claims import ABSENT
from dpmcmc.files import JobError, read_json
from dpmcmc.frames import read_csv
from dpmcmc.reporting.recommendation import (
    RULE,
    described,
    headline,
    joined,
    problem_table,
    problems,
    recommendations,
)
from dpmcmc.reporting.words import NUMBER, about_seeds, markdown_table
from dpmcmc.study.tables import TABLES

ANSWER = "answer"  # tag of the cell of a notebook whose first output is the study's answer
CLAIMS_FIGURE = "figure-claims"  # stands beside the claims
TEMPLATE = Path(__file__).with_name("site") / "study.md.j2"
SCROLLED = "pst-scrollable-table-container"  # class of a table's own box: the theme's for its own
LONG_TEXT = 30  # letters: a column of longer texts stays wide on a phone


def front_page(directory):
    """Front page of a study in Markdown: its figure and answer, then pages, claims and tables.

    Parameters
    ----------
    directory : path
        The study's results, with its `provenance.json` and `study.json`; of the tables, what is
        not there is left out.
    """
    directory = Path(directory)
    study = read_json(directory / "study.json")
    tables = {name: directory / f"tables/{name}.csv" for name in TABLES}
    tables = {name: path for name, path in tables.items() if path.exists()}
    values = {"own_answer": own_answer(directory, study["notebooks"])}
    if "ranking" in tables:
        ranking = joined(lambda name: read_csv(tables[name]), tables)
        labels = study["models"], study["algorithms"]
        best = problems(ranking)
        warning = about_seeds(study["seeds"] // study["chains_per_sample"])
        values["headline"] = warning + headline(best)
        values["answers"] = recommendations(*labels, best)
        values["problem_table"] = problem_table(*labels, best)
        values["algorithms"] = described(study["algorithms"], ranking)
    if "claims" in tables:
        values["claim_table"] = claim_table(
            with_labels(read_csv(tables["claims"]), study.get("claim_labels"))
        )
    site = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    site.filters["numbered"] = number_of_figure
    template = site.from_string(TEMPLATE.read_text(encoding="utf-8"))
    figures = {}
    for notebook in study["notebooks"].values():
        figures |= notebook["figures"]
    return template.render(
        study=study,
        figures=list(figures.items()),
        claims_figure=CLAIMS_FIGURE,
        rule=RULE,
        provenance=read_json(directory / "provenance.json"),
        captions={name: TABLES[name] for name in tables},
        **values,
    )


def own_answer(directory, notebooks):
    """Markdown that a page's cell with the tag `answer` has put out; empty if there is no such.

    Raises
    ------
    JobError
        If the first output of such a cell is no Markdown.
    """
    files = [directory / f"notebooks/{name}.ipynb" for name in notebooks]
    for file in filter(Path.exists, files):
        for cell in read_json(file)["cells"]:
            if ANSWER not in cell["metadata"].get("tags", []):
                continue
            shown = [output.get("data", {}).get("text/markdown") for output in cell["outputs"]]
            if not shown or shown[0] is None:
                raise JobError(
                    f"{file.name}: a cell with the tag `{ANSWER}` must show Markdown first"
                )
            return "".join(shown[0])
    return ""


def number_of_figure(name):
    """What the caption of a figure begins with whose name has its number: "Figure 6.3. "."""
    found = re.fullmatch(r"figure-(?:[a-z-]+-)?(\d+\.\d+)", name)
    return f"Figure {found[1]}. " if found else ""


def with_labels(claims, labels):
    """A table of claims, with labels in place of some statements, by number in `claim_labels`."""
    numbered = zip(claims["claim"].map(str), claims["statement"], strict=True)
    return claims.assign(statement=[(labels or {}).get(*claim) for claim in numbered])


def claim_table(claims):
    """The claims of a study that are judged, as a Markdown table."""
    columns = {
        "claim": "no.",
        "section": "section",
        "statement": "claim",
        "comparisons": "comparisons",
    }
    columns |= {"left_out": "left out", "for": "for", "against": "against", "open": "open"}
    judged = claims[claims["verdict"] != ABSENT].rename(columns=columns)
    verdicts = judged["verdict"] + judged["one_decides"].map({True: " (one decides)", False: ""})
    return markdown_table(judged[list(columns.values())].assign(verdict=verdicts))


def table_html(table, formats=None, group=None):
    """HTML of a data frame for a page: text escaped, numbers to the right, in a box that scrolls.

    pandas writes no headings of groups, and no classes of columns but with a style for each cell.

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
    classes = {column: f' class="{name}"' if name else "" for column, name in kinds.items()}
    lines = [f'<div class="{SCROLLED}">', "<table>", "<thead><tr>"]
    lines += [f"<th{classes[column]}>{escape(column)}</th>" for column in kinds]
    lines += ["</tr></thead>", "<tbody>"]
    above = None
    for record in table.to_dict("records"):
        if group and record[group] != above:
            above = record[group]
            said = f"<span>{escape(text(group, above))}</span>"
            heading = f'<th colspan="{len(kinds)}">{said}</th>'
            lines.append(f'<tr class="group">{heading}</tr>')
        cells = [
            f"<td{classes[column]}>{escape(text(column, record[column]))}</td>" for column in kinds
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>", "</div>"])
