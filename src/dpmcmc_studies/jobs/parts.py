"""Parts of a study's results: what one job makes, or the rows of one cell.

The name of a part is its kind and its ids with "/" between: `baselines/MODEL`, say. `parts.csv`
beside the tables has the fingerprint of every part, the digests of its settings and of its source.
"""

import csv
import io
from pathlib import Path

from dpmcmc.files import reading, replacing

FILE = "parts.csv"
CELL = ["model", "algorithm", "run"]
# Kinds of parts, and the columns of tables that have the ids in their names.
IDS = {
    "reference": ["model"],
    "baselines": ["model"],
    "chains": CELL,
    "scores": CELL,
    "intervals": ["model"],
    "accounting": ["algorithm", "accountant"],
    "certified": CELL,
    "audit": ["case"],
}


def ids_of(part):
    """Ids in the name of a part, by their columns."""
    kind, *ids = part.split("/", 3)  # a run may have slashes
    return dict(zip(IDS[kind], ids, strict=True))


def rows_of(table, part):
    """Rows of a part in a data frame of its kind."""
    is_it = True
    for column, value in ids_of(part).items():
        is_it &= table[column] == value
    return table[is_it]


def read_parts(directory):
    """Fingerprints of parts in a directory of results, a dict by name; empty without the file."""
    path = Path(directory, FILE)
    if not path.exists():
        return {}
    with reading(path), open(path, encoding="utf-8", newline="") as file:
        return {row["part"]: f"{row['settings']}-{row['source']}" for row in csv.DictReader(file)}


def write_parts(fingerprints, path):
    """Write fingerprints, a dict by the names of parts."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["part", "settings", "source"])
    writer.writerows([part, *value.split("-")] for part, value in fingerprints.items())
    with replacing(path) as file:
        file.write(text.getvalue().encode())
