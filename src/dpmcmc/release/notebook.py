"""The commands `ledger`, `release` and `rehearse` from Python: a notebook, say.

Each call that computes runs the command in a process of its own. So it has the guarantees of the
command, whatever this process has imported, changed or drawn: a notebook keeps a model's file as it
was when it was first imported, and would try out other code than what then reads the data.
"""

import html
import io
import json
import signal
import subprocess
import sys
import warnings
from base64 import b64encode
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpmcmc.extras import missing
from dpmcmc.files import JobError
from dpmcmc.release import ledger as ledgers

if TYPE_CHECKING:
    import arviz
    import pandas
    import xarray

# Exit statuses, as `command` has them, and that of argparse.
REFUSED, MISUSED, SPENT, PUBLISHED = 1, 2, 3, 4
LEVEL = 0.9  # of intervals


class SpentError(JobError):
    """A release that was not published, and whose cost is spent, or may be: the ledger says so."""


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


class Ledger:
    """The privacy budget of a data file, and what was spent of it.

    It is for the owner alone: whether a release failed may hang on one row, so what was spent is
    not to be published.

    Parameters
    ----------
    data : path
        A file with a ledger; `Ledger.new` makes one.

    Raises
    ------
    JobError
        If there is none, or it is damaged.
    """

    def __init__(self, data: str | PathLike[str]) -> None:
        self.data = Path(data)
        ledgers.read(self.data)

    @classmethod
    def new(
        cls,
        data: str | PathLike[str],
        *,
        epsilon: float,
        delta: float,
        rows: int,
        kinds: str = "any",
        owner: str | None = None,
        in_git: bool = False,
    ) -> "Ledger":
        """Set the budget of all releases of a file together.

        Parameters
        ----------
        data : path
        epsilon, delta : float
            delta at most 0.1 / rows, say.
        rows : int
            That the model uses; it will be published.
        kinds : {"any", "full-data"}
            "full-data" allows only methods that use all rows, with all of delta; for "any", half of
            delta is reserved for methods on batches.
        owner : str, optional
        in_git : bool
            Make it even if git does not ignore it.

        Raises
        ------
        JobError
            As the command `ledger new` says.
        """
        given = {"epsilon": epsilon, "delta": delta, "rows": rows, "for": kinds, "owner": owner}
        run("ledger", ["new", *options(given), *["--in-git"] * in_git, "--", str(data)])
        return cls(data)

    def change(
        self,
        reason: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rows: int | None = None,
        kinds: str | None = None,
    ) -> None:
        """Set another budget or number of rows, or record other data, from now on.

        Parameters
        ----------
        reason : str
            Noted in the ledger; published if the budget changes.
        epsilon : float, optional
            After a release, a larger one.
        delta, kinds : optional
            Until the first release.
        rows : int, optional
            Declared in addition, and may be published from then on.

        Raises
        ------
        JobError
            As the command `ledger change` says.
        """
        given = {"reason": reason, "epsilon": epsilon, "delta": delta, "rows": rows, "for": kinds}
        run("ledger", ["change", *options(given), "--", str(self.data)])

    @property
    def budget(self) -> ledgers.Budget:
        """The budget as it is now."""
        return ledgers.read(self.data).budget

    @property
    def releases(self) -> list[dict[str, Any]]:
        """Lines of the releases that count."""
        return ledgers.read(self.data).releases

    @property
    def spent_epsilon(self) -> float:
        """Epsilon of all releases so far together, at the budget's delta."""
        return ledgers.read(self.data).spent_epsilon

    @property
    def left_epsilon(self) -> float:
        """Largest epsilon, at the budget's delta, of one more release on all rows."""
        return ledgers.read(self.data).left_epsilon

    def __repr__(self) -> str:
        return run("ledger", ["show", "--", str(self.data)]).rstrip()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"


def release(
    study: str | PathLike[str],
    *,
    model: str,
    algorithm: str,
    epsilon: float,
    output: str | PathLike[str],
    delta: float | None = None,
    rows: int | None = None,
    chains: int | None = None,
    start: str | Sequence[float] | None = None,
    draws: int | None = None,
    unchecked: bool = False,
    rehearsal: Rehearsal | None = None,
) -> Release:
    """Run a method once on real data, with secret noise, and write what may be published.

    It is the command `release`, in a process of its own. An interrupt ends that process; what it
    has spent stays spent, and the ledger says so.

    Parameters
    ----------
    study : path
        The YAML file that defines model and algorithm.
    model, algorithm : str
        Ids.
    epsilon : float
    output : path
        A folder that does not exist yet.
    delta : float, optional
        By default that of the ledger.
    rows : int, optional
        That the model keeps, if not the ledger's.
    chains : int, optional
        That share the budget; one by default.
    start : str or numbers, optional
        "prior", "preparation" or a point (d,).
    draws : int, optional
        Of each chain, at most.
    unchecked : bool
        Even if `check` did not pass model and data as they are; the statement says so.
    rehearsal : Rehearsal, optional
        Of this method: its worth is shown beside the draws.

    Raises
    ------
    SpentError
        If the release is spent, or may be, and nothing was published.
    JobError
        If it is refused: nothing is spent.
    """
    given: dict[str, Any] = {"model": model, "algorithm": algorithm}
    given |= {"epsilon": epsilon, "output": output}
    given |= {"delta": delta, "rows": rows, "chains": chains, "draws": draws, "start": start}
    run("release", [*options(given), *["--unchecked"] * unchecked, "--", str(study)])
    return Release(output, rehearsal)


def rehearse(
    study: str | PathLike[str],
    *,
    model: str,
    algorithm: str,
    epsilon: float | Sequence[float],
    rows: int | Sequence[int] | None = None,
    delta: float | None = None,
    chains: int | None = None,
    start: str | Sequence[float] | None = None,
    draws: int | None = None,
    twins: int | None = None,
    seed: int | None = None,
) -> Rehearsal:
    """Run a release on simulated twins of the data, and say how many rows it is worth.

    It is the command `rehearse`, in a process of its own; no data are opened, and nothing is spent.

    Parameters
    ----------
    study, model, algorithm, delta, chains, start, draws
        As for `release`.
    epsilon : float, or list of float
    rows : int, or list of int, optional
        Of a twin, if not the ledger's.
    twins : int, optional
        Data sets, at least 2; 20 by default.
    seed : int, optional
        Of the twins, which are not secret.

    Raises
    ------
    JobError
        If nothing can run, or the model makes no twins.
    """
    given: dict[str, Any] = {"model": model, "algorithm": algorithm}
    given |= {"delta": delta, "chains": chains}
    given |= {"draws": draws, "start": start, "twins": twins, "seed": seed}
    several = []
    for name, values in {"epsilon": epsilon, "rows": rows}.items():
        if values is not None:
            several += [f"--{name}", *map(str, np.atleast_1d(values).tolist())]
    printed = run("rehearse", ["--json", *several, *options(given), "--", str(study)])
    return Rehearsal(json.loads(printed))


def said_of(row: dict[str, Any]) -> str:
    """A row of a rehearsal in a line."""
    what = f"Rehearsed with {row['law']}"
    if row["not_scored"] == row["samples"]:
        return f"{what}: no intervals"
    return (
        f"{what}: worth {row['worth']:.0%} ± {row['worth_se']:.0%} of the rows, 90 % intervals "
        f"cover {row['coverage']:.0%} ± {row['coverage_se']:.0%} ({row['honest']})"
    )


def options(given: dict[str, Any]) -> list[str]:
    """Options of a command, without those that are not given."""
    return [
        f"--{name}={value if isinstance(value, str | PathLike) else numbers(value)}"
        for name, value in given.items()
        if value is not None
    ]


def numbers(value: Any) -> str:
    """A number, or several with commas between them, to the last digit."""
    return ",".join(map(repr, np.atleast_1d(value).tolist()))


def run(name: str, arguments: list[str]) -> str:
    """Run a command in a process of its own; returns what it prints.

    An interrupt is passed on, and the command says what is spent. It does not get it from the
    terminal or the notebook beforehand, since it is in a group of its own.

    Raises
    ------
    SpentError, JobError
        With the line that the command says.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "dpmcmc", name, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        process_group=0,
    )
    while True:
        try:
            printed, said = process.communicate()
            break
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
    *notes, last = said.splitlines() or [""]
    if process.returncode in (0, PUBLISHED):
        for note in filter(None, [*notes, last]):
            warnings.warn(note, stacklevel=3)
        return printed
    if process.returncode == REFUSED:
        raise JobError(last.removeprefix(f"{name}: "))
    if process.returncode == MISUSED:
        raise JobError(last.partition(" error: ")[2].removeprefix("argument --"))
    if process.returncode == SPENT:
        raise SpentError(last.removeprefix(f"{name}: "))
    raise SpentError(f"{name} was killed. `ledger show` says what is spent")
