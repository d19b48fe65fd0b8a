"""Data of one's own: the columns of a CSV, Parquet or .npy file as the data set of a model.

Read when the configuration is, which checks everything, and once more by the job that writes the
data set. No message quotes a value, since data may be secret, nor a name that the file gives its
columns, which may be one; rows are counted from 1.
"""

import csv
import hashlib
import io
import traceback
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpmcmc.models.model import Model
from dpmcmc.new_processes import Raised, row_dependence
from dpmcmc.random_streams import generator


class DataError(ValueError):
    """A file, or what a model makes of it, that is no data set; the message is one line."""


class DataFile:
    """A file that has been read, and whose numbers are looked at when they are asked for.

    Parameters
    ----------
    path : path
        Its suffix says what it is: one of `READERS`.

    Attributes
    ----------
    digest : str
        Of its bytes: the first 16 hexadecimal digits of their SHA-256.
    num_rows : int
    names : list of str, or None
        None for the plain array of a .npy file, whose columns have none.

    Raises
    ------
    DataError
        If the file is missing, or not what its suffix says.
    """

    def __init__(self, path):
        self.path = Path(path)
        if self.path.suffix not in READERS:
            raise DataError(f"{self.path.name}: must end in {', '.join(READERS)}")
        try:
            contents = self.path.read_bytes()
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from None
        self.digest = hashlib.sha256(contents).hexdigest()[:16]
        try:
            self._read(contents)
        except DataError as error:
            raise DataError(f"{self.path.name}: {error}") from None
        except Exception as error:  # messages of libraries may quote values
            raise DataError(
                f"{self.path.name} is no valid {self.path.suffix} file ({type(error).__name__})"
            ) from None

    def _read(self, contents):
        self._table = READERS[self.path.suffix](contents)
        self.names, self.num_rows = self._table.names, self._table.num_rows

    def rows(self, columns):
        """Some columns, in their order, as (n, p).

        Parameters
        ----------
        columns : list of str
            Of a file without names of columns, these are its columns from the first to the last.

        Raises
        ------
        DataError
            If a column is missing, or holds anything but finite numbers; with the first such row.
        """
        rows = np.empty((self.num_rows, len(columns)))
        found = self._table.numbers(list(self._places(columns)))
        for i, (name, (values, is_text)) in enumerate(zip(columns, found, strict=True)):
            is_bad = is_text | ~np.isfinite(values)
            if is_bad.any():
                first = int(is_bad.argmax())
                what = (
                    "is no number; recode it" if is_text[first] else "is missing, NaN or infinite"
                )
                more = f" (and {is_bad.sum() - 1} more)" if is_bad.sum() > 1 else ""
                raise DataError(f"{self.path.name}: row {first + 1} of column {name} {what}{more}")
            rows[:, i] = values
        return rows

    def _places(self, columns):
        if self.names is None:
            count = self._table.num_columns
            if count != len(columns):
                raise DataError(
                    f"{self.path.name}: has {count} columns, and the model takes {len(columns)}: "
                    f"{', '.join(columns)}"
                )
            return range(count)
        # None of the file's names is quoted: its first line may be a row.
        if missing := [name for name in columns if name not in self.names]:
            raise DataError(
                f"{self.path.name}: its first line does not name {', '.join(missing[:20])}"
            )
        if twice := [name for name in columns if self.names.count(name) > 1]:
            raise DataError(f"{self.path.name}: has more than one column {twice[0]}")
        return map(self.names.index, columns)


class Table(NamedTuple):
    """Columns of a file, whose numbers are looked at when they are asked for."""

    names: list | None
    num_rows: int
    num_columns: int
    # From places of columns to an iterable of, for each, its numbers, NaN where there is none, and
    # a mask of entries that are something else than a number.
    numbers: Callable


# -- Texts -----------------------------------------------------------------------------------------

# Entries that say that there is none, as R, pandas and spreadsheets write them.
MISSING = {"", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "None"}
MISSING |= {"nan", "NaN", "-nan", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
TRUTHS = {"true": 1.0, "false": 0.0}  # in any case


def numbers_of_texts(texts, truths):
    """Numbers of some texts, as `float` reads them, and a mask of other texts.

    Parameters
    ----------
    texts : sequence of str or None
    truths : dict of str to float
        Words in lower case that are 1 or 0 in a column of such words alone.
    """
    values, is_text = np.full(len(texts), np.nan), np.zeros(len(texts), bool)
    with suppress(ValueError, TypeError):  # the most common column, at once
        if is_plain("".join(texts)):
            return np.fromiter(map(float, texts), float, len(texts)), is_text
    words = {text.lower() for text in texts if not (text is None or text in MISSING)}
    if words and words <= truths.keys():
        return np.array([truths.get((text or "").lower(), np.nan) for text in texts]), is_text
    for i, text in enumerate(texts):
        if text is None or text in MISSING:
            continue
        try:
            values[i] = float(text)
            is_text[i] = not is_plain(text)
        except ValueError:
            is_text[i] = True
    return values, is_text


def is_plain(text):
    """True if `float` reads a text as other programs do: no 1_000, and no other digits."""
    return text.isascii() and "_" not in text


def no_numbers(is_missing):
    """Message for a column that does not hold numbers."""
    return np.full(len(is_missing), np.nan), ~is_missing


# -- Files: each function takes the bytes of one ---------------------------------------------------


def read_csv(contents):
    """A table with a line of names, commas and points, in UTF-8.

    An empty line is a row, except at the end.
    """
    text = contents.decode("utf-8-sig").rstrip("\r\n")
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))

    def lines():
        file = io.StringIO(f"{text}\n" if text else "", newline="")
        return csv.reader(file, skipinitialspace=True, strict=True)

    names = [name.strip() for name in next(lines(), [])]
    lengths = [len(row) for row in lines()][1:]
    if max(lengths, default=0) > len(names):
        raise DataError("a row has more entries than there are names of columns")

    def numbers(places):
        columns = [[] for _ in places]
        for row in islice(lines(), 1, None):
            for place, column in zip(places, columns, strict=True):
                column.append(row[place] if place < len(row) else "")
        return (numbers_of_texts(column, TRUTHS) for column in columns)

    return Table(names, len(lengths), len(names), numbers)


def read_parquet(contents):
    """A Parquet file; an index of pandas that has a name is a column."""
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(contents))
    names, columns = parquet_columns(table)
    return Table(
        names, len(table), len(names), lambda places: (numbers_of_arrow(columns[i]) for i in places)
    )


def parquet_columns(table):
    """Names and columns of a table of pyarrow, those of an index of pandas first."""
    import pyarrow

    about = table.schema.pandas_metadata or {}
    names = {one.get("field_name", one["name"]): one["name"] for one in about.get("columns", ())}
    index, stored = [], set()
    for level in about.get("index_columns", ()):
        if isinstance(level, dict):  # a range, which is not stored
            column = pyarrow.chunked_array([range(level["start"], level["stop"], level["step"])])
            index.append((level["name"], column))
        else:
            stored.add(level)
            index.append((names.get(level), table.column(level)))
    columns = [(str(name), column) for name, column in index if name is not None]
    columns += [
        (name, table.column(i)) for i, name in enumerate(table.column_names) if name not in stored
    ]
    return [name for name, _ in columns], [column for _, column in columns]


def numbers_of_arrow(column):
    """Numbers of a column of pyarrow, and a mask of what is none."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    is_missing = column.is_null().to_numpy()
    if types.is_string(kind) or types.is_large_string(kind):
        return numbers_of_texts(column.to_pylist(), {})
    if types.is_null(kind):
        return np.full(len(column), np.nan), np.zeros(len(column), bool)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    if not is_number and not types.is_decimal(kind):
        return no_numbers(is_missing)
    values = np.full(len(column), np.nan)
    present = column.drop_null()
    values[~is_missing] = present.to_numpy() if is_number else [*map(float, present.to_pylist())]
    return values, np.zeros(len(column), bool)


def read_npy(contents):
    """An array (n, p), or one (n,) of a single column, without names."""
    array = np.load(io.BytesIO(contents), allow_pickle=False)
    if array.ndim not in (1, 2) or array.dtype.names:
        of_what = " of fields with names" if array.dtype.names else ""
        raise DataError(f"must be an array (n, p) or (n,), not {array.shape}{of_what}")
    array = array.reshape(len(array), -1) if array.size else np.atleast_2d(array.T).T

    def numbers(places):
        return (numbers_of_array(array[:, place]) for place in places)

    return Table(None, *array.shape, numbers)


def numbers_of_array(column):
    """Numbers of a column of NumPy, and a mask of what is none."""
    if column.dtype.kind in "biuf":
        return column.astype(float), np.zeros(len(column), bool)
    if column.dtype.kind == "U":
        return numbers_of_texts(column.tolist(), {})
    is_missing = np.zeros(len(column), bool)  # complex numbers, spans of time, dates, bytes
    return no_numbers(np.isnat(column) if column.dtype.kind in "mM" else is_missing)


READERS = {".csv": read_csv, ".parquet": read_parquet, ".npy": read_npy}


class Split(NamedTuple):
    """A share of a model's rows that is held out of its data set, and of all that chains see.

    Which these are is a matter of chance, of a stream of their own for a study's seed: they are the
    same for all models of one file, so that accuracies on them can be compared.
    """

    share: float
    study_seed: int

    def is_held_out(self, num_rows):
        """Mask (n,) of rows in the order of the file; round(share n) of them are held out."""
        rng = generator(self.study_seed, "held-out")
        return rng.permutation(num_rows) < round(self.share * num_rows)


def model_of(file, build, columns=None, split=None):
    """The model of a data file, and the columns that it takes.

    Parameters
    ----------
    file : DataFile
    build : function
        From a number of rows to the model.
    columns : list of str, optional
        By default those that the model names.
    split : Split, optional
        By default no row is held out.

    Returns
    -------
    model : Model
        With as many rows as its data set has.
    columns : list of str

    Raises
    ------
    DataError
        If the file and the model do not make a data set.
    ValueError
        "columns: ...", for columns that the model cannot have; "held_out: ...", for a share that
        leaves nothing on one side.
    """
    if file.num_rows < 2:
        raise DataError(f"{file.path.name}: has too few rows ({file.num_rows}); at least 2 needed")
    model = build(file.num_rows)
    columns = columns or model.columns
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise DataError(f"{type(model).__name__}.columns: must be a tuple of names")
    if not columns:
        raise DataError(
            f"{type(model).__name__} names no columns; give columns: a list of names, as in the "
            f"first line of {file.path.name}"
        )
    model.check_columns(columns)
    rows = prepared(model, file, columns)
    require_rows_alone(model, file.rows(columns))
    if len(rows) < 2:
        raise DataError(
            f"{type(model).__name__}.prepare: leaves {len(rows)} of {file.num_rows} rows; "
            "at least 2 needed"
        )
    is_refused = np.isnan(rows).any(axis=1)
    if is_refused.any():
        raise DataError(
            f"{file.path.name}: column {columns[0]} must be {model.outcome_values}, as "
            f"{type(model).__name__} takes no others; {is_refused.sum():,} of {len(rows):,} rows "
            "are not"
        )
    if split is not None:
        rows, held_out = parted(rows, split)
        if len(rows) < 2 or not len(held_out):
            raise ValueError(
                f"held_out: must leave at least 2 rows and hold out at least 1, not {len(rows)} "
                f"and {len(held_out)}"
            )
    model = replace(model, num_rows=len(rows))
    assembled(model, rows, columns)
    return model, list(columns)


def data_set(model, file, columns, split=None):
    """Data set of a model from `model_of`; a DataError if the file does not make it."""
    rows = prepared(model, file, columns)
    return assembled(model, rows if split is None else parted(rows, split)[0], columns)


def held_out_rows(model, file, columns, split):
    """Rows that a split holds out, (k, p), as the model's `prepare` makes them."""
    return parted(prepared(model, file, columns), split)[1]


def parted(rows, split):
    """Rows that stay and rows that are held out, each in the order of the file."""
    is_held_out = split.is_held_out(len(rows))
    return rows[~is_held_out], rows[is_held_out]


@contextmanager
def naming(where):
    """Turn what a model's code raises into a DataError of its kind and place: it may quote data."""
    try:
        yield
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}, line {frame.lineno}"
        raise DataError(f"{where}: {type(error).__name__} ({place})") from None


def prepared(model, file, columns):
    """Rows of the model from those of a file, (k, p), checked; `model_of` checks more.

    A row whose outcome the model does not take is NaN. `model_of` refuses such rows. In a release
    they count as nothing (`Target`), so that no failure depends on one row.
    """
    rows = file.rows(columns)
    where = f"{type(model).__name__}.prepare"
    with naming(where):
        whole = np.asarray(model.prepare(rows.copy()))
    if whole.ndim != 2 or whole.dtype.kind not in "biuf" or len(whole) > len(rows):
        raise DataError(
            f"{where}: must return rows of numbers, (k, p) with k at most {len(rows)}, "
            f"not {whole.dtype} {whole.shape}"
        )
    is_bad = ~np.isfinite(whole).all(axis=1)
    if is_bad.any():
        raise DataError(
            f"{where}: row {is_bad.argmax() + 1} of those it keeps becomes NaN or infinite"
        )
    whole = whole.astype(float)
    with naming(f"{type(model).__name__}.is_outcome"):
        whole[~np.asarray(model.is_outcome(whole[:, 0]), dtype=bool)] = np.nan
    return whole


def require_rows_alone(model, rows):
    """Raise a DataError if a model of one's own lets rows (n, p) of a file change others."""
    cls = type(model)
    is_plain = cls.prepare is Model.prepare and cls.is_outcome is Model.is_outcome
    if cls.__module__.startswith("dpmcmc.") or is_plain:
        return
    try:
        problem = row_dependence(model, [rows])
    except Raised as error:
        problem = f"raises {error} on some of the rows"
    if problem:
        raise DataError(f"{cls.__name__}.prepare: must look at each row by itself, and {problem}")


def assembled(model, rows, columns):
    """Data set of rows from `prepared`, of shape `model.data_shape`."""
    with naming(f"{type(model).__name__}.from_rows"):
        data = np.ascontiguousarray(model.from_rows(rows), dtype=float)
    if data.shape != tuple(model.data_shape):
        raise DataError(
            f"{type(model).__name__}: columns {', '.join(columns)} make data of "
            f"shape {data.shape}, not {tuple(model.data_shape)}"
        )
    if not np.isfinite(data).all():
        raise DataError(f"{type(model).__name__}: makes of finite rows data that are not finite")
    return data
