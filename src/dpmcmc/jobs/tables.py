"""Tables of the whole study."""

from pathlib import Path

from dpmcmc.evaluation import tables
from dpmcmc.frames import read_csv, write_csv


def study_tables(spec, output, **parts):
    """Put the tables of all models together, and summarise them, in the directory `output`."""
    write_tables(tables.study_tables(spec, **parts), output)


def analysis_tables(spec, output, summary, accounting, **paths):
    """Rank the algorithms and judge the chapter's claims, in the directory `output`."""
    given = {name: read_csv(path) for name, path in paths.items()}
    for name, listed in (("summary", summary), ("accounting", accounting)):
        given[name] = read_csv(*listed) if listed else None
    write_tables(tables.analysis_tables(**given, **spec), output)


def write_tables(tables, directory):
    """Write data frames, a dict by name, as CSV files."""
    for name, table in tables.items():
        write_csv(table, Path(directory, f"{name}.csv"))


def joined_table(parts, output):
    """Put tables of the same columns together."""
    write_csv(tables.concatenate(parts), output)
