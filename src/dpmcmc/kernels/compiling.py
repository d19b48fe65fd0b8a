"""Compilation of kernels: the only code that knows numba, beside the build ahead of time.

The compiler may reassociate, contract and ignore the sign of zero, but never assume that NaN or
infinity do not occur (`nnan`, `ninf`, hence not `fastmath=True`): that would delete the guards that
privacy rests on.
"""

import functools
from collections.abc import Callable
from pickle import UnpicklingError

import numpy as np

from dpmcmc.kernels.library import library_path, load_library

OPTIONS = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
LIBRARY = load_library(library_path())
KERNELS: list[
    tuple[Callable, str]
] = []  # (function, signature) of every kernel, for `dpmcmc.kernels.build`


def matrix(array):
    """Array as a kernel reads it; machine code checks nothing."""
    array = np.ascontiguousarray(array, np.float64)
    if array.ndim != 2:
        raise TypeError(f"a kernel takes a matrix here, not an array of shape {array.shape}")
    return array


def vector(array):
    """Array as a kernel reads it; machine code checks nothing."""
    array = np.ascontiguousarray(array, np.float64)
    if array.ndim != 1:
        raise TypeError(f"a kernel takes a vector here, not an array of shape {array.shape}")
    return array


def indices(array):
    """Array as a kernel reads it; machine code checks nothing, not even their range."""
    array = np.ascontiguousarray(array, np.int64)
    if array.ndim != 1:
        raise TypeError(f"a kernel takes indices here, not an array of shape {array.shape}")
    return array


def words(array):
    """Array as a kernel reads it; machine code checks nothing."""
    array = np.ascontiguousarray(array)
    if array.ndim != 1 or array.dtype != np.uint64:
        raise TypeError(f"a kernel takes words of 64 bits here, not {array.dtype} {array.shape}")
    return array


def mask(array):
    """Array as a kernel reads it; machine code checks nothing, not even its length."""
    array = np.ascontiguousarray(array)
    if array.ndim != 1 or array.dtype != np.bool_:
        raise TypeError(f"a kernel takes a mask here, not {array.dtype} {array.shape}")
    return array


def byte_matrix(array):
    """Array as a kernel reads it; machine code checks nothing."""
    array = np.ascontiguousarray(array)
    if array.ndim != 2 or array.dtype != np.int8:
        raise TypeError(f"a kernel takes a matrix of int8 here, not {array.dtype} {array.shape}")
    return array


TYPES = {
    matrix: "float64[:, ::1]",
    vector: "float64[::1]",
    indices: "int64[::1]",
    words: "uint64[::1]",
    mask: "boolean[::1]",
    byte_matrix: "int8[:, ::1]",
    float: "float64",
    int: "int64",
}


def of_numba(function):
    """Machine code that numba compiles at the first call, or finds in its cache, if it has one."""
    from numba import njit

    anew = njit(**OPTIONS)(function)
    try:
        cached = njit(cache=True, **OPTIONS)(function)
    except RuntimeError:  # no folder for its cache can be written
        return anew

    def machine_code(*values):
        try:
            return cached(*values)
        except (EOFError, UnpicklingError):  # a file of the cache was cut short
            return anew(*values)

    return machine_code


def compiled(result, *arguments):
    """Decorator of a kernel: machine code of the library or, where there is none, of numba.

    Parameters
    ----------
    result : str
        Type of the result in numba's notation.
    *arguments : function
        What makes an argument into what the machine code takes: a key of `TYPES`.
    """

    def compile_kernel(function):
        KERNELS.append((function, f"{result}({', '.join(map(TYPES.get, arguments))})"))
        if LIBRARY is None:
            machine_code = of_numba(function)
        else:
            machine_code = getattr(LIBRARY, function.__name__)

        @functools.wraps(function)
        def kernel(*values):
            if missing := len(arguments) - len(values):
                values += (function.__defaults__ or ())[-missing:]
            return machine_code(*[make(x) for make, x in zip(arguments, values, strict=True)])

        return kernel

    return compile_kernel
