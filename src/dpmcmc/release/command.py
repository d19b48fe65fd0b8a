"""The commands `ledger`, `release` and `rehearse`, of which `release` is here."""

import os
import shlex
import shutil
import signal
import sys
from pathlib import Path

from dpmcmc.files import JobError
from dpmcmc.release import checked, rehearsed, statement
from dpmcmc.release import ledger as ledgers
from dpmcmc.release.budget import upward
from dpmcmc.release.launcher import run_data_process
from dpmcmc.release.ledger_command import ledger
from dpmcmc.release.libraries import OF_NUMBERS, require_installed
from dpmcmc.release.lines import fsync_folder, today
from dpmcmc.release.options import joined, release_parser
from dpmcmc.release.plan import plan, require_libraries
from dpmcmc.release.reading import data_of, read_part
from dpmcmc.release.rehearse_command import rehearse
from dpmcmc.release.terminal import flush, interrupt_on, say, tell

# Exit statuses: nothing is spent; something is, or may be; a release is published and not noted.
REFUSED, SPENT, PUBLISHED = 1, 3, 4
DOES_NOT_FIT = (
    "release: it does not fit, so its intervals do not hold: the method did not converge, or the "
    "rows are unlike those of the model. statement.txt says by how much"
)
IS_SPENT = "Its planned cost is spent."
MAY_BE = "`ledger show` says what is spent."


def main(name, arguments):
    """Run one of the commands; returns the exit status."""
    interrupt_on(signal.SIGTERM, signal.SIGHUP)
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


def release(arguments):
    """Run a method once with secret noise, and write what may be published."""
    given = release_parser().parse_args(joined(arguments))
    data = data_of(given.study, given.model)
    found = ledgers.read(data)
    part = read_part(given.study, given.model, given.algorithm, found.rows_for(given.rows))
    found.require_columns(part.columns)
    planned = plan(
        part,
        given.epsilon,
        given.delta or found.budget.delta,
        given.chains,
        given.start,
        given.draws,
    )
    describe(planned, found)
    print_rehearsal(planned, found)
    if given.plan:
        return 0
    if not given.unchecked:
        checked.require(found, part)
    require_libraries()
    require_installed(*OF_NUMBERS)
    ledgers.require_readable(data)
    output = Path(given.output)
    if os.path.lexists(output):
        raise JobError(f"--output: {output} exists already")
    partial = statement.unfinished(output)
    what = "your own code, then " * bool(part.files)
    print(f"Checking {what}the whole release on simulated data ...", flush=True)
    if part.files:
        from dpmcmc.release.own_code import check_own_code  # which takes seconds to import

        check_own_code(planned)
    make_folder(partial, output)
    try:
        try_out(planned, found, partial)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return spend(planned, data, partial, output)


def make_folder(partial, output):
    """Make the folder of a release that gets its name in the end: only one at a time has it."""
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir(mode=0o700)
    except OSError as error:
        if partial.is_dir():
            raise JobError(
                f"--output: {partial} is of another release to {output}, which still runs, was "
                "killed, or could not be moved; if none runs, remove that folder"
            ) from None
        raise JobError(
            f"--output: must be a new folder, and {output} cannot be made ({error.strerror})"
        ) from None
    try:
        fsync_folder(output.parent)  # as when the folder has its name
    except OSError as error:
        partial.rmdir()
        raise JobError(f"--output: {output.parent} cannot be read ({error.strerror})") from None


def try_out(planned, found, partial):
    """Release a twin: all that a release does but for the names, in a folder that is thrown away.

    So if the process is killed, what is left of it does not look like a release.

    Raises
    ------
    JobError
        If anything fails. Nothing is spent, and no data were read, so it may say what failed.
    """
    line = {"kind": "release", "id": "simulated"} | planned.entry
    line |= {"date": today(), "hash": "0" * 64}
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
    problem, drawn = run_data_process(planned, budget)
    if problem is None:
        facts = statement.statement(planned, ledger, line)
        facts |= {"misfit": drawn.misfit, "far_outcomes": [far._asdict() for far in drawn.far]}
        statement.write(folder, facts, drawn.draws, planned.names)
        if budget and statement.does_fit(facts) is False:
            tell(DOES_NOT_FIT)
    return problem


def spend(planned, data, partial, output):
    """Enter the release into the ledger, run it, write its result; returns the exit status.

    A refusal of the ledger is raised. Whatever goes wrong later is `SPENT`, unless the data were
    never looked at, until the folder has its name: from then on the release is published. Files
    that are whole are paid for, and kept if they cannot get their names.
    """
    line, is_whole = None, False
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
            statement.require_own_files(partial)
            is_whole = True
            ledgers.require_counted(data, line)
            statement.move(partial, output)
    except KeyboardInterrupt:
        problem = "the run was interrupted"
    except Exception as error:
        is_refused = isinstance(error, JobError) and not isinstance(error, ledgers.Unsure)
        if line is None and is_refused:
            raise
        problem = f"the release could not be completed ({said_by(error)})"
    finally:
        if not is_whole:
            shutil.rmtree(partial, ignore_errors=True)
    if is_whole and not os.path.lexists(partial):  # else an interrupt that came too late is no end
        return published(data, line, found, output)
    where = f" Its files are whole, and not published: they are kept in {partial}." * is_whole
    tell(f"release: {problem}. {IS_SPENT if line else MAY_BE}{where}")
    return SPENT


def published(data, line, found, output):
    """Note that a release is published, and say so; returns the exit status."""
    problems = []
    try:
        for step in (
            lambda: fsync_folder(output.parent),
            lambda: ledgers.note(data, "finished", line["id"]),
        ):
            try:
                step()
            except Exception as error:
                problems.append(said_by(error))
        say(f"written to {output}: {', '.join(statement.FILES)}")
        say(f"    spent now: epsilon {found.spent_epsilon:g}; left: {found.left_epsilon:g}")
    except KeyboardInterrupt:
        problems.append("interrupted")
    if not problems:
        return 0
    tell(
        f"release: {output} is published, and its cost is spent, but not all of that could be "
        f"noted ({'; '.join(problems)})"
    )
    return PUBLISHED


def said_by(error):
    """Text of an exception of this process, which has draws and no data."""
    return str(error) if isinstance(error, JobError | OSError) else type(error).__name__


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
    print(f"    cost: epsilon {upward(planned.epsilon)} at delta {upward(planned.delta)}")
    both = [found.spent(name) + planned.entry[name] for name in ("mu_squared", "slack")]
    problem = found.refusal(planned.entry)
    print(
        f"    budget: epsilon {budget.epsilon:g} at delta {budget.delta:g}. Spent before: "
        f"{found.spent_epsilon:g}. Spent after this release: {budget.epsilon_of(*both):g}",
        flush=True,
    )
    if problem:
        raise JobError(problem)


def print_rehearsal(planned, found):
    """Print what a rehearsal of this release has said, or that there was none."""
    said = rehearsed.found(found, planned)
    if said is None:
        print("    not rehearsed: `rehearse` says on simulated data what it is worth", flush=True)
        return
    first, *more = rehearsed.in_words(said)
    print(f"    rehearsed: {first}", *(f"        {line}" for line in more), sep="\n", flush=True)


def in_words(settings):
    """Settings in one line."""

    def text_of(value):
        if isinstance(value, list):
            return ", ".join(f"{number:g}" for number in value)
        return value if isinstance(value, str) else f"{value:.4g}"

    return "; ".join(f"{name} {text_of(value)}" for name, value in settings.items())


COMMANDS = {"ledger": ledger, "release": release, "rehearse": rehearse}
