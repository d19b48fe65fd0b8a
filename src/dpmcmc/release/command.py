"""The commands `ledger`, `release` and `rehearse`."""

import argparse
import builtins
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from dpmcmc.files import JobError
from dpmcmc.release import ledger as ledgers
from dpmcmc.release import statement
from dpmcmc.release.plan import DRAWS, data_of, plan, read_part, require_libraries
from dpmcmc.study.config import ConfigError

REFUSED, SPENT = 1, 3  # exit statuses
IS_SPENT = "Its planned cost is spent."


def main(name, arguments):
    """Run one of the commands; returns the exit status."""
    try:
        return COMMANDS[name](arguments)
    except KeyboardInterrupt:
        print(f"{name}: interrupted; nothing is spent", file=sys.stderr)
    except (JobError, OSError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
    return REFUSED


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
        "--rows", type=count, required=True, help="that a model keeps of the data: public"
    )
    new.add_argument(
        "--for",
        dest="kinds",
        choices=list(ledgers.KINDS),
        default="any",
        help="half of delta is for methods on batches, unless all read all rows",
    )
    new.add_argument("--owner")
    actions.add_parser("show", help="what was spent").add_argument("data")
    change = actions.add_parser("change", help="another budget, or other data, from now on")
    change.add_argument("data")
    change.add_argument("--reason", required=True, help="noted in the ledger")
    change.add_argument("--epsilon", type=positive)
    change.add_argument("--delta", type=probability)
    change.add_argument("--rows", type=count)
    given = vars(parser.parse_args(arguments))
    action, data = given.pop("action"), given.pop("data")
    if action == "new":
        ledgers.new(data, **given)
    elif action == "change":
        ledgers.change(data, **given)
    show(ledgers.read(data), data)
    return 0


def show(found, data):
    """Print a ledger."""
    budget = found.budget
    print(
        f"{found.path}: all releases together may spend epsilon {budget.epsilon:g} at delta "
        f"{budget.delta:g}, by methods on {'all rows' if not budget.delta0 else 'rows or batches'}"
    )
    contents = Path(data).read_bytes()
    if ledgers.fingerprint(contents, budget.salt) != budget.fingerprint:
        print(
            f"    {data} has changed: `ledger change {data} --reason ...` records that, "
            "and keeps what was spent"
        )
    for line in found.releases:
        end = "published" if line["id"] in found.finished else "spent, nothing published"
        print(
            f"    {line['date']}  epsilon {line['epsilon']:g} at delta {line['at_delta']:g}  "
            f"{line['algorithm']} on {line['rows']:,} rows  {end}"
        )
    print(
        f"    spent: epsilon {found.spent_epsilon:g}; left: {found.left_epsilon:g} for one release "
        "on all rows"
    )


# -- A release -------------------------------------------------------------------------------------


def release(arguments):
    """Run a method once with secret noise, and write what may be published."""
    given = release_parser().parse_args(joined(arguments))
    data = data_of(given.study, given.model)
    found = ledgers.read(data)
    part = read_part(given.study, given.model, given.algorithm, given.rows or found.budget.rows)
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
    if part.files:
        from dpmcmc.release.own_code import check_own_code  # which takes seconds to import

        check_own_code(part)
    output = Path(given.output)
    if output.exists():
        raise JobError(f"--output: {output} exists already")
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(
        tempfile.mkdtemp(prefix=f".{output.name}.", suffix=".partial", dir=output.parent)
    )
    try:
        line, found = ledgers.admit(data, planned.entry)
        return spend(planned, data, found, line, partial, output)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def spend(planned, data, found, line, partial, output):
    """What follows when the line is in the ledger; returns the exit status."""
    names = statement.names_of(planned.model)
    try:
        problem, draws = run_inside(planned, found.budget)
        if problem == "changed":
            ledgers.note(data, "void", line["id"])
            print(
                f"release: {data} is not the file of its ledger, and was not used: nothing is "
                f"spent. `ledger change {data} --reason ...` records other data",
                file=sys.stderr,
            )
            return REFUSED
        if problem is None:
            facts = statement.statement(planned, found, line)
            statement.write(partial, facts, draws, names)
            partial.chmod(0o755)
            statement.move(partial, output)
            ledgers.note(data, "finished", line["id"])
    except KeyboardInterrupt:
        problem = "the run was interrupted"
    except (JobError, OSError) as error:  # of disks; the data are not in this process
        problem = f"the result could not be written ({error})"
    if problem is not None:
        print(f"release: {problem}. {IS_SPENT}", file=sys.stderr)
        return SPENT
    print(f"written to {output}: {', '.join(sorted(file.name for file in output.iterdir()))}")
    print(f"    spent now: epsilon {found.spent_epsilon:g}; left: {found.left_epsilon:g}")
    return 0


def describe(planned, found):
    """Print what will run, and what it leaves of the budget."""
    part, budget = planned.part, found.budget
    chains = "1 chain" if planned.chains == 1 else f"{planned.chains} chains"
    length = f"{chains} of {planned.iterations:,} iterations"
    if part.algorithm.has_free_steps:
        length = f"{planned.iterations:,} draws, free after one noisy answer"
    print(f"{part.algorithm.id} on {part.model.id}, {planned.model.num_rows:,} rows: {length}")
    print(f"    it costs epsilon {planned.epsilon:g} at delta {planned.delta:g}")
    both = [found.spent(name) + planned.entry[name] for name in ("mu_squared", "slack")]
    problem = found.refusal(planned.entry)
    print(
        f"    with it epsilon {budget.epsilon_of(*both):g} of {budget.epsilon:g} is spent, at "
        f"delta {budget.delta:g}; before it {found.spent_epsilon:g}"
    )
    if problem:
        raise JobError(problem)


def run_inside(planned, budget):
    """Run the process that reads the data: a problem in one sentence, or None and the draws."""
    reader, writer = os.pipe()
    spec = spec_of(planned, budget) | {"answers": writer}
    with open(reader, "rb") as pipe:
        process = subprocess.Popen(
            [sys.executable, "-m", "dpmcmc.release.inside"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writer],
        )
        try:
            os.close(writer)
            process.stdin.write(json.dumps(spec).encode() + b"\n")
            process.stdin.flush()
            answer, contents = pipe.readline(1000), pipe.read()
        except BrokenPipeError:
            answer, contents = b"", b""
        finally:
            process.kill()
            process.communicate()
    return understood(answer, contents, planned)


def spec_of(planned, budget):
    """What the process that reads the data is told, but for where it answers."""
    part = planned.part
    return {
        "model": part.model.spec,
        "sampler": part.algorithm.spec(part.settings),
        "noise_scale": planned.noise_scale,
        "data": str(part.model.data),
        "columns": part.columns,
        "salt": budget.salt,
        "fingerprint": budget.fingerprint,
        "start": planned.start,
        "chains": planned.chains,
        "iterations": planned.iterations,
        "draws": planned.kept,
        "least_noise": planned.least_noise,
        "files": part.files,
    }


def understood(answer, contents, planned):
    """A problem and draws, of what that process has said: nothing of it is shown as it stands."""
    model, part = planned.model, planned.part
    try:
        told = json.loads(answer)
        end = told["end"]
        if end == "finished":
            draws = np.load(io.BytesIO(contents), allow_pickle=False)
            if draws.shape == (planned.chains, planned.kept, model.dimension):
                return None, draws
    except (ValueError, KeyError, TypeError, EOFError):
        end = None
    if end is None:
        return "the chain ended without an answer: it was killed, or ran out of memory", None
    if end == "changed":
        return end, None
    if end == "rows":
        return "the model does not keep as many rows of the data as were declared", None
    if end == "data":
        return (
            f"the data are not what {type(model).__name__} takes; `python -m dpmcmc check ... "
            "data=...` says where, to those who may see them"
        ), None
    return f"the chain could not be finished{where(told, part)}", None


def where(told, part):
    """Kind and place of a failure, each of a fixed list; empty where they are not."""
    kind, place = told.get("kind"), told.get("place")
    if not (isinstance(kind, str) and isinstance(getattr(builtins, kind, None), type)):
        return ""
    text = kind
    if isinstance(place, list) and len(place) == 2:
        name, line = place
        files = {Path(file).name: Path(file) for file in part.files}
        package = Path(__file__).parents[2]
        files |= {str(f.relative_to(package)): f for f in package.glob("dpmcmc/**/*.py")}
        if name in files and isinstance(line, int):
            lines = files[name].read_text(encoding="utf-8").count("\n") + 1
            if 0 < line <= lines:
                text += f" in {name}, line {line}"
    return f" ({text}; run `check`, or `rehearse`, on simulated data)"


# -- A rehearsal -----------------------------------------------------------------------------------


def rehearse(arguments):
    """Run a release on simulated twins of the data, and say what its intervals are worth."""
    from dpmcmc.release.rehearsal import rehearsal, table

    given = rehearsal_parser().parse_args(joined(arguments))
    rows, delta = given.rows, given.delta
    try:
        data = data_of(given.study, given.model)
    except ConfigError:
        data = None
    if data is not None and ledgers.path_of(data).exists():
        budget = ledgers.read(data).budget
        rows, delta = rows or budget.rows, delta or budget.delta
    if data is not None and rows is None:
        raise JobError("--rows: must be given, because there is no ledger with the number of rows")
    part = read_part(given.study, given.model, given.algorithm, rows)
    delta = delta or 0.1 / part.model.model.num_rows
    plans = [
        plan(part, epsilon, delta, given.chains, given.start, given.draws)
        for epsilon in given.epsilon
    ]
    print(table(rehearsal(plans, given.twins, given.seed)))
    return 0


# -- Options ---------------------------------------------------------------------------------------


def release_parser():
    """Options of `release`."""
    parser = argparse.ArgumentParser(
        prog="python -m dpmcmc release", description=release.__doc__, epilog=EPILOG
    )
    common(parser)
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
    parser.add_argument("--epsilon", type=positive, required=True, nargs="+")
    parser.add_argument("--twins", type=count, default=20, help="data sets, at least 2")
    parser.add_argument("--seed", type=int, default=0, help="of the twins, which are not secret")
    return parser


def common(parser):
    """Options of both."""
    parser.add_argument("study", help="its file, with the entries of model and algorithm")
    parser.add_argument("--model", required=True)
    parser.add_argument("--algorithm", required=True)
    parser.add_argument("--delta", type=probability, help="by default that of the ledger")
    parser.add_argument("--rows", type=count, help="that the model keeps, if not the ledger's")
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
    return number(text, 1e-300, 0.5, "must be a number between 0 and 0.5")


def count(text):
    """A whole number."""
    if not text.isdecimal() or not 1 <= int(text) <= 10**9:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text}")
    return int(text)


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
