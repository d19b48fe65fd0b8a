"""Commands of users, `python -m dpmcmc check ...`; `run` serves those of other packages, too."""

import argparse
import gc
import os
import sys
from importlib import import_module, metadata
from typing import NamedTuple

import dpmcmc.pinned  # noqa: F401 before NumPy, since it chooses the machine code

# isort: split
from dpmcmc.extras import missing
from dpmcmc.files import JobError


class Command(NamedTuple):
    """A command for people, who give arguments by their place."""

    about: str
    function: str  # that returns the exit status
    arguments: str | None = None  # ! after a name: a flag; None: it reads its options itself
    extra: str = "release"  # that brings the libraries it needs


RELEASES = "dpmcmc.release.command.main"
COMMANDS = {
    "new": Command(
        "write a model, an algorithm or a release to start from",
        "dpmcmc.commands.new.new",
        "kind path",
    ),
    "check": Command(
        "test a model or a sampler of your own: is it right, and is it private?",
        "dpmcmc.release.own_data.check",
        "name settings*",
    ),
    "task": Command(
        "write a task for a method in any language: data, a budget, exact posteriors",
        "dpmcmc.commands.tasks.task",
        "model --output --study --epsilon --delta --data-sets",
    ),
    "score": Command(
        "say what the methods that were submitted to a task are worth",
        "dpmcmc.commands.score.score",
        "folder --plot",
    ),
    "ledger": Command("set, show or change the privacy budget of a data file", RELEASES),
    "rehearse": Command("run a release on simulated data, and judge it", RELEASES),
    "release": Command("run a method once on real data, with secret noise", RELEASES),
}


def main(arguments=None):
    """Run one of the commands of users; parameters as for `run`."""
    run("dpmcmc", COMMANDS, arguments)


def as_program(main):
    """Run the function of a program, and end the process; it is quick to start and to end."""
    gc.disable()  # jobs are short: modules leave no garbage, and looking for it takes time
    main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # all files are closed, and taking the modules apart takes longer than many a chain


def run(program, commands, arguments=None, more=""):
    """Run one command; exits with one line on stderr for what the user can mend.

    Parameters
    ----------
    program : str
        Name of the package that has the commands.
    commands : dict of str to Command
    arguments : list of str, optional
        By default those of the command line.
    more : str, optional
        Last lines of --help.
    """
    open_closed_streams()
    sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: an ASCII terminal is no error
    name, *options = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help"):
        print(overview(program, commands) + more)
        sys.exit(0)
    if name == "--version":
        print(f"{program} {metadata.version('dpmcmc')}")
        sys.exit(0)
    if name not in commands:
        names = ", ".join(commands)
        sys.exit(f"unknown command {name}; valid commands: {names}, and --help or --version")
    _, place, known, extra = commands[name]
    function = imported(name, place, extra)
    if known is None:
        sys.exit(function(name, options))
    parser = parser_of(program, name, function)
    for option in known.split():
        if option[-1] == "!":
            parser.add_argument(option.rstrip("!"), action="store_true")
        elif option.startswith("--"):
            parser.add_argument(option, default=argparse.SUPPRESS)
        else:
            parser.add_argument(option.rstrip("*"), nargs="*" if option[-1] == "*" else None)
    sys.exit(call(name, function, parser, options))


def parser_of(program, name, function):
    """A parser of the options of a command, described by the first line of its function."""
    what = (function.__doc__ or "").partition("\n")[0]  # none with python -OO
    return argparse.ArgumentParser(prog=f"python -m {program} {name}", description=what)


def call(name, function, parser, options):
    """Call the function of a command with its options; exits with one line for what went wrong."""
    try:
        return function(**vars(parser.parse_args(options)))
    except (JobError, OSError) as error:
        sys.exit(f"{name}: {error}")
    except MemoryError as error:
        sys.exit(f"{name}: not enough memory ({error})")


def overview(program, commands):
    """Text of --help."""
    lines = "\n".join(f"  {name:15}{command.about}" for name, command in commands.items())
    return f"""\
usage: python -m {program} COMMAND ...

{lines}

COMMAND --help lists the arguments of a command, --version prints the version."""


def imported(command, place, extra):
    """A function by its module and name; exits where a library of the extra is missing."""
    module, _, name = place.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        sys.exit(f"{command}: {missing(error.name, extra)}")


def open_closed_streams():
    """Let standard streams that are closed lead nowhere; else files that are opened become them."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
