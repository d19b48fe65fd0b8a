"""One private posterior of real data, from the file to what may be published.

`docs/release.md` says what is promised, to whom, and proves it. Here are

    command       the commands `ledger`, `release` and `rehearse`
    options       their options
    reading       the study's file: a model, an algorithm, and where the data are
    plan          the method and cost of a release, computed without the data
    budget        the epsilon and delta of all releases of a ledger together
    ledger        the budget of a file of data and the releases that spent it, on disk
    lines         its lines: appended whole under a lock, and checked
    owner         what only the owner does: make a ledger, change its budget
    data_process  the only process that reads the data; it returns draws or one of a few error codes
    libraries     a check that libraries are the installed ones
    launcher      start of that process; it understands only these answers
    streams       secret randomness, and the one place where noise is added and its cost counted
    noise         the exact discrete Gaussian, by OpenDP
    replay        draws of a sampler of one's own once more, from what was released
    rows          sums over rows, each row read by itself
    statement     the published files: draws, and their cost
    rehearsal     the same release on simulated twins
    checked, rehearsed   what check and rehearsal have said before: lines of the ledger
    plot          its picture
    notebook      the commands from Python

The package is a function too, `dpmcmc.release(...)`: that of `notebook`, which has its name.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        notebook = import_module(f"{__name__}.notebook")  # which is of this package
        return notebook.release(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
