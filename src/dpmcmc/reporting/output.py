"""Outputs of a page's cells: prose and tables. Figures are shown by `Study.show`."""

from IPython.display import HTML, Markdown, display

from dpmcmc.reporting.pages import table_html


def say(*texts):
    """Show texts, put together, as Markdown."""
    display(Markdown("".join(texts)))


def show_table(table, formats=None, group=None, folded=""):
    """Show a table; parameters as for `dpmcmc.reporting.pages.table_html`.

    Parameters
    ----------
    folded : str
        Title of a box that a reader opens to see the table; by default it is open.
    """
    html = table_html(table, formats, group)
    if folded:
        html = f"<details><summary>{folded}</summary>{html}</details>"
    display(HTML(html))
