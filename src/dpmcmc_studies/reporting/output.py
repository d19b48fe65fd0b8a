"""Outputs of a page's cells: prose and tables. Figures are shown by `StudyResults.show`."""

from IPython.display import HTML, Markdown, display

from dpmcmc_studies.reporting.pages import table_html


def say(*texts, folded=""):
    """Show texts, put together, as Markdown.

    Parameters
    ----------
    *texts : str
    folded : str
        Title of a box that a reader opens to see them; by default they are open.
    """
    text = "".join(texts)
    display(Markdown(box(folded, f"\n\n{text}\n\n") if folded else text))


def show_table(table, formats=None, group=None, folded="", note=""):
    """Show a table; parameters as for `dpmcmc_studies.reporting.pages.table_html`.

    Parameters
    ----------
    folded : str
        Title of a box that a reader opens to see the table; by default it is open.
    note : str
        HTML above the table.
    """
    html = note + table_html(table, formats, group)
    display(HTML(box(folded, html) if folded else html))


def box(title, contents):
    """HTML of a box that a reader opens to see its contents."""
    return f"<details><summary>{title}</summary>{contents}</details>"
