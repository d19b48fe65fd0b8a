"""Libraries that a release rests on: those that are installed, and not others of the same names.

A folder `opendp` beside a study, or in a folder of PYTHONPATH, would be imported in place of the
library: what it calls noise may be none. `python -P` keeps the current directory out; what else can
come first is looked at here, and the native libraries that these load by themselves.
"""

import csv
import ctypes
import os
import sys
from importlib import import_module, metadata

from dpmcmc.files import JobError

OF_NOISE = ("opendp", "randomgen")
OF_NUMBERS = ("numpy", "scipy", "pyarrow", "msgspec")


def require_installed(*names):
    """Import libraries, and raise a JobError unless all modules of these come from where they are.

    Parameters
    ----------
    *names : str
        Of a distribution and of its package, which are the same.
    """
    for name in names:
        try:
            import_module(name)
            distribution = metadata.distribution(name)
        except (ImportError, metadata.PackageNotFoundError):
            raise JobError(f"the library {name} is not installed") from None
        folder = os.path.realpath(distribution.locate_file(""))
        known = files_of(distribution)
        for module, file in files_of_modules(name):
            place = os.path.relpath(os.path.realpath(file), folder) if file else None
            # A distribution of the system's package manager has no list of files.
            if place not in known if known else not f"{place}".startswith(f"{name}{os.sep}"):
                raise JobError(
                    f"{module} would be imported from {file or 'a folder'}, which is not the "
                    f"installed library {name}: rename that file or folder, or take its folder out "
                    "of PYTHONPATH, or of the variable that names it"
                )


def files_of(distribution):
    """Paths of the files that were installed, relative to their folder; empty where unknown."""
    record = distribution.read_text("RECORD") or ""
    return {os.path.normpath(line[0]) for line in csv.reader(record.splitlines()) if line}


def files_of_modules(name):
    """Names and files of what is loaded of a package; None for a package without a file.

    These are its modules, and the native libraries that these opened by `ctypes`.
    """
    for module, loaded in list(sys.modules.items()):
        file = getattr(loaded, "__file__", None)
        if module == name or (module.startswith(f"{name}.") and file):
            yield module, file
            for value in list(vars(loaded).values()):
                if isinstance(value, ctypes.CDLL) and value._name:  # none for Python's own
                    yield f"the native library of {module}", value._name
