"""Kernels compiled ahead of time: `python -m dpmcmc.kernels.build`.

A chain then starts without numba, which takes longer to load than most chains run.
"""

import os
import tempfile
import warnings
from pathlib import Path

from dpmcmc.kernels import batches, gradients, ratios  # noqa: F401 they fill KERNELS
from dpmcmc.kernels.compiling import KERNELS, OPTIONS
from dpmcmc.kernels.library import HERE, NAME, library_path
from dpmcmc.machine import LEVEL, is_common


def build(path):
    """Compile the kernels with the options and for the CPU that numba uses at run time.

    Parameters
    ----------
    path : Path
        File of the library; it appears there when it is complete.
    """
    library = builder()
    for function, signature in KERNELS:
        library.export(function.__name__, signature)(function)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".build-") as directory:
        library.output_dir = directory
        library.compile()
        os.replace(Path(directory, library.output_file), path)


def builder():
    """Return numba's builder of a library, with our options and the features of the CPU.

    Numba's own builder takes neither. So two of its parts are subclassed: the generator of code,
    and the compiler, whose `_cull_exports` is numba's but for the flags, without the cases that no
    kernel has.
    """
    from llvmlite.binding import Linkage
    from numba.core import codegen
    from numba.core.compiler import Flags, compile_extra
    from numba.core.registry import cpu_target
    from numba.core.runtime.nrtdynmod import create_nrt_module

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba.pycc: to be deprecated, without a date
        from numba.pycc.cc import CC, ModuleCompiler

    class Generator(codegen.AOTCPUCodegen):
        def _customize_tm_features(self):
            return "" if is_common() else codegen.get_host_cpu_features()

    class Compiler(ModuleCompiler):
        def __init__(self, kernels):
            super().__init__(kernels, NAME, use_nrt=True)
            self.context = cpu_target.target_context.subtarget(
                _internal_codegen=Generator(NAME, LEVEL if is_common() else "host"), aot_mode=True
            )

        def _cull_exports(self):
            self.exported_function_types, self.function_environments = {}, {}
            self.environment_gvs, self.extra_environments = {}, {}
            flags = Flags()
            for name, value in ({"no_compile": True, "nrt": True} | OPTIONS).items():
                setattr(flags, name, value)
            library = self.context.codegen().create_library(NAME)
            library.add_ir_module(create_nrt_module(self.context)[0])
            for kernel in self.export_entries:
                types = kernel.signature.args, kernel.signature.return_type
                compiled = compile_extra(
                    self.typing_context, self.context, kernel.function, *types, flags, {}, library
                )
                described = compiled.fndesc
                library.get_function(described.llvm_func_name).linkage = "internal"
                wrapper = library.get_function(described.llvm_cpython_wrapper_name)
                wrapper.name = self._mangle_method_symbol(kernel.symbol)
                wrapper.linkage = "external"
                convention = compiled.target_context.call_conv
                self.exported_function_types[kernel] = convention.get_function_type(
                    described.restype, described.argtypes
                )
                self.function_environments[kernel] = compiled.environment
                self.environment_gvs[kernel] = described.env_name
            module = library.create_ir_module("wrapper")
            self._emit_python_wrapper(module)
            library.add_ir_module(module)
            library.finalize()
            for function in library.get_defined_functions():
                if function.name not in self.dll_exports:
                    own = function.linkage in {Linkage.private, Linkage.internal}
                    function.visibility = "default" if own else "hidden"
            return library

    class Builder(CC):
        def _compile_object_files(self, directory):
            compiler = Compiler(self._export_entries)
            compiler.external_init_function = self._init_function
            file = os.path.join(directory, f"{NAME}.o")
            compiler.write_native_object(file, wrap=True)
            return [file], compiler.dll_exports

    return Builder(NAME)


def recipe():
    """Text of all that the machine code of kernels depends on, except their source."""
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
        print("Kernels are compiled at run time: the CPU type is unknown.")
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
