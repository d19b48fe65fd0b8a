"""The commands `ledger`, `release` and `rehearse`."""

import argparse
import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from dpmcmc.configuration.yaml_files import ConfigError
from dpmcmc.extras import missing
from dpmcmc.files import JobError
from dpmcmc.release import ledger as ledgers
from dpmcmc.release import statement
from dpmcmc.release.launcher import run_data_process
from dpmcmc.release.libraries import OF_NUMBERS, require_installed
from dpmcmc.release.plan import DRAWS, plan, require_libraries, sampler_of, with_noise
from dpmcmc.release.reading import data_of, read_part

REFUSED, SPENT = 1, 3  # exit statuses: nothing is spent; something is, or may be
LEAST_DELTA = 1e-100  # far more than the theorem of docs/release.md adds
FAR = 2.0  # factor by which a setting may differ from the one that would be chosen
IS_SPENT = "Its planned cost is spent."
MAY_BE = "`ledger show` says what is spent."


def main(name, arguments):
    """Run one of the commands; returns the exit status."""
    try:
        return COMMANDS[name](arguments)
    except KeyboardInterrupt:
        tell(f"{name}: interrupted." + f" {MAY_BE}" * (name == "release"))
        return SPENT if name == "release" else REFUSED
    except (JobError, OSError, ValueError) as error:
        tell(f"{name}: {error}")
        return REFUSED
    finally:
        for stream in (sys.stdout, sys.stderr):
            flush(stream)


def tell(text):
    """Say something to who runs this; where nobody can hear it, the exit status does."""
    with suppress(OSError):
        print(text, file=sys.stderr)


def flush(stream):
    """Flush a stream; what cannot be written is dropped, as Python would change the exit status."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# -- The ledger ------------------------------------------------------------------------------------


def ledger(arguments):
    """Make, show or change the ledger of a file of data."""
    parser = argparse.ArgumentParser(
        prog="python -m dpmcmc ledger",
        description="The privacy budget of a data file, and what was spent of it.",
    )
    actions = parser.add_subparsers(dest="action", required=True)
    new = actions.add_parser("new", help="set the budget of all releases of a file together")
    new.add_argument("data")
    new.add_argument("--epsilon", type=positive, required=True)
    new.add_argument("--delta", type=probability, required=True, help="at most 0.1 / rows, say")
    new.add_argument(
        "--rows",
        type=count,
        required=True,
        help="number of rows that the model uses; it will be published",
    )
    new.add_argument(
        "--for",
        dest="kinds",
        choices=list(ledgers.KINDS),
        default="any",
        help="full-data: allow only methods that use all rows, with all of delta. any: also allow "
        "methods on batches, for which half of delta is reserved (the default)",
    )
    new.add_argument("--owner")
    new.add_argument("--in-git", action="store_true", help="even if git does not ignore the ledger")
    actions.add_parser("show", help="what was spent").add_argument("data")
    change = actions.add_parser(
        "change", help="another budget, another number of rows or other data, from now on"
    )
    change.add_argument("data")
    change.add_argument(
        "--reason", required=True, help="noted in the ledger; published if the budget changes"
    )
    change.add_argument("--epsilon", type=positive, help="after a release, a larger one")
    change.add_argument("--delta", type=probability, help="until the first release")
    change.add_argument(
        "--for", dest="kinds", choices=list(ledgers.KINDS), help="until the first release"
    )
    change.add_argument(
        "--rows", type=count, help="declare another number, which may be published from then on"
    )
    given = vars(parser.parse_args(arguments))
    action, data = given.pop("action"), given.pop("data")
    if action == "new":
        ledgers.new(data, **given)
    elif action == "change":
        ledgers.change(data, **given)
    found = ledgers.read(data)
    show(found, data)
    if action == "new" and (others := ledgers.beside(found.path)):
        print(
            f"    beside it lie {', '.join(other.name for other in others)}: data of the same "
            "people share a budget only within one ledger"
        )
    return 0


def show(found, data):
    """Print a ledger: its budget, its lines, and what is spent and left."""
    budget = found.budget
    print(
        f"{found.path}: all releases together, later ones included, may spend epsilon "
        f"{budget.epsilon:.10g} at delta {budget.delta:.10g}, by methods on "
        f"{'all rows' if not budget.delta0 else 'rows or batches'}"
    )
    print(f"    public numbers of rows: {ledgers.listed(found.declared_rows)}")
    if not os.path.isfile(data):
        print(f"    there is no file {data} now")
    elif ledgers.fingerprint(Path(data).read_bytes(), budget.salt) != budget.fingerprint:
        print(
            f"    {data} has changed: `ledger change {shlex.quote(data)} --reason ...` records "
            "that, and keeps what was spent"
        )
    released, old = {line["id"] for line in found.releases}, None
    for line in found.lines:
        if line["kind"] == "budget":
            print(f"    {line['date']}  {changes(old, line)}")
            old = line
        elif line["kind"] == "release" and line["id"] in released:
            end = "published" if line["id"] in found.finished else "spent, nothing published"
            print(
                f"    {line['date']}  epsilon {line['epsilon']:g} at delta {line['at_delta']:g}  "
                f"{line['algorithm']} on {line['rows']:,} rows  {end}"
            )
    if found.is_torn:
        print(
            "    the last line is not whole, because writing it was cut off: it counts nothing, "
            "as what it was for never started. The next line that is written replaces it"
        )
    print(
        f"    {found.damage}"
        if found.damage
        else f"    spent: epsilon {found.spent_epsilon:g}; left: {found.left_epsilon:g} for one "
        "release on all rows"
    )


def changes(old, new):
    """Differences of a budget's line to the one before, and its reason, in words."""
    names = {"epsilon": "epsilon", "delta": "delta", "kinds": "for", "rows": "rows"}
    parts = [
        f"{name} {new[key]:.10g}" if isinstance(new[key], float) else f"{name} {new[key]}"
        for key, name in names.items()
        if old is None or new[key] != old[key]
    ]
    what = ", ".join(parts) or "data recorded"
    return f"budget: {what}" if old is None else f"changed: {what} ({new['reason']})"


# -- A release -------------------------------------------------------------------------------------


def release(arguments):
    """Run a method once with secret noise, and write what may be published."""
    given = release_parser().parse_args(joined(arguments))
    data = data_of(given.study, given.model)
    found = ledgers.read(data)
    part = read_part(given.study, given.model, given.algorithm, found.rows_for(given.rows))
    planned = plan(
        part,
        given.epsilon,
        given.delta or found.budget.delta,
        given.chains,
        given.start,
        given.draws,
    )
    describe(planned, found)
    if given.plan:
        return 0
    require_libraries()
    require_installed(*OF_NUMBERS)
    ledgers.require_readable(data)
    output = Path(given.output)
    if os.path.lexists(output):
        raise JobError(f"--output: {output} exists already")
    what = "your own code, then " * bool(part.files)
    print(f"Checking {what}the whole release on simulated data ...", flush=True)
    if part.files:
        from dpmcmc.release.own_code import check_own_code  # which takes seconds to import

        check_own_code(planned)
    for folder in statement.unfinished(output):
        tell(
            f"release: {folder} is of a release that still runs or was killed. Nothing in it may "
            "be published; if none runs, remove it"
        )
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(
            tempfile.mkdtemp(
                prefix=f".{output.name}.", suffix=statement.UNFINISHED, dir=output.parent
            )
        )
    except OSError as error:
        raise JobError(
            f"--output: must be a new folder, and {output} cannot be made ({error.strerror})"
        ) from None
    try:
        try_out(planned, found, partial)
        return spend(planned, data, partial, output)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def try_out(planned, found, partial):
    """Release a twin: all that a release does but for the names, in a folder that is thrown away.

    So if the process is killed, what is left of it does not look like a release.

    Raises
    ------
    JobError
        If anything fails. Nothing is spent, and no data were read, so it may say what failed.
    """
    line = {"kind": "release", "id": "simulated"} | planned.entry
    line |= {"date": ledgers.today(), "hash": "0" * 64}
    ledger = found._replace(lines=[*found.lines, line])
    folder = partial / "simulated"
    folder.mkdir()
    try:
        problem = complete(planned, None, ledger, line, folder)
    except KeyboardInterrupt:
        raise JobError("interrupted; nothing is spent") from None
    except (JobError, OSError) as error:
        problem = str(error)
    except Exception as error:
        problem = f"{' '.join(str(error).split())} ({type(error).__name__})"
    finally:
        shutil.rmtree(folder)
    if problem:
        part = planned.part
        raise JobError(
            f"{part.algorithm.id} on {part.model.id} fails on simulated data, so nothing is spent: "
            f"{problem}"
        )


def complete(planned, budget, ledger, line, folder):
    """Run a release, and write its files to a folder, unfinished; a problem, or None.

    Parameters are those of `run_data_process` and of `statement`.
    """
    problem, draws = run_data_process(planned, budget)
    if problem is None:
        facts = statement.statement(planned, ledger, line)
        statement.write(folder, facts, draws, planned.names)
    return problem


def spend(planned, data, partial, output):
    """Enter the release into the ledger, run it, write its result; returns the exit status.

    A refusal of the ledger is raised. Whatever goes wrong later is `SPENT`, unless the data were
    never looked at.
    """
    line = None
    try:
        line, found = ledgers.admit(data, planned.entry)
        problem = complete(planned, found.budget, found, line, partial)
        if problem == "changed":
            ledgers.note(data, "void", line["id"])
            tell(
                f"release: {data} is not the file of its ledger, and was not used: nothing is "
                f"spent. `ledger change {shlex.quote(str(data))} --reason ...` records other data"
            )
            return REFUSED
        if problem is None:
            statement.move(partial, output)
            ledgers.note(data, "finished", line["id"])
            print(f"written to {output}: {', '.join(statement.FILES)}")
            spent, left = found.spent_epsilon, found.left_epsilon
            print(f"    spent now: epsilon {spent:g}; left: {left:g}", flush=True)
            return 0
    except KeyboardInterrupt:
        problem = "the run was interrupted"
    except Exception as error:
        is_refused = isinstance(error, JobError) and not isinstance(error, ledgers.Unsure)
        if line is None and is_refused:
            raise
        # Of this process, which has draws and no data.
        what = str(error) if isinstance(error, JobError | OSError) else type(error).__name__
        problem = f"the release could not be completed ({what})"
    tell(f"release: {problem}. {IS_SPENT if line else MAY_BE}")
    return SPENT


def describe(planned, found):
    """Print what will run, and what it leaves of the budget."""
    part, budget = planned.part, found.budget
    chains = "1 chain" if planned.chains == 1 else f"{planned.chains} chains"
    length = f"{chains} of {planned.iterations:,} iterations"
    if part.algorithm.has_free_steps:
        length = f"{planned.iterations:,} draws from one private release"
    print(f"{part.algorithm.id} on {part.model.id}, {planned.model.num_rows:,} rows: {length}")
    if chosen := planned.chosen:
        print(f"    chosen by public numbers: {in_words(chosen)}")
    print(f"    cost: epsilon {planned.epsilon:g} at delta {planned.delta:g}")
    both = [found.spent(name) + planned.entry[name] for name in ("mu_squared", "slack")]
    problem = found.refusal(planned.entry)
    print(
        f"    budget: epsilon {budget.epsilon:g} at delta {budget.delta:g}. Spent before: "
        f"{found.spent_epsilon:g}. Spent after this release: {budget.epsilon_of(*both):g}",
        flush=True,
    )
    if problem:
        raise JobError(problem)


def in_words(settings):
    """Settings in one line."""
    texts = (
        [f"{number:g}" for number in value] if isinstance(value, list) else [f"{value:.4g}"]
        for value in settings.values()
    )
    return "; ".join(
        f"{name} {', '.join(text)}" for name, text in zip(settings, texts, strict=True)
    )


# -- A rehearsal -----------------------------------------------------------------------------------


def rehearse(arguments):
    """Run a release on simulated twins of the data, and say how many rows it is worth."""
    from dpmcmc.release.rehearsal import rehearsal, table

    given = rehearsal_parser().parse_args(joined(arguments))
    if given.plot and importlib.util.find_spec("matplotlib") is None:
        raise JobError(missing("matplotlib", "studies"))
    sizes, delta = given.rows, given.delta
    try:
        data = data_of(given.study, given.model)
    except ConfigError:
        data = None
    if data is not None and ledgers.path_of(data).exists():
        budget = ledgers.read(data).budget
        sizes, delta = sizes or [budget.rows], delta or budget.delta
    if data is not None and sizes is None:
        raise JobError("--rows: must be given, because there is no ledger with the number of rows")
    rows = []
    for size in sizes or [None]:
        part = read_part(given.study, given.model, given.algorithm, size)
        of_size = delta or 0.1 / part.model.model.num_rows
        plans = [
            plan(part, epsilon, of_size, given.chains, given.start, given.draws)
            for epsilon in given.epsilon
        ]
        for one in plans:
            tell_of_settings(one)
        rows += rehearsal(plans, given.twins, given.seed)
    if given.plot:
        from dpmcmc.release.plot import draw

        draw(rows, given.plot)
    print(json.dumps(rows) if given.json else table(rows))
    return 0


def tell_of_settings(planned):
    """Warn of numbers that are far from those that public numbers lead to."""
    given = with_noise(sampler_of(planned.part), planned.noise_scale)
    chosen = planned.chosen
    free = {name: None for name in chosen if isinstance(getattr(given, name, None), float)}
    if not free:
        return
    best = replace(given, **free).chosen_settings(planned.model)
    for name in free:
        if not 1 / FAR < chosen[name] / best[name] < FAR:
            tell(
                f"rehearse: {name} is {chosen[name]:g}, at epsilon {planned.epsilon:g} "
                f"{best[name]:.3g} would be chosen; leave it out to take that"
            )


# -- Options ---------------------------------------------------------------------------------------


def release_parser():
    """Options of `release`."""
    parser = argparse.ArgumentParser(
        prog="python -m dpmcmc release", description=release.__doc__, epilog=EPILOG
    )
    common(parser)
    parser.add_argument("--rows", type=count, help="that the model keeps, if not the ledger's")
    parser.add_argument("--epsilon", type=positive, required=True)
    parser.add_argument("--output", required=True, help="a folder that does not exist yet")
    parser.add_argument(
        "--plan", action="store_true", help="say what it would cost, and stop: no data are opened"
    )
    return parser


def rehearsal_parser():
    """Options of `rehearse`."""
    parser = argparse.ArgumentParser(
        prog="python -m dpmcmc rehearse", description=rehearse.__doc__, epilog=EPILOG
    )
    common(parser)
    parser.add_argument("--rows", type=count, nargs="+", help="of a twin, if not the ledger's")
    parser.add_argument("--epsilon", type=positive, required=True, nargs="+")
    parser.add_argument("--twins", type=count, default=20, help="data sets, at least 2")
    parser.add_argument("--seed", type=int, default=0, help="of the twins, which are not secret")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        type=picture,
        help="also draw worth and coverage: .png, .pdf, .svg",
    )
    parser.add_argument("--json", action="store_true", help="print the rows of the table as JSON")
    return parser


def common(parser):
    """Options of both."""
    parser.add_argument("study", help="path of the YAML file that defines model and algorithm")
    parser.add_argument("--model", required=True)
    parser.add_argument("--algorithm", required=True)
    parser.add_argument("--delta", type=probability, help="by default that of the ledger")
    parser.add_argument("--chains", type=count, default=1, help="that share the budget")
    parser.add_argument("--start", help="prior, numbers with commas between them, or preparation")
    parser.add_argument(
        "--draws", type=count, default=DRAWS, help=f"of each chain, at most ({DRAWS})"
    )


EPILOG = "docs/release.md says what is promised, and to whom."


def joined(arguments):
    """Options, with numbers after --start as one text: one that begins with a minus is none."""
    result = list(arguments)
    for i, (option, value) in enumerate(pairwise(arguments)):
        if option == "--start" and re.match(r"-[\d.]", value):
            result[i : i + 2] = [f"{option}={value}"]
    return result


def positive(text):
    """An epsilon."""
    return number(text, 1e-3, 100, "must be a number between 0.001 and 100")


def probability(text):
    """A delta."""
    return number(text, LEAST_DELTA, 0.5, f"must be a number between {LEAST_DELTA:g} and 0.5")


def count(text):
    """A whole number; 1e4 is one."""
    problem = "must be a whole number of at least 1"
    value = number(text, 1, 1e9, problem)
    if not value.is_integer():
        raise argparse.ArgumentTypeError(f"{problem}, not {text}")
    return int(value)


def picture(text):
    """Path of a picture."""
    if Path(text).suffix not in (".png", ".pdf", ".svg"):
        raise argparse.ArgumentTypeError(f"must be a file that ends in .png, .pdf or .svg: {text}")
    return Path(text)


def number(text, low, high, problem):
    """A number between two others."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{problem}, not {text}")
    return value


COMMANDS = {"ledger": ledger, "release": release, "rehearse": rehearse}
