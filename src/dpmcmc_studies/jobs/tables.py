"""Tables of the whole study."""

from pathlib import Path

import pandas as pd
from msgspec.structs import asdict

from dpmcmc.files import reading
from dpmcmc_studies.analysis import tables
from dpmcmc_studies.frames import read_csv, write_csv
from dpmcmc_studies.jobs.parts import rows_of
from dpmcmc_studies.study import specs, study_specs


def study_tables(spec: study_specs.StudyTables, parts, directory):
    """Put the tables of all models together, and summarise them, in a directory."""
    by_name = {}
    for path in map(Path, parts):
        by_name.setdefault(path.stem, []).append(path)
    write_tables(tables.study_tables(spec.models, spec.swept, **by_name), directory)


def analysis_tables(spec: study_specs.AnalysisTables, given, directory):
    """Rank the algorithms and judge the claims, in a directory."""
    frames = {Path(path).stem: sound_table(path) for path in given}
    write_tables(tables.analysis_tables(**frames, **asdict(spec)), directory)


def sound_table(path):
    """Table of a file; a JobError if a name of a column shows that it is damaged."""
    table = read_csv(path)
    with reading(path):
        for name in table:
            if not name.isidentifier():
                raise ValueError(f"it has a column {name!r}")
    return table


def write_tables(tables, directory):
    """Write data frames, a dict by name, as CSV files."""
    for name, table in tables.items():
        write_csv(table, Path(directory, f"{name}.csv"))


def joined_table(parts, rows: specs.Rows, output):
    """Put tables of the same columns together, of parts that are taken and of those in files."""
    made, committed = iter(parts), None
    if any(rows.parts.values()):
        committed = read_csv(Path(rows.tables, Path(output).name))
    frames = [
        rows_of(committed, part) if taken else read_csv(next(made))
        for part, taken in rows.parts.items()
    ]
    write_csv(pd.concat(frames, ignore_index=True), output)
