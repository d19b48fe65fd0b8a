"""Provenance of a study: its configuration, the source, the packages, the machine, the date."""

import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from dpmcmc import machine
from dpmcmc.kernels import build

CHECKOUT = Path(__file__).parents[3]


def record(config, old=()):
    """Provenance of a study as it is now.

    Parameters
    ----------
    config : dict
        As resolved from all its files.
    old : list of dict
        Results that are knowingly of a former version: `names` and `reason`.

    Returns
    -------
    dict
        study, date (UTC), commit, platform, processor, python, packages (name to version),
        digits (what these hang on, beside the source), config, old.
    """
    packages = {d.metadata["Name"]: d.version for d in metadata.distributions()}
    return {
        "study": config["study"],
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "platform": platform.platform(),
        "processor": processor(),
        "python": platform.python_version(),
        "packages": dict(sorted(packages.items(), key=lambda item: item[0].lower())),
        "digits": digits(packages),
        "config": config,
        "old": old,
    }


def commit():
    """Commit of the checkout that runs, with "+" where files have changed since; or unknown."""
    command = ["git", "-C", str(CHECKOUT), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def digits(packages):
    """Versions and choices that the digits of results depend on beside the source: {name: text}."""
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
