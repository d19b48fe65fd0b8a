"""One command for each rule of the workflow, `python -m dpmcmc chain ...`, and those for people.

Of a rule's command, `--spec` is a JSON object of the job's own settings (see
`dpmcmc.study.study.Study`); every other option is a path. `@file` stands for the lines of a file:
the system limits how long a command may be, so rules give settings and long lists by `@/dev/stdin`.
"""

import argparse
import json
import sys
import textwrap
from importlib import import_module, metadata
from typing import NamedTuple

import dpmcmc.jobs  # noqa: F401 before NumPy, since it chooses the machine code

# isort: split
from dpmcmc.extras import missing
from dpmcmc.files import JobError
from dpmcmc.jobs.table import JOBS


class Command(NamedTuple):
    """A command for people, who give arguments by their place."""

    about: str
    function: str  # that returns the exit status
    arguments: str | None = None  # ! after a name: a flag; None: it reads its options itself
    extra: str = "release"  # that brings the libraries it needs


RELEASES = "release.command.main"
FOR_PEOPLE = {
    "new": Command(
        "write a model or an algorithm to start from, and a study of it",
        "jobs.new.new",
        "kind path",
    ),
    "check": Command(
        "test a model or a sampler of your own: is it right, and is it private?",
        "release.own_data.check",
        "name settings*",
    ),
    "ledger": Command("set, show or change the privacy budget of a data file", RELEASES),
    "rehearse": Command("run a release on simulated data, and judge it", RELEASES),
    "release": Command("run a method once on real data, with secret noise", RELEASES),
    "check-results": Command(
        "compute some committed results of a checkout anew, and compare every digit",
        "jobs.check_results.check_results",
        "studies* --chains --renew!",
        extra="workflow",
    ),
    "publish": Command(
        "put results of studies of a checkout into docs/",
        "jobs.publishing.publish",
        "studies*",
        extra="workflow",
    ),
}


def main(arguments=None):
    """Run one command; exits with one line on stderr for what the user can mend."""
    sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: an ASCII terminal is no error
    name, *options = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help"):
        print(overview())
        sys.exit(0)
    if name == "--version":
        print(f"dpmcmc {metadata.version('dpmcmc')}")
        sys.exit(0)
    job = JOBS.get(name)
    if name in FOR_PEOPLE:
        _, place, known, extra = FOR_PEOPLE[name]
    elif job is not None:
        place, known, extra = f"jobs.{job.function}", "", "workflow"
    else:
        names = ", ".join(FOR_PEOPLE)
        sys.exit(f"unknown command {name}; valid commands: {names}, and --help or --version")
    function = imported(name, place, extra)
    if known is None:
        sys.exit(function(name, options))
    what = (function.__doc__ or "").partition("\n")[0]  # none with python -OO
    parser = argparse.ArgumentParser(prog=f"python -m dpmcmc {name}", description=what)
    for option in known.split():
        if option[-1] == "!":
            parser.add_argument(option.rstrip("!"), action="store_true")
        elif option.startswith("--"):
            parser.add_argument(option, default=argparse.SUPPRESS)
        else:
            parser.add_argument(option.rstrip("*"), nargs="*" if option[-1] == "*" else None)
    if job is not None:
        parser.fromfile_prefix_chars = "@"
        add_options(parser, job)
    try:
        status = function(**vars(parser.parse_args(options)))
    except (JobError, OSError) as error:
        sys.exit(f"{name}: {error}")
    except MemoryError as error:
        sys.exit(f"{name}: not enough memory ({error})")
    if job is None:
        sys.exit(status)


def add_options(parser, job):
    """Let a parser read the options of a job's command."""
    spec = ["spec"] if job.spec else []
    for option in [*spec, *job.reads.split(), *job.given.split(), *job.writes.split()]:
        many = option[-1] if option[-1] in "+*?" else None
        option = option.rstrip("+*?")
        kind = json.loads if option in ("spec", "rows") else str
        parser.add_argument(f"--{option}", type=kind, required=True, nargs=many)


def overview():
    """Text of --help: the commands for people, and apart from them those of rules."""
    commands = "\n".join(f"  {name:15}{command.about}" for name, command in FOR_PEOPLE.items())
    jobs = "\n  ".join(textwrap.wrap(", ".join(JOBS), 78, break_on_hyphens=False))
    return f"""\
usage: python -m dpmcmc COMMAND ...

{commands}

COMMAND --help lists the arguments of a command, --version prints the version.
The workflow runs its jobs by further commands:
  {jobs}"""


def imported(command, place, extra):
    """A function of the package, by its place; exits where a library of the extra is missing."""
    module, _, name = place.rpartition(".")
    try:
        return getattr(import_module(f"dpmcmc.{module}"), name)
    except ModuleNotFoundError as error:
        sys.exit(f"{command}: {missing(error.name, extra)}")
