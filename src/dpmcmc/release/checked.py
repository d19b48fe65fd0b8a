"""Whether the owner has checked a model with its data, as they are now: lines of the ledger.

`check STUDY MODEL` reads the data, and finds what would make a release nonsense: labels that are no
outcomes, raw units, columns that the class does not know. Its line has a digest of all that it
tried, by the salt of the ledger, which is secret. A release looks for that digest.
"""

import json

from dpmcmc.files import JobError
from dpmcmc.release import ledger as ledgers
from dpmcmc.release.code import digest_of_package, digests_of, settings_of
from dpmcmc.release.lines import today
from dpmcmc.release.reading import own_files


def digest(budget, model, columns):
    """Digest of a model's entry, its own file, the data as the ledger has them, and the package.

    The number of rows is not in it, which a release may choose among those that are declared.

    Parameters
    ----------
    budget : Budget
    model : dict
        Spec of the model.
    columns : list of str
    """
    spec = {key: value for key, value in settings_of(model).items() if key != "num_rows"}
    own = digests_of(own_files(model))
    what = [spec, list(columns), own, budget.fingerprint, digest_of_package()]
    return ledgers.fingerprint(json.dumps(what, sort_keys=True).encode(), budget.salt)


def note(data, model, value):
    """Append that a model was checked, unless the ledger says so already."""
    with ledgers.opened_to_write(ledgers.path_of(data)) as (ledger, descriptor):
        if not is_noted(ledger, value):
            line = {"kind": "checked", "model": model, "digest": value, "date": today()}
            ledgers.write(ledger, descriptor, line)


def is_noted(ledger, value):
    """True if a ledger has a line of that digest."""
    return any(line["kind"] == "checked" and line["digest"] == value for line in ledger.lines)


def is_checked(ledger, part):
    """True if the owner has checked the model of a part, as it is now."""
    return is_noted(ledger, digest(ledger.budget, part.model.spec, part.columns))


def require(ledger, part):
    """Raise a JobError unless the owner has checked the model of a part, as it is now."""
    if not is_checked(ledger, part):
        raise JobError(
            f"{part.model.id} was not checked as it is now, with its data, so nothing is spent: "
            f"`{part.check_command}` does it and notes that it passed. --unchecked goes on "
            "without, and the statement says so"
        )
