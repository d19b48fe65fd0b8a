"""One choice of machine code for every x86-64 machine with AVX2 and FMA: the same digits on all.

NumPy, OpenBLAS, XLA and the compiler of our kernels look at the processor and choose code for it.
Wider registers add numbers up in another order, so the last digits of a sum would be the machine's,
and a chain, whose next step hangs on them, would in time be another. Here all are kept to what
x86-64-v3 has (AVX2, FMA; all but the cheapest machines since 2013) and to one thread, each by the
variable that it reads when it is loaded: so before NumPy is. This is done for commands and
jobs of a study (`dpmcmc.pinned`); a program that imports the package does it by `dpmcmc.pin()`.
Compiled kernels of the package are for that level in any case.
"""

import os
import platform

LEVEL = "x86-64-v3"
FEATURES = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}  # as Linux calls them
# Lines of /proc/cpuinfo that say which instructions there are, on x86 and on ARM.
CPU_KIND = {"vendor_id", "cpu family", "model", "flags"}
CPU_KIND |= {"CPU implementer", "CPU part", "Features"}

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
PINNED = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "NUMBA_CPU_NAME": LEVEL,
    "NUMBA_CPU_FEATURES": "",  # those of the level
}
XLA_FLAG = "--xla_cpu_max_isa=AVX2"  # beside flags that are there


def cpu_kind() -> dict[str, str]:
    """Kind of the first processor in /proc/cpuinfo, {name: text}; {} without that file."""
    kind = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in iter(file.readline, "\n"):  # up to the first empty line
                if not line:
                    break
                name, _, text = line.partition(":")
                if name.strip() in CPU_KIND:
                    kind[name.strip()] = text.strip()
    except OSError:
        return {}
    return kind


def is_common() -> bool:
    """True if this machine has what the digits of committed results were made with."""
    has = cpu_kind().get("flags", "").split()
    return platform.machine() == "x86_64" and set(has) >= FEATURES


def note() -> list[str]:
    """A line for those whose machine is another, in a list; else none."""
    if is_common():
        return []
    return [
        f"This machine has not the instructions of {LEVEL}: results are as good as others, but "
        "their last digits, and with them single chains, may differ from those committed in docs/."
    ]


def pin() -> None:
    """Choose the machine code of NumPy, OpenBLAS, numba and XLA, and one thread for each.

    This gives the same digits on every machine. It applies to what is loaded afterwards, in this
    process and in those that it starts, so call it before NumPy is imported.
    """
    os.environ.update(ONE_THREAD)
    if is_common():
        os.environ.pop("NPY_ENABLE_CPU_FEATURES", None)  # NumPy refuses both
        os.environ.update(PINNED)
        flags = os.environ.get("XLA_FLAGS", "").split()
        os.environ["XLA_FLAGS"] = " ".join([*(f for f in flags if f != XLA_FLAG), XLA_FLAG])
