"""What may be published of a release: its draws, what they cost, and what that means."""

import json
import os
import platform
import subprocess
import warnings
from datetime import datetime
from importlib import metadata
from pathlib import Path

import numpy as np

from dpmcmc.files import JobError
from dpmcmc.release.ledger import RELATION, fsync_folder, today
from dpmcmc.release.streams import CELLS, SLACK, log_ratio_of_densities, widening

FORMAT = 1
PACKAGES = ("dpmcmc", "numpy", "opendp", "randomgen")
FILES = ("chain.csv", "chain.nc", "statement.json", "statement.txt")


def statement(plan, ledger, line):
    """What is said of a release, as a dict; no number in it comes from the rows.

    Parameters
    ----------
    plan : Plan
    ledger : Ledger
        With the line of the release.
    line : dict
    """
    part, budget, n = plan.part, ledger.budget, plan.model.num_rows
    return {
        "format": FORMAT,
        "what": "draws of a posterior",
        "relation": RELATION,
        "rows": n,
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "mu_squared": plan.mu**2,
        "delta0": plan.delta0,
        "slack": {
            "epsilon": SLACK,
            "cells_of_a_sensitivity": CELLS,
            "widening_of_the_noise": widening(n, plan.model.dimension),
            "log_ratio_of_densities_of_a_draw": log_ratio_of_densities(plan.least_noise),
        },
        "accountant": "certified",
        "released": plan.what,
        "algorithm": part.algorithm.sampler_class.__name__,
        "settings": settings_of(part.algorithm.spec(part.settings)),
        "noise_scale": plan.noise_scale,
        "model": settings_of(part.model.spec),
        "columns": part.columns,
        "start": plan.start,
        "iterations": plan.iterations,
        "chains": plan.chains,
        "draws_of_a_chain": plan.kept,
        "draws_are_free": part.algorithm.has_free_steps,
        "all_releases": {
            "number": len(ledger.releases),
            "epsilon": ledger.spent_epsilon,
            "delta": budget.delta,
            "budget": {"epsilon": budget.epsilon, "delta": budget.delta, "kinds": budget.kinds},
        },
        "ledger_head": line["hash"],
        "date": today(),
        "code": code_version(),
        "versions": {"python": platform.python_version()}
        | {name: metadata.version(name) for name in PACKAGES},
    }


def settings_of(spec):
    """Settings of a spec, with the names of classes and of no folder."""
    return {
        key: value.rpartition(":")[2]
        if key == "class"
        else settings_of(value)
        if isinstance(value, dict)
        else value
        for key, value in spec.items()
    }


def code_version():
    """Version of the package, and the commit where it is a checkout."""
    version = metadata.version("dpmcmc")
    try:
        git = ["git", "describe", "--always", "--dirty=+changes", "--exclude=*"]
        here = Path(__file__).parent
        ended = subprocess.run(git, cwd=here, capture_output=True, text=True, check=True)
        commit = ended.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return version
    return f"{version} ({commit})"


def page(facts):
    """The statement in plain words, for a data officer."""
    n, whole = facts["rows"], facts["all_releases"]
    budget = whole["budget"]
    how = f"{facts['iterations']:,} draws that cost nothing follow one noisy answer"
    width = "Their spread says what the method knows of its own noise."
    if not facts["draws_are_free"]:
        how = f"{facts['chains']} chain(s) of {facts['iterations']:,} iterations"
        width = "Their spread is not to be believed: so short a chain has hardly mixed."
    return f"""\
What this is
  A sample of a posterior distribution, computed from {n:,} rows by {facts["algorithm"]}:
  {how}.
  It was made on {facts["date"]}, once. Nobody can repeat its noise; the program kept none of it.

What is guaranteed
  Differential privacy with epsilon = {facts["epsilon"]:g} and delta = {facts["delta"]:g}.
  If one row had been another, nothing that can be seen of these files would have been more than
  e^epsilon = {np.exp(facts["epsilon"]):.3g} times as likely, or as unlikely, but for a chance of
  delta. So whoever reads them, with all other rows at hand, learns hardly more of one row than
  without it. Whatever is computed from these files has the same guarantee.
  The number of rows is public. One row is one person only if the data say so: for a person with
  g rows epsilon is g times as large, and delta grows more than that.

What has been spent of these data
  All releases, {whole["number"]} so far, together: epsilon = {whole["epsilon"]:g} at delta =
  {whole["delta"]:g}, of a budget of epsilon = {budget["epsilon"]:g} that the owner has set.
  This release is the line {facts["ledger_head"][:16]}... of the ledger.

What this rests on
  Settings, model, start and number of rows were fixed before the data were read. So says who ran
  the program, which cannot know.
  The noise comes from ciphers (OpenSSL, ChaCha20) with keys of the operating system, so the
  guarantee is against those who cannot break them.
  Model and program treat each row by itself; the program was checked for it, not proved.

What is not covered
  How long the run took, whether and why it failed, and what the machine's owner could see on it.
  Settings that were chosen by looking at these data.
  Other releases of the same people's data that are in no ledger, or in another.

How to read it
  Draws are those of a private method, not of the exact posterior.
  {width}
  statement.json has all settings. chain.csv and chain.nc have the same draws.
"""


# -- Files -----------------------------------------------------------------------------------------


def write(folder, facts, draws, names):
    """Write all files of a release to a folder, on disk when this returns.

    Parameters
    ----------
    folder : path
    facts : dict
        `statement`.
    draws : (chains, kept, d) array
    names : list of str
    """
    texts = {
        "statement.json": [json.dumps(facts, indent=1), "\n"],
        "statement.txt": [page(facts)],
        "chain.csv": as_csv(draws, names),
    }
    for name, parts in texts.items():
        with (folder / name).open("w", encoding="utf-8") as file:
            file.writelines(parts)
    (folder / "chain.nc").write_bytes(as_netcdf(draws, names))
    midnight = datetime.fromisoformat(facts["date"]).timestamp()
    for file in sorted(folder.iterdir()):
        with file.open("rb+") as contents:
            os.fsync(contents.fileno())
        os.utime(file, (midnight, midnight))
    fsync_folder(folder)
    os.utime(folder, (midnight, midnight))


def as_csv(draws, names):
    """Lines of draws as CSV: chain and draw, from 1, and theta to its last digit."""
    yield ",".join(["chain", "draw", *names]) + "\n"
    for chain, positions in enumerate(draws, 1):
        for draw, theta in enumerate(positions, 1):
            yield ",".join([str(chain), str(draw), *map(repr, theta.tolist())]) + "\n"


def as_netcdf(draws, names):
    """Draws for ArviZ, as bytes, without the moment when they were made, which ArviZ would note.

    They are made in memory, because HDF5 crashes where a disk is full.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz

        data = arviz.from_dict(
            posterior={"theta": draws},
            dims={"theta": ["component"]},
            coords={"component": names},
        )
        data.posterior.attrs.clear()
        return data.posterior.to_netcdf(
            None, engine="h5netcdf", group="posterior", encoding={"theta": {"zlib": True}}
        )


def move(folder, output):
    """Give a folder that is whole its name; a JobError where another has it, or it has more."""
    if {file.name for file in folder.iterdir()} != {*FILES}:
        raise JobError(f"{folder} holds what the release has not written")
    try:
        os.rename(folder, output)
    except OSError as error:
        raise JobError(f"{output} cannot be written ({error.strerror})") from None
    fsync_folder(output.parent)
