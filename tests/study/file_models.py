"""Models that make rows of a file: in a module that is quick to import, as new processes do."""

from dataclasses import dataclass

import numpy as np

from dpmcmc.models.rows import RowsModel
from dpmcmc.settings import Rows

SECRET = 31415.926535
seen = {}


@dataclass(frozen=True)
class Plain(RowsModel):
    num_rows: Rows
    kept: float = -np.inf

    dimension = row_length = 2
    columns = ("x", "y")

    def prepare(self, rows):
        return rows[rows[:, 0] > self.kept]

    def log_prior_ratio(self, theta, theta_new):
        return 0.0


class Standardised(Plain):
    def prepare(self, rows):
        return rows - rows.mean(axis=0)


class Scaled(Plain):
    def prepare(self, rows):
        return rows / len(rows)


class Log(Plain):
    def prepare(self, rows):
        with np.errstate(all="ignore"):
            return np.log(rows)


class Flat(Plain):
    def prepare(self, rows):
        return rows.ravel()


class Narrow(Plain):
    def prepare(self, rows):
        return rows[:, :1]


class Words(Plain):
    def prepare(self, rows):
        return rows.astype(str)


class Quoting(Plain):
    def prepare(self, rows):
        return rows[{0.0: 1}[31415.0 + 0 * rows[0, 0]]]


class Nameless(Plain):
    columns = ()


class CentredByTheMedian(Plain):
    def prepare(self, rows):
        return rows - np.median(rows, axis=0)


class OverTheLargest(Plain):
    def prepare(self, rows):
        return rows / abs(rows).max(axis=0)


class FittedOnce(Plain):
    """A scaler that the module keeps from the first rows that it sees."""

    def prepare(self, rows):
        seen.setdefault("mean", rows.mean(axis=0))
        return rows - seen["mean"]


class Later(Plain):
    """The first call leaves rows as they are, later ones take off the mean of those."""

    def prepare(self, rows):
        mean = seen.get("mean", 0.0)
        seen["mean"] = rows.mean(axis=0)
        return rows - mean


class Numbered(Plain):
    def prepare(self, rows):
        return rows * np.arange(1, len(rows) + 1)[:, None]


class Blended(Plain):
    """Too little of the mean to see, but in the last bit."""

    def prepare(self, rows):
        return rows + 1e-14 * rows.mean(axis=0)


class Crossed(Plain):
    matrix = np.array([[0.3, -1.7], [2.1, 0.9]])

    def prepare(self, rows):
        return rows[rows[:, 0] > self.kept] @ self.matrix


class Raising(Plain):
    def prepare(self, rows):
        if len(rows) < 4:
            raise ValueError(f"cannot use {rows}")
        return rows
