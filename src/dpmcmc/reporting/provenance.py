"""What made a study: its configuration, the source, the packages, the machine, the date."""

import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from dpmcmc import machine
from dpmcmc.kernels import build


def record(config, recipe):
    """Provenance of a study as it is now.

    Parameters
    ----------
    config : dict
        As resolved from all its files.
    recipe : dict of str to str
        From `dpmcmc.jobs.table.recipe`.

    Returns
    -------
    dict
        study, date (UTC), recipe, platform, processor, python, packages (name to version),
        digits (what these hang on, beside the source), config.
    """
    packages = {d.metadata["Name"]: d.version for d in metadata.distributions()}
    return {
        "study": config["study"],
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "platform": platform.platform(),
        "processor": processor(),
        "python": platform.python_version(),
        "packages": dict(sorted(packages.items(), key=lambda item: item[0].lower())),
        "digits": digits(packages),
        "recipe": recipe,
        "config": config,
    }


def digits(packages):
    """What the digits of results hang on beside the source: {name: version or choice}."""
    chosen = {name: value for name, value in machine.PINNED.items() if machine.is_common()}
    return {
        "python": platform.python_version(),
        "libm": " ".join(platform.libc_ver()),
        "kernels": build.recipe(),
        **{name: packages[name] for name in ("numpy", "scipy", "pandas", "dp-accounting")},
        **chosen,
    }


def processor():
    """Name of the processor, as the operating system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
