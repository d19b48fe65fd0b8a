"""The command `ledger`."""

import os
import shlex
from pathlib import Path

from dpmcmc.release import ledger as ledgers
from dpmcmc.release import owner, rehearsed
from dpmcmc.release.budget import upward
from dpmcmc.release.lines import printable
from dpmcmc.release.options import ledger_parser


def ledger(arguments):
    """Make, show or change the ledger of a file of data."""
    given = vars(ledger_parser().parse_args(arguments))
    action, data = given.pop("action"), given.pop("data")
    if action == "new":
        owner.new(data, **given)
    elif action == "change":
        owner.change(data, **given)
    found = ledgers.read(data)
    show(found, data)
    if action == "new" and (others := owner.beside(found.path)):
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
    elif not os.access(data, os.R_OK):
        print(f"    {data} cannot be read here, so whether it has changed is not known")
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
        elif line["kind"] == "checked":
            print(f"    {line['date']}  checked: {printable(line['model'])} with its data")
        elif line["kind"] == rehearsed.KIND:
            first, *_ = line["said"]
            print(
                f"    {line['date']}  rehearsed: {printable(line['algorithm'])} on "
                f"{printable(line['model'])}, epsilon {upward(line['epsilon'])}: {first['honest']}"
            )
        elif line["kind"] == "release" and line["id"] in released:
            is_noted = line["id"] in found.finished
            end = "published" if is_noted else "spent; not noted as published"
            print(
                f"    {line['date']}  epsilon {upward(line['epsilon'])} at delta "
                f"{upward(line['at_delta'])}  "
                f"{printable(line['algorithm'])} on {line['rows']:,} rows  {end}"
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
    if old is None:
        more = " (a ledger without a line was set aside)" * ("set_aside" in new)
        return f"budget: {what}{more}"
    return f"changed: {what} ({printable(new['reason'])})"
