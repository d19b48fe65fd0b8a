"""Whether a study that has run here has the numbers of one that was committed."""

from pathlib import Path

import pandas as pd

from dpmcmc.files import read_json, reading

# What a row is about; rows alike in these are compared in their order.
LABELS = ("model", "algorithm", "epsilon", "accountant", "seed", "baseline", "claim", "comparison")
LABELS += ("case", "bound", "clip_bound")
JUDGED = ("rank", "verdict")  # columns that readers go by: each change of these is named
APART = {"timings"}  # tables of what only this machine can say
MOST_NAMED = 10  # changes of a judgement


def verify(results, docs):
    """Compare the tables of a study with those that were committed.

    Parameters
    ----------
    results, docs : path
        Directories with `tables/` and `provenance.json`.

    Returns
    -------
    lines : list of str
        What differs, for people; empty if all tables but the timings are identical.
    circumstances : list of str
        Of what fixes the digits, what was another there.
    """
    found, committed = (
        {path.stem: path for path in Path(top, "tables").glob("*.csv") if path.stem not in APART}
        for top in (results, docs)
    )
    lines = [f"{name}.csv is in {docs} alone" for name in sorted(committed.keys() - found)]
    lines += [f"{name}.csv is in {results} alone" for name in sorted(found.keys() - committed)]
    for name in sorted(found.keys() & committed):
        if found[name].read_bytes() != committed[name].read_bytes():
            tables = [read_text(path) for path in (committed[name], found[name])]
            lines += [f"{name}.csv: {line}" for line in differences(*tables)]
    records = [read_json(Path(top, "provenance.json")) for top in (docs, results)]
    return lines, list(circumstances(*records))


def read_text(path):
    """A table as it is written: every value text."""
    with reading(path):
        return pd.read_csv(path, dtype=str, keep_default_na=False)


def differences(committed, found):
    """Lines that say which rows and columns of a table differ, and by how much.

    Parameters
    ----------
    committed, found : DataFrame of str
    """
    lines = []
    for column in committed.columns.symmetric_difference(found.columns, sort=False):
        lines.append(f"column {column} is {'not there' if column in committed else 'new'}")
    columns = [column for column in committed if column in found]
    labels = [label for label in LABELS if label in columns]
    one, other = (labelled(table, labels) for table in (committed, found))
    shared = one.index.intersection(other.index, sort=False)
    for missing, where in ((len(one) - len(shared), "gone"), (len(other) - len(shared), "new")):
        if missing:
            lines.append(f"{missing} rows are {where}")
    one, other = one.loc[shared], other.loc[shared]
    is_other = one[columns] != other[columns]
    if count := is_other.any(axis=1).sum():
        lines.append(f"{count} of {len(shared)} rows differ")
    for column in columns:
        rows = is_other[column]
        if rows.any():
            lines.append(f"{column} differs in {rows.sum()} rows{how_far(one, other, column)}")
            if column in JUDGED:
                lines += changes(one.loc[rows], other.loc[rows], labels, column)
    return lines or ["the same rows in another order, or written otherwise"]


def labelled(table, labels):
    """A table by its labels and, of rows with the same ones, their order."""
    order = table.groupby(labels).cumcount() if labels else range(len(table))
    return table.set_index([*(table[label] for label in labels), pd.Index(order)])


def how_far(one, other, column):
    """The largest difference of numbers, as the end of a line; nothing where text differs."""
    numbers = [pd.to_numeric(table[column], errors="coerce") for table in (one, other)]
    largest = (numbers[1] - numbers[0]).abs().max()
    return f", by at most {largest:.3g}" if largest > 0 else ""


def changes(one, other, labels, column):
    """Lines of what is judged otherwise."""
    lines = [
        f"{column} of {', '.join(f'{label} {row[label]}' for label in labels)}: "
        f"{row[column]} -> {now}"
        for (_, row), now in zip(one.iterrows(), other[column], strict=True)
    ]
    more = [f"and {len(lines) - MOST_NAMED} more"] if len(lines) > MOST_NAMED else []
    return lines[:MOST_NAMED] + more


def circumstances(committed, found):
    """Lines of what fixes the digits and was another for committed results: source, libraries."""
    if committed["config"] != found["config"]:
        yield "the settings were others"
    if committed["source"] != found["source"]:
        yield f"the source was {committed['source']}, and is {found['source']}"
    was, now = (record.get("digits", {}) for record in (committed, found))
    for name in sorted(was.keys() | now):
        if was.get(name) != now.get(name):
            yield f"{name} was {was.get(name, 'not recorded')}, and is {now.get(name)}"
