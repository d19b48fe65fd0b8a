"""Tables of studies that are committed in a checkout, under docs/NAME/tables."""

import csv
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from dpmcmc.extras import missing

if TYPE_CHECKING:
    import pandas as pd


def checkout() -> Path | None:
    """Top of a checkout: the current folder, or where this package is; None without one."""
    for folder in (Path.cwd(), Path(__file__).parents[2]):
        if (folder / "Snakefile").is_file() and (folder / "docs").is_dir():
            return folder
    return None


def results(study: str | PathLike[str], table: str = "summary") -> "pd.DataFrame":
    """A table of a study's results, as a pandas data frame.

    Parameters
    ----------
    study : str or path
        Name of a study whose results are committed, such as "which-method"; or a folder with
        results, such as "results/my-study".
    table : str
        Name of one of its tables: "summary" has a row for each cell, "chains" one for each chain.
        results/README.md says what the columns of all tables are.

    Raises
    ------
    ValueError
        If there is no such study, or it has no such table, with the valid names.
    ModuleNotFoundError
        Without pandas.
    """
    file = table_file(study, table)
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(missing(error.name, "studies"), name=error.name) from None
    text = {"model": str, "algorithm": str}  # an id may be "007" or "nan"
    return pd.read_csv(file, dtype=text, keep_default_na=False, na_values=[""])


def rows(study: str | PathLike[str], table: str) -> list[dict[str, str]]:
    """Rows of a table by their columns, as texts; parameters and errors as for `results`."""
    with open(table_file(study, table), encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table_file(study: str | PathLike[str], table: str) -> Path:
    """File of a table; a ValueError if there is none."""
    folder = folder_of(study) / "tables"
    valid = sorted(file.stem for file in folder.glob("*.csv"))
    if table not in valid:
        raise ValueError(f"{study} has no table {table}; valid tables: {', '.join(valid)}")
    return folder / f"{table}.csv"


def folder_of(study: str | PathLike[str]) -> Path:
    """Folder with the results of a study, which may be that folder itself; or a ValueError."""
    if (Path(study) / "tables").is_dir():
        return Path(study)
    top = checkout()
    found = sorted(top.glob("docs/*/tables")) if top else []
    valid = {path.parent.name: path.parent for path in found}
    if str(study) not in valid:
        names = ", ".join(valid) or "none, as there is no checkout of dpmcmc here"
        raise ValueError(
            f"{study} is no study with committed results, and no folder with tables; valid "
            f"studies: {names}"
        )
    return valid[str(study)]
