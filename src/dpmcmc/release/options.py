"""Options of the commands `ledger`, `release` and `rehearse`."""

import argparse
import re
from itertools import pairwise
from pathlib import Path

import numpy as np

from dpmcmc.data_files import is_plain
from dpmcmc.release.budget import KINDS
from dpmcmc.release.plan import DRAWS

LEAST_DELTA = 1e-100  # far more than the theorem of docs/release.md adds
RELEASE = "Run a method once with secret noise, and write what may be published."
REHEARSE = "Run a release on simulated twins of the data, and say how many rows it is worth."
EPILOG = "docs/release.md says what is promised, and to whom."


def ledger_parser():
    """Options of `ledger`."""
    parser = argparse.ArgumentParser(
        prog="python -m dpmcmc ledger",
        description="The privacy budget of a data file, and what was spent of it.",
    )
    actions = parser.add_subparsers(dest="action", required=True)
    new = actions.add_parser("new", help="set the budget of all releases of a file together")
    new.add_argument("data")
    new.add_argument("--epsilon", type=positive, required=True)
    new.add_argument("--delta", type=probability, required=True, help="0.1 / rows; below 1 / rows")
    new.add_argument(
        "--rows",
        type=count,
        required=True,
        help="number of rows that the model uses; it will be published",
    )
    new.add_argument(
        "--for",
        dest="kinds",
        choices=list(KINDS),
        default="any",
        help="full-data: allow only methods that use all rows, with all of delta. any: also allow "
        "methods on batches, for which half of delta is reserved (the default)",
    )
    new.add_argument("--owner")
    new.add_argument(
        "--set-aside",
        action="store_true",
        help="rename a ledger that was emptied, if nothing was ever released",
    )
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
    change.add_argument("--for", dest="kinds", choices=list(KINDS), help="until the first release")
    change.add_argument(
        "--rows", type=count, help="declare another number, which may be published from then on"
    )
    return parser


def release_parser():
    """Options of `release`."""
    parser = argparse.ArgumentParser(
        prog="python -m dpmcmc release", description=RELEASE, epilog=EPILOG
    )
    common(parser)
    parser.add_argument("--rows", type=count, help="that the model keeps, if not the ledger's")
    parser.add_argument("--epsilon", type=positive, required=True)
    parser.add_argument("--output", required=True, help="a folder that does not exist yet")
    parser.add_argument(
        "--plan", action="store_true", help="say what it would cost, and stop: no data are opened"
    )
    parser.add_argument(
        "--unchecked",
        action="store_true",
        help="even if `check` did not pass model and data as they are; the statement says so",
    )
    return parser


def rehearsal_parser():
    """Options of `rehearse`."""
    parser = argparse.ArgumentParser(
        prog="python -m dpmcmc rehearse", description=REHEARSE, epilog=EPILOG
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
        value = float(text) if is_plain(text) else np.nan
    except ValueError:
        value = np.nan
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{problem}, not {text}")
    return value
