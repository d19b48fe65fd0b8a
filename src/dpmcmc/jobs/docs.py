"""The command `python -m dpmcmc docs`: what can be done with committed results."""

from dpmcmc.files import JobError
from dpmcmc.jobs.committed import DOCS, mark, status, study_of
from dpmcmc.jobs.comparing import attest, spot_check, verify
from dpmcmc.jobs.publishing import pages, publish, update

ACTIONS = {
    "publish": publish,
    "pages": pages,
    "update": update,
    "status": status,
    "mark": mark,
    "verify": verify,
    "attest": attest,
    "spot-check": spot_check,
}


def docs(action, studies):
    """Render, check or renew committed results, by one of ACTIONS.

    Parameters
    ----------
    action : str
    studies : list of str
        Names; all that are committed if empty.

    Returns
    -------
    int
        Exit status: 0 if all is well.

    Raises
    ------
    JobError
        For an unknown action or study, and where no results are committed.
    """
    if action not in ACTIONS:
        raise JobError(f"unknown action {action}; valid actions: {', '.join(ACTIONS)}")
    names = studies or sorted(path.parent.name for path in DOCS.glob("*/provenance.json"))
    if not names:
        raise JobError("no results are committed beside this package: it is not in a checkout")
    return max([ACTIONS[action](study_of(name)) for name in names], default=0)
