"""The commands `ledger`, `release` and `rehearse` from Python: a notebook, say.

Each call that computes runs the command in a process of its own. So it has the guarantees of the
command, whatever this process has imported, changed or drawn: a notebook keeps a model's file as it
was when it was first imported, and would try out other code than what then reads the data.
"""

import html
import json
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.files import JobError
from dpmcmc.release import ledger as ledgers
from dpmcmc.release.results import Rehearsal, Release

# Exit statuses, as `command` has them, and that of argparse.
REFUSED, MISUSED, SPENT, PUBLISHED = 1, 2, 3, 4


class SpentError(JobError):
    """A release that was not published, and whose cost is spent, or may be: the ledger says so."""


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
            delta at most 0.1 / rows, say; it must be below 1 / rows.
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
