"""Files of a release that may be published: its draws, what they cost, and what that means.

Nothing in them depends on releases that failed: a failure may hang on one row, and no budget covers
that it is known. So they have the budget of all releases, not how many there were or what these
spent.
"""

import hashlib
import json
import math
import os
import platform
from datetime import UTC, datetime
from decimal import ROUND_CEILING
from importlib import metadata
from pathlib import Path

from dpmcmc.files import JobError
from dpmcmc.release import checked, rehearsed
from dpmcmc.release.budget import rounded, upward
from dpmcmc.release.code import digest_of_package, digests_of, settings_of
from dpmcmc.release.ledger import RELATION
from dpmcmc.release.lines import fsync_folder, printable
from dpmcmc.release.streams import CELLS, SLACK, log_ratio_of_densities, widening
from dpmcmc.samplers import one_shot
from dpmcmc.samplers.far_outcomes import Far
from dpmcmc.samplers.one_shot import MOST_MISFIT

FORMAT = 2
PACKAGES = ("dpmcmc", "numpy", "opendp", "randomgen")
FILES = ("chain.csv", "chain.nc", "statement.json", "statement.txt")
ATTRIBUTES = ("algorithm", "rows", "epsilon", "delta", "misfit")  # facts that chain.nc has, too
UNFINISHED = ".partial"  # ends the names of files and folders until all files are on disk
PRIORS = (0.01, 0.5)  # of a reader, in the page
# Their posteriors are given the noisy answer, so they have its noise; not so a plug-in posterior.
NOISE_AWARE = (
    "NoisyStatistics",
    "NoisyColumns",
    "NoisyLeastSquares",
    "NoisyNewton",
    "NoisyHistogram",
    "AutoOneShot",
)
RARE = 100  # times delta: results with so large a chance bear what the page says


def statement(plan, ledger, line):
    """Facts of a release before it has run, as a dict: no number in it comes from the rows.

    Parameters
    ----------
    plan : Plan
    ledger : Ledger
        With the line of the release.
    line : dict
    """
    part, budget, n = plan.part, ledger.budget, plan.model.num_rows
    model = {key: value for key, value in part.model.spec.items() if key != "num_rows"}
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
        "chosen": plan.chosen,
        "model": settings_of(model),
        "columns": part.columns,
        "units": plan.model.units_in_words(),
        "start": plan.start,
        "iterations": plan.iterations,
        "chains": plan.chains,
        "draws_of_a_chain": plan.kept,
        "draws_are_free": part.algorithm.has_free_steps,
        "is_checked": checked.is_checked(ledger, part),
        "rehearsal": rehearsed.found(ledger, plan),
        "all_releases": {
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "budgets": history(ledger),
        },
        "ledger_head": line["hash"],
        "date": line["date"],
        "code": {
            "version": metadata.version("dpmcmc"),
            "sha256": digest_of_package(),
            "own": digests_of(part.files),
        },
        "versions": {"python": platform.python_version()}
        | {name: metadata.version(name) for name in PACKAGES},
    }


def history(ledger):
    """Budgets that the owner has set, each with its date, and its reason if it was a change."""
    fields, budgets = ("epsilon", "delta", "kinds"), []
    for line in ledger.budgets:
        budget = {field: line[field] for field in fields}
        if not budgets or budget != {field: budgets[-1][field] for field in fields}:
            reason = {"reason": line["reason"]} if "reason" in line else {}
            budgets.append({"date": line["date"]} | budget | reason)
    return budgets


def page(facts):
    """The statement in plain words, for a data officer."""
    n, whole = facts["rows"], facts["all_releases"]
    factor = rounded(math.exp(facts["epsilon"]), ROUND_CEILING, 4)
    how = f"{facts['iterations']:,} draws that cost nothing follow one noisy answer"
    if not facts["draws_are_free"]:
        how = f"{facts['chains']} chain(s) of {facts['iterations']:,} iterations"
    return f"""\
What this is
  A sample of a posterior distribution, computed from {n:,} rows by {facts["algorithm"]}:
  {how}.
  It was made on {facts["date"]}, once. Nobody can repeat its noise; the program kept none of it.

What is guaranteed
  Differential privacy with {bound(facts)}.
  Replacing one row changes the probability of any result by a factor of at most
  e^epsilon = {factor:,.10g}, and by at most delta beyond that factor.
  Take a reader who knows all other rows, and wants to know which of two values this row has.
{reader(facts["epsilon"])}
  This holds for every set of results that has a probability of at least {RARE} delta.
  Whatever is computed from these files has the same guarantee.
  That number of rows is public, because the owner has declared it: which rows the model keeps is
  not protected. One row is one person only if the data say so: for a person with g rows epsilon is
  g times as large, and delta grows by more than that.

What all releases of these data cost together
  All releases of this ledger, later ones included, have the guarantee above with the budget that
  the owner has set: {bound(whole)}.
  The owner can raise epsilon later; statements of later releases say so.
{changed(whole["budgets"])}\
  This statement does not say how many releases there are, because some may have failed, and a
  failure can depend on a row. It is the line {facts["ledger_head"][:16]}... of the ledger.

What this rests on
  Settings, model, start and number of rows were fixed before the data were read. The person who ran
  the program states this; the program cannot check it.
  The noise comes from ciphers (OpenSSL, ChaCha20) with keys of the operating system, so the
  guarantee is against those who cannot break them.
  Model and program treat each row by itself; the program was checked for it, not proved.
{fit(facts)}

What is not covered
  How long the run took, whether and why it failed, and what the machine's owner could see on it.
  That the data passed the owner's checks, if they did: this depends on the data.
  Settings that were chosen by looking at these data.
  Other releases of the same people's data that are in no ledger, or in another.

How to read it
  Draws are those of a private method, not of the exact posterior.
{spread(facts)}
{agreement(facts)}{expectation(facts)}{indented(facts["units"])}\
  chain.csv and chain.nc have the same draws. statement.json has all settings, and digests of both
  files, by which it shows if they were exchanged.
"""


def bound(facts, between=" and "):
    """Epsilon and delta in words, rounded up, with a text between."""
    return between.join(f"{name} = {upward(facts[name], 10)}" for name in ("epsilon", "delta"))


def fit(facts):
    """Line on whether the owner has checked that model and data go together."""
    if facts["is_checked"]:
        return "  The owner has checked that this model takes these data."
    return "  Nobody has checked that this model takes these data: that was left out."


def spread(facts):
    """Lines on how far the spread of the draws is to be believed."""
    if not facts["draws_are_free"]:
        return (
            "  Their spread may be far from the posterior's: a chain may not have mixed, and a\n"
            "  clip may bias it. A rehearsal on simulated data shows how often its intervals cover."
        )
    row_laws = facts["chosen"].get("row_laws")
    is_aware = facts["settings"].get("posterior") != "plug-in"
    if row_laws and is_aware:
        return (
            "  Their spread includes what the noise adds, and the bias that may be left where the\n"
            "  rows are skewed or heavy-tailed: for the laws of rows that docs/release.md calls "
            f"{row_laws}."
        )
    if facts["algorithm"] in NOISE_AWARE and is_aware:
        return (
            "  Their spread includes what the noise of the method adds, if the rows follow the "
            "model."
        )
    return "  Their spread may lack what the noise of the method adds, so it may be too narrow."


def agreement(facts):
    """Lines on whether the answer agrees with what was released, where the method says that."""
    if facts["misfit"] is None:
        return ""
    sds = f"{facts['misfit']:.1f} standard deviations"
    if does_fit(facts):
        lines = [
            f"By the method's own test, what it released is within {sds}",
            "of what these draws lead to expect, so the test does not speak against them.",
        ]
    elif facts["misfit"] > MOST_MISFIT:
        lines = [
            "IT DOES NOT FIT, so its intervals do not hold: what the method released is",
            f"{sds} from what these draws lead to expect. The method",
            "did not converge, or the rows are unlike those of the model.",
        ]
    else:
        lines = [
            "IT DOES NOT FIT, so its intervals do not hold: more outcomes are far out than the",
            "model has. Take a model with wider errors or heavier tails.",
        ]
    return indented(lines + [line_of(one) for one in far_outcomes(facts)])


def expectation(facts):
    """Lines on what a rehearsal has said of such a release."""
    if facts["rehearsal"] is None:
        return indented(["It was not rehearsed on simulated data."])
    first, *more = rehearsed.in_words(facts["rehearsal"])
    return indented(["A rehearsal said before:", *(f"  {line}" for line in [first, *more])])


def line_of(far):
    """Line on how many outcomes are far out, and how many would be."""
    return (
        f"Rows with an outcome beyond the model's farthest {100 * far.level:g} %: "
        f"{100 * far.found:.1f} +- {100 * far.sd:.1f} %, expected {100 * far.expected:.1f} %."
    )


def far_outcomes(facts):
    """Numbers of far outcomes that were released."""
    return [Far(**one) for one in facts["far_outcomes"]]


def does_fit(facts):
    """Whether the answer agrees with what was released; None where the method does not say it."""
    if facts["misfit"] is None:
        return None
    return one_shot.does_fit(facts["misfit"], far_outcomes(facts))


def reader(epsilon):
    """Lines that say how sure a reader can become: odds grow by e^epsilon at most."""
    return "\n".join(
        f"  A probability of {100 * prior:g} % for one of them can become "
        f"{most_percent(prior, epsilon):.2f} % at most."
        for prior in PRIORS
    )


def most_percent(prior, epsilon):
    """Largest posterior probability of one of two values of a row, in percent, rounded up.

    By (epsilon, delta)-privacy, P(E) <= e^epsilon P'(E) + delta for a set E of results. So if
    P(E) is at least `RARE` delta, the odds grow by a factor of e^epsilon / (1 - 1 / RARE) at most.
    """
    odds = (1 - prior) / prior * math.exp(-epsilon) * (1 - 1 / RARE)
    return math.ceil(1e4 / (1 + odds)) / 100


def changed(budgets):
    """Lines on budgets that were set one after the other; none where there is one."""
    if len(budgets) == 1:
        return ""
    lines = ["The owner has changed the budget:"]
    for budget in budgets:
        reason = f", because: {printable(budget['reason'])}" if "reason" in budget else ""
        lines.append(f"  {budget['date']}  {bound(budget, ', ')}{reason}")
    lines += [
        "If results of releases had a part in that, the guarantee for all releases is that of the",
        "largest budget that the owner would have set after any results.",
    ]
    return indented(lines)


def indented(lines):
    """Lines of a section."""
    return "".join(f"  {line}\n" for line in lines)


# -- Files -----------------------------------------------------------------------------------------


def write(folder, facts, draws, names):
    """Write all files of a release to a folder, on disk when this returns.

    Their names end in `UNFINISHED` until `move`, so that nobody takes them for a release.

    Parameters
    ----------
    folder : path
    facts : dict
        `statement`, with misfit and far outcomes of the release.
    draws : (chains, kept, d) array
    names : list of str
    """
    folder = Path(folder)
    midnight = datetime.fromisoformat(facts["date"]).replace(tzinfo=UTC).timestamp()

    def write_one(name, parts):
        file = folder / f"{name}{UNFINISHED}"
        whole = hashlib.sha256()
        with file.open("wb") as contents:
            for part in parts:
                contents.write(part)
                whole.update(part)
            contents.flush()
            os.fchmod(contents.fileno(), 0o644)  # whatever the umask
            os.fsync(contents.fileno())
        os.utime(file, (midnight, midnight))
        return whole.hexdigest()

    netcdf = as_netcdf(draws, names, facts)
    draws_as = {"chain.csv": as_csv(draws, names), "chain.nc": [netcdf]}
    facts = facts | {"sha256": {name: write_one(name, parts) for name, parts in draws_as.items()}}
    write_one("statement.json", [json.dumps(facts, indent=1).encode(), b"\n"])
    write_one("statement.txt", [page(facts).encode()])
    fsync_folder(folder)


def as_csv(draws, names):
    """Lines of draws as CSV, in bytes: chain and draw, from 1, and theta to its last digit."""
    yield (",".join(["chain", "draw", *names]) + "\n").encode()
    for chain, positions in enumerate(draws, 1):
        for draw, theta in enumerate(positions, 1):
            row = [str(chain), str(draw), *map(repr, theta.tolist())]
            yield (",".join(row) + "\n").encode()


def as_netcdf(draws, names, facts):
    """Draws as the posterior of a file for ArviZ, as bytes, with `ATTRIBUTES` of it.

    They are made in memory, because HDF5 crashes where a disk is full.
    """
    import xarray

    places = {"chain": range(len(draws)), "draw": range(draws.shape[1]), "component": names}
    theta = xarray.DataArray(draws, places, places.keys(), name="theta")
    file = (
        theta.to_dataset()
        .assign_attrs(attributes(facts))
        .to_netcdf(None, engine="h5netcdf", group="posterior", encoding={"theta": {"zlib": True}})
    )
    with file:  # a view, without which the file in memory cannot be closed
        return file.tobytes()


def attributes(facts):
    """Facts as attributes of a file of draws: numbers of far outcomes are arrays, one a level."""
    known = {name: facts[name] for name in ATTRIBUTES if facts.get(name) is not None}
    if "misfit" not in known:
        return known
    far = zip(*far_outcomes(facts), strict=True)
    of_far = {f"far_{name}": list(one) for name, one in zip(Far._fields, far, strict=False)}
    return known | {"does_fit": int(does_fit(facts))} | of_far


def require_own_files(folder):
    """Raise a JobError if a folder has other files than `write` has made."""
    if {file.name for file in folder.iterdir()} != {f"{name}{UNFINISHED}" for name in FILES}:
        raise JobError(f"{folder} contains files that this release did not write")


def move(folder, output):
    """Give a folder and its files their names, as all are on disk; a JobError if that cannot be.

    The folder comes last, in one step.
    """
    folder, output = Path(folder), Path(output)
    try:
        midnight = (folder / f"{FILES[-1]}{UNFINISHED}").stat().st_mtime
        for name in FILES:
            os.rename(folder / f"{name}{UNFINISHED}", folder / name)
        fsync_folder(folder)
        folder.chmod(0o755)
        os.utime(folder, (midnight, midnight))
        os.rename(folder, output)
    except OSError as error:
        raise JobError(f"{output} cannot be written ({error.strerror})") from None


def unfinished(output):
    """Folder of a release until it is published; a JobError if the output can have no name."""
    if output.name in ("", ".."):
        raise JobError(f"--output: must be a new folder, not {output}")
    return output.with_name(f".{output.name}{UNFINISHED}")
