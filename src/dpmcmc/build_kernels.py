"""Kernels compiled ahead of time: `python -m dpmcmc.build_kernels`.

A chain then starts without numba, which takes longer to load than most chains run. The library's
name holds a digest of all that its machine code depends on, so one that is found is never stale;
where there is none, numba compiles the same source at run time.
"""

import hashlib
import os
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path

NAME = "_kernels"
HERE = Path(__file__).parent
# Lines of /proc/cpuinfo that say which instructions there are, on x86 and on ARM.
CPU_KIND = {b"vendor_id", b"cpu family", b"model", b"flags"}
CPU_KIND |= {b"CPU implementer", b"CPU part", b"Features"}


def cpu_kind():
    """The lines of the first processor in /proc/cpuinfo that tell its kind; None without them."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            lines = iter(file.readline, b"\n")  # up to the first empty line: the first processor
            kind = [line for line in lines if line.partition(b":")[0].strip() in CPU_KIND]
    except OSError:
        return None
    return kind or None


def library_path():
    """Where the library for these sources, this numba and this kind of CPU is, once it is built.

    Returns
    -------
    Path or None
        None where the kind of CPU cannot be told: there kernels are compiled at run time.
    """
    kind = cpu_kind()
    if kind is None:
        return None
    digest = hashlib.sha256(repr([sys.implementation.cache_tag, os.uname().machine, kind]).encode())
    versions = {"numba": "_version.py", "llvmlite": "_version.py", "numpy": "version.py"}
    files = [Path(find_spec(name).origin).with_name(file) for name, file in versions.items()]
    for file in (HERE / "kernels.py", Path(__file__), *files):
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
    """What kind of build runs here, as text: the digits of results may depend on it."""
    path = library_path()
    return path.stem if path and path.exists() else f"numba at run time {cpu_kind()}"


def build(path):
    """Compile the kernels with the options and for the CPU that numba uses at run time.

    Numba's own builder takes neither compiler options nor the features of the CPU, so both are
    handed to it from outside.

    Parameters
    ----------
    path : Path
        File of the library; it appears there when it is complete.
    """
    import tempfile
    import warnings
    from unittest.mock import patch

    from numba.core import codegen
    from numba.core.compiler import Flags

    from dpmcmc.kernels import KERNELS, OPTIONS

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba.pycc: to be deprecated, without a date
        from numba.pycc import CC, compiler

    def flags():
        flags = Flags()
        for name, value in OPTIONS.items():
            setattr(flags, name, value)
        return flags

    library = CC(NAME)
    library.target_cpu = "host"
    for function, signature in KERNELS:
        library.export(function.__name__, signature)(function)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".build-") as directory:
        library.output_dir = directory
        features = codegen.get_host_cpu_features()
        with (
            patch.object(compiler, "Flags", flags),
            patch.object(codegen.AOTCPUCodegen, "_customize_tm_features", lambda self: features),
        ):
            library.compile()
        os.replace(Path(directory, library.output_file), path)


def main():
    """Build the library if it is not there, and remove those of other versions."""
    path = library_path()
    if path is None:
        print("Kernels are compiled at run time: the kind of this CPU cannot be told.")
    elif not path.exists():
        try:
            build(path)
        except Exception as error:  # no C compiler, most likely
            print(f"Kernels are compiled at run time; no library could be built: {error}")
        else:
            for other in set(HERE.glob(f"{NAME}-*.so")) - {path}:
                other.unlink()


if __name__ == "__main__":
    main()
