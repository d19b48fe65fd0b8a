"""One command for each rule of the workflow, `python -m dpmcmc_studies chain ...`; some for people.

An option of a rule's command is a path or, where the function of the job says its type, JSON of
that type (see `dpmcmc_studies.study.specs`). `@file` stands for the lines of a file: the system
limits how long a command may be, so rules give settings by `@/dev/stdin`.
"""

import sys
import textwrap
from functools import partial

import msgspec

from dpmcmc import cli
from dpmcmc_studies.jobs.table import JOBS

COMMANDS = {
    "check-results": cli.Command(
        "compute some committed results of a checkout anew, and compare every digit",
        "dpmcmc_studies.jobs.check_results.check_results",
        "studies* --chains --renew!",
        extra="studies",
    ),
    "publish": cli.Command(
        "put results of studies of a checkout into docs/",
        "dpmcmc_studies.jobs.publishing.publish",
        "studies*",
        extra="studies",
    ),
}


def main(arguments=None):
    """Run a job of a rule, or a command for people; parameters as for `dpmcmc.cli.run`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in JOBS:
        run_job(*arguments)
    else:
        names = "\n  ".join(textwrap.wrap(", ".join(JOBS), 78, break_on_hyphens=False))
        more = f"\nThe workflow runs its jobs by further commands:\n  {names}"
        cli.run("dpmcmc_studies", COMMANDS, arguments, more)


def run_job(name, *options):
    """Run the job of a rule."""
    job = JOBS[name]
    function = cli.imported(name, f"dpmcmc_studies.jobs.{job.module}.{name}", "studies")
    parser = cli.parser_of("dpmcmc_studies", name, function)
    parser.fromfile_prefix_chars = "@"
    types = function.__annotations__
    for option in job.options:
        many = option[-1] if option[-1] in "+*?" else None
        option = option.rstrip("+*?")
        read = partial(msgspec.json.decode, type=types[option]) if option in types else str
        parser.add_argument(f"--{option}", type=read, required=many != "?", nargs=many)
    cli.call(name, function, parser, options)
