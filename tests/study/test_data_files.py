"""Data of one's own: what files give, and one line for everything that they cannot."""

import io
import re
import sys
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow
import pytest
from conftest import SMALL_MODELS, chosen
from file_models import (
    SECRET,
    Blended,
    CentredByTheMedian,
    Crossed,
    FittedOnce,
    Flat,
    Later,
    Log,
    Nameless,
    Narrow,
    Numbered,
    OverTheLargest,
    Plain,
    Quoting,
    Raising,
    Scaled,
    Standardised,
    Words,
)
from pyarrow import parquet

from dpmcmc.data_files import DataError, DataFile, data_set, model_of, prepared
from dpmcmc.likelihoods.target import Target
from dpmcmc.models.circle import Circle
from dpmcmc.models.exponential_family import ExponentialFamily
from dpmcmc.models.normal_prior import NormalPrior
from dpmcmc.models.regression import LogisticRegression
from dpmcmc.release.rows import RowByRow
from dpmcmc.settings import Rows

ROWS = np.array([[1.5, 0.0], [-2e-3, 1.0], [SECRET, 1.0], [7.0, 0.0]])


def write(directory, kind, rows=ROWS, names=("x", "y")):
    """The same table in a format."""
    path = directory / f"data{kind}"
    if kind == ".csv":
        lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    elif kind == ".parquet":
        columns = {name: rows[:, i] for i, name in enumerate(names)}
        parquet.write_table(pyarrow.table(columns), path)
    else:
        np.save(path, rows)
    return path


KINDS = [".csv", ".parquet", ".npy"]


def read(path, columns=None, cls=Plain, **settings):
    return model_of(DataFile(path), lambda n: cls(num_rows=n, **settings), columns)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_table_in_every_format(tmp_path, kind):
    path = write(tmp_path, kind)
    model, columns = read(path)
    assert model.num_rows == 4 and columns == ["x", "y"]
    data = data_set(model, DataFile(path), columns)
    np.testing.assert_array_equal(data, ROWS)
    assert data.dtype == float and data.flags.c_contiguous
    if kind != ".npy":
        model, columns = read(path, ["y", "x"])
        np.testing.assert_array_equal(data_set(model, DataFile(path), columns), ROWS[:, ::-1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named_and_no_value_quoted(tmp_path, kind, bad):
    rows = ROWS.copy()
    rows[2:, 1] = bad
    path = write(tmp_path, kind, rows)
    expected = "row 3 of column y is missing, NaN or infinite (and 1 more)"
    with pytest.raises(DataError, match=re.escape(expected)):
        read(path)


NO_NAMES = "data.csv: its first line does not name x, y"
NO_Y = "data.csv: its first line does not name y"


def test_names_that_are_numbers_and_empty_lines_at_the_end(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("2019,x,2020\n1,2,3\n3,4,5\n\n\n", encoding="utf-8")
    rows = DataFile(path).rows(["2020", "2019"])
    np.testing.assert_array_equal(rows, [[3, 1], [5, 3]])


def refusal(path, columns=None, **options):
    with pytest.raises(DataError) as error:
        read(path, columns, **options)
    line = str(error.value)
    assert "\n" not in line and "31415" not in line and "secret" not in line
    return line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n3,secret\n", "data.csv: row 2 of column y is no number; recode it"),
        ("x,y\n1,2\n3,\n", "data.csv: row 2 of column y is missing, NaN or infinite"),
        ("x,y\n1,2\n3\n", "data.csv: row 2 of column y is missing, NaN or infinite"),
        ("x,y\n1,2\n\n3,4\n", "data.csv: row 2 of column x is missing, NaN or infinite"),
        ("x,y\n1,2\n3,1e999\n", "data.csv: row 2 of column y is missing, NaN or infinite"),
        ("x,y\n1,2\n3,4,5\n", "data.csv: a row has more entries than there are names of columns"),
        ("x,y\n1,2,3\n3,4,5\n", "data.csv: a row has more entries than there are names"),
        ("x,y\n1,5,2\n3,4,5\n", "data.csv: a row has more entries than there are names"),
        ("x;y\n1;2\n3;4\n", NO_NAMES),
        ("x,z\n1,2\n3,4\n", NO_Y),
        ("x,secret\n3,4\n5,6\n", NO_Y),
        ("secret,x,31415\n3,4,5\n5,6,7\n", NO_Y),
        ("x,y,y\n1,2,3\n3,4,5\n", "data.csv: has more than one column y"),
        ("y,secret,x,y\n1,2,3,4\n3,4,5,6\n", "data.csv: has more than one column y"),
        ("x,y\n1,2\n", "data.csv: has too few rows (1); at least 2 needed"),
        ("x,y\n", "data.csv: has too few rows (0); at least 2 needed"),
        ("", "data.csv: has too few rows (0); at least 2 needed"),
        ("31415,2\n3,4\n5,6\n", NO_NAMES),
        ("secret,F\nother,M\nthird,M\n", NO_NAMES),
        ("x,y\n1,2\n3," + "9" * 400 + "\n", "data.csv: row 2 of column y is missing, NaN or inf"),
    ],
)
def test_a_bad_csv(tmp_path, text, message):
    path = tmp_path / "data.csv"
    path.write_text(text)
    assert refusal(path).startswith(message)


def test_numbers_of_csv_are_those_of_python(tmp_path):
    texts = ["0.1", "123456789.123456789", "1e-320", "12345678901234567890123", ".5", "5.", "+7 "]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["x,y", *(f"{text},true" for text in texts), "2,", ""]))
    numbers, truths = DataFile(path)._table.numbers([0, 1])
    np.testing.assert_array_equal(numbers[0], [*map(float, texts), 2])
    np.testing.assert_array_equal(truths[0], [1] * len(texts) + [np.nan])
    assert not truths[1].any()


@pytest.mark.parametrize("text", ["1_000", "\u0663", "0x10", "True", "1e", "yes"])
def test_what_python_or_others_might_read_is_no_number(tmp_path, text):
    (tmp_path / "data.csv").write_text(f"x,y\n1,2\n{text},4\n", encoding="utf-8")
    assert refusal(tmp_path / "data.csv") == "data.csv: row 2 of column x is no number; recode it"


@pytest.mark.parametrize("text", ["NA", "nan", "NULL", "N/A", "#N/A", "None"])
def test_words_for_what_is_missing(tmp_path, text):
    (tmp_path / "data.csv").write_text(f"x,y\n1,2\n{text},4\n")
    found = "data.csv: row 2 of column x is missing, NaN or infinite"
    assert refusal(tmp_path / "data.csv") == found


def test_a_quote_that_does_not_end_swallows_no_rows(tmp_path):
    (tmp_path / "data.csv").write_text('note,x,y\na,1,2\n"b,3,4\nc,5,6\n')
    assert refusal(tmp_path / "data.csv") == "data.csv is no valid .csv file (Error)"


def test_a_csv_as_others_write_it(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes("\ufeffname, x,y\r\n\"a, b\", 1,True\r\n'c',0.1 ,False\r\n".encode())
    model, columns = read(path)
    np.testing.assert_array_equal(data_set(model, DataFile(path), columns), [[1, 1], [0.1, 0]])


def test_what_is_no_such_file(tmp_path):
    for name, contents, message in [
        ("data.csv", b"x,y\n\xff,1\n", "data.csv is no valid .csv file (UnicodeDecodeError)"),
        ("data.npy", b"secret", "data.npy is no valid .npy file (ValueError)"),
        ("data.parquet", b"secret", "data.parquet is no valid .parquet file (ArrowInvalid)"),
        ("data.xls", b"secret", "data.xls: must end in .csv, .parquet, .npy"),
    ]:
        (tmp_path / name).write_bytes(contents)
        assert refusal(tmp_path / name) == message
    assert refusal(tmp_path / "none.csv").endswith(
        "none.csv cannot be read: No such file or directory"
    )
    assert "cannot be read: Is a directory" in refusal(
        (tmp_path / "d.csv").mkdir() or tmp_path / "d.csv"
    )


def test_a_pickle_is_not_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return sys.exit, (1,)

    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()], dtype=object), allow_pickle=True)
    (tmp_path / "data.npy").write_bytes(buffer.getvalue())
    assert refusal(tmp_path / "data.npy") == "data.npy is no valid .npy file (ValueError)"


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((4, 3)), "data.npy: has 3 columns, and the model takes 2: x, y"),
        (np.ones((4, 2, 1)), "data.npy: must be an array (n, p) or (n,), not (4, 2, 1)"),
        (
            np.array([["secret", "2"], ["3", "4"]]),
            "data.npy: row 1 of column x is no number; recode it",
        ),
        (np.ones((4, 2), complex), "data.npy: row 1 of column x is no number; recode it"),
        (np.float64(3), "data.npy: must be an array (n, p) or (n,), not ()"),
        (
            np.zeros(4, [("x", float), ("secret", float)]),
            "data.npy: must be an array (n, p) or (n,), not (4,) of fields with names",
        ),
    ],
)
def test_a_bad_npy(tmp_path, array, message):
    np.save(tmp_path / "data.npy", array)
    assert refusal(tmp_path / "data.npy").startswith(message)


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array([True, False, True]),
        pyarrow.array([1, 0, 1], pyarrow.int8()),
        pyarrow.array([Decimal("1.0"), Decimal("0.0"), Decimal("1.0")]),
        pyarrow.array([1.0, 0.0, 1.0], pyarrow.float32()),
        pyarrow.array([1.0, 0.0, 1.0]).dictionary_encode(),
        pyarrow.array([True, False, True]).cast(pyarrow.int16()).dictionary_encode(),
    ],
)
def test_numbers_of_parquet(tmp_path, column):
    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.table({"y": column, "x": [0.5, 1.5, 2.5]}), path)
    model, columns = read(path)
    np.testing.assert_array_equal(
        data_set(model, DataFile(path), columns), [[0.5, 1], [1.5, 0], [2.5, 1]]
    )


def test_decimals_of_parquet_are_the_numbers_of_the_same_csv(tmp_path):
    texts = [f"{whole}.{cents:02d}" for whole in (0, 7, 1234567) for cents in range(100)]
    parquet.write_table(
        pyarrow.table({"y": [Decimal(t) for t in texts], "x": [Decimal(t) for t in texts]}),
        tmp_path / "data.parquet",
    )
    lines = ["y,x", *(f"{text},{text}" for text in texts)]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    found = []
    for path in (tmp_path / "data.parquet", tmp_path / "data.csv"):
        model, columns = read(path)
        found.append(data_set(model, DataFile(path), columns))
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0][:, 0], [float(text) for text in texts])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", "b", "3"], "row 1 of column y is no number; recode it (and 1 more)"),
        (
            pyarrow.array(["secret", None, "3"]).dictionary_encode(),
            "row 1 of column y is no number; recode it",
        ),
        (
            pyarrow.array([1, 2, 3], pyarrow.timestamp("s")),
            "row 1 of column y is no number; recode it",
        ),
        (
            pyarrow.array([1, 2, 3], pyarrow.duration("s")),
            "row 1 of column y is no number; recode it",
        ),
        (
            pyarrow.array([1, None, 3], pyarrow.date32()),
            "row 1 of column y is no number; recode it (and 2 more)",
        ),
        ([True, None, False], "row 2 of column y is missing, NaN or infinite"),
        ([1, None, 3], "row 2 of column y is missing, NaN or infinite"),
        ([None, None, None], "row 1 of column y is missing, NaN or infinite (and 2 more)"),
        ([[1], [2], [3]], "row 1 of column y is no number; recode it"),
    ],
)
def test_what_is_no_number_in_parquet(tmp_path, column, message):
    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.table({"x": [1, 2, 3], "y": column}), path)
    assert message in refusal(path)


def test_names_in_parquet_which_may_be_a_first_row_are_not_quoted(tmp_path):
    path = write(tmp_path, ".parquet", names=("x", "secret"))
    assert refusal(path) == NO_Y.replace(".csv", ".parquet")


def test_an_index_of_pandas_is_a_column(tmp_path):
    import pandas as pd

    table = pd.DataFrame({"x": [0.5, 1.5], "y": [1.0, 0.0]})
    for kept in (table, table.set_index("x")):
        kept.to_parquet(tmp_path / "data.parquet")
        assert DataFile(tmp_path / "data.parquet").names == ["x", "y"]
        model, columns = read(tmp_path / "data.parquet")
        data = data_set(model, DataFile(tmp_path / "data.parquet"), columns)
        np.testing.assert_array_equal(data, table)
    table.rename_axis("row").to_parquet(tmp_path / "data.parquet")  # a range, which is not stored
    np.testing.assert_array_equal(DataFile(tmp_path / "data.parquet").rows(["row"]), [[0], [1]])


def test_rows_are_left_out_one_by_one(tmp_path):
    path = write(tmp_path, ".csv")
    model, columns = read(path, kept=0.0)
    assert model.num_rows == 3 and model.data_shape == (3, 2)
    np.testing.assert_array_equal(data_set(model, DataFile(path), columns), ROWS[[0, 2, 3]])
    assert refusal(path, kept=100.0) == "Plain.prepare: leaves 1 of 4 rows; at least 2 needed"


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (
            Standardised,
            "Standardised.prepare: must look at each row by itself, and makes other rows",
        ),
        (Scaled, "Scaled.prepare: must look at each row by itself"),
        (Log, "Log.prepare: row 1 of those it keeps becomes NaN or infinite"),
        (
            Flat,
            "Flat.prepare: must return rows of numbers, (k, p) with k at most 4, not float64 (8,)",
        ),
        (Narrow, "Narrow: columns x, y make data of shape (4, 1), not (4, 2)"),
        (Words, "Words.prepare: must return rows of numbers"),
        (Quoting, "Quoting.prepare: KeyError (file_models.py, line "),
        (
            Nameless,
            "Nameless names no columns; give columns: a list of names, as in the first",
        ),
    ],
)
def test_what_a_model_may_not_make_of_rows(tmp_path, cls, message):
    assert refusal(write(tmp_path, ".csv"), cls=cls).startswith(message)


BY_OTHERS = [
    Standardised,
    CentredByTheMedian,
    OverTheLargest,
    FittedOnce,
    Later,
    Numbered,
    Blended,
]
SCALES = [1.0, 1e-9, 1e9]


@pytest.mark.parametrize(
    ("cls", "scale"),
    chosen(
        [(cls, scale) for cls in BY_OTHERS for scale in SCALES],
        *((cls, 1.0) for cls in BY_OTHERS),
        *((cls, scale) for cls in (Standardised, Blended) for scale in SCALES),
    ),
)
def test_rows_that_others_change_are_refused_whatever_their_units(tmp_path, cls, scale):
    rows = scale * (3 + np.random.default_rng(1).standard_normal((41, 2)))
    line = refusal(write(tmp_path, ".npy", rows), cls=cls)
    assert line.startswith(f"{cls.__name__}.prepare: must look at each row by itself, and makes")


def test_a_matrix_product_looks_at_each_row_by_itself(tmp_path):
    rows = np.random.default_rng(1).standard_normal((1001, 2))
    for kept in (-np.inf, 0.0):
        model, columns = read(write(tmp_path, ".npy", rows), cls=Crossed, kept=kept)
        expected = rows[rows[:, 0] > kept] @ Crossed.matrix
        data = data_set(model, DataFile(tmp_path / "data.npy"), columns)
        np.testing.assert_allclose(data, expected, rtol=1e-12, atol=1e-12)


def test_what_raises_on_some_of_the_rows_alone_is_told_without_its_message(tmp_path):
    line = refusal(write(tmp_path, ".csv"), cls=Raising)
    assert re.search(
        r"and raises ValueError \(file_models.py, line \d+\) on some of the rows$", line
    )


REGRESSION = {"dimension": 1, "prior_variance": 1.0, "covariate_bound": 2.0}


@pytest.mark.parametrize("labels", [(1, 2), (-1, 1), (0, 31415), (0.5, 1)])
def test_outcomes_that_are_not_of_the_model_are_named_and_none_is_quoted(tmp_path, labels):
    rows = np.column_stack([np.resize(labels, 6), np.linspace(-1, 1, 6)])
    path = write(tmp_path, ".csv", rows, ("repaid", "x"))
    line = refusal(path, ["repaid", "x"], cls=LogisticRegression, **REGRESSION)
    assert line == (
        "data.csv: column repaid must be 0 or 1, as LogisticRegression takes no others; "
        f"{sum(label not in (0, 1) for label in rows[:, 0])} of 6 rows are not"
    )


def test_in_a_release_rows_of_other_outcomes_count_as_nothing(tmp_path):
    rng = np.random.default_rng(2)
    rows = np.column_stack([np.resize([0, 1, 1], 30), rng.standard_normal(30)])
    rows[[3, 17], 0] = 2, -1
    path = write(tmp_path, ".csv", rows, ("repaid", "x"))
    model = LogisticRegression(num_rows=30, **REGRESSION)
    found = prepared(model, DataFile(path), ["repaid", "x"])
    assert np.isnan(found[[3, 17]]).all() and np.isnan(found).sum() == 4
    target = RowByRow(model, found, "clip")
    fits = model.is_outcome(rows[:, 0])
    others = Target(LogisticRegression(num_rows=28, **REGRESSION), model.prepare(rows)[fits])
    a, b = np.array([0.3]), np.array([-0.4])
    for name, arguments in (
        ("clipped_log_likelihood_ratio", (a, b, 0.2)),
        ("clipped_gradient", (a, 0.5)),
        ("clipped_information", (a, 0.1)),
    ):
        total, expected = (getattr(one, name)(*arguments)[0] for one in (target, others))
        np.testing.assert_allclose(total, expected, rtol=1e-9, atol=1e-12)


@dataclass(frozen=True)
class Cubes(NormalPrior, ExponentialFamily):
    num_rows: Rows

    dimension = num_statistics = 1
    columns = ("x",)

    def statistics(self, rows):
        return rows.T**3


def test_an_exponential_family_takes_its_statistic(tmp_path):
    path = write(tmp_path, ".csv", rows=np.array([[2.0], [-1.0], [3.0]]), names=("x",))
    model, columns = read(path, cls=Cubes)
    np.testing.assert_array_equal(data_set(model, DataFile(path), columns), [[-1, 8, 27]])
    circle = dict(sharpness=1, radius_mean=1, radius_sd=1, start_mean=[0, 1], start_sd=1)
    model, columns = read(path, ["x"], cls=Circle, **circle)
    np.testing.assert_array_equal(data_set(model, DataFile(path), columns), [[1, 4, 9]])


def test_data_of_a_file_are_arranged_as_those_that_are_simulated(tmp_path):
    model = SMALL_MODELS["gaussian"]
    data = model.dataset(np.random.default_rng(1))
    np.save(tmp_path / "data.npy", np.random.default_rng(2).permutation(data.T))
    settings = {name: getattr(model, name) for name in model.__dataclass_fields__}
    del settings["num_rows"]
    found, columns = read(tmp_path / "data.npy", ["a", "b"], cls=type(model), **settings)
    read_data = data_set(found, DataFile(tmp_path / "data.npy"), columns)
    np.testing.assert_array_equal(read_data, data)


def test_a_digest_is_of_the_bytes(tmp_path):
    path = write(tmp_path, ".csv")
    before = DataFile(path).digest
    assert re.fullmatch("[0-9a-f]{16}", before) and DataFile(path).digest == before
    path.write_text(path.read_text().replace("7.0", "7.1"))
    assert DataFile(path).digest != before
