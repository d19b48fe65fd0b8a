"""What a check has found."""

from typing import NamedTuple


class Finding(NamedTuple):
    """One row of the table that `python -m dpmcmc check` prints."""

    tried: str
    found: str
    allowed: str
    passed: bool | None  # None: could not be tried, `found` says why

    @classmethod
    def not_tried(cls, tried, why):
        """A check that cannot be made."""
        return cls(tried, f"not tried: {why}", "", None)


def tried(what, check, *arguments):
    """Findings of a check; whatever it raises is one that has failed."""
    try:
        yield from check(what, *arguments)
    except Exception as error:  # a stranger's code may raise anything
        reason = " ".join(str(error).split())
        yield Finding(what, f"{type(error).__name__}: {reason}", "no error", False)
