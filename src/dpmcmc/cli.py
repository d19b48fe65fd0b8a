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

# Commands for people, who give arguments by their place; the function returns the exit status.
FOR_PEOPLE = {
    "new": ("jobs.new.new", "kind path"),
    "check": ("release.own_data.check", "name settings*"),
    "docs": ("jobs.docs.docs", "action studies*"),
}
# Those about data of one's own, which read their options themselves.
OF_RELEASES = ("ledger", "release", "rehearse")


def main(arguments=None):
    """Run one command; exits with one line on stderr for what the user can mend."""
    sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: an ASCII terminal is no error
    name, *options = (sys.argv[1:] if arguments is None else arguments) or [""]
    if name in OF_RELEASES:
        sys.exit(imported(name, "release.command.main", "workflow,release")(name, options))
    of_rules = {name: (f"jobs.{job.function}", job.options) for name, job in JOBS.items()}
    commands = FOR_PEOPLE | of_rules
    if name not in commands:
        names = ", ".join([*OF_RELEASES, *commands])
        sys.exit(f"usage: python -m dpmcmc command ...; the commands are {names}")
    place, known = commands[name]
    function = imported(name, place, "workflow")
    what = (function.__doc__ or "").partition("\n")[0]  # none with python -OO
    of_file = None if name in FOR_PEOPLE else "@"
    parser = argparse.ArgumentParser(
        prog=f"python -m dpmcmc {name}", description=what, fromfile_prefix_chars=of_file
    )
    for option in known.split():
        many = option[-1] if option[-1] in "+*" else None
        option = option.rstrip("+*")
        if name in FOR_PEOPLE:
            parser.add_argument(option, nargs=many)
        else:
            kind = json.loads if option == "spec" else str
            parser.add_argument(f"--{option}", type=kind, required=True, nargs=many)
    try:
        status = function(**vars(parser.parse_args(options)))
    except (JobError, OSError) as error:
        sys.exit(f"{name}: {error}")
    except MemoryError as error:
        sys.exit(f"{name}: not enough memory ({error})")
    if name in FOR_PEOPLE:
        sys.exit(status)


def imported(command, place, extras):
    """A function of the package, by its place; exits where a library of the extras is missing."""
    module, _, name = place.rpartition(".")
    try:
        return getattr(import_module(f"dpmcmc.{module}"), name)
    except ModuleNotFoundError as error:
        sys.exit(f"{command}: there is no package {error.name}: pip install 'dpmcmc[{extras}]'")
