"""Parts of a study's results: what one job makes, or the rows of one cell.

The name of a part is its kind and its ids with "/" between: `baselines/MODEL`, say. `parts.csv`
beside the tables has the fingerprint of every part, the digests of its settings and of its source.
A new kind of part is an entry of `KINDS`.
"""

import csv
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from dpmcmc.files import reading, replacing
from dpmcmc_studies.study.specs import CELL_COLUMNS as CELL

FILE = "parts.csv"


class Kind(NamedTuple):
    """A kind of part."""

    ids: list[str]  # columns of tables that have the ids in the names of its parts
    made_by: list[str]  # jobs that its values depend on
    # Ids of its parts in a study that have rows in tables: a reference has no rows.
    of_study: Callable[[Any], Iterable[str | tuple[str, ...]]] = lambda study: []
    files: tuple[str, ...] = ()  # where a run has the rows of a part
    table_job: str | None = None  # of rows of chains: the job of a whole model that makes them

    @property
    def is_joined(self):
        """True if a table of the study puts the files of its parts one below another."""
        return len(self.files) == 1


CHAIN = ["dataset", "reference", "budget", "chain"]
KINDS = {
    "reference": Kind(["model"], ["dataset", "reference"]),
    "baselines": Kind(
        ["model"],
        ["dataset", "reference", "baselines", "baseline_table"],
        lambda study: study.model_ids,
        ("tables/models/{}/baselines.csv", "tables/models/{}/starts.csv"),
    ),
    "chains": Kind(CELL, CHAIN, lambda study: study.cells, table_job="chain_table"),
    "scores": Kind(
        CELL,
        CHAIN,
        lambda study: [cell for model in study.scored_models for cell in study.cells_of(model)],
        table_job="score_table",
    ),
    "intervals": Kind(
        ["model"],
        ["intervals"],
        lambda study: study.interval_models,
        ("tables/models/{}/intervals.csv",),
    ),
    "accounting": Kind(
        ["algorithm", "accountant"],
        ["accounting_curve"],
        lambda study: study.accounting_curves,
        ("accounting/{}.csv",),
    ),
    "certified": Kind(
        CELL,
        ["budget", "certification"],
        lambda study: [cell for cell, _ in study.replaced_cells],
        ("certified/{}.csv",),
    ),
    "audit": Kind(["case"], ["audit_case"], lambda study: study.audited_cases, ("audit/{}.csv",)),
}
OF_CHAINS = [name for name, kind in KINDS.items() if kind.table_job]


def kind_of(part):
    """The kind of a part, by its name."""
    return KINDS[part.partition("/")[0]]


def parts_of(study, kind):
    """Names of the parts of a kind in a study, in order."""
    ids = KINDS[kind].of_study(study)
    return [f"{kind}/{one if isinstance(one, str) else '/'.join(one)}" for one in ids]


def ids_of(part):
    """Ids in the name of a part, by their columns."""
    _, *ids = part.split("/", 3)  # a run may have slashes
    return dict(zip(kind_of(part).ids, ids, strict=True))


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
