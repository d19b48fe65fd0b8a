"""Kernels compiled ahead of time: `python -m dpmcmc.kernels.build`.

A chain then starts without numba, which takes longer to load than most chains run.
"""

import os
import tempfile
import warnings
from pathlib import Path
from unittest.mock import patch

from dpmcmc.kernels import batches, gradients, ratios  # noqa: F401 they fill KERNELS
from dpmcmc.kernels.compiling import KERNELS, OPTIONS
from dpmcmc.kernels.library import HERE, NAME, library_path
from dpmcmc.machine import LEVEL, is_common


def build(path):
    """Compile the kernels with the options and for the CPU that numba uses at run time.

    Numba's own builder takes neither compiler options nor the features of the CPU, so both are
    handed to it from outside.

    Parameters
    ----------
    path : Path
        File of the library; it appears there when it is complete.
    """
    from numba.core import codegen
    from numba.core.compiler import Flags

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba.pycc: to be deprecated, without a date
        from numba.pycc import CC, compiler

    def flags():
        flags = Flags()
        for name, value in OPTIONS.items():
            setattr(flags, name, value)
        return flags

    library = CC(NAME)
    library.target_cpu = LEVEL if is_common() else "host"
    for function, signature in KERNELS:
        library.export(function.__name__, signature)(function)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".build-") as directory:
        library.output_dir = directory
        features = "" if is_common() else codegen.get_host_cpu_features()
        with (
            patch.object(compiler, "Flags", flags),
            patch.object(codegen.AOTCPUCodegen, "_customize_tm_features", lambda self: features),
        ):
            library.compile()
        os.replace(Path(directory, library.output_file), path)


def recipe():
    """How kernels are compiled, as text: all that their machine code hangs on but their source."""
    import llvmlite
    import numba
    from llvmlite import binding

    llvm = ".".join(map(str, binding.llvm_version_info))
    options = " ".join(sorted(OPTIONS["fastmath"]))
    return (
        f"numba {numba.__version__}, llvmlite {llvmlite.__version__} (LLVM {llvm}), for "
        f"{LEVEL if is_common() else 'this processor'}, with {options}"
    )


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
