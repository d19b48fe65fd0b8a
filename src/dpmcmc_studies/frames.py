"""Tables as CSV files."""

import pandas as pd

from dpmcmc.files import reading, replacing


def read_csv(path):
    """Data frame of a table; ids stay text (one may be "007" or "nan"), floats keep all digits."""
    with reading(path):
        return pd.read_csv(
            path,
            dtype={"model": str, "algorithm": str},
            keep_default_na=False,
            na_values=[""],
        )


def write_csv(table, path):
    """Write a data frame; floats in full precision, missing values empty."""
    with replacing(path) as file:
        table.to_csv(file, index=False)


def whole(table, column):
    """A table with a column, where it has it, of whole numbers, some of them missing."""
    return table.astype({column: "Int64"}) if column in table else table
