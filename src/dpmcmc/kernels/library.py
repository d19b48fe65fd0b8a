"""Which library of compiled kernels belongs to these sources, this numba and what it compiles for.

Its name holds a digest of all that its machine code depends on, so one that is found is never
stale; where there is none, numba compiles the same source at run time.
"""

import hashlib
import os
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path

from dpmcmc.machine import LEVEL, cpu_kind, is_common

NAME = "_kernels"
HERE = Path(__file__).parent


def target():
    """Target of the compilation: a level of x86-64 or, on a machine without it, this CPU."""
    return LEVEL if is_common() else cpu_kind()


def library_path():
    """Path of the library for these sources, this numba and this target, once it is built.

    Returns
    -------
    Path or None
        None if the CPU type is unknown: kernels are compiled at run time.
    """
    if not target():
        return None
    kind = [sys.implementation.cache_tag, os.uname().machine, target()]
    digest = hashlib.sha256(repr(kind).encode())
    versions = {"numba": "_version.py", "llvmlite": "_version.py", "numpy": "version.py"}
    files = [Path(find_spec(name).origin).with_name(file) for name, file in versions.items()]
    for file in (*sorted(HERE.glob("*.py")), *files):
        digest.update(file.read_bytes())
    return HERE / f"{NAME}-{digest.hexdigest()[:16]}.so"


def load_library(path):
    """The library as a module; None if there is no such file."""
    if path is None or not path.exists():
        return None
    spec = spec_from_loader(NAME, ExtensionFileLoader(NAME, str(path)))
    library = module_from_spec(spec)
    spec.loader.exec_module(library)
    return library


def kernel_build():
    """Description of the build that runs here: the digits of results may depend on it."""
    path = library_path()
    return path.stem if path and path.exists() else f"numba at run time {target()}"
