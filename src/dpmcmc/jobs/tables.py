"""Tables of the whole study."""

from pathlib import Path

from dpmcmc.evaluation import tables
from dpmcmc.frames import read_csv, write_csv


def study_tables(spec, chains, timings, baselines, budgets, output):
    """Put the tables of all models together, and summarise them, in the directory `output`."""
    write_tables(tables.study_tables(spec, chains, timings, baselines, budgets), output)


def analysis_tables(spec, chains, baselines, models, accounting, output):
    """Rank the algorithms and judge the chapter's claims, in the directory `output`."""
    given = [read_csv(path) for path in (chains, baselines, models)]
    curves = read_csv(*accounting) if accounting else None
    write_tables(tables.analysis_tables(*given, **spec, accounting=curves), output)


def write_tables(tables, directory):
    """Write data frames, a dict by name, as CSV files."""
    for name, table in tables.items():
        write_csv(table, Path(directory, f"{name}.csv"))


def joined_table(parts, output):
    """Put tables of the same columns together."""
    write_csv(tables.concatenate(parts), output)
