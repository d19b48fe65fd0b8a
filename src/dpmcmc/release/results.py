"""What a release and a rehearsal have written, to look at: in a notebook, say."""

import html
import io
import json
from base64 import b64encode
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.extras import missing
from dpmcmc.files import JobError

if TYPE_CHECKING:
    import arviz
    import pandas
    import xarray

LEVEL = 0.9  # of intervals


class Release:
    """A release that may be published: what is in its folder.

    Parameters
    ----------
    folder : path
        What `release` has written.
    rehearsal : Rehearsal, optional
        Of the same method: its worth is shown beside the draws.

    Attributes
    ----------
    folder : Path
    statement : dict
        What it cost, what ran, and what is promised.
    rehearsal : Rehearsal or None

    Raises
    ------
    JobError
        If the folder has no statement of a release.
    """

    def __init__(self, folder: str | PathLike[str], rehearsal: "Rehearsal | None" = None) -> None:
        self.folder, self.rehearsal = Path(folder), rehearsal
        try:
            text = (self.folder / "statement.json").read_text(encoding="utf-8")
        except OSError as error:
            raise JobError(f"{folder}: is no release ({error.strerror})") from None
        self.statement: dict[str, Any] = json.loads(text)

    @cached_property
    def draws(self) -> np.ndarray:
        """Draws of theta, (chains, draws, d)."""
        with open(self.folder / "chain.csv", encoding="utf-8") as file:
            numbers = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
        return numbers[:, 2:].reshape(self.statement["chains"], -1, len(self.names))

    @cached_property
    def names(self) -> list[str]:
        """Names of the components of theta."""
        with open(self.folder / "chain.csv", encoding="utf-8") as file:
            return file.readline().rstrip("\n").split(",")[2:]

    def to_frame(self) -> "pandas.DataFrame":
        """Draws as a data frame: chain and draw, from 1, and a column for each component."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise JobError(missing(error.name, "studies")) from None
        return pandas.read_csv(self.folder / "chain.csv")

    def to_arviz(self) -> "arviz.InferenceData | xarray.DataTree":
        """Draws for ArviZ; the variable is theta, with the names of its components."""
        try:
            import arviz
        except ModuleNotFoundError as error:
            raise JobError(missing(error.name, "studies")) from None
        return arviz.from_netcdf(self.folder / "chain.nc")

    def summary(self) -> list[dict[str, Any]]:
        """Rows: name, mean, sd, and low and high, the ends of the 90 % interval, of a component."""
        pooled = self.draws.reshape(-1, len(self.names))
        tails = (1 - LEVEL) / 2
        low, high = np.quantile(pooled, [tails, 1 - tails], axis=0)
        columns = pooled.mean(axis=0), pooled.std(axis=0), low, high
        return [
            dict(zip(("name", "mean", "sd", "low", "high"), row, strict=True))
            for row in zip(self.names, *(column.tolist() for column in columns), strict=True)
        ]

    @property
    def rehearsed(self) -> list[dict[str, Any]]:
        """Rows of the rehearsal at this number of rows and this epsilon: one for each law."""
        rows = self.rehearsal.rows if self.rehearsal else []
        spent = self.statement["epsilon"]
        return [
            row
            for row in rows
            if row["rows"] == self.statement["rows"] and abs(row["epsilon"] / spent - 1) <= 1e-2
        ]

    def _lines(self) -> list[str]:
        """What it is, in lines.

        They have nothing of other releases: that one failed must not be published, and a notebook
        often is.
        """
        facts = self.statement
        whole = facts["all_releases"]
        lines = [
            f"{facts['algorithm']} on {facts['rows']:,} rows: spent epsilon "
            f"{facts['epsilon']:g} at delta {facts['delta']:g}; all releases together may spend "
            f"{whole['epsilon']:g} at {whole['delta']:g}",
            f"{self.folder}: its statement says what that means",
        ]
        return lines + [said_of(row) for row in self.rehearsed]

    def __repr__(self) -> str:
        means = [
            f"{row['name']}: {row['mean']:.4g}, 90 % between {row['low']:.4g} and {row['high']:.4g}"
            for row in self.summary()
        ]
        return "\n".join([*self._lines(), *means])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("", "mean", "sd", "5 %", "95 %"))
        body = "".join(
            f"<tr><th>{html.escape(row['name'])}</th>"
            + "".join(f"<td>{row[key]:.4g}</td>" for key in ("mean", "sd", "low", "high"))
            + "</tr>"
            for row in self.summary()
        )
        said = "".join(f"<p>{html.escape(line)}</p>" for line in self._lines())
        return f"{said}<table><tr>{head}</tr>{body}</table>{self._picture()}"

    def _picture(self) -> str:
        """Means and intervals as a picture in HTML; nothing without matplotlib."""
        try:
            from matplotlib.figure import Figure
        except ModuleNotFoundError:
            return ""
        rows = self.summary()
        figure = Figure(figsize=(5, 0.6 + 0.3 * len(rows)), layout="constrained")
        axes = figure.subplots()
        places = range(len(rows))
        axes.hlines(places, [row["low"] for row in rows], [row["high"] for row in rows])
        axes.plot([row["mean"] for row in rows], places, "o")
        axes.set_yticks(places, [row["name"].replace("$", r"\$") for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("mean and 90 % interval")
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=100)
        return f'<img src="data:image/png;base64,{b64encode(file.getvalue()).decode()}">'


class Rehearsal:
    """What releases are worth on simulated data.

    Attributes
    ----------
    rows : list of dict
        For each number of rows, law of the covariates and epsilon: rows, epsilon, draws, law,
        exact (how the exact draws were made), worth, coverage, width, their standard errors, and
        honest.
    """

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def to_frame(self) -> "pandas.DataFrame":
        """Rows as a data frame."""
        try:
            import pandas
        except ModuleNotFoundError as error:
            raise JobError(missing(error.name, "studies")) from None
        return pandas.DataFrame(self.rows)

    def __repr__(self) -> str:
        from dpmcmc.release.rehearsal import table

        return table(self.rows)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def said_of(row: dict[str, Any]) -> str:
    """A row of a rehearsal in a line."""
    what = f"Rehearsed with {row['law']}"
    if row["not_scored"] == row["samples"]:
        return f"{what}: no intervals"
    return (
        f"{what}: worth {row['worth']:.0%} ± {row['worth_se']:.0%} of the rows, 90 % intervals "
        f"cover {row['coverage']:.0%} ± {row['coverage_se']:.0%} ({row['honest']})"
    )
