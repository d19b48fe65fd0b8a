"""Front page of a study, and tables of pages."""

import re
from html import escape
from pathlib import Path

import jinja2
import pandas as pd
from msgspec import convert

from dpmcmc.files import read_json
from dpmcmc_studies.analysis.claims import ABSENT
from dpmcmc_studies.frames import read_csv
from dpmcmc_studies.reporting.recommendation import described, what_to_use
from dpmcmc_studies.reporting.words import NUMBER, about_seeds, markdown_table
from dpmcmc_studies.study.description import StudyDescription
from dpmcmc_studies.study.notebooks import ANSWER_MARKS
from dpmcmc_studies.study.tables import TABLES

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
    study = convert(read_json(directory / "study.json"), StudyDescription)
    tables = {name: directory / f"tables/{name}.csv" for name in TABLES}
    tables = {name: path for name, path in tables.items() if path.exists()}
    values = {"own_answer": own_answer(directory, study.notebooks)}
    if "ranking" in tables:
        answer = what_to_use(study, lambda name: read_csv(tables[name]), tables)
        warning = about_seeds(study.seeds // study.chains_per_sample)
        values |= answer._asdict() | {"headline": warning + answer.headline}
        values["algorithms"] = described(study.algorithms, read_csv(tables["ranking"]))
    if "claims" in tables:
        values["claim_table"] = claim_table(
            with_labels(read_csv(tables["claims"]), study.claim_labels)
        )
    site = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    site.filters["numbered"] = number_of_figure
    template = site.from_string(TEMPLATE.read_text(encoding="utf-8"))
    figures = [
        {"name": figure, "caption": caption, "page": name, "title": notebook.title}
        for name, notebook in study.notebooks.items()
        for figure, caption in notebook.figures.items()
    ]
    return template.render(
        study=study,
        figures=figures,
        claims_figure=CLAIMS_FIGURE,
        provenance=read_json(directory / "provenance.json"),
        captions={name: TABLES[name] for name in tables},
        **values,
    )


def own_answer(directory, notebooks):
    """Markdown that a notebook gives as the study's answer, from its page; empty without such."""
    start, end = map(re.escape, ANSWER_MARKS)
    for page in filter(Path.exists, (directory / f"pages/{name}.md" for name in notebooks)):
        if answer := re.search(f"{start}(.*?){end}", page.read_text(encoding="utf-8"), re.DOTALL):
            return answer[1].strip()
    return ""


def number_of_figure(name):
    """Start of a figure's caption if its name has a number: "Figure 6.3. "."""
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

    GitHub keeps `align` of a cell, and neither its class nor its style. pandas writes no headings
    of groups, and no alignment of columns but by a style for each cell.

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
    looks = {"number": ' align="right"', "long": ' class="long"', "": ""}
    looks = {column: looks[name] for column, name in kinds.items()}
    lines = [f'<div class="{SCROLLED}">', "<table>", "<thead><tr>"]
    lines += [f"<th{looks[column]}>{escape(column)}</th>" for column in kinds]
    lines += ["</tr></thead>", "<tbody>"]
    above = None
    for record in table.to_dict("records"):
        if group and record[group] != above:
            above = record[group]
            said = f"<span>{escape(text(group, above))}</span>"
            heading = f'<th colspan="{len(kinds)}">{said}</th>'
            lines.append(f'<tr class="group">{heading}</tr>')
        cells = [
            f"<td{looks[column]}>{escape(text(column, record[column]))}</td>" for column in kinds
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>", "</div>"])
