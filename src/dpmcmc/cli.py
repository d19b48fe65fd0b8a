"""One command for each rule of the workflow, `python -m dpmcmc chain ...`, and those for people.

Of a rule's command, `--spec` is a JSON object of the job's own settings (see
`dpmcmc.study.study.Study`); every other option is a path. `@file` stands for the lines of a file:
the system limits how long a command may be, so rules give settings and long lists by `@/dev/stdin`.
"""

import argparse
import json
import sys
from importlib import import_module

import dpmcmc.jobs  # noqa: F401 before NumPy, since it chooses the machine code

# isort: split
from dpmcmc.files import JobError
from dpmcmc.jobs.table import JOBS

# Commands for people, who give arguments by their place; the function returns the exit status. A
# name that ends in ! is a flag.
FOR_PEOPLE = {
    "new": ("new.new", "kind path"),
    "check": ("check.check", "name settings*"),
    "check-results": ("check_results.check_results", "studies* --chains --renew!"),
    "publish": ("publishing.publish", "studies*"),
}
# Those about data of one's own, which read their options themselves.
OF_RELEASES = ("ledger", "release", "rehearse")


def main(arguments=None):
    """Run one command; exits with one line on stderr for what the user can mend."""
    sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: an ASCII terminal is no error
    name, *options = (sys.argv[1:] if arguments is None else arguments) or [""]
    if name in OF_RELEASES:
        sys.exit(imported(name, "release.command.main", "workflow,release")(name, options))
    if name not in FOR_PEOPLE and name not in JOBS:
        names = ", ".join([*OF_RELEASES, *FOR_PEOPLE, *JOBS])
        sys.exit(f"usage: python -m dpmcmc command ...; the commands are {names}")
    job = JOBS.get(name)
    place, known = FOR_PEOPLE[name] if job is None else (job.function, "")
    function = imported(name, f"jobs.{place}", "workflow")
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


def imported(command, place, extras):
    """A function of the package, by its place; exits where a library of the extras is missing."""
    module, _, name = place.rpartition(".")
    try:
        return getattr(import_module(f"dpmcmc.{module}"), name)
    except ModuleNotFoundError as error:
        sys.exit(f"{command}: there is no package {error.name}: pip install 'dpmcmc[{extras}]'")
